"""Errors shown to the user, as data: code, values and raw text; app.text.errors has the sentences."""

from __future__ import annotations

import traceback
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

import msgspec

from advisor.message import Message
from app.text.errors import ErrorCode
from app.text.message import fill
from app.text.translate import gettext

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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


#: Kinds that are bugs of this program, or of two parts of it that do not fit together. All others are faults
#: of the environment or of the request.
BUG_KINDS = frozenset({ErrorKind.INTERNAL, ErrorKind.PROTOCOL})


class AppError(Exception):
    """A failure as data: code and values. Its sentences are those of :class:`app.text.errors.ErrorCode`.

    Args:
        code: code of the failure; a bare ErrorKind for an error whose sentences are given, such as one of the
            helper.
        text: sentence of an error without a code.
        hint: hint of an error without a code.
        detail: raw text behind “Details” (output of mount.nfs, traceback), "" for none.
        kind: kind if it is not that of the code: that of the problem within this error.
        params: values for the placeholders of the sentences.

    Attributes:
        code: code of the failure, None for one without a code.
        kind: kind of the failure, for decisions in code.
        params: values by name.
        detail: raw text behind “Details”, "" for none.
        remains: directories of test files that could not be removed yet.
    """

    remains: tuple[str, ...] = ()

    def __init__(
        self,
        code: ErrorCode | ErrorKind,
        text: str = "",
        /,
        *,
        hint: str = "",
        detail: str = "",
        kind: ErrorKind | None = None,
        **params: Any,
    ) -> None:
        self.code = code if isinstance(code, ErrorCode) else None
        self.kind = kind or ErrorKind(code.partition(".")[0])
        self.params = {name: _plain_value(value) for name, value in params.items()}
        self.detail = detail
        self._text = text
        self._hint = hint
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The failure in one sentence, with its likely cause if known, in the language of the user."""
        return self._text if self.code is None else fill(gettext(self.code.sentence), self.params)

    @property
    def hint(self) -> str:
        """How to solve it, in the language of the user, "" if unknown."""
        return self._hint if self.code is None else fill(gettext(self.code.hint), self.params).strip()

    @property
    def is_bug(self) -> bool:
        """Whether the program is at fault, and not its environment or the request."""
        return self.kind in BUG_KINDS

    def data(self) -> ErrorData:
        """Return the error as a struct for JSON, with bytes that are not UTF-8 escaped."""
        return ErrorData(
            code=self.code or self.kind,
            kind=self.kind,
            params=_printable_value(self.params),
            text=printable(self._text),
            hint=printable(self._hint),
            detail=printable(self.detail),
            remains=[printable(path) for path in self.remains],
        )

    @property
    def exit_code(self) -> int:
        """Exit code of the command line for this failure; 1 for kinds without a specific code."""
        return _EXIT_CODES.get(self.kind, 1)


class CancelledError(AppError):
    """Raised in work whose CancelToken was set."""

    def __init__(
        self, code: ErrorCode | ErrorKind = ErrorCode.CANCELLED, text: str = "", /, **params: Any
    ) -> None:
        super().__init__(code, text, **{"kind": ErrorKind.CANCELLED, **params})


class ErrorData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An AppError as it goes between processes: code and values, without sentences.

    Attributes:
        code: an ErrorCode, or an ErrorKind for an error with text and hint.
        kind: the ErrorKind.
        params: values for the sentences of the code.
        text: sentence of an error without a code.
        hint: hint of an error without a code.
        detail: raw text behind “Details”.
        remains: directories of test files that could not be removed yet.
    """

    code: str
    kind: str = ""
    params: dict[str, Any] = {}
    text: str = ""
    hint: str = ""
    detail: str = ""
    remains: list[str] = []

    def error(self) -> AppError:
        """Return the AppError; an unknown code becomes INTERNAL, with the code in the detail."""
        kinds = {str(kind): kind for kind in ErrorKind}
        code = ErrorCode.from_code(self.code) or kinds.get(self.code)
        if code is None:
            detail = f"{self.code}: {self.detail}"
            return AppError(ErrorKind.INTERNAL, self.text, hint=self.hint, detail=detail)
        make = CancelledError if kinds.get(self.kind) is ErrorKind.CANCELLED else AppError
        error = make(
            code, self.text, hint=self.hint, detail=self.detail, kind=kinds.get(self.kind), **self.params
        )
        error.remains = tuple(self.remains)
        return error


def _plain_value(value: Any) -> Any:
    """Return a parameter in a form that JSON can encode; an error within an error keeps its code."""
    if isinstance(value, AppError):
        if value.code is None:
            return Message("", {"text": value.message, "hint": value.hint})
        return Message(value.code, value.params)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain_value(item) for item in cast("Iterable[Any]", value)]
    if value is None or isinstance(value, (bool, int, float, dict, Message)):
        return cast("Any", value)
    return str(value)


def _printable_value(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {name: _printable_value(item) for name, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [_printable_value(item) for item in items]
    if isinstance(value, Message):
        return Message(value.code, _printable_value(value.params))
    return value


def leftover_files_text(paths: Sequence[str]) -> str:
    """Return a sentence on test files that could not be removed yet, "" for none."""
    if not paths:
        return ""
    names = ", ".join(paths)
    return f"Test files remain in {names}. They will be removed when the server answers."


def internal_error(error: BaseException) -> AppError:
    """Return an unexpected exception as an AppError of kind INTERNAL, with its traceback in the detail."""
    return AppError(
        ErrorCode.INTERNAL_ERROR,
        detail="".join(traceback.format_exception(error)),
        name=type(error).__name__,
        problem=str(error),
    )


def printable(text: str) -> str:
    r"""Return a text that UTF-8 can encode: bytes that are not UTF-8 (surrogates) become ``\xNN``."""
    try:
        raw = text.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        raw = text.encode(errors="backslashreplace")
    return raw.decode(errors="backslashreplace")
