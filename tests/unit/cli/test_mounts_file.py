"""Commands "export-mounts" and "import-mounts" on a scripted host; the lab tests use real mounts."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.mounts_file import run_export_mounts, run_import_mounts
from app.cli.parser import parse_args
from app.errors import AppError, ErrorKind
from app.mounts.change_model import ImportItem, ImportOutcome, ImportPlan, ImportReport, MountEntry
from app.mounts.model import Configured, Mount, MountTable
from app.mounts.mounts_file import from_toml, to_toml
from app.service.client import Call
from app.service.protocol import HelloResult

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = [MountEntry(share=f"nas:/{name}", mount_point=f"/mnt/{name}", options="ro") for name in "abcd"]
DIFF = "+nas:/x /mnt/x nfs ro 0 0\n"


def item(number: int, status: Any, **changes: Any) -> ImportItem:
    return ImportItem(entry=ENTRIES[number], status=status, options="ro", saved_in="fstab", **changes)


PLAN = ImportPlan(items=[
    item(0, "new", diff=DIFF, chosen=True), item(1, "same"), item(2, "differs", diff=DIFF, chosen=True),
    item(3, "refused", error="The word “odd” cannot be written.", hint="Remove it."),
])  # fmt: skip


class Host:
    """Host that returns an import plan, and a report with one result for all entries."""

    def __init__(self, result: Any = "written") -> None:
        self.result = result
        self.imported: list[Any] = []

    def submit(self, verb: str, args: Any = None, on_event: Any = None) -> Call:
        call = Call(1, verb, on_event)
        call.future.set_result(PLAN if verb == "mounts.import-plan" else self._report(args))
        return call

    def _report(self, args: Any) -> ImportReport:
        self.imported.append(args)
        chosen = {choice.index for choice in args.choices}
        return ImportReport(outcomes=[
            ImportOutcome(mount_point=one.mount_point, result=self.result if n in chosen else "not-chosen")
            for n, one in enumerate(args.entries)
        ])  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mounts.toml"
    path.write_bytes(to_toml(ENTRIES, "there"))
    return str(path)


def import_mounts(host: Host, *argv: str) -> str:
    return run_import_mounts(host, parse_args(["import-mounts", *argv]))  # type: ignore[arg-type]


def test_a_dry_run_shows_each_entry_and_writes_nothing(file: str) -> None:
    host = Host()
    text = import_mounts(host, "--dry-run", file)
    assert host.imported == []
    words = ("New", "Same", "Differs", "Cannot be written", "Remove it.", DIFF.strip(), "/mnt/b")
    assert all(word in text for word in words)
    assert json.loads(import_mounts(host, "--dry-run", "--json", file))["items"][0]["status"] == "new"


def test_with_yes_the_proposed_entries_are_written(file: str) -> None:
    host = Host()
    text = import_mounts(host, "--yes", file)
    assert "/mnt/a: saved" in text
    assert "/mnt/b: left out" in text
    (args,) = host.imported
    assert [(choice.index, choice.diff) for choice in args.choices] == [(0, DIFF), (2, DIFF)]
    assert not args.mount


def test_without_a_terminal_nothing_is_written(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    with pytest.raises(AppError) as caught:
        import_mounts(host, file)
    assert caught.value.kind is ErrorKind.USAGE
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    errors = Terminal()
    monkeypatch.setattr("sys.stderr", errors)
    with pytest.raises(AppError) as caught:
        import_mounts(host, file)
    assert caught.value.kind is ErrorKind.CANCELLED
    assert "Write 2 entries?" in errors.getvalue()
    assert "An administrator is asked once." in errors.getvalue()
    assert host.imported == []


def test_entries_are_chosen_by_their_mount_points(file: str) -> None:
    host = Host()
    import_mounts(host, "--yes", "--only", "/mnt/c/", "--mount", "--save-in", "fstab", file)
    (args,) = host.imported
    assert [choice.index for choice in args.choices] == [2]
    assert (args.mount, args.save_in) == (True, "fstab")
    for point, said in (("/mnt/d", "Remove it"), ("/mnt/e", "no mount at /mnt/e")):
        with pytest.raises(AppError) as caught:
            import_mounts(host, "--yes", "--only", point, file)
        assert said in f"{caught.value.message} {caught.value.hint}"
    assert "Nothing to write." in import_mounts(host, "--yes", "--only", "/mnt/b", file)


def test_failed_entries_set_the_exit_code(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AppError) as caught:
        import_mounts(Host("failed"), "--yes", file)
    assert caught.value.message == "2 of 2 entries were not written."
    assert caught.value.exit_code == 1
    assert "/mnt/a: not saved" in capsys.readouterr().out


def test_a_broken_file_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_text("nas:/a /mnt/a nfs ro 0 0\n")
    with pytest.raises(AppError, match="at line 1"):
        import_mounts(Host(), str(path))
    with pytest.raises(AppError, match="cannot be read"):
        import_mounts(Host(), str(tmp_path / "none"))


def test_all_mounts_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Configured(origin="/etc/fstab", line=3, share="nas:/a", fstype="nfs", options="odd,ro")
    row = Mount(mount_point="/mnt/a", share="nas:/a", state="not-mounted", configured=entry)
    answers = {
        "hello": HelloResult(protocol=1, version="0", host="box", kernel="k", uid=0),
        "mounts.list": MountTable(mounts=[row]),
    }

    def export(*argv: str) -> str:
        return run_export_mounts(lambda verb, _query: answers[verb], parse_args(["export-mounts", *argv]))

    assert from_toml(export("-").encode(), "f")[0].options == "odd,ro"
    monkeypatch.chdir(tmp_path)
    assert export("all.toml") == f"Exported 1 mount to {tmp_path / 'all.toml'}."
    assert from_toml((tmp_path / "all.toml").read_bytes(), "f")[0].share == "nas:/a"
    with pytest.raises(AppError):
        export("all.toml")
    assert json.loads(export("--json", "other.toml"))["mounts"] == 1
