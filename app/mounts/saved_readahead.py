"""Saved readahead: udev rules of this program, previewed here and written by the helper.

A readahead lasts until the unmount, unless something sets it again at the next mount. That is either a rule
of this program for the mount point (:mod:`app.helper.readahead_rule`), or nfsrahead(5) of nfs-utils, which
sets one value per NFS version according to nfs.conf(5).
"""

from __future__ import annotations

import difflib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.throughput import DEFAULT_READAHEAD_BYTES
from app.errors import AppError
from app.helper import readahead_rule
from app.mounts.model import ReadaheadReport
from app.tasks import CancelToken
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from app.helper_client.client import HelperClient
    from app.mounts.model import Mount, ReadAheadState

    Request = tuple[str, dict[str, Any]]

#: Readahead of a new mount, KiB.
KERNEL_READ_AHEAD_KB = DEFAULT_READAHEAD_BYTES // 1024
#: Longest wait for the helper, seconds; its own child process may take 10 s.
_TIMEOUT_S = 30.0
#: Page size, KiB: the kernel stores the readahead in pages (mm/backing-dev.c, read_ahead_kb_store).
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
_NFS_CONF = ("usr/etc/nfs.conf", "usr/etc/nfs.conf.d/*.conf", "etc/nfs.conf", "etc/nfs.conf.d/*.conf")
_NFSRAHEAD = (
    "usr/lib/udev/rules.d/99-nfs.rules",
    "lib/udev/rules.d/99-nfs.rules",
    "etc/udev/rules.d/99-nfs.rules",
)


@dataclass(frozen=True, slots=True)
class ReadaheadRule:
    """The udev rule file that saves the readahead of one mount point.

    Attributes:
        path: path of the file, whether it exists or not.
        data: content of the file, None if it does not exist.
    """

    path: str
    data: bytes | None = None

    @property
    def sha256(self) -> str:
        """SHA-256 checksum of the file, "" if it does not exist."""
        return hashlib.sha256(self.data).hexdigest() if self.data is not None else ""

    @property
    def read_ahead_kb(self) -> int | None:
        """Saved readahead, KiB; None if there is no file, or if another program changed it."""
        saved = readahead_rule.read(self.data) if self.data is not None else None
        return saved.read_ahead_kb if saved is not None else None

    def diff(self, text: bytes | None) -> str:
        """Return a unified diff from this file to a new content, None for a removed file."""
        old, new = (
            data.decode("ascii", "backslashreplace").splitlines(keepends=True) if data is not None else []
            for data in (self.data, text)
        )
        names = (self.path, f"{self.path} (new)")
        return "".join(difflib.unified_diff(old, new, *names))


def read_rule(mount_point: str, root: str = "/") -> ReadaheadRule:
    """Return the rule of a mount point.

    Raises:
        AppError: FSTAB_REFUSED if the file exists and cannot be read.
    """
    path = f"{readahead_rule.FOLDER}/{readahead_rule.name(mount_point)}"
    file = Path(root, path.lstrip("/"))
    try:
        return ReadaheadRule(path, file.read_bytes())
    except FileNotFoundError:
        return ReadaheadRule(path)
    except OSError as error:
        raise AppError(ErrorCode.READAHEAD_RULE_UNREADABLE, detail=error.strerror or "", path=path) from error


def read_saved_readaheads(root: str = "/") -> dict[str, int]:
    """Return the saved readaheads by mount point, KiB; unreadable rules are left out."""
    readaheads: dict[str, int] = {}
    folder = Path(root, readahead_rule.FOLDER.lstrip("/"))
    try:
        files = [path for path in folder.iterdir() if readahead_rule.is_name(path.name)]
    except OSError:
        return readaheads
    for path in files:
        try:
            saved = readahead_rule.read(path.read_bytes())
        except OSError:
            continue
        if saved is not None and readahead_rule.name(saved.target) == path.name:
            readaheads[saved.target] = saved.read_ahead_kb
    return readaheads


def read_nfsrahead(root: str = "/") -> dict[str, int]:
    """Return the readahead that nfsrahead sets, KiB, by file system type (nfs, nfs4); "" is its default.

    Later files win, as in nfs.conf(5). The result is empty if no udev rule of nfs-utils runs nfsrahead.
    """
    if not any(Path(root, name).exists() for name in _NFSRAHEAD):
        return {}
    readaheads: dict[str, int] = {}
    for pattern in _NFS_CONF:
        for path in sorted(Path(root).glob(pattern)):
            for key, value in _nfsrahead_settings(path):
                if key in {"default", "nfs", "nfs4"} and value.isascii() and value.isdigit():
                    readaheads["" if key == "default" else key] = int(value)
    return readaheads


def _nfsrahead_settings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of section [nfsrahead] in one file."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return
    in_section = False
    for line in (line.strip() for line in lines):
        if line.startswith("["):
            in_section = line.strip("[] \t").lower() == "nfsrahead"
        elif in_section and "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            yield key.strip().lower(), value.strip().strip('"')


def same_readahead(one: int, other: int) -> bool:
    """Whether two readaheads, KiB, are the same number of pages for the kernel."""
    return one // _PAGE_KB == other // _PAGE_KB


def readahead_state(
    now: int | None, saved: int | None, fstype: str, nfsrahead: dict[str, int]
) -> ReadAheadState:
    """Return why a readahead will or will not return at the next mount.

    Args:
        now: present readahead of the mount, KiB; None if unknown.
        saved: readahead saved by a rule of this program, KiB; None for none.
        fstype: nfs or nfs4.
        nfsrahead: result of :func:`read_nfsrahead`.
    """
    if now is None:
        return ""
    if saved is not None:
        return "saved" if same_readahead(now, saved) else "until-unmounted"
    by_version = nfsrahead.get(fstype, nfsrahead.get(""))
    if by_version is not None:
        return "nfs.conf" if same_readahead(now, by_version) else "until-unmounted"
    return "default" if same_readahead(now, KERNEL_READ_AHEAD_KB) else "until-unmounted"


def with_saved_readahead(rows: list[Mount], root: str = "/") -> list[Mount]:
    """Return the mounts with their saved readahead and with the state of their present readahead."""
    if not rows:
        return rows
    saved, nfsrahead = read_saved_readaheads(root), read_nfsrahead(root)
    return [_row_with_saved_readahead(row, saved.get(row.mount_point), nfsrahead) for row in rows]


def _row_with_saved_readahead(row: Mount, saved: int | None, nfsrahead: dict[str, int]) -> Mount:
    active = row.active
    if active is not None:
        state = readahead_state(active.read_ahead_kb, saved, active.fstype, nfsrahead)
        active = msgspec.structs.replace(active, read_ahead_state=state)
    return msgspec.structs.replace(row, active=active, saved_read_ahead_kb=saved)


def save_request(mount_point: str, read_ahead_kb: int | None, sha256: str) -> Request:
    """Return the helper request that saves a readahead, KiB, or with None removes the saved one."""
    if read_ahead_kb is None:
        return "readahead-remove", {"target": mount_point, "sha256": sha256}
    return "readahead-save", {"target": mount_point, "read_ahead_kb": read_ahead_kb, "sha256": sha256}


class ReadaheadStore:
    """Previews and writes changes of the udev rules.

    Args:
        helper: helper of the action "tune".
        read: returns the rule of a mount point; tests replace it.
    """

    def __init__(self, helper: HelperClient, read: Callable[[str], ReadaheadRule] = read_rule) -> None:
        self._helper = helper
        self.read = read

    def change(
        self, mount_point: str, read_ahead_kb: int | None, expected_sha256: str | None, *, preview: bool,
        token: CancelToken, helper: HelperClient | None = None,
    ) -> ReadaheadReport:  # fmt: skip
        """Save a readahead, or remove the saved one, or preview either.

        Args:
            mount_point: absolute path.
            read_ahead_kb: readahead to save, KiB; None removes the saved one.
            expected_sha256: checksum of the rule that a preview showed, "" for no rule; None accepts any.
            preview: whether to return the diff without writing.
            token: cancels the request.
            helper: helper of a change with several actions; None uses the helper of "tune".

        Raises:
            AppError: if that failed; the rule is unchanged.
        """
        rule = self.read(mount_point)
        if expected_sha256 is not None and expected_sha256 != rule.sha256:
            raise AppError(ErrorCode.READAHEAD_RULE_CHANGED, mount_point=mount_point)
        diff = rule_diff(rule, mount_point, read_ahead_kb)
        report = ReadaheadReport(
            mount_point=mount_point, file=rule.path, diff=diff, sha256=rule.sha256, before=rule.read_ahead_kb,
            after=read_ahead_kb,
        )  # fmt: skip
        if preview or not diff:
            return report
        verb, wire = save_request(mount_point, read_ahead_kb, rule.sha256)
        answer = (helper or self._helper).call(verb, wire, token, _TIMEOUT_S)
        return ReadaheadReport(
            mount_point=mount_point, file=rule.path, diff=diff, sha256=rule.sha256, before=rule.read_ahead_kb,
            after=read_ahead_kb, written=True, written_sha256=str(answer["sha256"]),
            warnings=[str(text) for text in answer["warnings"]],
        )  # fmt: skip

    def undo(self, report: ReadaheadReport, helper: HelperClient | None = None) -> None:
        """Undo a change, unless the rule has its former content already.

        Raises:
            AppError: if that failed, or if another program changed the rule since.
        """
        if self.read(report.mount_point).sha256 == report.sha256:
            return
        # If the helper's answer was lost, the checksum of the written rule is unknown.
        expected = report.written_sha256 if report.written else None
        self.change(
            report.mount_point, report.before, expected, preview=False, token=CancelToken(), helper=helper
        )


def rule_diff(rule: ReadaheadRule, mount_point: str, read_ahead_kb: int | None) -> str:
    """Return the unified diff that changes the udev rule of a mount; "" if the rule stays as it is.

    Args:
        rule: the rule as it stands in its file.
        mount_point: the mount whose readahead the rule sets.
        read_ahead_kb: new readahead, KiB; None to remove the rule.

    Raises:
        AppError: FSTAB_REFUSED if another program changed the file.
    """
    if rule.data is not None and rule.read_ahead_kb is None:
        raise AppError(ErrorCode.READAHEAD_RULE_FOREIGN, path=rule.path)
    if read_ahead_kb == rule.read_ahead_kb:
        return ""
    text = readahead_rule.text(mount_point, read_ahead_kb) if read_ahead_kb is not None else None
    return rule.diff(text)
