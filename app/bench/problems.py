"""What went wrong with a file operation of a test, said to a person."""

from __future__ import annotations

import errno
import os

from app.errors import AppError, ErrorKind

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}
_PERMISSION = {errno.EACCES, errno.EPERM}
_SILENT = {errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETUNREACH}

_PLAIN = {
    errno.EROFS: (
        ErrorKind.READ_ONLY,
        "The file system at {path} is read-only, so no test file can be written.",
        "Mount it read-write (rw), and see that the server exports it with rw.",
    ),
    errno.ENOENT: (
        ErrorKind.PATH_MISSING,
        "{path} does not exist.",
        "Name a directory that exists, for example the mount point.",
    ),
    errno.ENOTDIR: (
        ErrorKind.NOT_A_DIRECTORY,
        "{path} is not a directory.",
        "Name a directory; the test makes its own files in it.",
    ),
}


def explain(error: OSError, doing: str, path: str) -> AppError:
    """Return the error of a file operation.

    Args:
        error: as raised.
        doing: what was tried, to complete "While …" (writing the test file).
        path: the directory tested.
    """
    detail = f"{doing}: {error}"
    number = error.errno or 0
    if number in _NO_SPACE:
        return no_space(path, detail, quota=number == errno.EDQUOT)
    if number in _PERMISSION:
        return _permission(path, detail)
    if number in _SILENT:
        return not_responding(path, detail)
    if number in _PLAIN:
        kind, message, hint = _PLAIN[number]
        return AppError(kind, message.format(path=path), hint=hint, detail=detail)
    return _other(error, doing, path, detail)


def no_space(path: str, detail: str, *, quota: bool = False) -> AppError:
    """Return the error of a full file system or an exceeded quota."""
    what = "Your quota is used up" if quota else "There is not enough free space"
    return AppError(
        ErrorKind.NO_SPACE,
        f"{what} at {path} for the test file.",
        hint="Choose a smaller size, or free some space on the server.",
        detail=detail,
    )


def not_responding(path: str, detail: str = "") -> AppError:
    """Return the error of a server that has stopped answering."""
    return AppError(
        ErrorKind.NOT_RESPONDING,
        f"The file system at {path} has stopped answering; its server or the network is probably down.",
        hint="Check the server and the cable. The test was given up; its files are removed once it answers.",
        detail=detail,
    )


def _permission(path: str, detail: str) -> AppError:
    if os.geteuid() == 0:
        hint = (
            "The server probably maps root to a user without rights (root_squash). Run the test as a user "
            "who may write there, or export with no_root_squash."
        )
    else:
        hint = "Choose a directory that you may write to, or change its owner or mode on the server."
    return AppError(
        ErrorKind.PERMISSION, f"You are not allowed to create files in {path}.", hint=hint, detail=detail
    )


def _other(error: OSError, doing: str, path: str, detail: str) -> AppError:
    cause = os.strerror(error.errno) if error.errno else str(error)
    hints = {
        errno.EIO: "On a soft mount this is how a time-out shows; the kernel's log (dmesg) has the reason.",
        errno.ESTALE: "The directory was removed or replaced on the server. Unmount and mount it again.",
        errno.EFBIG: "The server or a limit (ulimit -f) does not allow files of this size.",
    }
    return AppError(
        ErrorKind.IO,
        f"While {doing} in {path} the system reported: {cause}.",
        hint=hints.get(error.errno or 0, "The kernel's log (dmesg) may say more."),
        detail=detail,
    )
