"""Where a mount is kept: the entry of fstab or the units of systemd, as they are and as they are to be."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.dialects.entry import DialectError, Entry
from advisor.dialects.systemd import write_automount, write_mount
from app.agent.protocol import PersistArgs
from app.errors import AppError, ErrorKind
from app.tasks import CancelToken

if TYPE_CHECKING:
    from app.mounts.change import ApplyArgs
    from app.mounts.persist import Persistence


@dataclass(frozen=True, slots=True)
class KeptChange:
    """A change of what is kept, not made yet.

    Attributes:
        diff: of the file, or of both units; "" if it stays.
        sha256: of what the diff starts from, "" if nothing is kept.
        warnings: one sentence each.
    """

    diff: str = ""
    sha256: str = ""
    warnings: list[str] = field(default_factory=list[str])


def preview(args: ApplyArgs, fstab: Persistence) -> KeptChange:
    """Return what would be written.

    Raises:
        AppError: if it cannot be kept there.
    """
    if args.keeper == "nowhere":
        return KeptChange()
    if args.keeper == "systemd":
        return _preview_units(args)
    report = fstab.persist(fstab_args(args, preview=True), CancelToken())
    return KeptChange(report.diff, report.sha256, report.warnings)


def fstab_args(args: ApplyArgs, *, preview: bool = False) -> PersistArgs:
    """Return the change of fstab as ``mounts.persist`` has it."""
    return PersistArgs(
        share=args.share,
        mount_point=args.mount_point,
        options=args.options,
        fstype=args.fstype,
        replaces=args.replaces,
        preview=preview,
        expected_sha256=args.expected_sha256,
    )


def units(args: ApplyArgs) -> dict[str, str]:
    """Return path and text of the units: the mount, and beside it the automount if it is on demand.

    Raises:
        AppError: if no unit can say this.
    """
    try:
        entry = Entry.make(args.share, args.mount_point, args.options)
        written = [write_mount(entry)]
        if entry.when == "on demand":
            written.append(write_automount(entry))
    except DialectError as error:
        raise AppError(
            ErrorKind.OPTION_INVALID, str(error), hint="Keep the mount in fstab instead."
        ) from error
    return {one.file_name: one.text for one in written}


def _preview_units(args: ApplyArgs) -> KeptChange:
    diff = ""
    digest = hashlib.sha256()
    for name, text in units(args).items():
        before = _read(name)
        digest.update(before.encode() + b"\0")
        diff += "".join(
            difflib.unified_diff(
                before.splitlines(keepends=True), text.splitlines(keepends=True), name, f"{name} (new)"
            )
        )
    return KeptChange(diff, digest.hexdigest())


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8", errors="backslashreplace")
    except OSError:
        return ""
