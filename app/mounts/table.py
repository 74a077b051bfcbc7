"""Mount table of this host: fstab, systemd units, autofs maps and the kernel's table, merged.

The table is read once or watched: the kernel reports mounts at once (poll(2) on mountinfo, proc(5)), while
fstab, units and maps are polled every second. The program records the options of its own mounts, because
utab may be absent or describe an earlier mount.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import select
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor.message import Message, message
from advisor.share import Share, ShareError
from app.errors import printable
from app.helper import readahead, readahead_rule
from app.kernel import fstab, mountinfo, utab
from app.kernel.mountstats import read_mountstats
from app.kernel.nfsmount_conf import read_settings
from app.kernel.utab import plain_share
from app.mounts import autofs, saved_readahead, systemd_units
from app.mounts.model import Active, Configured, Mount, MountState, MountTable
from app.mounts.option_comparison import Difference, configuration_differences
from app.mounts.requested_options import with_requested_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from advisor.nfsmount_conf import ConfSetting
    from app.kernel.mountinfo import MountInfo, MountRow
    from app.tasks import CancelToken

_FSTAB = "/etc/fstab"


def read_table(root: str = "/") -> MountTable:
    """Return every NFS mount that is active or configured in fstab, a systemd unit or an autofs map.

    Where one mount hides another, only the upper one is listed, with a warning. No server and no mount point
    is accessed, so the state is never "not-responding".

    Args:
        root: directory that contains etc, usr/lib/systemd, proc, run and sys; tests use a temporary one.
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
    """Return mount points and entries; of two entries of one mount point, the mounted one comes first."""
    entries = _fstab_mounts(root, warnings)
    fstab_points = {point for point, _ in entries}
    units = systemd_units.read(root)
    warnings += [printable(warning) for warning in units.warnings]
    for point, configured in units.mounts:
        if point in fstab_points:
            warnings.append(f"The unit {configured.origin} and {_FSTAB} both configure {point}.")
        entries.append((point, configured))
    maps = autofs.read(root)
    warnings += maps.warnings
    for point, configured in maps.rows({point: live.share for point, live in active.items()}):
        if point in fstab_points and point in maps.mounts:
            warnings.append(f"The map {configured.origin} and {_FSTAB} both configure {point}.")
        entries.append((point, configured))

    def is_elsewhere(item: tuple[str, Configured]) -> bool:
        live = active.get(item[0])
        return live is None or not _same_share(item[1], live)

    return sorted(entries, key=is_elsewhere)


def _fstab_mounts(root: str, warnings: list[str]) -> list[tuple[str, Configured]]:
    try:
        table = fstab.read(root)
    except OSError as error:
        warnings.append(f"{_FSTAB} cannot be read: {error.strerror}.")
        return []
    warnings += [printable(warning) for warning in table.warnings(_FSTAB)]
    entries: list[tuple[str, Configured]] = []
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
        entries.append((point, configured))
    return entries


def _active_mounts(root: str, warnings: list[str]) -> dict[str, Active]:
    """Return the visible live mounts by mount point."""
    try:
        info = mountinfo.read(root)
    except OSError as error:
        warnings.append(f"The kernel's list of mounts cannot be read: {error.strerror}.")
        return {}
    rows = info.nfs_rows()
    if not rows:
        return {}
    utab_entries = utab.read(root)
    connections = _connections(root)
    active: dict[str, Active] = {}
    for row in rows:
        if not info.is_visible(row):
            warnings.append(_hidden_mount_warning(info, row))
            continue
        recorded = utab.recorded_options(utab_entries, row)
        active[printable(row.mount_point)] = Active(
            mount_id=row.mount_id,
            device=row.device,
            share=printable(row.source),
            fstype=row.fstype,
            options=printable(row.options),
            recorded=None if recorded is None else printable(recorded),
            nconnect=connections.get(row.mount_point, 0),
            read_ahead_kb=readahead.read(row.device, root),
        )
    return active


def _hidden_mount_warning(info: MountInfo, row: MountRow) -> str:
    upper = info.mount_of_path(row.mount_point)
    cover = f"{upper.source} at {upper.mount_point}" if upper is not None else "another mount"
    return printable(f"The mount of {row.source} at {row.mount_point} is hidden below {cover}.")


def _same_share(configured: Configured, live: Active) -> bool:
    """Whether a live mount shows the configured share; NFS version 4 shows ``nas:x`` as ``nas:/x``."""
    wanted = configured.share
    if live.fstype == "nfs4":
        with suppress(ShareError):
            wanted = str(Share.parse(wanted).absolute)
    return utab.plain_share(live.share) == utab.plain_share(wanted)


def _merge(point: str, configured: Configured, live: Active | None) -> Mount:
    if live is None:
        return Mount(mount_point=point, share=configured.share, state="not-mounted", configured=configured)
    differences: list[Message] = []
    if not _same_share(configured, live):
        differences.append(
            message(
                Difference.SHARE, origin=configured.origin, configured=configured.share, mounted=live.share
            )
        )
    differences += configuration_differences(configured, live)
    state: MountState = "differs" if differences else "mounted"
    return Mount(
        mount_point=point,
        share=live.share,
        state=state,
        configured=configured,
        active=live,
        differences=differences,
    )


def _connections(root: str) -> dict[str, int]:
    """Return the number of connections of each mount, by mount point; empty without mountstats."""
    try:
        return {stats.mount_point: len(stats.xprts) for stats in read_mountstats(root)}
    except OSError:
        return {}


def plain_path(path: str) -> str:
    """Return an absolute path without double slashes, "." and trailing slash; links are not followed."""
    return posixpath.normpath("/" + path.lstrip("/")) if path.startswith("/") else path


#: Key of a mount: id, device and share. The kernel reuses the id alone (mnt_alloc_id, fs/namespace.c).
_Key = tuple[int, str, str]


class RecordedOptions:
    """Requested options of the mounts that this program made. Methods may be called by any thread.

    Args:
        read: returns the mounts of this host.
    """

    def __init__(self, read: Callable[[], MountTable] = read_table) -> None:
        self._read = read
        # Held while the table is read: with an older table, a mount recorded meanwhile would seem gone.
        self._lock = threading.Lock()
        self._options: dict[_Key, str] = {}

    def note(self, mount_id: int, options: str) -> None:
        """Record the requested options of a live mount; an unknown mount id is ignored."""
        with self._lock:
            for row in self._read().mounts:
                if row.active is not None and row.active.mount_id == mount_id:
                    self._options[_key(row.active)] = options

    def table(self) -> MountTable:
        """Return the mounts with their recorded options, and drop the records of mounts that are gone."""
        with self._lock:
            table = self._read()
            present = {_key(row.active) for row in table.mounts if row.active is not None}
            self._options = {key: text for key, text in self._options.items() if key in present}
            settings = tuple(read_settings()) if present else ()
            rows = [self._with_options(row, settings) for row in table.mounts]
            return msgspec.structs.replace(table, mounts=rows)

    def options(self, mount_id: int) -> str | None:
        """Return the requested options of a mount; None if this program did not make it."""
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


#: Files and directories to poll, because the kernel does not report them. The local disk cannot hang.
_POLLED_PATHS = ("etc/fstab", "run/mount/utab", readahead_rule.FOLDER.lstrip("/"), *systemd_units.FOLDERS)
#: Delay after a report of the kernel, seconds: mounts come in bursts, and mount.nfs writes utab afterwards.
_SETTLE_S = 0.05


def watch_table(
    token: CancelToken,
    emit: Callable[[MountTable], object],
    *,
    root: str = "/",
    interval_s: float = 1.0,
    listen: Callable[[Callable[[], None]], AbstractContextManager[object]] | None = None,
) -> None:
    """Emit the mount table now and after each change, until the token is set.

    poll(2) on mountinfo reports mounts and unmounts at once (proc(5)). A change that does not alter the
    table, such as a mount of another file system, emits nothing.

    Args:
        token: ends the watch within milliseconds.
        emit: receives the table, in this thread.
        root: directory that contains the files, see :func:`read_table`.
        interval_s: interval between two polls of fstab, units and maps, seconds.
        listen: takes a function and returns a context; while it is open, any thread may call the function to
            have the table emitted even if it did not change.

    Raises:
        CancelledError: always, when the token is set.
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
            last_signatures: object = None
            changed, requested = True, False
            while True:
                token.check()
                signatures = _signatures(root)
                if changed or requested or signatures != last_signatures:
                    last_signatures = signatures
                    table = read_table(root)
                    if requested or table != last:
                        last = table
                        emit(table)
                ready = {fd for fd, _event in poll.poll(interval_s * 1000)}
                changed, requested = mountinfo in ready, wake_read in ready
                if requested:
                    os.read(wake_read, 4096)
                if changed:
                    token.wait(_SETTLE_S)
    finally:
        woken.close()
        os.close(wake_read)
        os.close(mountinfo)


class _WakePipe:
    """Writes to a pipe when called. After close, a call does nothing: the descriptor may be reused."""

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
    signatures: list[tuple[int, int, int] | None] = []
    polled = [(Path(root, name), True) for name in _POLLED_PATHS]
    # A map may be a link to a share whose server is dead, so links of maps are not followed.
    for path, follow in [*polled, *((path, False) for path in autofs.files(root))]:
        try:
            status = path.stat(follow_symlinks=follow)
        except OSError:
            signatures.append(None)
        else:
            signatures.append((status.st_mtime_ns, status.st_ino, status.st_size))
    return signatures
