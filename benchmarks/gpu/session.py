"""Sections one after the other, within a budget of time, and a JSON file after each."""

import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


class NotHere(Exception):
    """A section cannot run on this machine; the message says why."""


class Budget:
    """Time that is running out.

    Parameters
    ----------
    seconds
        How much there is.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.perf_counter() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; negative once they have run out."""
        return self._until - time.perf_counter()

    def part(self, seconds: float) -> "Budget":
        """Return a budget of at most that many seconds, within this one."""
        return Budget(min(seconds, self.left))


class Session:
    """A run, section by section.

    Parameters
    ----------
    budget
        For all sections together.
    file
        Where the results are kept, written anew after each section.
    """

    def __init__(self, budget: Budget, file: Path) -> None:
        self._budget = budget
        self._file = file
        self.sections: dict[str, dict[str, Any]] = {}

    def run(self, name: str, seconds: float, section: Callable[[Budget], Any]) -> None:
        """Run a section; what it raises is kept in the file, and the next section runs.

        Parameters
        ----------
        name
            Its name.
        seconds
            The most time that it may take, which it sees to itself. With less than a tenth of it
            left it is not begun.
        section
            What to run.
        """
        since = time.perf_counter()
        entry: dict[str, Any]
        if self._budget.left < seconds / 10:
            entry = {"state": "skipped", "why": f"{self._budget.left:.0f} s were left"}
        else:
            try:
                entry = {"state": "done", "result": section(self._budget.part(seconds))}
            except NotHere as why:
                entry = {"state": "skipped", "why": str(why)}
            # Whatever goes wrong in one section, the machine is there now and perhaps not again.
            except Exception:
                entry = {"state": "failed", "error": traceback.format_exc()[-3000:]}
        entry["seconds"] = round(time.perf_counter() - since, 2)
        self.sections[name] = entry
        self._file.write_text(json.dumps(self.sections, indent=1, default=str) + "\n", "utf-8")
        detail = entry.get("why") or entry.get("error", "")
        print(f"{name}: {entry['state']} in {entry['seconds']} s {detail}".rstrip(), flush=True)

    @property
    def failed(self) -> list[str]:
        """The names of sections that raised something."""
        return [name for name, entry in self.sections.items() if entry["state"] == "failed"]
