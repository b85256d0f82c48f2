"""Contenders take turns, round after round, and nobody is timed who disagrees."""

import statistics
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil

from agreement import disagreements
from results import Problem, Timing
from team import Answer, Team
from workload import Workload

LEAST_CALLS = 3
MOST_CALLS = 200
# A turn takes about this long, so that short calls are not lost in what the machine does beside.
TURN_S = 0.1
# Of calls that take longer than this, a turn has one.
LONG_S = 2.0
# Threads of the peer before may still be spinning when a turn begins.
PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class Contender:
    """Who takes a turn, with what.

    Parameters
    ----------
    peer
        Whose process.
    workload
        The problem.
    out
        Whether it writes into an array that it is given.
    """

    peer: str
    workload: Workload
    out: bool = False


class Contest:
    """Contenders that alternate.

    Parameters
    ----------
    team
        The peers' processes.
    contenders
        By label.
    timings
        By label; filled as the contest goes on, so that an interruption leaves what there is.
    """

    def __init__(
        self, team: Team, contenders: Mapping[str, Contender], timings: dict[str, Timing]
    ) -> None:
        self._team = team
        self._contenders = contenders
        self._timings = timings
        timings.update({label: Timing() for label in contenders})

    def prepare(self) -> dict[str, Answer]:
        """Let each make its operands and its first call; return what shows its result."""
        answers = {}
        for label, contender in self._contenders.items():
            timing = self._timings[label]
            request = {"workload": asdict(contender.workload), "out": contender.out}
            answer = self._ask(label, 1, {"do": "prepare", **request})
            if answer:
                answers[label] = answer
                timing.first, timing.built = answer["first_s"], answer["built_s"]
                start = self._team.run.starts[contender.peer]
                if start.cold_workload is None:
                    start.cold_s, start.cold_workload = timing.first, contender.workload.name
        return answers

    def take_turns(self, rounds: int) -> None:
        """Time each contender once a round; who begins moves on by one.

        Parameters
        ----------
        rounds
            How many.
        """
        calls = self._calls_in_a_turn()
        labels = list(calls)
        for turn in range(rounds):
            shift = turn % max(len(labels), 1)
            for label in labels[shift:] + labels[:shift]:
                if not self._timings[label].problem:
                    time.sleep(PAUSE_S)
                    self._take_turn(label, calls[label])

    def measure_memory(self) -> None:
        """Let each make one more call whose memory is watched."""
        for label in self._going_on():
            # A contender that fails here keeps its times.
            peer, request = self._contenders[label].peer, {"do": "memory", "key": label}
            answer = self._team.ask(peer, Timing(), 1, request)
            self._timings[label].peak_bytes = answer["peak_bytes"] if answer else None

    def forget(self) -> None:
        """Let the processes give their operands back."""
        for peer in self._team.present():
            self._team.ask(peer, Timing(), 1, {"do": "forget"})

    def _going_on(self) -> list[str]:
        return [label for label in self._contenders if not self._timings[label].problem]

    def _calls_in_a_turn(self) -> dict[str, int]:
        calls = {}
        for label in self._going_on():
            # The first call was a cold one, so it does not say how long a call takes.
            answer = self._ask(label, 1, {"do": "time", "calls": 1, "untimed": 0})
            if answer:
                seconds = answer["wall_s"][0]
                wanted = min(max(ceil(TURN_S / seconds), LEAST_CALLS), MOST_CALLS)
                calls[label] = 1 if seconds > LONG_S else wanted
        return calls

    def _take_turn(self, label: str, calls: int) -> None:
        # A short call finds its operands out of the caches, which a loop would see only once.
        untimed = 1 if calls > LEAST_CALLS else 0
        request = {"do": "time", "calls": calls, "untimed": untimed}
        answer = self._ask(label, calls + untimed, request)
        if answer:
            timing = self._timings[label]
            timing.medians.append(statistics.median(answer["wall_s"]))
            timing.least.append(min(answer["wall_s"]))
            timing.processor.append(answer["cpu_s"])

    def _ask(self, label: str, calls: int, request: Answer) -> Answer | None:
        peer, timing = self._contenders[label].peer, self._timings[label]
        answer = self._team.ask(peer, timing, calls, {**request, "key": label})
        if timing.problem:
            self._team.say(f"  {label}: {timing.problem}")
        return answer


def measure(team: Team, workload: Workload, rounds: int) -> Problem:
    """Let all peers of a team take turns on a workload, if they agree.

    Parameters
    ----------
    team
        The peers. The problem is put into its run before anything is measured.
    workload
        The problem.
    rounds
        How often each has its turn.
    """
    problem = Problem.of(workload)
    team.run.problems.append(problem)
    team.start()
    contenders = {peer: Contender(peer, workload) for peer in team.present()}
    contest = Contest(team, contenders, problem.timings)
    answers = contest.prepare()
    problem.checked = len(answers)
    for peer, difference in disagreements(workload, answers).items():
        timing = problem.timings[peer]
        timing.problem, timing.disagrees = f"DISAGREES: {difference}", True
        team.say(f"  {peer} {timing.problem}")
    contest.take_turns(rounds)
    contest.measure_memory()
    contest.forget()
    return problem
