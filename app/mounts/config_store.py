"""Saved configuration of mounts, in fstab or systemd units: previewed, written, restored and removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.helper_client.client import explain_refusal
from app.mounts.change_model import PersistArgs
from app.mounts.entry_options import safety_options
from app.mounts.fstab_store import missing_entry_error
from app.mounts.model import SavedEntryReport
from app.mounts.unit_store import UnitPair
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.helper_client.client import HelperClient
    from app.mounts.change_model import ApplyArgs, RemoveArgs
    from app.mounts.fstab_store import FstabStore
    from app.mounts.unit_store import UnitStore


@dataclass(frozen=True, slots=True)
class ConfigPreview:
    """Preview of a change of fstab or of units.

    Attributes:
        diff: unified diff of the file or of the units, "" if they do not change.
        sha256: checksum of the file or the units before the change, "" if nothing is saved.
        names: names of the files to write.
        warnings: warnings for the person, one sentence each.
        for_safety: options to write that the program adds for safety (nosuid, nodev).
    """

    diff: str = ""
    sha256: str = ""
    names: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list[str])
    for_safety: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WrittenConfig:
    """Result of a write, with the function that undoes it.

    Attributes:
        backup: path of the copy of the file before the change, "" if there was no file.
        warnings: warnings for the person, one sentence each.
        undo: restores all files byte for byte; raises AppError if that fails.
    """

    backup: str
    warnings: list[str]
    undo: Callable[[], None]


class ConfigStore:
    """Reads and writes saved mounts in both stores, fstab and systemd units.

    Args:
        fstab: the store of fstab entries.
        units: the store of systemd units.
    """

    def __init__(self, fstab: FstabStore, units: UnitStore) -> None:
        self._fstab = fstab
        self._units = units

    def preview(self, args: ApplyArgs) -> ConfigPreview:
        """Return a preview of the change; it is empty if the mount is not to be saved.

        Raises:
            AppError: if the store cannot hold the entry, or if its checksum differs from ``expected_sha256``.
        """
        if args.keeper == "nowhere":
            return ConfigPreview()
        if args.keeper == "fstab":
            report = self._fstab.persist(_fstab_args(args, preview=True), CancelToken())
            return ConfigPreview(
                report.diff, report.sha256, ("/etc/fstab",), report.warnings, report.for_safety
            )
        before, after = self._units.read(args.mount_point), self._units.wanted(args)
        if args.expected_sha256 and args.expected_sha256 != before.sha256:
            raise explain_refusal("fstab-changed", "The units were changed since they were shown.")
        self._units.check_restorable(args.mount_point, before)
        diff = self._units.diff(before, after, args.mount_point)
        names = [name for name, text in zip(self._units.names(args.mount_point), after, strict=True) if text]
        moved = self._moved(args)
        if moved is not None:
            self._units.check_restorable(args.replaces, moved)
            diff += self._units.diff(moved, UnitPair("", ""), args.replaces)
        given = f"{args.options},{self._units.options(before)}"
        added = safety_options(given, self._units.options(after))
        return ConfigPreview(diff, before.sha256, tuple(names), for_safety=added if diff else [])

    def reserved(self, args: ApplyArgs) -> str:
        """Return sentences on the options to write that only root may write, "" for none.

        Raises:
            AppError: for the reasons of :meth:`preview`.
        """
        if args.keeper == "nowhere":
            return ""
        if args.keeper == "fstab":
            return self._fstab.reserved(_fstab_args(args, preview=True))
        return self._units.reserved(args)

    def requests(self, args: ApplyArgs) -> list[tuple[str, dict[str, Any]]]:
        """Return the helper requests that write the entry and that undo it."""
        if args.keeper == "fstab":
            return self._fstab.requests(_fstab_args(args))
        return self._units.requests(args)

    def write(
        self, args: ApplyArgs, sha256: str, token: CancelToken, helper: HelperClient | None = None
    ) -> WrittenConfig:
        """Write the entry or the units, if the store still has the checksum.

        Args:
            args: the request.
            sha256: expected checksum of the present file or units.
            token: cancels the request.
            helper: helper of a separate approval or of a larger change; None uses the helper of the store.

        Raises:
            AppError: if that failed; everything is unchanged.
        """
        if args.keeper == "fstab":
            report = self._fstab.persist(_fstab_args(args, sha256=sha256), token, helper)
            return WrittenConfig(
                report.backup, report.warnings, lambda: self._fstab.restore(report, CancelToken(), helper)
            )
        before, moved = self._units.read(args.mount_point), self._moved(args)
        answer = self._units.write(args, sha256, token, helper)

        def undo() -> None:
            self._units.put(args.mount_point, before, str(answer["sha256"]), CancelToken(), helper)

        if moved is None:
            return WrittenConfig(str(answer["backup"]), [str(text) for text in answer["warnings"]], undo)
        try:
            self._units.put(args.replaces, UnitPair("", ""), moved.sha256, token)
        except BaseException:
            undo()
            raise

        def undo_both() -> None:
            self._units.put(args.replaces, moved, "", CancelToken())
            undo()

        return WrittenConfig(str(answer["backup"]), [str(text) for text in answer["warnings"]], undo_both)

    def is_saved(self, mount_point: str) -> bool:
        """Whether fstab or units of this program have an entry for a mount point."""
        return bool(self._fstab.share_at(mount_point) or self._units.read(mount_point).mount)

    def removal_requests(self, args: RemoveArgs) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
        """Return the saved share, and the helper requests that remove its entry.

        Raises:
            AppError: for the reasons of :meth:`forget`.
        """
        share = self._fstab.share_at(args.mount_point)
        if share:
            return share, [("remove", {"share": share, "target": args.mount_point, "sha256": ""})]
        units = self._units.read(args.mount_point)
        return self._units.share(units), [("unit-remove", {"target": args.mount_point, "sha256": ""})]

    def forget(
        self, args: RemoveArgs, token: CancelToken, helper: HelperClient | None = None
    ) -> SavedEntryReport:
        """Remove a saved mount, from fstab first, else its units; or preview the removal.

        Raises:
            AppError: NOT_MOUNTED if it is not saved; other kinds if the removal failed and nothing changed.
        """
        # The expected checksum is that of fstab if it has an entry, else that of the units.
        if self._fstab.share_at(args.mount_point):
            return self._fstab.forget(args, token, helper)
        units = self._units.read(args.mount_point)
        if not units.mount:
            raise missing_entry_error(args.mount_point)
        if args.expected_sha256 and args.expected_sha256 != units.sha256:
            raise explain_refusal("fstab-changed", "The units were changed since they were shown.")
        diff = self._units.diff(units, UnitPair("", ""), args.mount_point)
        if args.preview:
            return SavedEntryReport(diff=diff, line="", sha256=units.sha256)
        answer = self._units.put(args.mount_point, UnitPair("", ""), units.sha256, token, helper)
        return SavedEntryReport(
            diff=diff,
            line="",
            sha256=units.sha256,
            written=True,
            backup=str(answer["backup"]),
            warnings=[str(text) for text in answer["warnings"]],
        )

    def _moved(self, args: ApplyArgs) -> UnitPair | None:
        """Return the units of the replaced mount point if it differs from the new one, None for none."""
        if not args.replaces or args.replaces == args.mount_point:
            return None
        old = self._units.read(args.replaces)
        return old if old.mount else None


def _fstab_args(args: ApplyArgs, *, preview: bool = False, sha256: str = "") -> PersistArgs:
    return PersistArgs(
        share=args.share,
        mount_point=args.mount_point,
        options=args.options,
        exact=True,  # the plan has already added options
        fstype=args.fstype,
        replaces=args.replaces,
        preview=preview,
        expected_sha256=sha256 or args.expected_sha256,
    )
