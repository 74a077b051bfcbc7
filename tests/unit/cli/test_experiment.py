"""Command "experiment": recipes without a host, runs saved trial by trial, and resuming."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from experiment_world import World

from advisor.facts import LinkFacts
from app.cli.experiment import run_hostless
from app.cli.experiment_run import BestReport, ExperimentReport, run_experiments
from app.cli.main import main
from app.cli.parser import parse_args
from app.errors import AppError, ErrorKind
from app.experiment.plan import plan_experiment
from app.experiment.recipe_store import user_recipe_directory
from app.experiment.runner import run_experiment
from app.experiment.search import resume_search, run_search
from app.history import database
from app.history.database import default_path
from app.history.experiment_lock import is_experiment_locked, lock_experiment
from app.history.import_export import history_from_json, history_to_json, import_history
from app.history.store import HistoryStore
from app.mounts.model import Active, Mount, MountTable
from app.mounts.requested_options import with_requested_options
from app.service.protocol import HelloResult
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.experiment.model import ExperimentEvent

RECIPE = """\
title = "Mine"

[[factor]]
name = "rsize"
levels = ["4k", "64k"]

[[factor]]
name = "proto"
levels = ["tcp", "udp"]

[[workload]]
name = "a file"
size = "1M"
"""


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(RECIPE)
    return str(file)


class RequestRunner:
    """Function that sends requests to a simulated host, and can interrupt a run after some outcomes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outcomes_left = 10**9
        self.mounts = MountTable(mounts=[])
        self.link: LinkFacts | None = None

    def __call__(self, verb: str, query: Any, on_event: Callable[[ExperimentEvent], None]) -> Any:
        def forward_event(event: ExperimentEvent) -> None:
            on_event(event)
            if event.outcome is not None:
                self.outcomes_left -= 1
                if self.outcomes_left == 0:
                    raise KeyboardInterrupt

        if verb == "mounts.list":
            return self.mounts
        if verb == "hello":
            return HelloResult(protocol=1, version="", host="", kernel="", uid=0, link=self.link)
        work: Any = {
            "experiment.plan": plan_experiment, "experiment.run": run_experiment,
            "experiment.best": run_search, "experiment.search": resume_search,
        }[verb]  # fmt: skip
        return work(query, self.world.context(), CancelToken(), forward_event)


def run(ask: RequestRunner, *words: str) -> str:
    return run_experiments(ask, parse_args(["experiment", *words]), lambda: "")


def test_an_unreadable_recipe_is_reported_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    user_recipe_directory().mkdir(parents=True)
    (user_recipe_directory() / "broken.toml").write_text("title = ")
    assert main(["experiment", "list"]) == 0
    printed = capsys.readouterr()
    assert "attribute-caching" in printed.out
    assert "broken.toml" in printed.err
    assert "experiment remove broken" in printed.err
    assert main(["experiment", "remove", "broken"]) == 0


def test_recipes_need_no_host(capsys: pytest.CaptureFixture[str], recipe: str, tmp_path: Path) -> None:
    assert main(["--lab", "gigabit", "experiment", "list"]) == 0
    assert "attribute-caching" in capsys.readouterr().out
    assert main(["experiment", "show", "attribute-caching"]) == 0
    shown = capsys.readouterr().out
    assert "241 s" in shown
    assert "actimeo=0" in shown
    assert main(["experiment", "show", "attribute-caching", "--toml"]) == 0
    text = capsys.readouterr().out
    copy = tmp_path / "copy.toml"
    copy.write_text(text)
    assert main(["experiment", "add", str(copy), "--name", "my-own"]) == 0
    assert main(["experiment", "show", "my-own", "--json"]) == 0
    assert '"own": true' in capsys.readouterr().out
    assert main(["experiment", "remove", "my-own"]) == 0
    assert main(["experiment", "remove", "versions"]) == 2
    assert main(["experiment", "add", str(tmp_path / "none.toml")]) == 2
    assert main(["experiment", "show", "none"]) == 2
    copy.write_text(text.replace("1G", "1X"))
    capsys.readouterr()
    assert main(["experiment", "add", str(copy)]) == 2
    assert f"{copy}, line" in capsys.readouterr().err  # the user's file, not its copy among the recipes


def test_a_plan_lists_the_excluded_sets(recipe: str) -> None:
    text = run(RequestRunner(World()), "plan", recipe, "nas:/x")
    assert "2 option sets" in text
    assert "Not measured here: Transport udp. This kernel" in text


def test_a_run_is_saved_and_printed(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.speed = lambda values: 1e6 if values["rsize"] == "4096" else 5e6
    text = run(RequestRunner(world), "run", recipe, "nas:/x", "--seed", "3")
    assert "in the history as experiment 1" in text
    assert "rsize=65536 is 400% better than the reference: 5 MB/s against 1 MB/s." in text
    assert "rsize=65536, proto=tcp is best with 5 MB/s" in text
    assert "rsize: 65536 is best" in text
    assert "Not measured here" in capsys.readouterr().err
    assert run_hostless(parse_args(["experiment", "report", "1"])) == 0
    again = capsys.readouterr().out
    assert text.endswith(again.rstrip())
    with HistoryStore.open() as store:
        kept = store.experiment(1)
    assert (kept.share, kept.seed, len(kept.outcomes)) == ("nas:/x", 3, 3 * 2 + 2)


def test_json_is_a_complete_report(recipe: str) -> None:
    text = run(RequestRunner(World()), "run", recipe, "nas:/x", "--json", "--no-history")
    report = msgspec.json.decode(text, type=ExperimentReport)
    assert (report.id, report.result.done) == (0, len(report.outcomes))
    # All option sets of the simulated host have the same speed.
    assert [one.figure for one in report.analysis] == ["write", "read"]
    assert {one.conclusion.verdict for one in report.analysis} == {"no-difference"}
    assert report.analysis[0].effects[0].levels[0].low <= 1 <= report.analysis[0].effects[0].levels[0].high
    with HistoryStore.open() as store:
        assert store.experiments() == []


@pytest.mark.parametrize("number", [[], ["1"]])
def test_an_interrupted_run_is_resumed(
    recipe: str, capsys: pytest.CaptureFixture[str], number: list[str]
) -> None:
    ask = RequestRunner(World())
    ask.outcomes_left = 4
    with pytest.raises(KeyboardInterrupt):
        run(ask, "run", recipe, "nas:/x", "--seed", "1")
    assert "experiment resume 1" in capsys.readouterr().err
    with HistoryStore.open() as store:
        before = store.experiment(1).outcomes
    assert len(before) == 4
    ask.link = LinkFacts(name="wan")
    with pytest.raises(AppError) as refused:
        run(ask, "resume", *number)
    assert refused.value.hint == "Resume it without --lab."
    ask.link = None
    text = run(ask, "resume", *number)
    assert "8 of 8 trials are done" in text
    with HistoryStore.open() as store:
        after = store.experiment(1).outcomes
    assert after[:4] == before
    assert [outcome.order for outcome in after] == list(range(8))
    with pytest.raises(AppError) as caught:
        run(ask, "resume")
    assert "unfinished" in caught.value.message


def test_failed_trials_are_tried_again(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    ask = RequestRunner(world)
    world.before_test = lambda world: setattr(world, "dead", bool(world.specs))
    with pytest.raises(AppError) as broken:
        run(ask, "run", recipe, "nas:/x")
    assert "resume 1" in broken.value.hint
    text = capsys.readouterr().out
    assert "0 of 8 trials are done" in text
    assert "3 trial(s) failed. The first: The file system has stopped answering." in text
    assert "3 trials in a row failed" in text
    world.dead, world.before_test = False, lambda _world: None
    assert "8 of 8 trials are done" in run(ask, "resume")
    with HistoryStore.open() as store:
        assert {outcome.state for outcome in store.experiment(1).outcomes} == {"ok"}


def test_a_share_is_needed(recipe: str) -> None:
    with pytest.raises(AppError) as caught:
        run(RequestRunner(World()), "run", recipe)
    assert caught.value.kind is ErrorKind.USAGE


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("5min", 300), ("1.5h", 5400)])
def test_budgets(text: str, seconds: float) -> None:
    args = parse_args(["experiment", "run", "versions", "nas:/x", "--budget", text])
    assert args.budget == seconds


@pytest.mark.parametrize("text", ["0", "soon", "5 days", "-1"])
def test_bad_budgets(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_args(["experiment", "run", "versions", "nas:/x", f"--budget={text}"])
    assert "is not a time" in capsys.readouterr().err


def test_the_best_set_is_compared_with_the_present_options(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.speed = lambda values: 1e6 * int(values["nconnect"])
    ask = RequestRunner(world)
    active = Active(
        mount_id=1, device="0:1", share="nas:/x", fstype="nfs4", options="", recorded="nconnect=2,soft"
    )
    ask.mounts = MountTable(
        mounts=[
            with_requested_options(Mount(mount_point="/x", share="nas:/x", state="mounted", active=active))
        ]
    )
    text = run(ask, "best", "nas:/x", "--budget", "150s", "--seed", "1")
    assert "nconnect=8" in next(line for line in text.splitlines() if line.startswith("first, tested again "))
    assert "nconnect=2" in next(line for line in text.splitlines() if line.startswith("now, tested again "))
    assert "nconnect=8" in text.splitlines()[0]
    assert "300% faster than the present setting, tested again." in text.splitlines()[0]
    (use,) = [line for line in text.splitlines() if line.startswith("To use it: mountwright apply -o soft,")]
    assert "nconnect=8" in use
    assert use.endswith(" nas:/x MOUNT-POINT")
    assert "in the history as experiment 1" in text
    assert "Not measured here: Read and write size 1048576" in capsys.readouterr().err
    with HistoryStore.open() as store:
        kept = store.experiment(1)
    assert (kept.name, kept.share) == ("best", "nas:/x")
    assert kept.outcomes
    with pytest.raises(AppError):
        run(ask, "resume")  # it has ended


def test_an_interrupted_search_is_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    ask = RequestRunner(World())
    ask.outcomes_left = 5
    with pytest.raises(KeyboardInterrupt):
        run(ask, "best", "nas:/x", "--budget", "60s", "--seed", "1")
    assert "To resume: mountwright experiment resume 1" in capsys.readouterr().err
    report = msgspec.json.decode(run(ask, "resume", "--json"), type=BestReport)
    assert "Resuming search 1" in capsys.readouterr().err
    assert report.id == 1
    assert [outcome.order for outcome in report.outcomes] == list(range(len(report.outcomes)))
    assert sum(not one.retest for one in report.outcomes) == report.result.answer.trials
    assert len(report.outcomes) > 5
    with HistoryStore.open() as store:
        assert store.experiment(1).outcomes == report.outcomes
        assert len(store.experiments()) == 1
    with pytest.raises(AppError):
        run(ask, "resume")  # it has ended
    assert "No other set" in run(ask, "resume", "1")
    assert "No other set" in run(ask, "resume", "1", "--budget", "30s")
    with HistoryStore.open() as store:
        assert len(store.experiment(1).outcomes) > len(report.outcomes)


def test_the_tables_have_the_requested_axes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--vary", "rsize=4k,64k", "--vary", "nconnect=1,4", "--vary", "hard=hard,soft", "nas:/x"]
    text = run(RequestRunner(World()), *words, "--axes", "hard,rsize")
    assert "When the server does not answer down, Read size across, Connections 1:" in text or (
        " down, Read size across, Connections 1:" in text
    )
    assert "These cells do not differ significantly, so they have one color." in text
    assert run_hostless(parse_args(["experiment", "report", "1", "--axes", "nconnect,hard"])) == 0
    assert "Connections down, " in capsys.readouterr().out
    with pytest.raises(AppError) as caught:  # before the first trial
        run(RequestRunner(World()), *words, "--axes", "hard,wsize")
    assert "rsize, nconnect, hard" in caught.value.hint
    with HistoryStore.open() as store:
        assert len(store.experiments()) == 1


def test_the_report_of_a_saved_search_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.speed = lambda values: 1e6 * int(values["nconnect"])
    text = run(RequestRunner(world), "best", "nas:/x", "--budget", "150s", "--seed", "1", "-o", "nconnect=2")
    capsys.readouterr()
    assert run_hostless(parse_args(["experiment", "report", "1"])) == 0
    again = capsys.readouterr().out
    assert again.splitlines()[:3] == text.splitlines()[:3]
    assert "tested again" in again.splitlines()[0]
    assert run_hostless(parse_args(["experiment", "report", "1", "--json"])) == 0
    assert '"verdict": "better"' in capsys.readouterr().out


def test_factors_on_the_command_line() -> None:
    text = run(
        RequestRunner(World()), "run", "--vary", "rsize=4k,64k", "--vary", "nconnect=1,4", "nas:/x", "--json",
        "-o", "hard", "--size", "2M", "--repeats", "1",
    )  # fmt: skip
    report = msgspec.json.decode(text, type=ExperimentReport)
    made = report.plan.experiment
    assert [(factor.name, factor.levels) for factor in made.factors] == [
        ("rsize", ["4096", "65536"]), ("nconnect", ["1", "4"])
    ]  # fmt: skip
    assert (made.options, made.repeats, made.workloads[0].size, made.recipe) == ("hard", 1, 2**21, "")
    assert len(report.plan.sets) == 4
    alone = run(RequestRunner(World()), "plan", "nas:/x", "--vary", "rsize=4k,64k", "--vary", "nconnect=1,4",
                "--alone", "--quick")  # fmt: skip
    assert "3 option sets" in alone
    assert "8 MiB on the server" in alone


def test_factors_can_be_saved_as_a_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["experiment", "add", "--vary", "rsize=4k,64k", "--vary", "hard=hard,soft", "--name", "my"]) == 0
    )
    assert main(["experiment", "show", "my"]) == 0
    assert "4096, 65536" in capsys.readouterr().out
    assert "4 option sets" in run(RequestRunner(World()), "plan", "my", "nas:/x")


def test_a_search_varies_the_given_factors() -> None:
    text = run(
        RequestRunner(World()),
        "best",
        "nas:/x",
        "--vary",
        "nconnect=2,4",
        "-o",
        "",
        "--budget",
        "30s",
        "--json",
    )
    report = msgspec.json.decode(text, type=BestReport)
    assert [one.levels["nconnect"] for one in report.result.plan.sets] == ["default", "2", "4"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "nas:/x"], "needs a recipe or settings to vary"),
        (["run"], "needs a recipe or settings to vary"),
        (["run", "versions"], "needs a share"),
        (["run", "--vary", "rsize=4k"], "needs a share"),
        (["run", "none", "nas:/x"], "There is no recipe “none”"),
        (["run", "versions", "nas:/x", "--vary", "rsize=4k"], "cannot be combined"),
        (["run", "nas:/x", "--vary", "rsize"], "no levels"),
        (["run", "nas:/x", "--vary", "rsize=soon"], "not a size"),
        (["run", "nas:/x", "--vary", "rsiez=4k"], "There is no factor “rsiez”"),
        (["run", "nas:/x", "--vary", "rsize=4k", "--vary", "rsize=8k"], "appears twice"),
        (["run", "nas:/x", "--vary", "rsize=4k", "--size", "big"], "--size"),
        (["run", "versions", "nas:/x", "--repeats", "2"], "for an experiment of your own"),
        (["best"], "needs a share"),
        (["resume", "7"], "no experiment 7"),
        (["resume"], "No experiment is unfinished"),
    ],
)
def test_wrong_factors_are_refused(words: list[str], said: str) -> None:
    with pytest.raises(AppError) as caught:
        run(RequestRunner(World()), *words)
    assert said in caught.value.message
    assert caught.value.exit_code == 2


def test_a_search_as_json() -> None:
    text = run(
        RequestRunner(World()), "best", "nas:/x", "-o", "soft", "--budget", "60s", "--json", "--no-history"
    )
    report = msgspec.json.decode(text, type=BestReport)
    assert report.result.answer.trials == sum(not one.retest for one in report.outcomes)


def interrupted(recipe: str) -> None:
    """Save an experiment with three of eight trials done."""
    ask = RequestRunner(World())
    ask.outcomes_left = 3
    with pytest.raises(KeyboardInterrupt):
        run(ask, "run", recipe, "nas:/x", "--seed", "1")


def test_an_imported_experiment_is_not_resumed(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trials of two computers in one experiment could not be ranked."""
    interrupted(recipe)
    with HistoryStore.open() as store:
        raw = history_to_json([], [store.experiment(1)])
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
    with HistoryStore.open() as store:
        import_history(store, history_from_json(raw), "desk.json")
        before = store.experiment(1)
    for words, said in (
        (["resume"], "No experiment is unfinished"),
        (["resume", "1"], "imported from desk.json"),
    ):
        with pytest.raises(AppError) as caught:
            run(RequestRunner(World()), *words)
        assert said in caught.value.message
        assert caught.value.kind is ErrorKind.USAGE
    with HistoryStore.open() as store:
        assert store.experiment(1) == before


@pytest.mark.parametrize("begun_by", ["run", "resume", "best"])
def test_a_running_experiment_is_not_resumed(recipe: str, begun_by: str) -> None:
    world, refused = World(), []
    if begun_by == "resume":
        interrupted(recipe)
    words = {"run": ["run", recipe, "nas:/x"], "resume": ["resume"],
             "best": ["best", "nas:/x", "--budget", "60s"]}[begun_by]  # fmt: skip

    def other(_world: World) -> None:
        if len(world.specs) == 4:
            for number in ([], ["1"]):
                with pytest.raises(AppError) as caught:
                    run(RequestRunner(World()), "resume", *number)
                refused.append(caught.value.kind)

    world.before_test = other
    run(RequestRunner(world), *words)
    assert refused == [ErrorKind.BUSY] * 2
    assert not is_experiment_locked(1)


def test_an_older_experiment_is_resumed_if_the_latest_runs(recipe: str) -> None:
    interrupted(recipe)
    interrupted(recipe)
    with lock_experiment(2):
        assert "in the history as experiment 1" in run(RequestRunner(World()), "resume")


@pytest.mark.parametrize("held", ["one trial", "the beginning", "all of it"])
def test_outcomes_are_saved_later_if_the_history_is_locked(
    recipe: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_S", 0.05)
    world = World()
    HistoryStore.open().close()
    other = sqlite3.connect(default_path(), isolation_level=None)
    tested: list[int] = []

    def hold(_world: World) -> None:
        tested.append(0)
        if held == "one trial" and len(tested) == 3:
            other.execute("BEGIN IMMEDIATE")
        if held != "all of it" and len(tested) == 5:
            other.execute("ROLLBACK")

    if held != "one trial":
        other.execute("BEGIN IMMEDIATE")
    world.before_test = hold
    text = run(RequestRunner(world), "run", recipe, "nas:/x")
    other.close()
    told = capsys.readouterr().err
    assert told.count("not being saved: Another program has locked the history") == 1
    with HistoryStore.open() as store:
        if held == "all of it":
            assert "8 trial(s) could not be saved in the history." in told
            assert store.experiments() == []
        else:
            assert "could not be saved" not in told
            assert "in the history as experiment 1" in text
            assert [outcome.order for outcome in store.experiment(1).outcomes] == list(range(8))


@pytest.mark.parametrize("number", ["0", "-1", "101"])
def test_repeats_out_of_range_are_refused_first(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["experiment", "run", "--vary", "rsize=64k,1M", "--repeats", number, "nosuchserver.invalid:/a"]
    assert main(argv) == 2
    assert f"not {number}." in capsys.readouterr().err
