"""Changes of fstab from the agent to the helper: the preview equals the written file."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError, ErrorKind
from app.helper.errors import Refusal
from app.helper.fstab_writer import FstabWriter
from app.helper_client.client import explain_refusal
from app.mounts.change_model import PersistArgs, RemoveArgs
from app.mounts.fstab_store import FstabStore
from app.tasks import CancelToken

OLD = b"# head\nnas:/a /mnt/a nfs ro,x-gvfs-show 0 0\n\xff broken"


class Waits:
    cancelled = False

    def wait(self, fds: Any, timeout_s: float) -> set[int]:
        import select

        return set(select.select(list(fds), [], [], timeout_s)[0])


class Direct:
    """The helper's fstab writer, called in this process."""

    def __init__(self, folder: Path) -> None:
        self.writer = FstabWriter(str(folder), str(folder / "backups"))

    def call(self, verb: str, args: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        try:
            return getattr(self.writer, verb)(args, Waits())
        except Refusal as refusal:
            raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal

    def close(self) -> None:
        pass


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "fstab"
    path.write_bytes(OLD)
    return path


@pytest.fixture
def fstab(path: Path) -> FstabStore:
    return FstabStore(Direct(path.parent), str(path))  # type: ignore[arg-type]


def test_a_preview_writes_nothing_and_equals_the_written_file(fstab: FstabStore, path: Path) -> None:
    args = PersistArgs(share="nas:/b", mount_point="/mnt/b c", preview=True)
    shown = fstab.persist(args, CancelToken())
    assert path.read_bytes() == OLD
    assert shown.line == "nas:/b\t/mnt/b\\040c\tnfs\t_netdev,nofail,nosuid,nodev\t0\t0"
    assert f"+{shown.line}\n" in shown.diff
    assert "\\xff broken" in shown.diff
    assert shown.sha256 == hashlib.sha256(OLD).hexdigest()
    args = PersistArgs(share="nas:/b", mount_point="/mnt/b c", expected_sha256=shown.sha256)
    written = fstab.persist(args, CancelToken())
    assert (written.written, written.line, written.diff) == (True, shown.line, shown.diff)
    assert path.read_bytes() == OLD + b"\n" + shown.line.encode()
    assert Path(written.backup).read_bytes() == OLD
    assert fstab.forget(RemoveArgs(mount_point="/mnt/b c/"), CancelToken()).written
    assert path.read_bytes() == OLD + b"\n"


def test_an_entry_is_changed_where_it_stands(fstab: FstabStore, path: Path) -> None:
    token = CancelToken()
    kept = fstab.persist(PersistArgs(share="nas:/a", mount_point="/mnt/a"), token)
    assert (kept.diff, kept.written) == ("", False)
    fstab.persist(PersistArgs(share="nas:/a", mount_point="/mnt/a", options="rw,x-gvfs-show"), token)
    assert b"/mnt/a nfs rw,x-gvfs-show 0 0\n" in path.read_bytes()
    moved = PersistArgs(share="nas:/a", mount_point="/mnt/z", options="ro", replaces="/mnt/a")
    fstab.persist(moved, token)
    assert path.read_bytes().splitlines()[1] == b"nas:/a /mnt/z nfs ro,nosuid,nodev 0 0"


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        (PersistArgs(share="nas", mount_point="/mnt/b"), ErrorKind.SHARE_INVALID),
        (PersistArgs(share="nas:", mount_point="/mnt/b"), ErrorKind.SHARE_INVALID),
        (PersistArgs(share="nas:/b", mount_point="b"), ErrorKind.MOUNT_POINT_INVALID),
        (PersistArgs(share="nas:/b", mount_point="/etc"), ErrorKind.MOUNT_POINT_SYSTEM),
        (PersistArgs(share="nas:/b", mount_point="/mnt/b", options="suid"), ErrorKind.OPTION_INVALID),
        (PersistArgs(share="nas:/b", mount_point="/mnt/b", replaces="/mnt/x"), ErrorKind.NOT_MOUNTED),
        (PersistArgs(share="nas:/b", mount_point="/mnt/b", expected_sha256="0"), ErrorKind.FSTAB_CHANGED),
        (RemoveArgs(mount_point="/mnt/x"), ErrorKind.NOT_MOUNTED),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    fstab: FstabStore, path: Path, args: PersistArgs | RemoveArgs, kind: ErrorKind
) -> None:
    carry_out: Any = fstab.persist if isinstance(args, PersistArgs) else fstab.forget
    with pytest.raises(AppError) as caught:
        carry_out(args, CancelToken())
    assert caught.value.kind is kind
    assert caught.value.hint
    assert path.read_bytes() == OLD
