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
from app.errors import AppError
from app.experiment.model import (
    SEARCH_NAME,
    BestSettings,
    ExperimentEvent,
    ExperimentRunArgs,
    counted_outcomes,
)
from app.experiment.runner import NextTrial, TrialLoop
from app.experiment.search_space import plan_search
from app.experiment.search_state import max_search_trials, max_trials, replay, retest_share, search_figures
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.experiment.conclusions import Retest, SearchConclusion
    from app.experiment.context import ExperimentContext
    from app.experiment.model import (
        ExperimentPhase,
        ExperimentPlan,
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
    return _SearchRun(ExperimentRunArgs(plan=plan), context, token, emit).result()


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
        raise AppError(ErrorCode.NOT_A_SEARCH)
    return _SearchRun(args, context, token, emit).result()


class _SearchRun(TrialLoop):
    """One search, or a part of one, from start to end."""

    def __init__(
        self,
        args: ExperimentRunArgs,
        context: ExperimentContext,
        token: CancelToken,
        emit: Callable[[ExperimentEvent], None],
    ) -> None:
        done, plan, budget_s = counted_outcomes(args.done), args.plan, args.budget_s
        super().__init__(context, token, emit, done)
        self._plan = plan
        self._work = plan.experiment.workloads[0]
        costs = [outcome.figures.get(TRIAL_S, 0.0) for outcome in done]
        self._longest_s = max(costs, default=0.0)
        #: Note of the last trial's outcome.
        self._last_note = ""
        if budget_s is None:
            self._allowed_s = (done[-1].left_s or 0.0) if done else plan.seconds
            self._budget_s = plan.seconds
        else:
            self._allowed_s = budget_s
            self._budget_s = sum(costs) + budget_s
        self._state = replay(plan, done, self._budget_s, token.check)
        #: Whether an earlier part exists whose time limit already included a warm-up.
        self._resumed = bool(done) and budget_s is None
        self._number = done[-1].order + 1 if done else 0
        #: Maximum number of trials by the byte limit, without the warm-up; 0 for no limit.
        self._max_trials = max_trials(plan)
        self._max_search_trials = max_search_trials(plan)
        #: Whether the search proper ended in an earlier part, so that only the re-test remains.
        self._search_finished = budget_s is None and any(outcome.retest for outcome in done)
        #: Whether another trial follows before the re-test. Evaluated once after each trial, so that the
        #: reported and the actual continuation agree.
        self._continues = False
        #: Number of trials of the re-test, 0 for none.
        self._retests = 0
        #: Sets of the re-test that are still to be run.
        self._retest: list[OptionSet] | None = None

    def result(self) -> BestSettings:
        self._retests = 2 * self._remaining_rounds()
        if self._has_budget() or self._retests:
            warm_up = self._run_one(self._trial(self._plan.sets[0], "warm-up"))
            if self._resumed:
                # Otherwise the warm-up after each resumption would use up the remaining time for a trial.
                self._allowed_s += warm_up.figures[TRIAL_S]
            self._continues = self._has_budget()
            self._run_trials()
        if self._stopped:
            outcomes = counted_outcomes(self._outcomes)
            self._state = replay(self._plan, outcomes, self._budget_s, self._token.check)
        try:
            answer = self._state.answer()
        except ValueError as error:
            problem = self._stopped or self._last_note
            code = ErrorCode.SEARCH_NO_RESULT_BECAUSE if problem else ErrorCode.SEARCH_NO_RESULT
            raise AppError(code, problem=problem) from error
        return BestSettings(
            plan=self._plan,
            answer=answer,
            options=self._state.set_of(answer.winner.levels).options,
            read_ahead_kb=self._state.set_of(answer.winner.levels).read_ahead_kb,
            retest=retest_result(self._plan, counted_outcomes(self._outcomes), answer),
            stopped=self._stopped,
            seconds=self._context.now() - self._began,
            struck=list(self._state.struck.values()),
        )

    def _trial(self, option_set: OptionSet, phase: ExperimentPhase) -> NextTrial:
        order = -1 if phase == "warm-up" else self._number
        outcome = TrialOutcome(levels=option_set.levels, workload=self._work.name, block=0, order=order)
        number, total = self._number + (phase == "trial"), self._max_search_trials
        if phase == "retest":
            number, total = self._retests - len(self._retest or ()), self._retests
        return NextTrial(phase, number, total, option_set, self._work, outcome)

    def _next(self) -> NextTrial | None:
        """Return the next trial of the search, or of the re-test that follows it."""
        if self._continues:
            return self._trial(self._state.next(), "trial")
        if self._retest is None:
            pair = self._retest_pair() or ()
            self._retest = [one for turn in range(self._retests // 2) for one in pair[:: 2 * (turn % 2) - 1]]
        return self._trial(self._retest.pop(0), "retest") if self._retest else None

    def _finished(self, trial: NextTrial, outcome: TrialOutcome) -> TrialOutcome:
        self._number += 1
        if trial.phase == "retest":
            continues = bool(self._retest)
            outcome = msgspec.structs.replace(outcome, retest=True)
        else:
            self._longest_s = max(self._longest_s, outcome.figures[TRIAL_S])
            self._last_note = outcome.note
            self._state.take(outcome)
            self._continues = self._has_budget()
            self._retests = 0 if self._continues else 2 * self._remaining_rounds()
            continues = self._continues or bool(self._retests)
        return msgspec.structs.replace(outcome, left_s=max(self._remaining_s(), 1.0) if continues else 0.0)

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
        ran = [one for one in counted_outcomes(self._outcomes) if one.retest and one.state == "ok"]
        finished = min(sum(one.levels == each.levels for one in ran) for each in pair)
        rounds = min(RETEST_ROUNDS - finished, int(self._remaining_s() / (2 * self._typical_trial_s(pair))))
        if self._max_trials:
            rounds = min(rounds, (self._max_trials - self._number) // 2)
        return rounds if rounds > 0 and finished + rounds >= MIN_RETEST_ROUNDS else 0

    def _typical_trial_s(self, sets: Sequence[OptionSet]) -> float:
        """Return the mean duration of finished trials of these sets plus 10 % for variation, in seconds."""
        levels = [one.levels for one in sets]
        ran = [one for one in self._outcomes if one.state == "ok" and TRIAL_S in one.figures]
        costs = [one.figures[TRIAL_S] for one in ran if one.levels in levels]
        costs = costs or [one.figures[TRIAL_S] for one in ran] or [self._plan.sets[0].seconds[0]]
        return max(1.1 * sum(costs) / len(costs), 1e-3)

    def _good_trial(self) -> NextTrial:
        levels = next((one.levels for one in reversed(self._outcomes) if one.state == "ok"), None)
        present = self._plan.present
        if levels is None:
            option_set = self._plan.sets[0]
        elif present is not None and levels == present.levels:
            option_set = present
        else:
            option_set = self._state.set_of(levels)
        return self._trial(option_set, "warm-up")

    def _run_one(self, trial: NextTrial) -> TrialOutcome:
        running = self._state.running(trial.option_set)

        def give_up(event: TestEvent) -> bool:
            running.take(event)
            return trial.phase == "trial" and self._state.cannot_win(trial.option_set, running)

        outcome = self._run(trial, give_up)
        if outcome.state == "ok":
            self._state.learn(running, outcome)
        if outcome.state != "skipped":
            return outcome
        reached = {PROJECTED_SPEED: self._state.reached(running)}
        return msgspec.structs.replace(outcome, figures=outcome.figures | reached)

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
