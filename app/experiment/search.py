"""Search for the fastest option set of a share within a time; each trial on a private mount.

At its end the winner and the present setting run again in turns (advisor.retest), because the winner of many
noisy measurements is in part a lucky one. A search can be resumed, and its result so far is computed from the
stored outcomes.
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
    """Search; levels and pairs of them are tried before, and struck out if they cannot be measured here.

    Args:
        args: what is asked for.
        context: how it mounts, the facts, the clock.
        token: ends it within 200 ms; the outcomes told until then are good, and it can be gone on with.
        emit: gets the plan, progress, samples and outcomes, on this thread.

    Raises:
        AppError: if nothing can be mounted or measured.
        CancelledError: when the token is set.
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
    """Go on with a search where it was cancelled, or died; of one that has ended the answer is given again.

    Args:
        args: the plan as it was told, all outcomes, and the time, by default what was left of the search's.
        context: how it mounts, the facts, the clock.
        token: as for run_search.
        emit: likewise; the plan is not told again.

    Raises:
        AppError: USAGE if it is no search; as for run_search.
        CancelledError: when the token is set.
    """
    if args.plan.experiment.recipe != SEARCH_NAME:
        raise AppError(ErrorKind.USAGE, "This is no search.", hint="Run it as an experiment.")
    done = counted_outcomes(args.done)
    return _SearchRun(
        args.plan, done, args.budget_s, TrialContext(context, token, _ignore_event), emit
    ).result()


def _ignore_event(_test: TestEvent) -> None:
    """Each trial has a listener of its own."""


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
        #: What the last trial had to say.
        self._last = ""
        self._done = list(done)
        if budget_s is None:
            self._allowed_s = (done[-1].left_s or 0.0) if done else plan.seconds
            self._budget_s = plan.seconds
        else:
            self._allowed_s = budget_s
            self._budget_s = sum(costs) + budget_s
        self._state = replay(plan, done, self._budget_s, trial_context.token.check)
        #: Whether it has a part before this one, in whose time it was warmed up.
        self._resumed = bool(done) and budget_s is None
        self._number = done[-1].order + 1 if done else 0
        #: Trials that the bytes allow, the one that warms up not among them; 0 for no limit.
        self._max_trials = max_trials(plan)
        self._max_search_trials = max_search_trials(plan)
        #: Of the re-test, the rounds that are to be run.
        self._rounds = 0
        #: Whether the search itself has ended in a part before this one.
        self._searched = budget_s is None and any(outcome.retest for outcome in done)

    def result(self) -> BestSettings:
        stopped = ""
        self._rounds = self._rounds_left()
        if self._has_budget() or self._rounds:
            warm_up = self._try(self._plan.sets[0], -1, "warm-up")
            if self._resumed:
                # Otherwise what was left for one more trial would never do for it, however often it goes on.
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
                f"No trial gave a result. {stopped or self._last}".strip(),
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
        """Run trials until the time is over or it is decided; return why it ended early, or ""."""
        failed = 0
        # Asked once after each trial: what is told of it is what happens, although the clock goes on.
        goes_on = self._has_budget()
        while goes_on:
            outcome = self._try(self._state.next(), self._number, "trial")
            self._longest_s = max(self._longest_s, outcome.figures[TRIAL_S])
            self._last = outcome.note
            self._state.take(outcome)
            self._number += 1
            goes_on = self._has_budget()
            self._rounds = 0 if goes_on else self._rounds_left()
            more = goes_on or bool(self._rounds)
            outcome = msgspec.structs.replace(outcome, left_s=max(self._left_s(), 1.0) if more else 0.0)
            self._tell("done", outcome.levels, outcome=outcome)
            self._done.append(outcome)
            failed = failed + 1 if outcome.state == "failed" else 0
            if failed == MAX_FAILURES_IN_A_ROW:
                if not self._answers():
                    return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
                failed = 0
        return ""

    def _retest(self) -> str:
        """Run the winner and the present setting in turns; return why it ended early, or ""."""
        pair = self._retest_pair()
        if pair is None:
            return ""
        trials = [one for turn in range(self._rounds) for one in (pair if turn % 2 else pair[::-1])]
        failed = 0
        for place, one in enumerate(trials, 1):
            outcome = self._try(one, self._number, "retest", (place, len(trials)))
            self._number += 1
            left_s = 0.0 if place == len(trials) else max(self._left_s(), 1.0)
            outcome = msgspec.structs.replace(outcome, left_s=left_s, retest=True)
            self._tell("done", outcome.levels, outcome=outcome, place=(place, len(trials)))
            self._done.append(outcome)
            failed = failed + 1 if outcome.state == "failed" else 0
            if failed == MAX_FAILURES_IN_A_ROW and not self._answers():
                return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
        return ""

    def _retest_pair(self) -> tuple[OptionSet, OptionSet] | None:
        """Return the winner and the present setting, None if they are the same, or one is not known."""
        present = self._plan.present
        try:
            levels = self._state.answer().winner.levels
        except ValueError:
            return None
        return None if present is None or levels == present.levels else (self._state.set_of(levels), present)

    def _rounds_left(self) -> int:
        """Return the rounds of a re-test that are still to be run, 0 if they are too few to show anything."""
        pair = self._retest_pair()
        if pair is None:
            return 0
        ran = [one for one in counted_outcomes(self._done) if one.retest and one.state == "ok"]
        had = min(sum(one.levels == each.levels for one in ran) for each in pair)
        left = min(RETEST_ROUNDS - had, int(self._left_s() / (2 * self._typical_trial_s(pair))))
        if self._max_trials:
            left = min(left, (self._max_trials - self._number) // 2)
        return left if left > 0 and had + left >= MIN_RETEST_ROUNDS else 0

    def _typical_trial_s(self, sets: Sequence[OptionSet]) -> float:
        """Return the seconds of a trial of these sets, by those that ran; a little more, for they scatter."""
        levels = [one.levels for one in sets]
        ran = [one for one in self._done if one.state == "ok" and TRIAL_S in one.figures]
        costs = [one.figures[TRIAL_S] for one in ran if one.levels in levels]
        costs = costs or [one.figures[TRIAL_S] for one in ran] or [self._plan.sets[0].seconds[0]]
        return max(1.1 * sum(costs) / len(costs), 1e-3)

    def _answers(self) -> bool:
        """Try again what went well last: whether it is the sets that fail, and not the server."""
        well = next((one.levels for one in reversed(self._done) if one.state == "ok"), None)
        present = self._plan.present
        if well is None:
            one = self._plan.sets[0]
        else:
            one = present if present is not None and well == present.levels else self._state.set_of(well)
        return self._try(one, -1, "warm-up").state != "failed"

    def _try(
        self, one: OptionSet, number: int, phase: ExperimentPhase, place: tuple[int, int] | None = None
    ) -> TrialOutcome:
        self._tell(phase, one.levels, place=place)
        running = self._state.running(one)

        def tell(test: TestEvent) -> None:
            running.take(test)
            self._tell(phase, one.levels, test=test, place=place)

        def give_up(_test: TestEvent) -> bool:
            return phase == "trial" and self._state.cannot_win(one, running)

        begun = TrialOutcome(levels=one.levels, workload=self._work.name, block=0, order=number)
        trial_context = self._trial_context._replace(tell=tell, give_up=give_up)
        outcome = run_trial(one, self._work, begun, trial_context)
        if outcome.state == "ok":
            self._state.learn(running, outcome)
        if outcome.state != "skipped":
            return outcome
        reached = {PROJECTED_SPEED: self._state.reached(running)}
        return msgspec.structs.replace(outcome, figures=outcome.figures | reached)

    def _tell(
        self,
        phase: ExperimentPhase,
        levels: dict[str, str],
        *,
        test: TestEvent | None = None,
        outcome: TrialOutcome | None = None,
        place: tuple[int, int] | None = None,
    ) -> None:
        number, total = place or (self._number + (phase == "trial"), self._max_search_trials)
        self._emit(
            ExperimentEvent(
                phase=phase, number=number, total=total, eta_s=self._eta_s(), levels=levels,
                workload=self._work.name, test=test, outcome=outcome,
            )
        )  # fmt: skip

    def _has_budget(self) -> bool:
        """Whether time and bytes are left for another trial, and something to find out."""
        if self._searched or (self._max_trials and self._number >= self._max_search_trials):
            return False
        kept_s = retest_share(self._plan, self._budget_s, self._typical_trial_s([]))
        return not self._state.done and self._left_s() - kept_s > self._longest_s

    def _eta_s(self) -> float:
        """Return the seconds until time or bytes are spent, at most."""
        left_s = max(self._left_s(), 0.0)
        each_s = self._longest_s or self._plan.sets[0].seconds[0]
        return min(left_s, each_s * (self._max_trials - self._number)) if self._max_trials else left_s

    def _left_s(self) -> float:
        return self._allowed_s - (self._context.now() - self._began)


def retest_result(
    plan: ExperimentPlan, outcomes: Sequence[TrialOutcome], answer: SearchConclusion
) -> Retest | None:
    """Return what the re-test of a search's winner says, None if there is none."""
    present = plan.present
    if present is None:
        return None
    return evaluate_retest(outcomes, answer.winner.levels, present.levels, search_figures(plan))


def search_result_to_date(plan: ExperimentPlan, outcomes: Sequence[TrialOutcome]) -> BestSettings | None:
    """Return the answer of a search from its outcomes alone, None if no trial gave a figure.

    Args:
        plan: as the search told it.
        outcomes: of its trials.
    """
    kept = counted_outcomes(outcomes)
    race = replay(plan, kept, plan.seconds)
    try:
        answer = race.answer()
    except ValueError:
        return None
    winner = race.set_of(answer.winner.levels)
    return BestSettings(
        plan=plan,
        answer=answer,
        options=winner.options,
        read_ahead_kb=winner.read_ahead_kb,
        retest=retest_result(plan, kept, answer),
        struck=list(race.struck.values()),
    )
