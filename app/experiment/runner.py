"""Experiment runner: the trials of a plan in random order, each on a fresh private mount.

A trial mounts the share, checks the options in use, runs the test and unmounts. Every failure except
cancelling becomes the trial's outcome. Each outcome is reported at once.
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

#: Number of consecutive failures after which a known good set is tried, to see whether the server answers.
MAX_FAILURES_IN_A_ROW = 3


def run_experiment(
    args: ExperimentRunArgs,
    context: ExperimentContext,
    token: CancelToken,
    emit: Callable[[ExperimentEvent], None],
) -> ExperimentResult:
    """Run the remaining trials of a plan.

    A failed trial is a valid outcome with a reason. After MAX_FAILURES_IN_A_ROW of them the run ends if a set
    that worked before fails, too. No mount remains, however the run ends.

    Args:
        args: plan, outcomes so far, and time limit.
        context: access to mounts, facts and clock.
        token: cancels the run within 200 ms; the outcomes reported before stay valid.
        emit: receives progress, samples and outcomes, on this thread.

    Raises:
        CancelledError: if the token is set.
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
        self._remaining = [trial for trial in self._trials if trial.order not in orders]
        # Trials missing before the last finished one have failed; they are repeated after all others.
        self._remaining.sort(key=lambda trial: trial.order < last)
        self._began = context.now()
        #: Planned and actual duration of the trials of this part of the run, s.
        self._planned_s = self._took_s = 0.0

    def result(self) -> ExperimentResult:
        stopped = ""
        if self._remaining:
            self._warm_up()
            stopped = self._run_remaining()
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
        """Run each workload once with the baseline, and discard the measurements."""
        for work in range(len(self._plan.experiment.workloads)):
            trial = Trial(-1, 0, 0, work, baseline=True)
            self._report(trial, "warm-up")
            self._run_timed(trial, "warm-up")

    def _run_remaining(self) -> str:
        """Run the remaining trials; return why not all were run, or ""."""
        failed = 0
        while self._remaining:
            trial = self._remaining[0]
            self._token.check()
            if self._budget_s is not None and not self._fits(trial, self._budget_s):
                return "The time that was allowed is over; it can be resumed."
            self._report(trial, "trial")
            outcome = self._run_timed(trial, "trial")
            self._outcomes.append(outcome)
            del self._remaining[0]
            self._report(trial, "done", outcome=outcome)
            failed = failed + 1 if outcome.state == "failed" else 0
            if failed == MAX_FAILURES_IN_A_ROW:
                if not self._server_answers():
                    return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
                failed = 0
        return ""

    def _server_answers(self) -> bool:
        """Repeat the last successful trial, to distinguish failing sets from a failing server."""
        last_ok = next((one.order for one in reversed(self._outcomes) if one.state == "ok"), None)
        trial = self._trials[0 if last_ok is None else last_ok]
        self._report(trial, "warm-up")
        return self._run_timed(trial, "warm-up").state != "failed"

    def _run_timed(self, trial: Trial, phase: ExperimentPhase) -> TrialOutcome:
        began = self._context.now()
        outcome = self._run(trial, phase)
        if outcome.state != "failed":
            self._took_s += self._context.now() - began
            self._planned_s += self._expected_s(trial)
        return outcome

    def _run(self, trial: Trial, phase: ExperimentPhase) -> TrialOutcome:
        work = self._plan.experiment.workloads[trial.work]
        empty_outcome = TrialOutcome(
            levels=self._plan.sets[trial.set].levels,
            workload=work.name,
            block=trial.block,
            order=trial.order,
            baseline=trial.baseline,
        )

        def tell(event: TestEvent) -> None:
            self._report(trial, phase, test=event)

        return run_trial(
            self._plan.sets[trial.set], work, empty_outcome, TrialContext(self._context, self._token, tell)
        )

    def _report(
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

    def _slowdown(self) -> float:
        """Return the ratio of actual to planned duration of the trials."""
        return self._took_s / self._planned_s if self._planned_s else 1.0

    def _eta_s(self) -> float:
        return self._slowdown() * sum(self._expected_s(trial) for trial in self._remaining)

    def _fits(self, trial: Trial, budget_s: float) -> bool:
        spent = self._context.now() - self._began
        return spent + self._slowdown() * self._expected_s(trial) <= budget_s


def continue_always(_event: TestEvent) -> bool:
    """Continue every trial: a `give_up` function that always returns False."""
    return False


class TrialContext(NamedTuple):
    """Environment of a trial.

    Attributes:
        context: access to mounts, facts and clock.
        token: cancels the trial.
        tell: receives the events of the test.
        give_up: receives the same events, and returns True to stop the trial early.
    """

    context: ExperimentContext
    token: CancelToken
    tell: Callable[[TestEvent], None]
    give_up: Callable[[TestEvent], bool] = continue_always


def run_trial(
    option_set: OptionSet, work: WorkloadSpec, empty_outcome: TrialOutcome, trial_context: TrialContext
) -> TrialOutcome:
    """Run a trial.

    Args:
        option_set: option set; its options in use are checked if they are known.
        work: workload to run.
        empty_outcome: outcome without figures.
        trial_context: experiment, token and listeners.

    Returns:
        the outcome, with the state "skipped" if the trial was stopped early.

    Raises:
        CancelledError: if the token is set; unmounting then continues in the background.
    """
    began = trial_context.context.now()
    empty_outcome = msgspec.structs.replace(
        empty_outcome, started_at=datetime.now(UTC).isoformat(timespec="seconds")
    )
    outcome = _run_trial(option_set, work, empty_outcome, trial_context)
    took_s = trial_context.context.now() - began
    return msgspec.structs.replace(outcome, figures=outcome.figures | {measurements.TRIAL_S: took_s})


def _run_trial(
    option_set: OptionSet, work: WorkloadSpec, empty_outcome: TrialOutcome, trial_context: TrialContext
) -> TrialOutcome:
    context, token = trial_context.context, trial_context.token
    try:
        mount = context.open(option_set.options, option_set.read_ahead_kb, token)
    except CancelledError:
        raise
    except AppError as error:
        return _failed_outcome(empty_outcome, error)
    mismatch = _mismatch_text(option_set, mount)
    outcome = msgspec.structs.replace(
        empty_outcome,
        effective=mount.effective,
        figures={measurements.MOUNT_S: mount.mount_s},
        state="mismatch" if mismatch else "ok",
        note=mismatch,
    )
    test_token = CancelToken()

    def handle_event(event: TestEvent) -> None:
        trial_context.tell(event)
        if trial_context.give_up(event):
            test_token.cancel()

    try:
        with token.on_cancel(test_token.cancel):
            result = mount.run_test(
                trial_spec(work, option_set.levels), test_token, handle_event, context.link, round_trip=False
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
    """Unmount and return the durations; None if the helper has ended, which unmounts as well."""
    try:
        return wait_unless_cancelled(mount.close, token, mount)
    except CancelledError:
        raise
    except AppError:
        return None


def _mismatch_text(option_set: OptionSet, mount: OpenMount) -> str:
    """Return a sentence on options in use that differ from those at probing, or ""."""
    known = option_set.effective.keys() | (mount.effective.keys() if option_set.whole else ())
    names = sorted(known - VOLATILE_OPTIONS)
    pairs = [(name, option_set.effective.get(name, ""), mount.effective.get(name, "")) for name in names]
    if option_set.read_ahead_kb is not None:
        pairs.append(("read_ahead_kb", str(option_set.read_ahead_kb), str(mount.read_ahead_kb)))
    differing = [f"{name} is {in_use or 'absent'} instead of {planned or 'absent'}"
                 for name, planned, in_use in pairs if planned != in_use]  # fmt: skip
    return f"Not mounted as planned: {', '.join(differing)}." if differing else ""


def _failed_outcome(outcome: TrialOutcome, error: AppError) -> TrialOutcome:
    return msgspec.structs.replace(outcome, state="failed", note=error.message)


def _finished_outcome(
    outcome: TrialOutcome, result: TestResult, closing: UnmountTiming | None
) -> TrialOutcome:
    """Return the outcome with figures and notes."""
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
