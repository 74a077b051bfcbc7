"""Questions on the terminal: consent to a change, and to asking for an administrator's approval.

A change that needs its own approval is shown, and the user agrees to it, before polkit asks for a password.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from app.errors import AppError, ErrorKind
from app.mounts.change_text import approval_sentences
from app.service.protocol import ApprovalArgs, LinkHomeArgs, MountArgs, UnmountArgs

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from app.mounts.model import Approval
    from app.service.protocol import ApprovalResult


def ask_consent(shown: str, question: str, *, hint: str, refused: str) -> None:
    """Show a change, and ask the user for consent.

    Args:
        shown: description of the change, ending with a line feed.
        question: question with the answers y and n.
        hint: hint of the error without a terminal.
        refused: message of the error after the answer no.

    Raises:
        AppError: USAGE without a terminal; CANCELLED after the answer no.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise AppError(
            ErrorKind.USAGE,
            "The change needs confirmation, and standard input is not a terminal.",
            hint=hint,
        )
    print(shown, end="", file=sys.stderr)
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise AppError(ErrorKind.CANCELLED, refused)


if TYPE_CHECKING:
    Ask = Callable[[str, Any], Any]

Query = TypeVar("Query", MountArgs, UnmountArgs)
#: Errors that an administrator's approval can resolve.
APPROVABLE = frozenset({
    ErrorKind.MOUNT_POINT_RESTRICTED, ErrorKind.MOUNT_NOT_YOURS, ErrorKind.OPTION_RESERVED,
})  # fmt: skip
_HINT = "Read the description above, then add --yes."
_REFUSED = "Nothing was changed."


def add_yes(command: argparse.ArgumentParser) -> None:
    """Add the option --yes to a parser."""
    command.add_argument(
        "--yes", action="store_true", help="confirm a mount that an administrator has to approve separately"
    )


def has_terminal() -> bool:
    """Return whether standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(lines: list[str], question: str, *, yes: bool) -> None:
    """Print the lines to be approved, and ask for consent unless --yes was given.

    Raises:
        AppError: USAGE without a terminal; CANCELLED after the answer no.
    """
    text = "".join(f"{line}\n" for line in lines)
    if yes:
        print(text, end="", file=sys.stderr, flush=True)
    else:
        ask_consent(text, question, hint=_HINT, refused=_REFUSED)


def confirm_approval(approval: Approval, *, yes: bool) -> None:
    """Print the parts of an approval, and ask for consent; see :func:`confirm`."""
    confirm(approval_sentences(approval), "Ask an administrator?", yes=yes)


def mount_or_unmount(ask: Ask, verb: str, query: Query, *, yes: bool) -> Any:
    """Mount or unmount, and ask for consent if an administrator must approve it.

    For a mount point in a home directory, the share is mounted elsewhere, with a symbolic link to it, after
    consent.

    Raises:
        AppError: error of the request, or of :func:`confirm`.
    """
    try:
        return ask(verb, query)
    except AppError as error:
        if error.kind not in APPROVABLE or query.approved or not (yes or has_terminal()):
            raise
        share, options = (query.share, query.options) if isinstance(query, MountArgs) else ("", "")
        found: ApprovalResult = ask(
            "mounts.approval", ApprovalArgs(share=share, mount_point=query.mount_point, options=options)
        )
        if isinstance(query, MountArgs) and found.instead:
            confirm(found.text, "Mount it there and make the link?", yes=yes)
            result = ask(verb, msgspec.structs.replace(query, mount_point=found.instead))
            ask("mounts.link", LinkHomeArgs(path=query.mount_point, target=found.instead))
            return result
        confirm(found.text or [error.message], "Ask an administrator?", yes=yes)
    return ask(verb, msgspec.structs.replace(query, approved=True))


def confirm_nofail(mount_point: str, *, yes: bool) -> bool:
    """Ask whether the computer may boot without the server (nofail); False with --yes or no terminal."""
    if not yes and has_terminal():
        print(
            f"Boot even if {mount_point} cannot be mounted (nofail)? [y/N] ",
            end="", file=sys.stderr, flush=True,
        )  # fmt: skip
        return sys.stdin.readline().strip().lower() in {"y", "yes"}
    print(
        f"The entry gets no nofail: the boot waits for {mount_point}. Give -o _netdev,nofail to change that.",
        file=sys.stderr,
    )
    return False
