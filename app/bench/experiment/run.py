"""Runs the trials of a plan: each on a fresh private mount, in random order, each outcome told at once."""

from __future__ import annotations

import contextlib
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from advisor import trials
from advisor.experiment_analysis import drifts
from advisor.trials import Outcome
from app.bench.cleanup import in_background
from app.bench.experiment.factors import spec_of
from app.bench.experiment.model import ExperimentEvent, ExperimentResult
from app.bench.experiment.plan import VOLATILE
from app.bench.experiment.sets import Trial, schedule
from app.errors import AppError
from app.tasks import CancelledError, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from app.bench.experiment.hands import Hands, OpenMount
    from app.bench.experiment.model import ExperimentRunArgs, Phase, PlannedSet
    from app.bench.private_mount import Closing
    from app.bench.result import TestEvent, TestResult
    from app.tasks import CancelToken

#: After so many failures in a row the server, or the way to it, is gone.
FAILED_IN_A_ROW = 3
#: An unmount that was left behind at cancelling is waited for this long before the agent ends.
_CLOSING_S = 40.0


def run_experiment(
    args: ExperimentRunArgs, hands: Hands, token: CancelToken, emit: Callable[[ExperimentEvent], None]
) -> ExperimentResult:
    """Run what is left of a plan.

    A trial that fails is an outcome like any other, with the reason in it; FAILED_IN_A_ROW of them end the
    run. Nothing of it stays mounted, however it ends.

    Args:
        args: the plan, what is done already, and the time.
        hands: the world.
        token: ends the run within 200 ms; the outcomes told until then are good.
        emit: gets progress, samples and outcomes, on this thread.

    Raises:
        CancelledError: when the token is set.
    """
    return _Run(args, hands, token, emit).result()


class _Run:
    """One run from start to end."""

    def __init__(
        self,
        args: ExperimentRunArgs,
        hands: Hands,
        token: CancelToken,
        emit: Callable[[ExperimentEvent], None],
    ) -> None:
        self._plan = args.plan
        self._budget_s = args.budget_s
        self._hands = hands
        self._token = token
        self._emit = emit
        self._trials = schedule(args.plan)
        self._outcomes = list(args.done)
        orders = {outcome.order for outcome in args.done}
        self._left = [trial for trial in self._trials if trial.order not in orders]
        self._began = hands.now()
        #: Planned and real seconds of the trials of this part of the run.
        self._planned_s = self._took_s = 0.0

    def result(self) -> ExperimentResult:
        stopped = ""
        if self._left:
            self._warm_up()
            stopped = self._run_left()
        outcomes = self._outcomes
        return ExperimentResult(
            done=len(outcomes),
            planned=len(self._trials),
            failed=sum(outcome.state == "failed" for outcome in outcomes),
            mismatched=sum(outcome.state == "mismatch" for outcome in outcomes),
            stopped=stopped,
            drift=drifts(outcomes, (trials.WRITE, trials.READ)),
            seconds=self._hands.now() - self._began,
        )

    def _warm_up(self) -> None:
        """Run each workload once with the baseline; what it measures is not kept."""
        for work in range(len(self._plan.experiment.workloads)):
            trial = Trial(-1, 0, 0, work, baseline=True)
            self._tell(trial, "warm-up")
            self._timed(trial, "warm-up")

    def _run_left(self) -> str:
        """Run the trials that are left; return why not all, or ""."""
        failed = 0
        while self._left:
            trial = self._left[0]
            self._token.check()
            if self._budget_s is not None and not self._fits(trial, self._budget_s):
                return "The time that was allowed is over; it can be resumed."
            self._tell(trial, "trial")
            outcome = self._timed(trial, "trial")
            self._outcomes.append(outcome)
            del self._left[0]
            self._tell(trial, "done", outcome=outcome)
            failed = failed + 1 if outcome.state == "failed" else 0
            if failed == FAILED_IN_A_ROW:
                return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
        return ""

    def _timed(self, trial: Trial, phase: Phase) -> Outcome:
        began = self._hands.now()
        outcome = self._try(trial, phase)
        if outcome.state != "failed":
            self._took_s += self._hands.now() - began
            self._planned_s += self._expected_s(trial)
        return outcome

    def _try(self, trial: Trial, phase: Phase) -> Outcome:
        """Mount, test, unmount; every failure but cancelling becomes part of the outcome."""
        one, work = self._plan.sets[trial.set], self._plan.experiment.workloads[trial.work]
        outcome = Outcome(
            levels=one.levels,
            workload=work.name,
            block=trial.block,
            order=trial.order,
            baseline=trial.baseline,
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

        def pass_on(event: TestEvent) -> None:
            self._tell(trial, phase, test=event)

        try:
            mount = self._hands.open(one.options, one.read_ahead_kb, self._token)
        except CancelledError:
            raise
        except AppError as error:
            return _failed(outcome, error)
        other = _differing(one, mount)
        outcome = msgspec.structs.replace(
            outcome,
            effective=mount.effective,
            figures={trials.MOUNT_S: mount.mount_s},
            state="mismatch" if other else "ok",
            note=other,
        )
        try:
            result = mount.run_test(spec_of(work, one.levels), self._token, pass_on, self._hands.link)
        except AppError as error:
            if isinstance(error, CancelledError):
                mount.abandon()
                raise
            self._close(mount)
            return _failed(outcome, error)
        except BaseException:
            mount.abandon()
            raise
        return _finished(outcome, result, self._close(mount))

    def _close(self, mount: OpenMount) -> Closing | None:
        """Unmount, unless cancelled meanwhile; None if the helper is gone, and the mount with it."""
        future = run_in_thread("experiment-close", mount.close)
        over = threading.Event()
        future.add_done_callback(lambda _future: over.set())
        self._token.on_cancel(over.set)
        over.wait()
        if not future.done():
            in_background("experiment-close", lambda: _wait_for(future))
            self._token.check()
        try:
            return future.result()
        except AppError:
            return None

    def _tell(
        self, trial: Trial, phase: Phase, *, test: TestEvent | None = None, outcome: Outcome | None = None
    ) -> None:
        event = ExperimentEvent(
            phase=phase,
            number=len(self._outcomes) + (phase != "done"),
            total=len(self._trials),
            eta_s=self._eta_s(),
            levels=self._plan.sets[trial.set].levels,
            workload=self._plan.experiment.workloads[trial.work].name,
            test=test,
            outcome=outcome,
        )
        self._emit(event)

    def _expected_s(self, trial: Trial) -> float:
        return self._plan.sets[trial.set].seconds[trial.work]

    def _pace(self) -> float:
        """Return how much slower than planned the trials are."""
        return self._took_s / self._planned_s if self._planned_s else 1.0

    def _eta_s(self) -> float:
        return self._pace() * sum(self._expected_s(trial) for trial in self._left)

    def _fits(self, trial: Trial, budget_s: float) -> bool:
        spent = self._hands.now() - self._began
        return spent + self._pace() * self._expected_s(trial) <= budget_s


def _differing(one: PlannedSet, mount: OpenMount) -> str:
    """Return what is in use otherwise than when the set was tried, as a sentence, or ""."""
    names = sorted((one.effective.keys() | mount.effective.keys()) - VOLATILE)
    pairs = [(name, one.effective.get(name, ""), mount.effective.get(name, "")) for name in names]
    if one.read_ahead_kb is not None:
        pairs.append(("read_ahead_kb", str(one.read_ahead_kb), str(mount.read_ahead_kb)))
    differing = [f"{name} is {found or 'absent'} instead of {wanted or 'absent'}"
                 for name, wanted, found in pairs if wanted != found]  # fmt: skip
    return f"Not mounted as planned: {', '.join(differing)}." if differing else ""


def _wait_for(closing: Future[Closing]) -> None:
    with contextlib.suppress(TimeoutError):
        closing.exception(_CLOSING_S)


def _failed(outcome: Outcome, error: AppError) -> Outcome:
    return msgspec.structs.replace(outcome, state="failed", note=error.message)


def _finished(outcome: Outcome, result: TestResult, closing: Closing | None) -> Outcome:
    """Return the outcome with its figures."""
    figures = dict(outcome.figures)
    notes = [outcome.note] if outcome.note else []
    write, read = result.write, result.read
    if write is not None:
        figures |= {
            trials.WRITE: write.bytes_per_s,
            trials.WRITE_BYTES: write.bytes,
            trials.WRITE_S: write.transfer_s,
            trials.WRITE_SYNC_S: write.fsync_s + write.close_s,
            trials.WRITE_TIMEOUTS: write.timeouts,
            **_known({trials.WRITE_RTT_S: write.mean_rtt_s}),
        }
    if read is not None and read.cached:
        notes.append(result.cache.note if result.cache is not None else "The read came from the cache.")
    elif read is not None:
        figures |= {
            trials.READ: read.bytes_per_s,
            trials.READ_BYTES: read.bytes,
            trials.READ_S: read.transfer_s + read.close_s,
            trials.READ_TIMEOUTS: read.timeouts,
            **_known({trials.READ_RTT_S: read.mean_rtt_s}),
        }
    for name in (trials.CREATE, trials.STAT, trials.DELETE):
        if name in result.figures:
            figures[name] = result.figures[name].median
    if closing is None or closing.unmount_s is None:
        notes.append("How long unmounting took is not known: the server or the helper did not answer.")
    if closing is not None:
        figures |= _known({trials.SYNC_S: closing.sync_s, trials.UNMOUNT_S: closing.unmount_s})
    transfers = [transfer for transfer in (write, read) if transfer is not None]
    return msgspec.structs.replace(
        outcome,
        figures=figures,
        timeouts=sum(transfer.timeouts for transfer in transfers),
        retransmissions=sum(transfer.retransmissions for transfer in transfers),
        note=" ".join(notes),
    )


def _known(figures: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if value is not None}
