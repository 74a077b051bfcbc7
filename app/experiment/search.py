"""Search for the fastest option set of a share within a time; each trial on a private mount.

At the end the winner and the present settings run alternately (advisor.retest), because the best of many
noisy measurements owes its rank partly to chance. A search can be resumed, and its result so far can be
computed from the stored outcomes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.experiment.measurements import PROJECTED_SPEED, TRIAL_S, TrialOutcome
from advisor.experiment.search import MIN_RETEST_ROUNDS, RETEST_ROUNDS, evaluate_retest
from app.errors import AppError, ErrorKind
from app.experiment.model import SEARCH_NAME, BestSettings, ExperimentEvent, counted_outcomes
from app.experiment.runner import MAX_FAILURES_IN_A_ROW, TrialContext, run_trial
from app.experiment.search_space import plan_search
from app.experiment.search_state import max_search_trials, max_trials, replay, retest_share, search_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.experiment.search import Retest, SearchConclusion
    from app.experiment.context import ExperimentContext
    from app.experiment.model import (
        ExperimentPhase,
        ExperimentPlan,
        ExperimentRunArgs,
        OptionSet,
        SearchArgs,
    )
    from app.speedtest.model import TestEvent
    from app.tasks import CancelToken


def run_search(
    args: SearchArgs, context: ExperimentContext, token: CancelToken, emit: Callable[[ExperimentEvent], None]
) -> BestSettings:
    """Run a search; infeasible levels and pairs of levels are excluded before.

    Args:
        args: arguments of the search.
        context: access to mounts, facts and clock.
        token: cancels the search within 200 ms; the outcomes reported before stay valid, and it can be
            resumed.
        emit: receives plan, progress, samples and outcomes, on this thread.

    Raises:
        AppError: if nothing can be mounted or measured.
        CancelledError: if the token is set.
    """
    plan = plan_search(args, context, token, emit)
    emit(ExperimentEvent(phase="warm-up", number=0, total=0, plan=plan))
    return _SearchRun(plan, [], None, TrialContext(context, token, _ignore_event), emit).result()


def resume_search(
    args: ExperimentRunArgs,
    context: ExperimentContext,
    token: CancelToken,
    emit: Callable[[ExperimentEvent], None],
) -> BestSettings:
    """Resume a search that was cancelled or died; return the result again if it has finished.

    Args:
        args: plan as reported, all outcomes, and the time limit, by default the search's remaining time.
        context: access to mounts, facts and clock.
        token: cancels the search within 200 ms; it can be resumed again.
        emit: receives progress, samples and outcomes, on this thread.

    Raises:
        AppError: USAGE if the plan is not that of a search; otherwise as for run_search.
        CancelledError: if the token is set.
    """
    if args.plan.experiment.recipe != SEARCH_NAME:
        raise AppError(ErrorKind.USAGE, "This is no search.", hint="Run it as an experiment.")
    done = counted_outcomes(args.done)
    return _SearchRun(
        args.plan, done, args.budget_s, TrialContext(context, token, _ignore_event), emit
    ).result()


def _ignore_event(_test: TestEvent) -> None:
    """Ignore an event; `_run_trial` replaces this listener for each trial."""


class _SearchRun:
    """One search, or a part of one, from start to end."""

    def __init__(
        self,
        plan: ExperimentPlan,
        done: Sequence[TrialOutcome],
        budget_s: float | None,
        trial_context: TrialContext,
        emit: Callable[[ExperimentEvent], None],
    ) -> None:
        self._plan = plan
        self._work = plan.experiment.workloads[0]
        self._trial_context = trial_context
        self._context = trial_context.context
        self._emit = emit
        self._began = trial_context.context.now()
        costs = [outcome.figures.get(TRIAL_S, 0.0) for outcome in done]
        self._longest_s = max(costs, default=0.0)
        #: Note of the last trial's outcome.
        self._last_note = ""
        self._done = list(done)
        if budget_s is None:
            self._allowed_s = (done[-1].left_s or 0.0) if done else plan.seconds
            self._budget_s = plan.seconds
        else:
            self._allowed_s = budget_s
            self._budget_s = sum(costs) + budget_s
        self._state = replay(plan, done, self._budget_s, trial_context.token.check)
        #: Whether an earlier part exists whose time limit already included a warm-up.
        self._resumed = bool(done) and budget_s is None
        self._number = done[-1].order + 1 if done else 0
        #: Maximum number of trials by the byte limit, without the warm-up; 0 for no limit.
        self._max_trials = max_trials(plan)
        self._max_search_trials = max_search_trials(plan)
        #: Number of rounds of the re-test to run.
        self._rounds = 0
        #: Whether the search proper ended in an earlier part, so that only the re-test remains.
        self._search_finished = budget_s is None and any(outcome.retest for outcome in done)

    def result(self) -> BestSettings:
        stopped = ""
        self._rounds = self._remaining_rounds()
        if self._has_budget() or self._rounds:
            warm_up = self._run_trial(self._plan.sets[0], -1, "warm-up")
            if self._resumed:
                # Otherwise the warm-up after each resumption would use up the remaining time for a trial.
                self._allowed_s += warm_up.figures[TRIAL_S]
            stopped = self._run() or self._retest()
        if stopped:
            self._state = replay(
                self._plan, counted_outcomes(self._done), self._budget_s, self._trial_context.token.check
            )
        try:
            answer = self._state.answer()
        except ValueError as error:
            raise AppError(
                ErrorKind.UNAVAILABLE,
                f"No trial gave a result. {stopped or self._last_note}".strip(),
                hint="See to the cause if one is told; otherwise allow more time.",
            ) from error
        return BestSettings(
            plan=self._plan,
            answer=answer,
            options=self._state.set_of(answer.winner.levels).options,
            read_ahead_kb=self._state.set_of(answer.winner.levels).read_ahead_kb,
            retest=retest_result(self._plan, counted_outcomes(self._done), answer),
            stopped=stopped,
            seconds=self._context.now() - self._began,
            struck=list(self._state.struck.values()),
        )

    def _run(self) -> str:
        """Run trials until the budget is spent or the winner decided; return why it ended early, or ""."""
        failed = 0
        # Evaluated once after each trial, so that the reported and the actual continuation agree.
        has_budget = self._has_budget()
        while has_budget:
            outcome = self._run_trial(self._state.next(), self._number, "trial")
            self._longest_s = max(self._longest_s, outcome.figures[TRIAL_S])
            self._last_note = outcome.note
            self._state.take(outcome)
            self._number += 1
            has_budget = self._has_budget()
            self._rounds = 0 if has_budget else self._remaining_rounds()
            continues = has_budget or bool(self._rounds)
            outcome = msgspec.structs.replace(
                outcome, left_s=max(self._remaining_s(), 1.0) if continues else 0.0
            )
            self._report("done", outcome.levels, outcome=outcome)
            self._done.append(outcome)
            failed = failed + 1 if outcome.state == "failed" else 0
            if failed == MAX_FAILURES_IN_A_ROW:
                if not self._server_answers():
                    return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
                failed = 0
        return ""

    def _retest(self) -> str:
        """Run the winner and the present settings alternately; return why it ended early, or ""."""
        pair = self._retest_pair()
        if pair is None:
            return ""
        trials = [one for turn in range(self._rounds) for one in (pair if turn % 2 else pair[::-1])]
        failed = 0
        for position, one in enumerate(trials, 1):
            outcome = self._run_trial(one, self._number, "retest", (position, len(trials)))
            self._number += 1
            remaining_s = 0.0 if position == len(trials) else max(self._remaining_s(), 1.0)
            outcome = msgspec.structs.replace(outcome, left_s=remaining_s, retest=True)
            self._report("done", outcome.levels, outcome=outcome, position=(position, len(trials)))
            self._done.append(outcome)
            failed = failed + 1 if outcome.state == "failed" else 0
            if failed == MAX_FAILURES_IN_A_ROW and not self._server_answers():
                return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
        return ""

    def _retest_pair(self) -> tuple[OptionSet, OptionSet] | None:
        """Return the winner and the present settings, None if they are the same or one is unknown."""
        present = self._plan.present
        try:
            levels = self._state.answer().winner.levels
        except ValueError:
            return None
        return None if present is None or levels == present.levels else (self._state.set_of(levels), present)

    def _remaining_rounds(self) -> int:
        """Return the number of re-test rounds still to be run, 0 if too few fit to show a difference."""
        pair = self._retest_pair()
        if pair is None:
            return 0
        ran = [one for one in counted_outcomes(self._done) if one.retest and one.state == "ok"]
        finished = min(sum(one.levels == each.levels for one in ran) for each in pair)
        rounds = min(RETEST_ROUNDS - finished, int(self._remaining_s() / (2 * self._typical_trial_s(pair))))
        if self._max_trials:
            rounds = min(rounds, (self._max_trials - self._number) // 2)
        return rounds if rounds > 0 and finished + rounds >= MIN_RETEST_ROUNDS else 0

    def _typical_trial_s(self, sets: Sequence[OptionSet]) -> float:
        """Return the mean duration of finished trials of these sets plus 10 % for variation, in seconds."""
        levels = [one.levels for one in sets]
        ran = [one for one in self._done if one.state == "ok" and TRIAL_S in one.figures]
        costs = [one.figures[TRIAL_S] for one in ran if one.levels in levels]
        costs = costs or [one.figures[TRIAL_S] for one in ran] or [self._plan.sets[0].seconds[0]]
        return max(1.1 * sum(costs) / len(costs), 1e-3)

    def _server_answers(self) -> bool:
        """Repeat the last successful trial, to distinguish failing sets from a failing server."""
        last_ok = next((one.levels for one in reversed(self._done) if one.state == "ok"), None)
        present = self._plan.present
        if last_ok is None:
            one = self._plan.sets[0]
        else:
            one = (
                present if present is not None and last_ok == present.levels else self._state.set_of(last_ok)
            )
        return self._run_trial(one, -1, "warm-up").state != "failed"

    def _run_trial(
        self, one: OptionSet, number: int, phase: ExperimentPhase, position: tuple[int, int] | None = None
    ) -> TrialOutcome:
        self._report(phase, one.levels, position=position)
        running = self._state.running(one)

        def tell(test: TestEvent) -> None:
            running.take(test)
            self._report(phase, one.levels, test=test, position=position)

        def give_up(_test: TestEvent) -> bool:
            return phase == "trial" and self._state.cannot_win(one, running)

        empty_outcome = TrialOutcome(levels=one.levels, workload=self._work.name, block=0, order=number)
        trial_context = self._trial_context._replace(tell=tell, give_up=give_up)
        outcome = run_trial(one, self._work, empty_outcome, trial_context)
        if outcome.state == "ok":
            self._state.learn(running, outcome)
        if outcome.state != "skipped":
            return outcome
        reached = {PROJECTED_SPEED: self._state.reached(running)}
        return msgspec.structs.replace(outcome, figures=outcome.figures | reached)

    def _report(
        self,
        phase: ExperimentPhase,
        levels: dict[str, str],
        *,
        test: TestEvent | None = None,
        outcome: TrialOutcome | None = None,
        position: tuple[int, int] | None = None,
    ) -> None:
        number, total = position or (self._number + (phase == "trial"), self._max_search_trials)
        self._emit(
            ExperimentEvent(
                phase=phase, number=number, total=total, eta_s=self._eta_s(), levels=levels,
                workload=self._work.name, test=test, outcome=outcome,
            )
        )  # fmt: skip

    def _has_budget(self) -> bool:
        """Return whether the budget suffices for another trial, and the winner is undecided."""
        if self._search_finished or (self._max_trials and self._number >= self._max_search_trials):
            return False
        reserved_s = retest_share(self._plan, self._budget_s, self._typical_trial_s([]))
        return not self._state.done and self._remaining_s() - reserved_s > self._longest_s

    def _eta_s(self) -> float:
        """Return the maximum time until the time or byte limit is reached, in seconds."""
        remaining_s = max(self._remaining_s(), 0.0)
        each_s = self._longest_s or self._plan.sets[0].seconds[0]
        return (
            min(remaining_s, each_s * (self._max_trials - self._number)) if self._max_trials else remaining_s
        )

    def _remaining_s(self) -> float:
        return self._allowed_s - (self._context.now() - self._began)


def retest_result(
    plan: ExperimentPlan, outcomes: Sequence[TrialOutcome], answer: SearchConclusion
) -> Retest | None:
    """Return the result of the re-test of a search's winner, None if there is none."""
    present = plan.present
    if present is None:
        return None
    return evaluate_retest(outcomes, answer.winner.levels, present.levels, search_figures(plan))


def search_result_to_date(plan: ExperimentPlan, outcomes: Sequence[TrialOutcome]) -> BestSettings | None:
    """Return the result of a search from its outcomes so far, None if no trial gave a figure.

    Args:
        plan: plan of the search.
        outcomes: outcomes of its trials so far.
    """
    valid = counted_outcomes(outcomes)
    state = replay(plan, valid, plan.seconds)
    try:
        answer = state.answer()
    except ValueError:
        return None
    winner = state.set_of(answer.winner.levels)
    return BestSettings(
        plan=plan,
        answer=answer,
        options=winner.options,
        read_ahead_kb=winner.read_ahead_kb,
        retest=retest_result(plan, valid, answer),
        struck=list(state.struck.values()),
    )
