"""Options that only root may use: reported before, preserved in entries of root, approved in new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from advisor.options import MountOptions
from app.errors import AppError, ErrorKind
from app.helper import mountinfo, policy
from app.helper.callers import Caller
from app.mounts import approval as gate
from app.mounts.approval import not_approved_error, required_approval
from app.mounts.change_model import ApplyArgs, PersistArgs
from app.mounts.config_store import ConfigStore
from app.mounts.fstab_store import FstabStore
from app.mounts.parsing import parse_options
from app.mounts.unit_store import UnitStore
from app.tasks import CancelToken

if TYPE_CHECKING:
    from pathlib import Path

SHARE, POINT = "nas:/export", "/mnt/f"
LINE = f"{SHARE} {POINT} nfs4 futureopt=7,vers=4.1,comment=hi 1 2 # tail\n"


@pytest.fixture
def fstab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An fstab that root wrote, seen by an ordinary user; nothing is mounted."""
    path = tmp_path / "fstab"
    path.write_text(LINE)
    for reader in (policy.read_fstab, policy.fstab_entries):
        monkeypatch.setattr(reader, "__defaults__", (str(path),))
    monkeypatch.setattr(policy.read_roots, "__defaults__", (str(tmp_path / "none"),))
    monkeypatch.setattr(gate.points, "this_caller", lambda: Caller(1000, 1000))
    monkeypatch.setattr(mountinfo, "read", list)
    return path


def keeping(fstab: Path) -> ConfigStore:
    folder = fstab.parent / "units"
    folder.mkdir(exist_ok=True)
    nobody: object = None  # a preview asks no helper
    return ConfigStore(FstabStore(nobody, str(fstab)), UnitStore(nobody, str(folder)))  # type: ignore[arg-type]


def test_an_unknown_option_is_no_error() -> None:
    assert list(parse_options("futureopt=7,vers=4.1")) == ["futureopt=7", "vers=4.1"]
    for wrong in ("uid=5", "rsize=1k", "nosoftreval"):
        with pytest.raises(AppError) as caught:
            parse_options(wrong)
        assert caught.value.kind is ErrorKind.OPTION_INVALID


@pytest.mark.parametrize(
    ("share", "options", "named"),
    [
        (SHARE, "futureopt=7,vers=4.1,comment=hi,rsize=65536", []),
        (SHARE, None, []),
        (SHARE, "futureopt=8,vers=4.1", ["futureopt"]),
        (SHARE, "futureopt=7,x-systemd.wanted-by=a.target,context=b", ["x-systemd.wanted-by", "context"]),
        ("other:/export", None, ["futureopt"]),
        ("other:/export", "comment=hi", []),
    ],
)
def test_options_written_by_root_stay_and_new_ones_are_named(
    fstab: Path, share: str, options: str | None, named: list[str]
) -> None:
    writer = FstabStore(None, str(fstab))  # type: ignore[arg-type] # a preview asks no helper
    args = PersistArgs(share=share, mount_point=POINT, options=options, fstype="nfs4", preview=True)
    told = writer.reserved(args)
    assert [f"“{name}”" in told for name in ("futureopt", "x-systemd.wanted-by", "context")] == [
        name in named for name in ("futureopt", "x-systemd.wanted-by", "context")
    ]
    # The preview shows the entry nevertheless.
    line = writer.persist(args, CancelToken()).line
    assert line.endswith(" 1 2 # tail")
    assert (options or "futureopt=7,vers=4.1,comment=hi") in line


def test_units_name_them_too(fstab: Path) -> None:
    kept = keeping(fstab)
    args = ApplyArgs(share=SHARE, mount_point="/mnt/u", options="futureopt=7,vers=4.1", keeper="systemd")
    assert "“futureopt”" in kept.reserved(args)
    diff = kept.preview(args).diff
    assert "+Options=futureopt=7,vers=4.1" in diff
    text = "\n".join(line[1:] for line in diff.splitlines() if line[:1] == "+" and line[:3] != "+++")
    (fstab.parent / "units" / "mnt-u.mount").write_text(f"{text}\n")
    assert kept.reserved(args) == ""


def test_an_approval_says_which_word_and_why(fstab: Path) -> None:
    new = MountOptions.parse("vers=4.1,futureopt=7,context=a:b:c")
    found = required_approval(SHARE, "/mnt/new", mounts=True, options=new)
    assert found is not None
    assert (found.words, found.mounts, found.keeps) == (True, True, False)
    assert [reason.split("”")[0] for reason in found.reasons] == ["“futureopt", "“context"]
    assert "labels" in found.reasons[1]
    assert not_approved_error(found).kind is ErrorKind.OPTION_RESERVED
    written = "“x-systemd.requires” starts or orders other units of systemd, so only root may give it."
    found = required_approval(SHARE, POINT, keeps=True, written=written)
    assert found is not None
    assert (found.words, found.keeps, found.reasons) == (True, True, [written])


def test_options_written_by_root_need_no_approval(fstab: Path) -> None:
    assert (
        required_approval(SHARE, POINT, mounts=True, options=MountOptions.parse("futureopt=7,vers=4.1"))
        is None
    )
    assert required_approval(SHARE, POINT, mounts=True, options=MountOptions.parse("futureopt=8")) is not None
    assert (
        required_approval("evil:/export", POINT, mounts=True, options=MountOptions.parse("futureopt=7"))
        is not None
    )
    with pytest.raises(AppError) as caught:
        required_approval(SHARE, "/mnt/new", mounts=True, options=MountOptions.parse("addr=10.0.0.1"))
    assert caught.value.kind is ErrorKind.OPTION_INVALID
