"""The mounts of this host: fstab, systemd units, autofs maps and the kernel's table, merged."""

from __future__ import annotations

import posixpath
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.share import Share, ShareError
from app.errors import printable
from app.kernel import fstab, mountinfo, utab
from app.kernel.mountstats import read_mountstats
from app.kernel.nfsmount_conf import read_settings
from app.mounts import autofs, saved_readahead, systemd_units
from app.mounts.model import Active, Configured, Mount, MountTable, State
from app.mounts.option_comparison import differences
from app.mounts.requested_options import complete

if TYPE_CHECKING:
    from app.kernel.mountinfo import MountInfo, MountRow

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
    rows = [complete(mount, settings) for mount in mounts]
    return MountTable(mounts=saved_readahead.with_saved(rows, root), warnings=warnings)


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
            read_ahead_kb=read_ahead_kb(row.device, root),
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
    sentences += differences(configured, live)
    state: State = "differs" if sentences else "mounted"
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


def read_ahead_kb(device: str, root: str = "/") -> int | None:
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
