"""fstab store: changes of /etc/fstab, previewed here and written by the helper.

The preview uses the helper's code, so it shows exactly the line that is written. The helper gets the checksum
of the file that was read. If another program changed the file since, nothing is written.
"""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from advisor.options import MountOptions
from app.errors import AppError
from app.helper import fstab_text
from app.helper.errors import Refusal
from app.helper.mountinfo import NFS_TYPES
from app.helper.options import load, split
from app.helper_client.client import HelperClient, explain_refusal
from app.mounts.entry_options import EntryOptions, options_of_entry, safety_options
from app.mounts.findings import lint_mount
from app.mounts.model import SavedEntryReport
from app.mounts.parsing import share_to_mount
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from app.helper.fstab_text import EntryEdit, FstabEntry
    from app.mounts.change_model import PersistArgs, RemoveArgs
    from app.tasks import CancelToken

#: Longest wait for the helper, seconds; its own child processes may take 5 s, 5 s and 15 s.
_TIMEOUT_S = 60.0
_FSTAB = "/etc/fstab"


class FstabStore:
    """Previews and writes changes of fstab.

    Args:
        helper: helper of the role "persist".
        path: path of fstab; tests use a temporary file.
    """

    def __init__(self, helper: HelperClient, path: str = _FSTAB) -> None:
        self._helper = helper
        self._path = Path(path)

    def close(self) -> None:
        """End the helper."""
        self._helper.close()

    def persist(
        self, args: PersistArgs, token: CancelToken, helper: HelperClient | None = None
    ) -> SavedEntryReport:
        """Add an entry, or change the one at ``replaces`` or at the mount point.

        Args:
            args: the request.
            token: cancels the request.
            helper: helper of a separate approval or of a larger change; None uses the helper of "persist".

        Raises:
            AppError: if that failed; fstab is unchanged.
        """
        share_to_mount(args.share)
        data = self._read(args.expected_sha256)
        change = _fstab_change(args, data)
        report = self._carry_out(data, change, token, helper, preview=args.preview)
        options = change.options
        if options is None or not report.diff:
            return report
        return msgspec.structs.replace(
            report,
            asks_nofail=options.asks_nofail,
            for_boot=list(options.for_boot),
            findings=lint_mount(
                MountOptions.parse(options.text),
                saved=True,
                share=args.share,
                mount_point=args.mount_point,
                fstype=str(change.wire["fstype"]),
            ),
            for_safety=safety_options(f"{options.text},{change.old}", ",".join(change.written(report.line))),
        )

    def reserved(self, args: PersistArgs) -> str:
        """Return sentences on the new options that only root may write, "" for none.

        Raises:
            AppError: for the reasons of :meth:`persist`.
        """
        data = self._read(args.expected_sha256)
        try:
            fstab_text.apply(data, _fstab_change(args, data).edit, load())
        except Refusal as refusal:
            return refusal.message if refusal.code == "option-reserved" else ""
        return ""

    def requests(self, args: PersistArgs) -> list[tuple[str, dict[str, Any]]]:
        """Return the helper requests that write the entry and that undo it.

        Raises:
            AppError: for the reasons of :meth:`persist`.
        """
        change = _fstab_change(args, self._read(args.expected_sha256))
        back = {"backup": "", "sha256": ""}
        return [(change.verb, {**change.wire, "sha256": ""}), ("restore", back)]

    def forget(
        self, args: RemoveArgs, token: CancelToken, helper: HelperClient | None = None
    ) -> SavedEntryReport:
        """Remove the entry of a mount point.

        Raises:
            AppError: if that failed; fstab is unchanged.
        """
        data = self._read(args.expected_sha256)
        old = _entry_at(data, args.mount_point)
        if old is None:
            raise missing_entry_error(args.mount_point)
        edit = fstab_text.EntryEdit((old.share, old.target), None)
        change = _FstabChange(edit, "remove", {"share": old.share, "target": old.target})
        return self._carry_out(data, change, token, helper, preview=args.preview)

    def share_at(self, mount_point: str) -> str:
        """Return the share of the fstab entry of a mount point, "" for none."""
        old = _entry_at(self._read(""), mount_point)
        return old.share if old is not None else ""

    def restore(
        self, report: SavedEntryReport, token: CancelToken, helper: HelperClient | None = None
    ) -> None:
        """Undo a change, unless the file has its former content already.

        Raises:
            AppError: if that failed, or if another program changed the file since.
        """
        if hashlib.sha256(self._read("")).hexdigest() == report.sha256:
            return
        wire = {"backup": report.backup, "sha256": report.written_sha256}
        (helper or self._helper).call("restore", wire, token, _TIMEOUT_S)

    def _read(self, expected: str) -> bytes:
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise explain_refusal(
                "fstab-refused", f"“{self._path}” cannot be read.", error.strerror or ""
            ) from error
        if expected and hashlib.sha256(data).hexdigest() != expected:
            raise explain_refusal("fstab-changed", "fstab was changed since it was shown.")
        return data

    def _carry_out(
        self,
        data: bytes,
        change: _FstabChange,
        token: CancelToken,
        helper: HelperClient | None,
        *,
        preview: bool,
    ) -> SavedEntryReport:
        try:
            # Reserved options pass here: reserved() reports them, and the helper decides.
            edited = fstab_text.apply(data, change.edit, load(), free=True)
        except Refusal as refusal:
            raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal
        sha256 = hashlib.sha256(data).hexdigest()
        diff = _diff(data, edited.data, str(self._path))
        if preview or not diff:
            return SavedEntryReport(diff=diff, line=edited.line, sha256=sha256)
        wire = {**change.wire, "sha256": sha256}
        answer = (helper or self._helper).call(change.verb, wire, token, _TIMEOUT_S)
        return SavedEntryReport(
            diff=diff,
            line=str(answer["line"]),
            sha256=sha256,
            written=True,
            written_sha256=hashlib.sha256(edited.data).hexdigest(),
            backup=str(answer["backup"]),
            warnings=[str(text) for text in answer["warnings"]],
        )


class _FstabChange(NamedTuple):
    """A change of fstab, as an edit of its text and as a request to the helper.

    Attributes:
        edit: edit of the text.
        verb: verb of the helper.
        wire: arguments of the verb, without the checksum.
        options: options of the new entry, None for a removal.
        old: option string of the entry before the change, "" for none.
    """

    edit: EntryEdit
    verb: str
    wire: dict[str, Any]
    options: EntryOptions | None = None
    old: str = ""

    def written(self, line: str) -> list[str]:
        """Return the options in the line of an fstab entry."""
        fields = line.split()
        return split(fields[3]) if len(fields) > 3 else []


def _fstab_change(args: PersistArgs, data: bytes) -> _FstabChange:
    old = _entry_at(data, args.replaces or args.mount_point)
    if old is None and args.replaces:
        raise missing_entry_error(args.replaces)
    before = old.options if old is not None else None
    options = options_of_entry(args.options, before, args.mount_point, exact=args.exact)
    words = tuple(split(options.text))
    fstype = args.fstype or (old.fstype if old is not None else "nfs")
    new = fstab_text.NewEntry(args.share, args.mount_point, fstype, words)
    wire: dict[str, Any] = {"share": args.share, "target": args.mount_point, "fstype": fstype}
    wire["options"] = list(words)
    if old is None:
        return _FstabChange(fstab_text.EntryEdit(None, new), "add", wire, options)
    wire |= {"old_share": old.share, "old_target": old.target}
    return _FstabChange(
        fstab_text.EntryEdit((old.share, old.target), new), "change", wire, options, old.options
    )


def _entry_at(data: bytes, mount_point: str) -> FstabEntry | None:
    wanted = mount_point.rstrip("/") or "/"
    for entry in fstab_text.entries(data):
        if (entry.target.rstrip("/") or "/") == wanted and entry.fstype in NFS_TYPES:
            return entry
    return None


def missing_entry_error(mount_point: str) -> AppError:
    """Return the error of a change of an entry that does not exist."""
    return AppError(ErrorCode.NO_FSTAB_ENTRY, mount_point=mount_point)


def _diff(before: bytes, after: bytes, name: str) -> str:
    """Return a unified diff; bytes that are not UTF-8 text are escaped."""
    old, new = ([_printable_line(line) for line in fstab_text.lines(data)] for data in (before, after))
    lines = difflib.unified_diff(old, new, name, f"{name} (new)")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _printable_line(line: bytes) -> str:
    text = line.decode(errors="backslashreplace")
    body = text.removesuffix("\n")
    shown = "".join(c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" for c in body)
    return shown + text[len(body) :]
