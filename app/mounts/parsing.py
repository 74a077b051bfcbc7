"""Parsing of a share and of options that a person typed, with the error that says what is wrong."""

from __future__ import annotations

from advisor.options import MountOptions, check_options
from advisor.share import Share, ShareError
from app.errors import AppError, ErrorKind


def parse_share(text: str) -> Share:
    """Return the share, or raise SHARE_INVALID."""
    try:
        return Share.parse(text)
    except ShareError as error:
        raise AppError(
            ErrorKind.SHARE_INVALID,
            f"“{text}” is not an NFS share: {error}",
            hint="Write it as server:/export, for example nas01:/export/home or [2001:db8::7]:/data.",
        ) from error


def share_to_mount(text: str) -> Share:
    """Return the share as the privileged helper mounts it, or raise SHARE_INVALID.

    mount.nfs takes a path without a slash too; the helper's grammar does not (app/helper/validate.py).
    """
    share = parse_share(text)
    if share == share.absolute:
        return share
    raise AppError(
        ErrorKind.SHARE_INVALID,
        f"“{text}” cannot be mounted from here: its export does not begin with a slash.",
        hint=f"Write it as {share.absolute}. NFS version 4 and most servers take both for the same export. "
        "Only mount(8), as root, takes it as it is.",
    )


def parse_options(text: str) -> MountOptions:
    """Return the options, or raise OPTION_INVALID naming the first bad one.

    An option that this program does not know is no bad one: who may give it is decided elsewhere.
    """
    options = MountOptions.parse(text)
    problems = [problem for problem in check_options(options) if problem.code != "unknown"]
    if problems:
        raise AppError(
            ErrorKind.OPTION_INVALID,
            problems[0].message,
            hint=problems[0].hint,
            detail="\n".join(problem.message for problem in problems),
        )
    return options
