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
from advisor.message import Message, message
from app.errors import AppError, CancelledError
from app.experiment.design import Trial, schedule_trials
from app.experiment.factors import trial_spec
from app.experiment.feasibility import VOLATILE_OPTIONS
from app.experiment.model import ExperimentEvent, ExperimentResult, StopReason
from app.speedtest.cleanup import wait_unless_cancelled
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


class NextTrial(NamedTuple):
    """Trial to run next.

    Attributes:
        phase: phase of the run that it belongs to.
        number: number of the trial in its phase, from 1.
        total: number of trials of its phase, 0 if unknown.
        option_set: option set; its options in use are checked if they are known.
        work: workload to run.
        outcome: outcome without figures.
    """

    phase: ExperimentPhase
    number: int
    total: int
    option_set: OptionSet
    work: WorkloadSpec
    outcome: TrialOutcome


class TrialLoop:
    """Runs trials one after the other and reports them; a subclass chooses the next trial.

    Args:
        context: access to mounts, facts and clock.
        token: cancels the run.
        emit: receives progress, samples and outcomes.
        done: outcomes of earlier parts of the run.
    """

    def __init__(
        self,
        context: ExperimentContext,
        token: CancelToken,
        emit: Callable[[ExperimentEvent], None],
        done: Sequence[TrialOutcome],
    ) -> None:
        self._context = context
        self._token = token
        self._emit = emit
        self._outcomes = list(done)
        self._began = context.now()
        #: Why the run ended early, None if it did not.
        self._stopped: Message | None = None

    def _next(self) -> NextTrial | None:
        """Return the trial to run next, None at the end."""
        raise NotImplementedError

    def _finished(self, trial: NextTrial, outcome: TrialOutcome) -> TrialOutcome:
        """Note that a trial has ended, before its outcome is reported; return the outcome to report."""
        raise NotImplementedError

    def _good_trial(self) -> NextTrial:
        """Return the last trial that succeeded, as a warm-up."""
        raise NotImplementedError

    def _eta_s(self) -> float:
        """Return the estimated time to the end of the run, s."""
        raise NotImplementedError

    def _run_trials(self) -> None:
        """Run trials until there is no next one, or the server seems not to answer."""
        failed = 0
        while not self._stopped and (trial := self._next()) is not None:
            self._token.check()
            outcome = self._finished(trial, self._run_one(trial))
            self._outcomes.append(outcome)
            self._report(trial, outcome=outcome)
            failed = failed + 1 if outcome.state == "failed" else 0
            # Repeating a trial that succeeded distinguishes failing sets from a failing server.
            if failed == MAX_FAILURES_IN_A_ROW:
                if self._run_one(self._good_trial()).state == "failed":
                    self._stopped = message(StopReason.FAILURES, count=failed, problem=outcome.note)
                failed = 0

    def _run_one(self, trial: NextTrial) -> TrialOutcome:
        """Run a trial; return its outcome."""
        return self._run(trial, lambda _event: False)

    def _run(self, trial: NextTrial, give_up: Callable[[TestEvent], bool]) -> TrialOutcome:
        def watch(event: TestEvent) -> bool:
            self._report(trial, test=event)
            return give_up(event)

        self._report(trial)
        return run_trial(trial, self._context, self._token, watch)

    def _report(
        self, trial: NextTrial, *, test: TestEvent | None = None, outcome: TrialOutcome | None = None
    ) -> None:
        event = ExperimentEvent(
            phase="done" if outcome is not None else trial.phase,
            number=trial.number,
            total=trial.total,
            eta_s=self._eta_s(),
            levels=trial.option_set.levels,
            workload=trial.work.name,
            test=test,
            outcome=outcome,
        )
        self._emit(event)


class _ExperimentRun(TrialLoop):
    """One run from start to end."""

    def __init__(
        self,
        args: ExperimentRunArgs,
        context: ExperimentContext,
        token: CancelToken,
        emit: Callable[[ExperimentEvent], None],
    ) -> None:
        super().__init__(context, token, emit, args.done)
        self._plan = args.plan
        self._budget_s = args.budget_s
        self._trials = schedule_trials(args.plan)
        orders = {outcome.order for outcome in args.done}
        last = max(orders, default=-1)
        self._remaining = [trial for trial in self._trials if trial.order not in orders]
        # Trials missing before the last finished one have failed; they are repeated after all others.
        self._remaining.sort(key=lambda trial: trial.order < last)
        #: Planned and actual duration of the trials of this part of the run, s.
        self._planned_s = self._took_s = 0.0

    def result(self) -> ExperimentResult:
        if self._remaining:
            for work in range(len(self._plan.experiment.workloads)):
                self._run_one(self._trial(Trial(-1, 0, 0, work, baseline=True), "warm-up"))
            self._run_trials()
        outcomes = self._outcomes
        return ExperimentResult(
            done=len(outcomes),
            planned=len(self._trials),
            failed=sum(outcome.state == "failed" for outcome in outcomes),
            mismatched=sum(outcome.state == "mismatch" for outcome in outcomes),
            stopped=self._stopped,
            drift=baseline_drifts(outcomes, (measurements.WRITE, measurements.READ)),
            seconds=self._context.now() - self._began,
        )

    def _trial(self, trial: Trial, phase: ExperimentPhase) -> NextTrial:
        option_set = self._plan.sets[trial.set]
        work = self._plan.experiment.workloads[trial.work]
        outcome = TrialOutcome(
            levels=option_set.levels,
            workload=work.name,
            block=trial.block,
            order=trial.order,
            baseline=trial.baseline,
        )
        return NextTrial(phase, len(self._outcomes) + 1, len(self._trials), option_set, work, outcome)

    def _next(self) -> NextTrial | None:
        if not self._remaining:
            return None
        trial = self._remaining[0]
        spent = self._context.now() - self._began
        if (
            self._budget_s is not None
            and spent + self._slowdown() * self._plan.sets[trial.set].seconds[trial.work] > self._budget_s
        ):
            self._stopped = message(StopReason.TIME_LIMIT)
            return None
        return self._trial(trial, "trial")

    def _run_one(self, trial: NextTrial) -> TrialOutcome:
        outcome = super()._run_one(trial)
        if outcome.state != "failed":
            self._took_s += outcome.figures[measurements.TRIAL_S]
            work = self._plan.experiment.workloads.index(trial.work)
            self._planned_s += trial.option_set.seconds[work]
        return outcome

    def _finished(self, trial: NextTrial, outcome: TrialOutcome) -> TrialOutcome:
        del self._remaining[0]
        return outcome

    def _good_trial(self) -> NextTrial:
        last_ok = next((one.order for one in reversed(self._outcomes) if one.state == "ok"), 0)
        return self._trial(self._trials[last_ok], "warm-up")

    def _slowdown(self) -> float:
        """Return the ratio of actual to planned duration of the trials."""
        return self._took_s / self._planned_s if self._planned_s else 1.0

    def _eta_s(self) -> float:
        expected_s = sum(self._plan.sets[trial.set].seconds[trial.work] for trial in self._remaining)
        return self._slowdown() * expected_s


def run_trial(
    trial: NextTrial, context: ExperimentContext, token: CancelToken, watch: Callable[[TestEvent], bool]
) -> TrialOutcome:
    """Run a trial.

    Args:
        trial: option set, workload, and outcome without figures.
        context: access to mounts, facts and clock.
        token: cancels the trial.
        watch: receives the events of the test, and returns True to stop the trial early.

    Returns:
        the outcome, with the state "skipped" if the trial was stopped early.

    Raises:
        CancelledError: if the token is set; unmounting then continues in the background.
    """
    began = context.now()
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    outcome = _run_trial(
        trial._replace(outcome=msgspec.structs.replace(trial.outcome, started_at=started_at)),
        context,
        token,
        watch,
    )
    took_s = context.now() - began
    return msgspec.structs.replace(outcome, figures=outcome.figures | {measurements.TRIAL_S: took_s})


def _run_trial(
    trial: NextTrial, context: ExperimentContext, token: CancelToken, watch: Callable[[TestEvent], bool]
) -> TrialOutcome:
    option_set = trial.option_set
    try:
        mount = context.open(option_set.options, option_set.read_ahead_kb, token)
    except CancelledError:
        raise
    except AppError as error:
        return _failed_outcome(trial.outcome, error)
    mismatch = _mismatch_text(option_set, mount)
    outcome = msgspec.structs.replace(
        trial.outcome,
        effective=mount.effective,
        figures={measurements.MOUNT_S: mount.mount_s},
        state="mismatch" if mismatch else "ok",
        note=mismatch,
    )
    test_token = CancelToken()

    def handle_event(event: TestEvent) -> None:
        if watch(event):
            test_token.cancel()

    try:
        with token.on_cancel(test_token.cancel):
            spec = trial_spec(trial.work, option_set.levels)
            result = mount.run_test(spec, test_token, handle_event, context.link, round_trip=False)
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
