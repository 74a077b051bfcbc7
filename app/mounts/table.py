"""Mount table of this host: fstab, systemd units, autofs maps and the kernel's table, merged.

It is read once or followed: the kernel reports mounts, while fstab, units and maps are looked at each
second. The options with which this program made a mount are remembered: utab may be absent, or speak of an
earlier mount.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import select
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor.share import Share, ShareError
from app.errors import printable
from app.helper import readahead_rule
from app.kernel import fstab, mountinfo, utab
from app.kernel.mountstats import read_mountstats
from app.kernel.nfsmount_conf import read_settings
from app.kernel.utab import plain_share
from app.mounts import autofs, saved_readahead, systemd_units
from app.mounts.model import Active, Configured, Mount, MountState, MountTable
from app.mounts.option_comparison import configuration_differences
from app.mounts.requested_options import with_requested_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from advisor.nfsmount_conf import ConfSetting
    from app.kernel.mountinfo import MountInfo, MountRow
    from app.tasks import CancelToken

_DEVICE = re.compile(r"[0-9]+:[0-9]+")
_FSTAB = "/etc/fstab"


def read_table(root: str = "/") -> MountTable:
    """Return every NFS mount that is configured in fstab, a systemd unit or an autofs map, active, or both.

    Of mounts that lie on top of each other the upper one is listed, with a warning. Nothing is asked of any
    server, and no mount point is touched: the state "not-responding" is for those who probe.

    Args:
        root: where to look for etc, usr/lib/systemd, proc, run and sys; tests give a folder of files.
    """
    warnings: list[str] = []
    active = _active_mounts(root, warnings)
    mounts = [
        _merge(point, configured, active.pop(point, None))
        for point, configured in _configured_mounts(root, warnings, active)
    ]
    mounts += [
        Mount(mount_point=point, share=live.share, state="mounted", active=live)
        for point, live in active.items()
    ]
    mounts.sort(key=lambda mount: (mount.share, mount.mount_point, mount.active is None))
    settings = tuple(read_settings(root)) if mounts else ()
    rows = [with_requested_options(mount, settings) for mount in mounts]
    return MountTable(mounts=saved_readahead.with_saved_readahead(rows, root), warnings=warnings)


def _configured_mounts(
    root: str, warnings: list[str], active: dict[str, Active]
) -> list[tuple[str, Configured]]:
    """Return mount point and entry; of two entries for one place the one that is mounted comes first."""
    found = _fstab_mounts(root, warnings)
    taken = {point for point, _ in found}
    kept = systemd_units.read(root)
    warnings += [printable(warning) for warning in kept.warnings]
    for point, configured in kept.mounts:
        if point in taken:
            warnings.append(f"The unit {configured.origin} and {_FSTAB} both configure {point}.")
        found.append((point, configured))
    maps = autofs.read(root)
    warnings += maps.warnings
    for point, configured in maps.rows({point: live.share for point, live in active.items()}):
        if point in taken and point in maps.mounts:
            warnings.append(f"The map {configured.origin} and {_FSTAB} both configure {point}.")
        found.append((point, configured))

    def is_elsewhere(item: tuple[str, Configured]) -> bool:
        live = active.get(item[0])
        return live is None or not _same_share(item[1], live)

    return sorted(found, key=is_elsewhere)


def _fstab_mounts(root: str, warnings: list[str]) -> list[tuple[str, Configured]]:
    try:
        table = fstab.read(root)
    except OSError as error:
        warnings.append(f"{_FSTAB} cannot be read: {error.strerror}.")
        return []
    warnings += [printable(warning) for warning in table.warnings(_FSTAB)]
    found: list[tuple[str, Configured]] = []
    seen: set[str] = set()
    for line, entry in table.nfs_lines():
        configured = Configured(
            origin=_FSTAB,
            line=line.number,
            share=printable(entry.source),
            fstype=entry.fstype,
            options=printable(entry.options),
        )
        point = plain_path(printable(entry.target))
        if point in seen:
            warnings.append(f"Line {line.number} of {_FSTAB} names {point} once more.")
        seen.add(point)
        found.append((point, configured))
    return found


def _active_mounts(root: str, warnings: list[str]) -> dict[str, Active]:
    """Return mount point to live mount, visible ones only."""
    try:
        info = mountinfo.read(root)
    except OSError as error:
        warnings.append(f"The kernel's list of mounts cannot be read: {error.strerror}.")
        return {}
    rows = info.nfs_rows()
    if not rows:
        return {}
    noted = utab.read(root)
    connections = _connections(root)
    active: dict[str, Active] = {}
    for row in rows:
        if not info.is_visible(row):
            warnings.append(_covered(info, row))
            continue
        recorded = utab.recorded_options(noted, row)
        active[printable(row.mount_point)] = Active(
            mount_id=row.mount_id,
            device=row.device,
            share=printable(row.source),
            fstype=row.fstype,
            options=printable(row.options),
            recorded=None if recorded is None else printable(recorded),
            nconnect=connections.get(row.mount_point, 0),
            read_ahead_kb=read_ahead_of_device(row.device, root),
        )
    return active


def _covered(info: MountInfo, row: MountRow) -> str:
    upper = info.mount_of_path(row.mount_point)
    cover = f"{upper.source} at {upper.mount_point}" if upper is not None else "another mount"
    return printable(f"The mount of {row.source} at {row.mount_point} is hidden below {cover}.")


def _same_share(configured: Configured, live: Active) -> bool:
    """Whether a mount is of the share that is configured; version 4 shows ``nas:x`` as ``nas:/x``."""
    wanted = configured.share
    if live.fstype == "nfs4":
        with suppress(ShareError):
            wanted = str(Share.parse(wanted).absolute)
    return utab.plain_share(live.share) == utab.plain_share(wanted)


def _merge(point: str, configured: Configured, live: Active | None) -> Mount:
    if live is None:
        return Mount(mount_point=point, share=configured.share, state="not-mounted", configured=configured)
    sentences: list[str] = []
    if not _same_share(configured, live):
        sentences.append(f"{configured.origin} says {configured.share}, mounted is {live.share}.")
    sentences += configuration_differences(configured, live)
    state: MountState = "differs" if sentences else "mounted"
    return Mount(
        mount_point=point,
        share=live.share,
        state=state,
        configured=configured,
        active=live,
        differences=sentences,
    )


def _connections(root: str) -> dict[str, int]:
    """Return mount point to the number of connections of its client; 0 for a form not understood."""
    try:
        return {stats.mount_point: len(stats.xprts) for stats in read_mountstats(root)}
    except OSError:
        return {}


def read_ahead_of_device(device: str, root: str = "/") -> int | None:
    """Return the read-ahead of a superblock, KiB, or None if the kernel has no such device."""
    if not _DEVICE.fullmatch(device):
        return None
    try:
        text = Path(root, "sys/class/bdi", device, "read_ahead_kb").read_text(encoding="ascii")
        return int(text)
    except (OSError, ValueError):
        return None


def plain_path(path: str) -> str:
    """Return an absolute path without doubled slashes, "." and a slash at its end; links are not followed."""
    return posixpath.normpath("/" + path.lstrip("/")) if path.startswith("/") else path


#: The kernel hands the id of a mount out again (mnt_alloc_id, fs/namespace.c), so it is not enough alone.
_Key = tuple[int, str, str]


class RecordedOptions:
    """What was asked for, mount by mount; of any thread.

    Args:
        read: returns the mounts of this host.
    """

    def __init__(self, read: Callable[[], MountTable] = read_table) -> None:
        self._read = read
        # Held while the table is read: with an older table a mount that was just noted would seem gone.
        self._lock = threading.Lock()
        self._options: dict[_Key, str] = {}

    def note(self, mount_id: int, options: str) -> None:
        """Remember the options of a mount that is there now; one that is gone already is not noted."""
        with self._lock:
            for row in self._read().mounts:
                if row.active is not None and row.active.mount_id == mount_id:
                    self._options[_key(row.active)] = options

    def table(self) -> MountTable:
        """Return the mounts with what was asked for beside what is in use; forget those that are gone."""
        with self._lock:
            table = self._read()
            there = {_key(row.active) for row in table.mounts if row.active is not None}
            self._options = {key: text for key, text in self._options.items() if key in there}
            settings = tuple(read_settings()) if there else ()
            rows = [self._with_options(row, settings) for row in table.mounts]
            return msgspec.structs.replace(table, mounts=rows)

    def options(self, mount_id: int) -> str | None:
        """Return the options of a mount that was made here; None for one that somebody else made."""
        self.table()
        with self._lock:
            return next((text for key, text in self._options.items() if key[0] == mount_id), None)

    def _with_options(self, row: Mount, settings: tuple[ConfSetting, ...]) -> Mount:
        options = self._options.get(_key(row.active)) if row.active is not None else None
        if row.active is None or options is None:
            return row
        active = msgspec.structs.replace(row.active, recorded=options)
        return with_requested_options(msgspec.structs.replace(row, active=active), settings)


def _key(active: Active) -> _Key:
    return active.mount_id, active.device, plain_share(active.share)


#: Files that the kernel does not report. They are on the local disk: looking at them cannot hang.
_POLLED_PATHS = ("etc/fstab", "run/mount/utab", readahead_rule.FOLDER.lstrip("/"), *systemd_units.FOLDERS)
#: Mounts often come in bursts, and mount.nfs writes utab just after the mount: one look for all of it.
_SETTLE_S = 0.05


def watch_table(
    token: CancelToken,
    emit: Callable[[MountTable], object],
    *,
    root: str = "/",
    interval_s: float = 1.0,
    listen: Callable[[Callable[[], None]], AbstractContextManager[object]] | None = None,
) -> None:
    """Emit the table now and again each time that it has changed, until the token is set.

    Mounts and unmounts are reported by poll(2) on mountinfo (proc(5)), at once. A change that leaves the
    table as it was, such as a mount of another file system, emits nothing.

    Args:
        token: ends it within milliseconds.
        emit: called in this thread.
        root: as for :func:`read_table`.
        interval_s: how often fstab is looked at, seconds.
        listen: gives a context in which a function is called, on any thread, when something else is to be
            told of the mounts: the table is emitted then, whether it changed or not.

    Raises:
        CancelledError: always, at the end.
        OSError: if there is no mountinfo.
    """
    wake_read, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    mountinfo = os.open(Path(root, "proc/self/mountinfo"), os.O_RDONLY | os.O_CLOEXEC)
    woken = _WakePipe(wake_write)
    try:
        with token.on_cancel(woken), listen(woken) if listen is not None else contextlib.nullcontext():
            poll = select.poll()
            # mountinfo is always readable: only its priority event says that something changed.
            poll.register(mountinfo, select.POLLPRI | select.POLLERR)
            poll.register(wake_read, select.POLLIN)
            last: MountTable | None = None
            seen: object = None
            changed, asked = True, False
            while True:
                token.check()
                signatures = _signatures(root)
                if changed or asked or signatures != seen:
                    seen = signatures
                    table = read_table(root)
                    if asked or table != last:
                        last = table
                        emit(table)
                ready = {fd for fd, _event in poll.poll(interval_s * 1000)}
                changed, asked = mountinfo in ready, wake_read in ready
                if asked:
                    os.read(wake_read, 4096)
                if changed:
                    token.wait(_SETTLE_S)
    finally:
        woken.close()
        os.close(wake_read)
        os.close(mountinfo)


class _WakePipe:
    """Writes to a pipe when called; closed once, so that a later call cannot reach another's descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.write(self._fd, b"x")

    def close(self) -> None:
        with self._lock:
            fd, self._fd = self._fd, None
            if fd is not None:
                os.close(fd)


def _signatures(root: str) -> list[tuple[int, int, int] | None]:
    found: list[tuple[int, int, int] | None] = []
    looked_at = [(Path(root, name), True) for name in _POLLED_PATHS]
    # A map may be a link to anywhere, also to a share whose server is dead: it is not followed.
    for path, follow in [*looked_at, *((path, False) for path in autofs.files(root))]:
        try:
            status = path.stat(follow_symlinks=follow)
        except OSError:
            found.append(None)
        else:
            found.append((status.st_mtime_ns, status.st_ino, status.st_size))
    return found
