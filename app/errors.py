"""Errors shown to the user: kind, message with the likely cause, hint and raw text."""

from __future__ import annotations

import traceback
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class ErrorKind(StrEnum):
    """Kinds of failure; the values are part of the agent's protocol."""

    USAGE = "usage"  # the request itself is wrong: unknown verb, bad arguments
    PROTOCOL = "protocol"  # a malformed line, or the agent ended
    CANCELLED = "cancelled"
    INTERNAL = "internal"  # a bug
    SHARE_INVALID = "share-invalid"  # does not parse as server:/export
    OPTION_INVALID = "option-invalid"
    OPTION_RESERVED = "option-reserved"  # only root may set or write it, unless an administrator approves
    MOUNT_POINT_INVALID = "mount-point-invalid"  # not absolute, has .. or odd bytes
    MOUNT_POINT_MISSING = "mount-point-missing"
    MOUNT_POINT_IS_FILE = "mount-point-is-file"
    MOUNT_POINT_NOT_EMPTY = "mount-point-not-empty"
    MOUNT_POINT_SYSTEM = "mount-point-system"  # a directory of the system, or one that others can change
    MOUNT_POINT_RESTRICTED = "mount-point-restricted"  # needs a separate approval by an administrator
    MOUNT_POINT_UNREACHABLE = "mount-point-unreachable"  # below a directory that the user may not enter
    MOUNT_POINT_BUSY = "mount-point-busy"  # something is mounted there already
    NOT_MOUNTED = "not-mounted"
    MOUNT_NOT_YOURS = "mount-not-yours"  # another user's mount: needs a separate approval
    BUSY = "busy"  # unmount refused: in use
    SERVER_UNKNOWN = "server-unknown"  # the name does not resolve
    SERVER_SILENT = "server-silent"  # no answer in time
    SERVER_REFUSED = "server-refused"  # connection refused
    SERVER_GARBLED = "server-garbled"  # the answer does not follow the protocol
    ACCESS_DENIED = "access-denied"  # the server refused the export
    EXPORT_MISSING = "export-missing"
    VERSION_UNSUPPORTED = "version-unsupported"
    OPTION_REJECTED = "option-rejected"  # the kernel said EINVAL
    MOUNT_FAILED = "mount-failed"  # mount.nfs failed with an unknown message
    MOUNT_NFS_MISSING = "mount-nfs-missing"  # nfs-common is not installed
    HELPER_MISSING = "helper-missing"
    HELPER_UNTRUSTED = "helper-untrusted"  # the helper's file could be changed by an ordinary user
    HELPER_FAILED = "helper-failed"
    PKEXEC_MISSING = "pkexec-missing"
    NOT_AUTHORIZED = "not-authorized"  # the dialog was dismissed, or polkit refused
    POLKIT_AGENT_MISSING = "polkit-agent-missing"
    PATH_MISSING = "path-missing"
    NOT_A_DIRECTORY = "not-a-directory"
    READ_ONLY = "read-only"
    NO_SPACE = "no-space"
    PERMISSION = "permission"
    IO = "io"  # any other failure of a read or write
    NOT_RESPONDING = "not-responding"  # a mount that does not answer
    FSTAB_CHANGED = "fstab-changed"  # the file was changed since it was read
    FSTAB_REFUSED = "fstab-refused"  # the file may not be replaced, or the entry is ambiguous
    FSTAB_FAILED = "fstab-failed"  # the write failed; the file is unchanged
    LAB_MISSING = "lab-missing"  # user-mode-linux or a server tool is not installed
    LAB_FAILED = "lab-failed"
    LAB_STOPPED = "lab-stopped"  # the guest ended or stopped answering
    LINK_INVALID = "link-invalid"  # a link profile that does not parse
    UNAVAILABLE = "unavailable"  # not possible on this computer


#: Exit codes of the command line: those of sysexits.h, 2 for wrong usage, 130 like SIGINT in a shell.
_EXIT_CODES = {
    ErrorKind.USAGE: 2,
    ErrorKind.SHARE_INVALID: 2,
    ErrorKind.OPTION_INVALID: 2,
    ErrorKind.MOUNT_POINT_INVALID: 2,
    ErrorKind.LINK_INVALID: 2,
    ErrorKind.INTERNAL: 70,
    ErrorKind.NOT_AUTHORIZED: 77,
    ErrorKind.OPTION_RESERVED: 77,
    ErrorKind.HELPER_MISSING: 77,
    ErrorKind.HELPER_UNTRUSTED: 77,
    ErrorKind.PKEXEC_MISSING: 77,
    ErrorKind.POLKIT_AGENT_MISSING: 77,
    ErrorKind.MOUNT_POINT_RESTRICTED: 77,
    ErrorKind.MOUNT_NOT_YOURS: 77,
    ErrorKind.CANCELLED: 130,
}


class AppError(Exception):
    """A failure with a message for the user.

    Attributes:
        kind: kind of the failure, for decisions in code.
        message: the failure in one sentence, with its likely cause if known.
        hint: how to solve it, "" if unknown.
        detail: raw text behind “Details” (output of mount.nfs, traceback), "" for none.
        remains: directories of test files that could not be removed yet.
    """

    remains: tuple[str, ...] = ()

    def __init__(self, kind: ErrorKind, message: str, *, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.detail = detail

    def printable(self) -> AppError:
        """Return the error with bytes that are not UTF-8 escaped, so that JSON can encode it."""
        error = AppError(
            self.kind, printable(self.message), hint=printable(self.hint), detail=printable(self.detail)
        )
        error.remains = tuple(printable(path) for path in self.remains)
        return error

    @property
    def exit_code(self) -> int:
        """Exit code of the command line for this failure; 1 for kinds without a specific code."""
        return _EXIT_CODES.get(self.kind, 1)


def leftover_files_text(paths: Sequence[str]) -> str:
    """Return a sentence on test files that could not be removed yet, "" for none."""
    if not paths:
        return ""
    names = ", ".join(paths)
    return f"Test files remain in {names}. They will be removed when the server answers."


def internal_error(error: BaseException) -> AppError:
    """Return an unexpected exception as an AppError of kind INTERNAL, with its traceback in the detail."""
    return AppError(
        ErrorKind.INTERNAL,
        f"An internal error: {type(error).__name__}: {error}.",
        hint="This is a bug. Please report it with the details.",
        detail="".join(traceback.format_exception(error)),
    )


def printable(text: str) -> str:
    r"""Return a text that UTF-8 can encode: bytes that are not UTF-8 (surrogates) become ``\xNN``."""
    try:
        raw = text.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        raw = text.encode(errors="backslashreplace")
    return raw.decode(errors="backslashreplace")
