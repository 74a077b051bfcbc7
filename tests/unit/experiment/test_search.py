"""Search for the best settings: time limit, and results against a fake server whose best set is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from experiment_world import Mount, World
from search_world import FACTORS, retests, search, search_outcomes, told, world

from advisor.experiment.measurements import PROJECTED_SPEED
from app.errors import AppError, CancelledError, ErrorKind
from app.experiment.model import ExperimentEvent, Factor, SearchArgs
from app.experiment.search import run_search
from app.history.experiment_store import is_unfinished
from app.speedtest.model import Sample, TestEvent
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.experiment.measurements import TrialOutcome


def test_smaller_levels_are_inferred_from_the_largest() -> None:
    """A server that accepts 1 MiB and 8 connections accepts smaller values as well."""
    server = world()
    server.largest = 2**20
    result, events = search(server)
    tried = [event.levels for event in events if event.phase == "trying"]
    alone = [levels for levels in tried if levels["nconnect"] == "default"]
    assert [levels["transfer_size"] for levels in alone] == ["default", "1048576"]
    alone = [levels for levels in tried if levels["transfer_size"] == "default"]
    assert [levels["nconnect"] for levels in alone] == ["default", "8"]
    sets = {tuple(one.levels.values()): one for one in result.plan.sets}
    assert sets["131072", "2", "1024"].effective["rsize"] == "131072"
    assert sets["131072", "2", "1024"].effective["nconnect"] == "2"
    assert len(sets) == 3 * 4 * 3  # 1 MiB is equivalent to the default
    assert result.answer.winner.levels["transfer_size"] == "131072"
    assert result.struck == []


@pytest.mark.parametrize("held", [2, 8])
def test_all_levels_are_mounted_if_none_can_be_inferred(held: int) -> None:
    """The connections belong to another mount, and the server does not accept such large sizes."""
    server = world()
    server.held = held
    server.speed = lambda values: 1e6
    result, events = search(server)
    tried = [event.levels for event in events if event.phase == "trying"]
    for name, levels in (("transfer_size", FACTORS[0].levels), ("nconnect", FACTORS[1].levels)):
        others = [each for each in tried if all(
            level in {"default", "128"} for other, level in each.items() if other != name
        )]  # fmt: skip
        assert {each[name] for each in others} == {"default", *levels}
    assert not any(one.levels["nconnect"] != "default" for one in result.plan.sets)


@pytest.mark.parametrize("direction", ["both", "write", "read"])
def test_search_finds_the_best_set(direction: str) -> None:
    server = world()
    result, events = search(server, direction=direction, options="vers=4.2,nconnect=4,soft")
    answer = result.answer
    assert answer.winner.levels["nconnect"] == "8"
    assert answer.winner.levels["transfer_size"] == "131072"
    assert answer.runner_up is not None
    assert answer.default is not None
    assert answer.default.median == pytest.approx(1e6, rel=0.2)
    assert answer.current is not None
    assert answer.current.levels["nconnect"] == "4"
    assert "nconnect=8" in result.options
    assert result.options.startswith("vers=4.2,soft")  # fixed options stay
    assert server.closed == len(server.opened)
    assert server.time <= 120 + 2
    (plan,) = [event.plan for event in events if event.plan is not None]
    assert plan == result.plan
    outcomes = [event.outcome for event in events if event.outcome is not None]
    assert [outcome.order for outcome in outcomes] == list(range(len(outcomes)))
    assert len(search_outcomes(outcomes)) == answer.trials
    # 1048576 is equivalent to the server's 262144, as the default is.
    assert plan.struck[0].same_as == {"transfer_size": "default"}
    assert len(plan.sets) == 3 * 4 * 3


@pytest.mark.parametrize("direction", ["both", "read"])
def test_search_ends_at_its_byte_limit(direction: str) -> None:
    server = world()
    result, events = search(server, direction=direction, budget_s=86400.0, budget_bytes=40 * 2**20)
    each = 2 * result.plan.experiment.workloads[0].size  # a file must be written before it is read
    assert each * len(server.specs) == 40 * 2**20
    outcomes = [event.outcome for event in events if event.outcome is not None]
    assert len(outcomes) == len(server.specs) - 1  # one is the warm-up
    assert outcomes[-1].left_s == 0
    assert not is_unfinished(result.plan, outcomes)
    # The minimum that shows a difference: four rounds.
    assert len(retests(outcomes)) == 8
    assert {event.total for event in events if event.phase == "trial"} == {len(search_outcomes(outcomes))}
    assert {event.total for event in events if event.phase == "retest"} == {8}
    assert result.answer.winner.levels["nconnect"] == "8"


def test_the_last_trial_is_marked_as_the_last() -> None:
    server = world()
    outcomes: list[TrialOutcome] = []

    def on_event(event: ExperimentEvent) -> None:
        if event.outcome is not None:
            outcomes.append(event.outcome)
            server.time += 30

    args = SearchArgs(share="nas:/x", factors=FACTORS, budget_s=120.0)
    run_search(args, server.context(), CancelToken(), on_event)
    assert [outcome.left_s == 0 for outcome in outcomes] == [False] * (len(outcomes) - 1) + [True]


def test_present_settings_are_replaced_by_an_equivalent_set() -> None:
    result, _ = search(world(), options="rsize=1048576,wsize=1048576")
    assert result.answer.current is not None
    assert result.answer.current == result.answer.default


@pytest.mark.parametrize(
    ("options", "name", "levels", "kept", "level"),
    [
        ("rsize=8192,wsize=8192,hard", "nconnect", ["4"], "rsize=8192,wsize=8192,hard", "default"),
        ("wsize=8192", "rsize", ["32768"], "wsize=8192", "default"),
        ("rsize=65536,wsize=131072", "transfer_size", ["32768"], "", None),
        ("rsize=65536", "transfer_size", ["32768"], "", None),
        ("noac,hard", "noac", ["yes", "no"], "hard", "yes"),
        ("noac", "ac", ["yes", "no"], "", "no"),
        ("noac,hard", "cache_mode", ["default", "actimeo=0"], "hard", "noac"),
        ("hard,acdirmax=5,acregmin=1", "cache_mode", ["acregmin=1,acdirmax=5"], "hard",
         "acregmin=1,acdirmax=5"),
        ("hard", "cache_mode", ["noac"], "hard", "default"),
        ("vers=4,minorversion=1,hard", "vers", ["4.2"], "hard", "4.1"),
    ],
)  # fmt: skip
def test_present_settings_and_fixed_options(
    options: str, name: str, levels: list[str], kept: str, level: str | None
) -> None:
    result, events = search(
        world(), options=options, factors=[Factor(name=name, levels=levels)], budget_s=60.0
    )
    plan, outcomes = told(events)
    assert plan.experiment.options == kept
    assert plan.sets[0].options == kept
    assert plan.current == ({} if level is None else {name: level})
    assert any("only at the end" in note for note in plan.notes) == (level is None)
    if level is None:
        assert result.answer.current is None
        # The winner is nevertheless re-tested against the options in use.
        assert plan.present is not None
        assert plan.present.options == options
        assert result.retest is not None
    else:
        assert any(one.levels == plan.current for one in outcomes)


@pytest.mark.parametrize(("in_use", "level"), [(512, "512"), (8192, "8192"), (0, "0"), (None, "128")])
def test_the_present_setting_has_the_readahead_of_the_mount(in_use: int | None, level: str) -> None:
    server = world()
    server.read_ahead_kb = in_use
    result, events = search(server, options="nconnect=2", budget_s=90.0)
    plan, outcomes = told(events)
    assert plan.current == {"transfer_size": "default", "nconnect": "2", "read_ahead_kb": level}
    assert plan.sets[0].levels["read_ahead_kb"] == "128"  # the kernel's default
    assert result.answer.current is not None
    assert result.answer.current.levels == plan.current
    assert any(outcome.levels == plan.current for outcome in outcomes)


@pytest.mark.parametrize(("budget_s", "few"), [(12.0, True), (120.0, False)])
def test_note_on_few_trials(budget_s: float, few: bool) -> None:
    result, events = search(world(), budget_s=budget_s)
    plan, outcomes = told(events)
    said = [note for note in plan.notes if "too few to tell much" in note]
    assert len(said) == few
    assert (len(outcomes) < 12) == few
    if few:
        assert said[0].startswith("Trying the settings took ")
    assert result.answer.trials == len(search_outcomes(outcomes))
    assert (result.retest is None) == few  # without time for it, no re-test is shown


@pytest.mark.parametrize(
    ("name", "level"),
    [("file_size", "1048576"), ("streams", "4"), ("record_size", "4096"), ("pattern", "random")],
)
def test_factors_of_the_test_are_refused(name: str, level: str) -> None:
    server = world()
    with pytest.raises(AppError, match=name) as caught:
        search(server, factors=[Factor(name=name, levels=[level])])
    assert caught.value.kind is ErrorKind.USAGE
    assert server.opened == []


def test_cancelling() -> None:
    server, token = world(), CancelToken()

    def on_event(event: ExperimentEvent) -> None:
        if event.number == 5:
            token.cancel()

    with pytest.raises(CancelledError):
        run_search(SearchArgs(share="nas:/x", factors=FACTORS), server.context(), token, on_event)
    assert server.closed == len(server.opened)


def test_equivalent_candidates_are_counted_once() -> None:
    """With the small size there is never more than one connection, which only mounting shows."""
    server = world()
    opened = server.open

    def alike(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        mount = opened(options, read_ahead_kb, token)
        if "rsize=32768" in options:
            mount.effective["nconnect"] = "1"
        return mount

    server.open = alike  # type: ignore[method-assign]
    result, events = search(server)
    struck = [one for one in told(events)[0].struck if len(one.levels) == 2]
    assert [one.levels for one in struck] == [
        {"transfer_size": "32768", "nconnect": count} for count in ("2", "4", "8")
    ]
    assert all(one.same_as == {"nconnect": "default"} for one in struck)
    assert result.answer.candidates == 36 - 9


def report_ten_samples(server: World, monkeypatch: pytest.MonkeyPatch, slow: float) -> list[int]:
    """Make each copy report ten samples; return the list of the number of samples of each copy.

    Args:
        server: fake server.
        monkeypatch: reverts the patches.
        slow: fraction of the time that the first half of the bytes takes.
    """
    copied: list[int] = []
    run_whole = Mount.run_test

    def copy(mount: Mount, spec: Any, token: CancelToken, emit: Callable[[TestEvent], None],
             link: Any = None, **round_trip: bool) -> object:  # fmt: skip
        copied.append(0)
        whole_s = spec.total / server.speed(mount.effective)
        for way in ("write", "read") if spec.direction == "both" else (spec.direction,):
            for part in range(1, 11):
                time = part / 5 * slow if part <= 5 else slow + (part / 5 - 1) * (1 - slow)
                sample = Sample(t_s=time * whole_s, bytes=0, server_bytes=part * spec.total // 10)
                emit(TestEvent(direction=way, phase=way, sample=sample))
                token.check()
                copied[-1] += 1
        return run_whole(mount, spec, token, emit, link, **round_trip)

    monkeypatch.setattr(Mount, "run_test", copy)
    return copied


@pytest.mark.parametrize("slow", [0.5, 0.8])
@pytest.mark.parametrize("direction", ["both", "read"])
def test_a_trial_that_cannot_win_is_stopped_early(
    direction: str, slow: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial that is stopped early has not copied everything."""
    server = world()
    server.speed = lambda values: 1e7 if values["nconnect"] == "8" else 1e5
    copied = report_ten_samples(server, monkeypatch, slow)
    result, events = search(server, direction=direction, size=10 * 2**20, budget_s=60.0)
    dropped = [one for one in told(events)[1] if one.state == "skipped"]
    assert dropped
    assert all(
        one.figures[PROJECTED_SPEED] <= 1e5 * (2.01 if direction == "both" else 1.01) for one in dropped
    )
    assert all("could not win" in one.note for one in dropped)
    assert {one.levels["nconnect"] for one in dropped} <= {"default", "2", "4"}
    assert min(copied) < max(copied)
    assert result.answer.winner.levels["nconnect"] == "8"
    assert server.closed == len(server.opened)


@pytest.mark.parametrize("direction", ["both", "read"])
def test_a_trial_that_begins_as_slowly_as_all_is_continued(
    direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with TCP on a long link, whose congestion window opens gradually."""
    server = world()
    server.speed = lambda values: 1e7 if values["nconnect"] == "8" else 0.95e7
    report_ten_samples(server, monkeypatch, slow=0.8)
    _, events = search(server, direction=direction, size=10 * 2**20, budget_s=60.0)
    assert [one.levels for one in told(events)[1] if one.state == "skipped"] == []


def test_the_winner_is_retested_against_the_present_settings() -> None:
    result, events = search(world(), options="nconnect=4")
    again = retests(told(events)[1])
    plan = result.plan
    assert plan.present is not None
    assert [one.order for one in again] == list(range(result.answer.trials, result.answer.trials + 12))
    levels = [one.levels for one in again]
    winner = result.answer.winner.levels
    # Each of the two goes first equally often, so that drift affects both alike.
    assert levels[:4] == [plan.present.levels, winner, winner, plan.present.levels] or levels[:4] == [
        winner, plan.present.levels, plan.present.levels, winner,
    ]  # fmt: skip
    found = result.retest
    assert found is not None
    assert found.rounds == 6
    assert found.gained
    assert found.whole.ratio == pytest.approx(4, rel=0.01)
    assert [way.figure for way in found.ways] == ["write", "read"]


def test_the_retest_corrects_the_estimate_of_a_lucky_winner() -> None:
    """All sets are equally fast: a lucky winner gains nothing in the re-test."""
    server, again = world(), False
    server.speed = lambda values: 1e6 if again or values["nconnect"] != "8" else 1.14e6

    def on_event(event: ExperimentEvent) -> None:
        nonlocal again
        again = again or event.phase == "retest"

    args = SearchArgs(share="nas:/x", options="nconnect=2", factors=[FACTORS[1]], budget_s=90.0)
    result = run_search(args, server.context(), CancelToken(), on_event)
    assert result.answer.winner.levels == {"nconnect": "8"}
    assert result.answer.current is not None
    assert result.answer.winner.median > 1.1 * result.answer.current.median
    assert result.retest is not None
    assert not result.retest.gained
    assert result.retest.whole.ratio == pytest.approx(1)


def test_no_retest_if_the_present_settings_win() -> None:
    result, events = search(world(), options="nconnect=8,rsize=131072,wsize=131072", budget_s=180.0)
    if result.answer.winner.levels == result.plan.current:
        assert (result.retest, retests(told(events)[1])) == (None, [])
    else:  # among equal sets, any may be first
        assert result.retest is not None
        assert not result.retest.gained
