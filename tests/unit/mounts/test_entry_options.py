"""Options for the boot: a new entry gets them, an old one retains them, and the person may omit them."""

from pathlib import Path
from typing import Any

import pytest
from memory_host import MemoryHost, ask

from app.cli.parser import parse_args
from app.cli.persist import report_text, run_persist
from app.errors import AppError, ErrorKind
from app.mounts.change_model import ApplyArgs, ApplyPlan, PersistArgs
from app.mounts.entry_options import EntryOptions, options_of_entry
from app.mounts.findings import findings_before_writing
from app.mounts.fstab_store import FstabStore
from app.mounts.model import SavedEntryReport
from app.mounts.plan import make_plan
from app.tasks import CancelToken

POINT = "/mnt/a"
BOTH = ("_netdev", "nofail")


@pytest.mark.parametrize(
    ("given", "old", "expected"),
    [
        (None, None, EntryOptions("_netdev,nofail", BOTH)),
        ("", None, EntryOptions("_netdev,nofail", BOTH)),
        ("vers=4.2", None, EntryOptions("vers=4.2,_netdev,nofail", BOTH)),
        ("nofail,vers=4.2,", None, EntryOptions("nofail,vers=4.2,_netdev", ("_netdev",))),
        ("nofail,_netdev,", None, EntryOptions("nofail,_netdev,")),
        # systemd has the option “fail”, the opposite of nofail.
        ("fail", None, EntryOptions("fail,_netdev", ("_netdev",))),
        (None, "soft", EntryOptions("soft")),
        ("vers=4.2", "soft", EntryOptions("vers=4.2")),
        ("vers=4.2", "soft,_netdev", EntryOptions("vers=4.2,_netdev", ("_netdev",))),
        ("vers=4.2", "nofail,_netdev", EntryOptions("vers=4.2,_netdev,nofail", BOTH)),
    ],
)
def test_new_ones_get_them_and_old_ones_keep_them(
    given: str | None, old: str | None, expected: EntryOptions
) -> None:
    assert options_of_entry(given, old, POINT, exact=False) == expected
    exact = old if given is None and old is not None else given or ""
    assert options_of_entry(given, old, POINT, exact=True) == EntryOptions(exact)


def test_at_a_place_such_as_home_nofail_is_a_question() -> None:
    home = "/home/ann/share"
    asked = EntryOptions("vers=4.2,_netdev", ("_netdev",), asks_nofail=True)
    assert options_of_entry("vers=4.2", None, home, exact=False) == asked
    assert options_of_entry("nofail", None, home, exact=False) == EntryOptions("nofail,_netdev", ("_netdev",))
    assert options_of_entry("soft", "nofail", home, exact=False) == EntryOptions("soft,nofail", ("nofail",))


def test_every_way_of_saving_adds_and_tells_them(tmp_path: Path) -> None:
    for keeper in ("fstab", "systemd"):
        folder = tmp_path / keeper
        folder.mkdir()
        world = MemoryHost(folder, mounted=False, fstab=b"")
        plan = make_plan(ask(options="vers=4.2", keeper=keeper), world.view())
        assert "vers=4.2,_netdev,nofail,nosuid,nodev" in plan.diff
        assert (plan.for_boot, plan.for_safety) == (list(BOTH), ["nosuid", "nodev"])
        assert [change.name for change in plan.changes] == ["vers", "nofail", "_netdev"]
        world.apply(ask(options="vers=4.2", keeper=keeper))
        saved = world.path.read_text() if keeper == "fstab" else str(world.unit_files())
        assert "vers=4.2,_netdev,nofail,nosuid,nodev" in saved
        plan = make_plan(ask(options="vers=4.1,_netdev,nofail", keeper=keeper), world.view())
        assert (plan.for_boot, plan.for_safety) == ([], [])


def persisted(world: MemoryHost, **changes: Any) -> SavedEntryReport:
    helper: Any = world
    args = PersistArgs(**{"share": "nas:/a", "mount_point": POINT, **changes})
    return FstabStore(helper, str(world.path)).persist(args, CancelToken())


def test_persist_adds_keeps_and_tells_them(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=False, fstab=b"")
    report = persisted(world, options="vers=3,soft,timeo=100")
    assert report.line.split()[2:4] == ["nfs", "vers=3,soft,timeo=100,_netdev,nofail,nosuid,nodev"]
    assert (report.for_boot, report.for_safety) == (list(BOTH), ["nosuid", "nodev"])
    assert [finding.rule for finding in report.findings if finding.severity == "error"] == ["soft-rw"]
    assert "Added for safety: nosuid,nodev." in report_text(report)
    report = persisted(world, options="vers=4.2")
    assert report.line.split()[3] == "vers=4.2,_netdev,nofail,nosuid,nodev"
    assert (report.for_boot, report.for_safety) == (list(BOTH), [])
    report = persisted(world, options="vers=4.2", exact=True)
    assert report.line.split()[3] == "vers=4.2,nosuid,nodev"
    assert "no-nofail" in {
        finding.rule for finding in findings_before_writing(report.findings)
    }  # a note that is shown before a write


def test_the_type_of_an_entry_stays(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=False, fstab=b"nas:/a /mnt/a nfs4 soft 1 2 # tail\n")
    persisted(world, options="soft,ro")
    assert world.path.read_bytes() == b"nas:/a /mnt/a nfs4 soft,ro 1 2 # tail\n"
    plan = make_plan(ask(options="vers=4.2", keeper="fstab"), world.view())
    assert "+nas:/a /mnt/a nfs4 vers=4.2 1 2 # tail\n" in plan.diff


def test_numbers_out_of_range_are_refused_before_anything(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    for changes in ({"read_ahead_kb": -5}, {"read_ahead_kb": 1 << 30}, {"keep_s": -5.0}):
        for act in (lambda args: make_plan(args, world.view()), world.apply):
            with pytest.raises(AppError) as caught:
                act(ask(options="vers=4.2", **changes))
            assert caught.value.kind is ErrorKind.USAGE


def test_a_plan_says_what_lint_says(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    plan: ApplyPlan = make_plan(ApplyArgs(share="nas:/a", mount_point=POINT, options="soft"), world.view())
    assert plan.findings[0].rule == "soft-rw"


def test_persist_prints_lint_s_warnings_before_it_acts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    world = MemoryHost(tmp_path, mounted=False, fstab=b"")
    heard: list[str] = []

    def answer(_verb: str, query: Any) -> SavedEntryReport:
        heard.append(capsys.readouterr().err)
        helper: Any = world
        return FstabStore(helper, str(world.path)).persist(query, CancelToken())

    run_persist(answer, parse_args(["persist", "--yes", "-o", "soft", "nas:/a", POINT]))
    assert heard[0] == ""
    assert heard[1].startswith("error: A soft mount that is writable can lose data.")
    assert "\n  Fix: " in heard[1]
    run_persist(answer, parse_args(["persist", "--yes", "--json", "-o", "soft,ro", "nas:/a", POINT]))
    assert capsys.readouterr().err == ""
