"""Plan of an experiment: infeasible sets are excluded with reasons; duration and volume are estimated."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from experiment_world import World, experiment

from app.errors import AppError, CancelledError, ErrorKind
from app.experiment.design import level_combinations, schedule_trials
from app.experiment.factors import trial_spec
from app.experiment.model import (
    ExperimentArgs,
    ExperimentEvent,
    ExperimentPlan,
    Factor,
    OptionSet,
    WorkloadSpec,
)
from app.experiment.plan import estimated_plan, plan_experiment
from app.speedtest.messages import WorkerJob
from app.speedtest.worker.worker_process import check_spec
from app.tasks import CancelToken


def plan(world: World, budget_s: float | None = None, **changes: object) -> ExperimentPlan:
    args = ExperimentArgs(experiment=experiment(**changes), budget_s=budget_s)
    return plan_experiment(args, world.context(), CancelToken(), lambda _event: None)


def struck(made: ExperimentPlan) -> dict[tuple[tuple[str, str], ...], str]:
    return {tuple(sorted(one.levels.items())): one.reason for one in made.struck}


def test_each_option_string_is_mounted_once_and_unmounted() -> None:
    world = World()
    events: list[ExperimentEvent] = []
    factors = [
        Factor(name="rsize", levels=["4096", "65536"]),
        Factor(name="read_ahead_kb", levels=["128", "4096"]),
        Factor(name="block_size", levels=["4096", "65536"]),
    ]
    args = ExperimentArgs(experiment=experiment(factors=factors))
    made = plan_experiment(args, world.context(), CancelToken(), events.append)
    assert world.opened == ["rsize=4096", "rsize=65536"]
    assert world.closed == 2
    assert len(made.sets) == 8
    assert made.struck == []
    assert [(event.phase, event.number, event.total) for event in events] == [
        ("trying", 1, 2), ("trying", 2, 2),
    ]  # fmt: skip
    assert made.sets[0].effective["rsize"] == "4096"
    assert made.trials == len(schedule_trials(made)) == 16 + 4
    assert made.seconds > 16 * 0.3
    # Each trial writes and reads 1 MiB; the warm-up is one additional trial.
    assert made.bytes == 21 * 2 * 2**20


@pytest.mark.parametrize(
    ("factor", "gone", "words"),
    [
        (Factor(name="vers", levels=["2", "3"]), "2", "version 2 is gone"),
        (Factor(name="vers", levels=["4.0", "4.2"]), "4.0", "does not offer version 4.0"),
        (Factor(name="proto", levels=["tcp", "udp"]), "udp", "built without UDP"),
        (Factor(name="client_threads", levels=["4"]), "4", "no threads"),
        (Factor(name="server_threads", levels=["8"]), "8", "setting of the server"),
    ],
)
def test_unsupported_levels_are_excluded_without_mounting(factor: Factor, gone: str, words: str) -> None:
    world = World()
    made = plan(world, factors=[Factor(name="rsize", levels=["4096", "65536"]), factor])
    assert words in struck(made)[((factor.name, gone),)]
    assert len(made.struck) == 1
    assert len(made.sets) == 2 * max(len(factor.levels) - 1, 1)
    assert all(one.levels.get(factor.name) != gone for one in made.sets)
    assert not any(gone in options.split("=") for options in world.opened)


def test_refused_and_equivalent_sets_are_excluded() -> None:
    world = World()
    world.refused = {"hard"}
    factors = [
        Factor(name="hard", levels=["soft", "hard"]),
        Factor(name="transfer_size", levels=["65536", "262144", "524288", "1048576"]),
    ]
    made = plan(world, factors=factors)
    found = struck(made)
    assert set(found) == {
        (("hard", "hard"),), (("transfer_size", "524288"),), (("transfer_size", "1048576"),),
    }  # fmt: skip
    assert "refuses hard" in found[("hard", "hard"),]
    assert "the same as" in found[("transfer_size", "1048576"),]
    assert "The server limited it to 262144" in found[("transfer_size", "1048576"),]
    assert [one.levels for one in made.sets] == [
        {"hard": "soft", "transfer_size": "65536"}, {"hard": "soft", "transfer_size": "262144"},
    ]  # fmt: skip


def test_reason_names_connections_of_another_mount() -> None:
    world = World()
    world.held = 1
    made = plan(world, factors=[Factor(name="nconnect", levels=["1", "4"])])
    assert "unmount it" in struck(made)[("nconnect", "4"),]
    assert len(made.sets) == 1


def test_sets_that_differ_in_hidden_options_are_not_equivalent() -> None:
    made = plan(World(), factors=[Factor(name="retry", levels=["1", "2"])])
    assert len(made.sets) == 2


def test_conflicting_levels_are_excluded_as_a_pair() -> None:
    factors = [
        Factor(name="file_size", levels=["4096", "65536"]),
        Factor(name="record_size", levels=["4096", "16384"]),
    ]
    made = plan(World(), factors=factors)
    assert set(struck(made)) == {(("file_size", "4096"), ("record_size", "16384"))}
    assert len(made.sets) == 3


def test_an_excluded_base_is_replaced() -> None:
    factors = [Factor(name="vers", levels=["3", "4.0", "4.2"], base="4.0")]
    made = plan(World(), strategy="one-at-a-time", factors=factors)
    assert made.sets[0].levels == {"vers": "3"}


def test_an_experiment_is_shrunk_to_time_and_space() -> None:
    world = World()
    works = [
        WorkloadSpec(name="big", size=2**30),
        WorkloadSpec(name="small", kind="files", size=4096, count=1000),
    ]
    whole = plan(world, workloads=works, repeats=3)
    assert whole.notes == []
    less = plan(world, budget_s=whole.seconds / 4, workloads=works, repeats=3)
    assert less.seconds <= whole.seconds / 4
    assert less.experiment.workloads[0].size < 2**30
    assert "Made smaller" in less.notes[0]
    least = plan(world, budget_s=1.0, workloads=works)
    assert least.experiment.repeats == 1
    assert least.experiment.workloads[0].size == 2**20
    assert any("will not do" in note for note in least.notes)
    # The name shows the amount, also if the study's workload was resized before.
    cut = [WorkloadSpec(name="1 x 1 GB", size=2**30).resized(size=2**24)]
    assert cut[0].name == "16 MiB (planned: 1 x 1 GB)"
    (work,) = (least := plan(world, budget_s=1.0, workloads=cut)).experiment.workloads
    assert (work.name, work.size) == ("1 MiB (planned: 1 x 1 GB)", 2**20)
    assert "“1 x 1 GB” copies 1 MiB, not 16 MiB" in least.notes[0]
    assert (
        WorkloadSpec(name="1 x 1 GB, cut to 16 MiB", size=2**24).uncut_name == "1 x 1 GB"
    )  # format of an older record
    world.free = 2**30
    roomy = plan(world, workloads=works)
    assert roomy.space <= 2**28


def test_a_file_size_that_does_not_fit_is_excluded() -> None:
    world = World()
    world.free = 2**30
    made = plan(world, factors=[Factor(name="file_size", levels=["1048576", "1073741824"])])
    assert "free space" in struck(made)[("file_size", "1073741824"),]
    world.free = 1000
    with pytest.raises(AppError) as caught:
        plan(world, factors=[Factor(name="file_size", levels=["1048576"])])
    assert caught.value.kind is ErrorKind.NO_SPACE


def test_only_sets_that_do_not_fit_are_excluded() -> None:
    world = World()
    world.free = 40 * 2**20
    factors = [
        Factor(name="streams", levels=["1", "64"]), Factor(name="file_size", levels=["4096", "1048576"])
    ]  # fmt: skip
    made = plan(world, factors=factors)
    assert set(struck(made)) == {(("file_size", "1048576"), ("streams", "64"))}
    assert len(made.sets) == 3
    # If the file size is free, it is reduced to the minimum before sets are excluded.
    made = plan(world, factors=factors[:1], workloads=[WorkloadSpec(name="big", size=2**30)])
    assert set(struck(made)) == {(("streams", "64"),)}
    assert made.space <= 10 * 2**20


@pytest.mark.parametrize(
    ("seconds", "free", "words"),
    [(60, 10**12, "the time allowed: "), (None, 2**30, "the 1 GiB that are free: "),
     (20000, 2**30, "the 1 GiB that are free: "),
     (30, 2**30, "the time allowed and the 1 GiB that are free: ")],
)  # fmt: skip
def test_note_on_the_reason_for_shrinking(seconds: float | None, free: int, words: str) -> None:
    world = World()
    world.free = free
    made = plan(world, budget_s=seconds, workloads=[WorkloadSpec(name="big", size=2**30)])
    assert made.notes[0].startswith(f"Made smaller for {words}“big” copies ")


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ([Factor(name="record_size", levels=["1048576"]), Factor(name="file_size", levels=["65536"])],
         "A record cannot be larger than its file."),
        ([Factor(name="vers", levels=["2"])], "NFS version 2 is gone"),
        ([Factor(name="client_threads", levels=["4"]), Factor(name="server_threads", levels=["8"])],
         "no threads"),
        ([Factor(name="block_size", levels=["536870912"])], "The block size must be between"),
    ],
)  # fmt: skip
def test_an_experiment_without_feasible_sets_is_refused(factors: list[Factor], words: str) -> None:
    world = World()
    asked = experiment(factors=factors)
    for act in (lambda: plan(world, factors=factors), lambda: estimated_plan(asked, world.facts)):
        with pytest.raises(AppError) as caught:
            act()
        assert caught.value.kind is ErrorKind.USAGE
        assert words in caught.value.message
    assert world.opened == []


@pytest.mark.parametrize(
    ("factors", "gone"),
    [
        ([Factor(name="streams", levels=["1", "1000"])], {"streams": "1000"}),
        ([Factor(name="block_size", levels=["4096", "536870912"])], {"block_size": "536870912"}),
        ([Factor(name="streams", levels=["1", "4"]), Factor(name="pattern", levels=["sequential", "random"])],
         {"streams": "4", "pattern": "random"}),
    ],
)  # fmt: skip
def test_sets_with_invalid_tests_are_excluded(factors: list[Factor], gone: dict[str, str]) -> None:
    factors = [*factors, Factor(name="rsize", levels=["4096", "65536"])]
    world = World()
    world.free = 10**16
    made = plan(world, factors=factors)
    assert [one.levels for one in made.struck] == [gone]
    for one in made.sets:
        for work in made.experiment.workloads:
            check_spec(WorkerJob(spec=trial_spec(work, one.levels), run="a", stage="whole", owner=1))
    assert len(made.sets) == 2 * (len(factors[0].levels) * (2 if len(factors) == 3 else 1) - 1)


def test_several_files_at_once_in_order_are_several_files() -> None:
    spec = trial_spec(WorkloadSpec(name="x", size=2**20), {"streams": "4", "pattern": "sequential"})
    assert (spec.workload, spec.count) == ("streams", 4)


def test_a_row_with_an_excluded_level_is_not_mounted() -> None:
    world = World()
    rows = [{"vers": "3"}, {"vers": "2", "rsize": "65536"}, {"vers": "4.0"}, {"vers": "4.2"}]
    factors = [Factor(name="vers", levels=["2", "3"]), Factor(name="rsize", levels=["4096", "65536"])]
    made = plan(world, strategy="rows", factors=factors, rows=rows)
    assert [one.levels["vers"] for one in made.sets] == ["3", "4.2"]
    assert set(struck(made)) == {(("vers", "2"),), (("vers", "4.0"),)}
    assert not any("vers=2" in options or "vers=4.0" in options for options in world.opened)


def test_planning_ends_after_three_unanswered_sets() -> None:
    world = World()
    world.dead = True
    with pytest.raises(AppError) as caught:
        plan(world, factors=[Factor(name="timeo", levels=[str(10 + n) for n in range(20)])])
    assert caught.value.kind is ErrorKind.SERVER_SILENT
    assert len(world.opened) == 3


def test_too_many_sets_are_refused_before_mounting() -> None:
    world = World()
    factors = [Factor(name=name, levels=[str(n) for n in range(1, 31)])
               for name in ("timeo", "retrans", "acregmin")]  # fmt: skip
    with pytest.raises(AppError) as caught:
        plan(world, factors=factors)
    assert caught.value.kind is ErrorKind.USAGE
    assert world.opened == []


def test_cancelling_ends_it() -> None:
    world, token = World(), CancelToken()
    with pytest.raises(CancelledError):
        plan_experiment(
            ExperimentArgs(experiment=experiment()), world.context(), token, lambda _event: token.cancel()
        )
    assert world.opened == []


def test_strategies() -> None:
    factors = [
        Factor(name="rsize", levels=["1", "2", "3"], base="2"), Factor(name="wsize", levels=["1", "2"])
    ]  # fmt: skip
    full = level_combinations(experiment(factors=factors), factors)
    assert len(full) == 6
    assert full[0] == {"rsize": "2", "wsize": "1"}
    alone = level_combinations(experiment(strategy="one-at-a-time"), factors)
    assert alone == [
        {"rsize": "2", "wsize": "1"}, {"rsize": "1", "wsize": "1"}, {"rsize": "3", "wsize": "1"},
        {"rsize": "2", "wsize": "2"},
    ]  # fmt: skip
    rows = [{"rsize": "3"}, {"rsize": "3", "wsize": "2"}, {"rsize": "3"}]
    assert level_combinations(experiment(strategy="rows", rows=rows), factors) == [
        {"rsize": "3", "wsize": "1"}, {"rsize": "3", "wsize": "2"},
    ]  # fmt: skip


def test_the_order_is_random_in_blocks_and_the_same_for_a_seed() -> None:
    sets = [OptionSet(levels={"rsize": str(n)}, options="") for n in range(30)]
    made = ExperimentPlan(
        experiment=experiment(repeats=3, seed=7), sets=sets, struck=[], trials=0, seconds=0, bytes=0, space=0
    )
    order = schedule_trials(made)
    assert order == schedule_trials(made)
    assert [trial.order for trial in order] == list(range(len(order)))
    for block in range(3):
        ordinary = [trial.set for trial in order if trial.block == block and not trial.baseline]
        assert sorted(ordinary) == list(range(30))
        assert ordinary != list(range(30))
    assert order[0].baseline
    assert order[-1].baseline
    gaps = [place for place, trial in enumerate(order) if trial.baseline]
    assert max(b - a for a, b in itertools.pairwise(gaps)) <= 21
    other = msgspec.structs.replace(made, experiment=experiment(repeats=3, seed=8))
    assert schedule_trials(other) != order


def test_error_if_the_smallest_experiment_does_not_fit() -> None:
    world = World()
    world.free = 2 * 2**20
    with pytest.raises(AppError) as caught:
        plan(world)
    assert caught.value.kind is ErrorKind.NO_SPACE
    assert "1 MiB at least" in caught.value.message
    assert world.closed == len(world.opened)


def test_planning_reports_a_share_that_cannot_be_written() -> None:
    world = World()
    world.unwritable = AppError(ErrorKind.READ_ONLY, "It is read-only.", hint="Choose another.")
    with pytest.raises(AppError) as caught:
        plan(world)
    assert caught.value.kind is ErrorKind.READ_ONLY
    assert caught.value.message == "nas:/x can be mounted, but no test can be run there. It is read-only."
    assert caught.value.hint == "Choose another."
    assert world.closed == len(world.opened) == 1


def test_note_on_the_difference_few_repeats_can_show() -> None:
    sizes = [Factor(name="rsize", levels=[str(4096 * 2**power) for power in range(6)])]
    (one,) = plan(World(), factors=sizes, repeats=1).notes
    assert one.startswith("1 repeat of each set cannot show a significant difference.")
    assert "3 repeats would show one above " in one
    many = [*sizes, Factor(name="nconnect", levels=["1", "2", "4", "8"])]
    (watched,) = plan(World(), factors=many, repeats=1).notes
    assert watched.startswith("1 repeat of each set can only show a difference above ")
    assert plan(World(), factors=sizes, repeats=3).notes == []
