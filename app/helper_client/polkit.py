"""polkit: checks before pkexec(1) starts the helper, and the meaning of pkexec's failures."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from pathlib import Path

import app
from app.errors import AppError
from app.process import find_program
from app.text.errors import ErrorCode

#: Directory of the program in a distribution package (packaging/package_tree.py).
PACKAGE = Path("/usr/lib/mountwright")
#: Path of the helper installed by packaging/install_helper.py or a package; the polkit actions name it.
INSTALLED_HELPER = Path("/usr/libexec/mountwright/mountwright-helper")
#: Exit codes of pkexec(1): the dialog was dismissed; the authorization failed.
_DISMISSED, _REFUSED = 126, 127


def helper_command(
    action: str, *words: str, euid: int | None = None, helper: Path = INSTALLED_HELPER
) -> list[str]:
    """Return the command that starts the helper for an action.

    Root runs the helper in the directory of this program. Other users run the installed helper by pkexec.

    Args:
        action: one of app.helper.verbs.ACTIONS.
        words: arguments of a system action: share, mount point and digest; the prompt may show them.
        euid: effective user id; that of this process by default.
        helper: path of the installed helper.

    Raises:
        AppError: HELPER_MISSING, HELPER_UNTRUSTED or PKEXEC_MISSING if it cannot be started.
    """
    if (os.geteuid() if euid is None else euid) == 0:
        return [
            sys.executable,
            "-IBSXutf8",
            str(Path(app.__file__).absolute().parent / "helper" / "__main__.py"),
            action,
            *words,
        ]
    check_installed(helper)
    pkexec = find_program("pkexec")
    if pkexec is None:
        raise AppError(ErrorCode.PKEXEC_NOT_INSTALLED)
    return [pkexec, "--disable-internal-agent", str(helper), action, *words]


def install_command() -> str:
    """Return the shell command that installs the helper.

    A distribution package contains the helper, so there the command reinstalls the package.
    """
    home = Path(app.__file__).parents[1]
    if home == PACKAGE:
        return "sudo apt-get install --reinstall ./mountwright_*.deb"
    starter = home / "run"
    return f"{shlex.quote(str(starter)) if starter.is_file() else './run'} install-helper"


def missing_helper_command(*, euid: int | None = None, helper: Path = INSTALLED_HELPER) -> str:
    """Return the command that installs the helper if this process needs it and cannot use it, else "".

    Args:
        euid: effective user id; that of this process by default.
        helper: path of the installed helper.
    """
    if (os.geteuid() if euid is None else euid) == 0:
        return ""
    try:
        check_installed(helper)
    except AppError:
        return install_command()
    return ""


def check_installed(helper: Path) -> None:
    """Check that the helper exists, and that only root can change it or a directory above it.

    Raises:
        AppError: HELPER_MISSING if it does not exist; HELPER_UNTRUSTED if other users can change it.
    """
    for part in reversed([helper, *helper.parents]):
        try:
            status = part.lstat()
        except OSError as error:
            raise AppError(
                ErrorCode.HELPER_NOT_INSTALLED, detail=str(error), command=install_command()
            ) from error
        is_expected_type = stat.S_ISREG if part == helper else stat.S_ISDIR
        if status.st_uid != 0 or status.st_mode & 0o022 or not is_expected_type(status.st_mode):
            raise AppError(
                ErrorCode.HELPER_WRITABLE,
                detail=f"{part}: owner {status.st_uid}, mode {stat.filemode(status.st_mode)}",
                path=part,
                command=install_command(),
            )


def explain_pkexec(code: int | None, stderr: str, action: str) -> AppError:
    """Return the error for a pkexec that ended before the helper answered.

    The matched texts are those of polkit's src/programs/pkexec.c; polkit does not translate them.

    Args:
        code: exit status of pkexec, None if unknown.
        stderr: standard error of pkexec.
        action: the action of the helper.
    """
    detail = f"pkexec: exit status {code}\n{stderr}".strip()
    lower = stderr.lower()
    if code == _DISMISSED or "dismissed" in lower:
        return AppError(ErrorCode.AUTHORIZATION_DISMISSED, detail=detail)
    if "no authentication agent" in lower or "authentication agent found" in lower:
        return AppError(ErrorCode.NO_POLKIT_AGENT, detail=detail)
    if "getting authority" in lower or "checking for authorization" in lower:
        return AppError(ErrorCode.POLKIT_SILENT, detail=detail)
    if code == _REFUSED:
        return AppError(ErrorCode.AUTHORIZATION_REFUSED, detail=detail, action=action)
    return AppError(ErrorCode.HELPER_ENDED_EARLY, detail=detail, command=install_command())
