"""The peers' processes for one number of threads; one that fails does not stop the others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from peer_link import PeerFailed, PeerLink
from peers import LIBRARIES
from results import Run, Start, Timing

Say: TypeAlias = Callable[[str], None]
Answer: TypeAlias = dict[str, Any]


@dataclass
class Team:
    """The peers' processes for one number of threads.

    Parameters
    ----------
    run
        Where to write what is found out.
    pythons
        By peer, the interpreter that has its library; these are the peers.
    limit_s
        How long one call may take.
    say
        Tells a person what goes on.
    """

    run: Run
    pythons: Mapping[str, str]
    limit_s: float
    say: Say
    links: dict[str, PeerLink] = field(default_factory=dict)

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *_: object) -> None:
        for link in self.links.values():
            link.close()

    def start(self) -> None:
        """Start a process for each peer that is there, and again for one that had to be ended."""
        for peer, python in self.pythons.items():
            link = self.links.get(peer)
            known = self.run.starts.get(peer)
            if not (link and link.alive) and not (known and known.absent):
                start = self._started(peer, python)
                if start.absent:
                    self.say(f"  {peer} is missing: {start.absent}")

    def present(self) -> list[str]:
        """Return the peers that can be asked."""
        return [
            peer
            for peer, link in self.links.items()
            if link.alive and not self.run.starts[peer].absent
        ]

    def ask(self, peer: str, timing: Timing, calls: int, request: Answer) -> Answer | None:
        """Ask a peer; what goes wrong becomes the timing's problem.

        Parameters
        ----------
        peer
            Whom.
        timing
            Where a problem is written.
        calls
            How many calls the request is for.
        request
            As `peer_process.Session.answer` takes it.

        Returns
        -------
        dict or None
            The answer; None if there is a problem.
        """
        try:
            answer = self.links[peer].ask(request, self.limit_s * calls)
        except PeerFailed as failure:
            timing.problem = str(failure)
            return None
        timing.problem = answer.get("refused") or answer.get("failed")
        return None if timing.problem else answer

    def _started(self, peer: str, python: str) -> Start:
        start = self.run.starts.setdefault(peer, Start())
        try:
            link = PeerLink(peer, python, self.run.threads)
        except PeerFailed as failure:
            start.absent = str(failure)
            return start
        self.links[peer] = link
        start.absent = link.hello.get("absent")
        if start.import_s is None and not start.absent:
            start.versions, start.import_s = link.hello["versions"], link.hello["import_s"]
        return start


def interpreters(given: Mapping[str, str], peers: list[str], default: str) -> dict[str, str]:
    """Return the interpreter of each peer.

    Parameters
    ----------
    given
        By library.
    peers
        Which peers to take.
    default
        The interpreter of libraries that are not named.
    """
    return {peer: given.get(LIBRARIES[peer], default) for peer in peers}
