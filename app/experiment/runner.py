"""Experiment runner: the trials of a plan in random order, each on a fresh private mount.

A trial is mounted, checked, tested and unmounted; every failure but cancelling becomes its outcome, and each
outcome is reported at once.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.experiment import measurements
from advisor.experiment.measurements import TrialOutcome
from advisor.experiment.ranking import baseline_drifts
from app.errors import AppError
from app.experiment.design import Trial, schedule_trials
from app.experiment.factors import trial_spec
from app.experiment.feasibility import VOLATILE_OPTIONS
from app.experiment.model import ExperimentEvent, ExperimentResult
from app.speedtest.cleanup import wait_unless_cancelled
from app.tasks import CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.experiment.context import ExperimentContext, OpenMount
    from app.experiment.model import ExperimentPhase, ExperimentRunArgs, OptionSet, WorkloadSpec
    from app.speedtest.model import TestEvent, TestResult
    from app.speedtest.private_mount import UnmountTiming

#: After so many failures in a row it is seen whether the server, or the way to it, is gone.
MAX_FAILURES_IN_A_ROW = 3


def run_experiment(
    args: ExperimentRunArgs,
    context: ExperimentContext,
    token: CancelToken,
    emit: Callable[[ExperimentEvent], None],
) -> ExperimentResult:
    """Run what is left of a plan.

    A trial that fails is an outcome like any other, with the reason in it; FAILED_IN_A_ROW of them end the
    run, if what went well before fails as well then. Nothing of it stays mounted, however it ends.

    Args:
        args: the plan, what is done already, and the time.
        context: how it mounts, the facts, the clock.
        token: ends the run within 200 ms; the outcomes told until then are good.
        emit: gets progress, samples and outcomes, on this thread.

    Raises:
        CancelledError: when the token is set.
    """
    return _ExperimentRun(args, context, token, emit).result()


class _ExperimentRun:
    """One run from start to end."""

    def __init__(
        self,
        args: ExperimentRunArgs,
        context: ExperimentContext,
        token: CancelToken,
        emit: Callable[[ExperimentEvent], None],
    ) -> None:
        self._plan = args.plan
        self._budget_s = args.budget_s
        self._context = context
        self._token = token
        self._emit = emit
        self._trials = schedule_trials(args.plan)
        self._outcomes = list(args.done)
        orders = {outcome.order for outcome in args.done}
        last = max(orders, default=-1)
        self._left = [trial for trial in self._trials if trial.order not in orders]
        # What is missing before the last one that is done has failed: it waits until all others have run.
        self._left.sort(key=lambda trial: trial.order < last)
        self._began = context.now()
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
            drift=baseline_drifts(outcomes, (measurements.WRITE, measurements.READ)),
            seconds=self._context.now() - self._began,
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
            if failed == MAX_FAILURES_IN_A_ROW:
                if not self._answers():
                    return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
                failed = 0
        return ""

    def _answers(self) -> bool:
        """Try again what went well last: whether it is the sets that fail, and not the server."""
        well = next((one.order for one in reversed(self._outcomes) if one.state == "ok"), None)
        trial = self._trials[0 if well is None else well]
        self._tell(trial, "warm-up")
        return self._timed(trial, "warm-up").state != "failed"

    def _timed(self, trial: Trial, phase: ExperimentPhase) -> TrialOutcome:
        began = self._context.now()
        outcome = self._try(trial, phase)
        if outcome.state != "failed":
            self._took_s += self._context.now() - began
            self._planned_s += self._expected_s(trial)
        return outcome

    def _try(self, trial: Trial, phase: ExperimentPhase) -> TrialOutcome:
        work = self._plan.experiment.workloads[trial.work]
        begun = TrialOutcome(
            levels=self._plan.sets[trial.set].levels,
            workload=work.name,
            block=trial.block,
            order=trial.order,
            baseline=trial.baseline,
        )

        def tell(event: TestEvent) -> None:
            self._tell(trial, phase, test=event)

        return run_trial(
            self._plan.sets[trial.set], work, begun, TrialContext(self._context, self._token, tell)
        )

    def _tell(
        self,
        trial: Trial,
        phase: ExperimentPhase,
        *,
        test: TestEvent | None = None,
        outcome: TrialOutcome | None = None,
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
        spent = self._context.now() - self._began
        return spent + self._pace() * self._expected_s(trial) <= budget_s


def continue_always(_event: TestEvent) -> bool:
    """Give no trial up."""
    return False


class TrialContext(NamedTuple):
    """What a trial runs in.

    Attributes:
        context: how it mounts, the facts, the clock.
        token: cancels it.
        tell: gets what the test says.
        give_up: looks at the same, and returns whether the trial need not go on.
    """

    context: ExperimentContext
    token: CancelToken
    tell: Callable[[TestEvent], None]
    give_up: Callable[[TestEvent], bool] = continue_always


def run_trial(
    one: OptionSet, work: WorkloadSpec, begun: TrialOutcome, trial_context: TrialContext
) -> TrialOutcome:
    """Run a trial.

    Args:
        one: the option set; its values in use are compared if they are known.
        work: what is copied.
        begun: the outcome without figures.
        trial_context: experiment, token and listeners.

    Returns:
        the outcome; a trial that was given up is "skipped".

    Raises:
        CancelledError: when the token is set. The mount goes in the background then.
    """
    began = trial_context.context.now()
    begun = msgspec.structs.replace(begun, started_at=datetime.now(UTC).isoformat(timespec="seconds"))
    outcome = _run_trial(one, work, begun, trial_context)
    took_s = trial_context.context.now() - began
    return msgspec.structs.replace(outcome, figures=outcome.figures | {measurements.TRIAL_S: took_s})


def _run_trial(
    one: OptionSet, work: WorkloadSpec, begun: TrialOutcome, trial_context: TrialContext
) -> TrialOutcome:
    context, token = trial_context.context, trial_context.token
    try:
        mount = context.open(one.options, one.read_ahead_kb, token)
    except CancelledError:
        raise
    except AppError as error:
        return _failed_outcome(begun, error)
    other = _mismatch_text(one, mount)
    outcome = msgspec.structs.replace(
        begun,
        effective=mount.effective,
        figures={measurements.MOUNT_S: mount.mount_s},
        state="mismatch" if other else "ok",
        note=other,
    )
    own = CancelToken()

    def pass_on(event: TestEvent) -> None:
        trial_context.tell(event)
        if trial_context.give_up(event):
            own.cancel()

    try:
        with token.on_cancel(own.cancel):
            result = mount.run_test(
                trial_spec(work, one.levels), own, pass_on, context.link, round_trip=False
            )
    except AppError as error:
        if token.cancelled:
            mount.abandon()
            cancelled = CancelledError()
            cancelled.remains = error.remains
            raise cancelled from error
        _close_mount(mount, token)
        if isinstance(error, CancelledError):
            return msgspec.structs.replace(
                outcome, state="skipped", note="Given up on the way: it could not win any more."
            )
        return _failed_outcome(outcome, error)
    except BaseException:
        mount.abandon()
        raise
    return _finished_outcome(outcome, result, _close_mount(mount, token))


def _close_mount(mount: OpenMount, token: CancelToken) -> UnmountTiming | None:
    """Unmount, unless cancelled meanwhile; None if the helper is gone, and the mount with it."""
    try:
        return wait_unless_cancelled(mount.close, token, mount)
    except CancelledError:
        raise
    except AppError:
        return None


def _mismatch_text(one: OptionSet, mount: OpenMount) -> str:
    """Return what is in use otherwise than when the set was tried, as a sentence, or ""."""
    known = one.effective.keys() | (mount.effective.keys() if one.whole else ())
    names = sorted(known - VOLATILE_OPTIONS)
    pairs = [(name, one.effective.get(name, ""), mount.effective.get(name, "")) for name in names]
    if one.read_ahead_kb is not None:
        pairs.append(("read_ahead_kb", str(one.read_ahead_kb), str(mount.read_ahead_kb)))
    differing = [f"{name} is {found or 'absent'} instead of {wanted or 'absent'}"
                 for name, wanted, found in pairs if wanted != found]  # fmt: skip
    return f"Not mounted as planned: {', '.join(differing)}." if differing else ""


def _failed_outcome(outcome: TrialOutcome, error: AppError) -> TrialOutcome:
    return msgspec.structs.replace(outcome, state="failed", note=error.message)


def _finished_outcome(
    outcome: TrialOutcome, result: TestResult, closing: UnmountTiming | None
) -> TrialOutcome:
    """Return the outcome with its figures."""
    figures = dict(outcome.figures)
    notes = [outcome.note] if outcome.note else []
    write, read = result.write, result.read
    if write is not None:
        figures |= {
            measurements.WRITE: write.bytes_per_s,
            measurements.WRITE_BYTES: write.bytes,
            measurements.WRITE_S: write.transfer_s,
            measurements.WRITE_SYNC_S: write.fsync_s + write.close_s,
            measurements.WRITE_TIMEOUTS: write.timeouts,
            **_known_figures({measurements.WRITE_RTT_S: write.mean_rtt_s}),
        }
    if read is not None and read.cached:
        notes.append(result.cache.note if result.cache is not None else "The read came from the cache.")
    elif read is not None:
        figures |= {
            measurements.READ: read.bytes_per_s,
            measurements.READ_BYTES: read.bytes,
            measurements.READ_S: read.transfer_s + read.close_s,
            measurements.READ_TIMEOUTS: read.timeouts,
            **_known_figures({measurements.READ_RTT_S: read.mean_rtt_s}),
        }
    for name in (measurements.CREATE, measurements.STAT, measurements.DELETE):
        if name in result.figures:
            figures[name] = result.figures[name].median
    if closing is None or closing.unmount_s is None:
        notes.append("How long unmounting took is not known: the server or the helper did not answer.")
    if closing is not None:
        figures |= _known_figures(
            {measurements.SYNC_S: closing.sync_s, measurements.UNMOUNT_S: closing.unmount_s}
        )
    transfers = [transfer for transfer in (write, read) if transfer is not None]
    return msgspec.structs.replace(
        outcome,
        figures=figures,
        timeouts=sum(transfer.timeouts for transfer in transfers),
        retransmissions=sum(transfer.retransmissions for transfer in transfers),
        note=" ".join(notes),
    )


def _known_figures(figures: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if value is not None}
