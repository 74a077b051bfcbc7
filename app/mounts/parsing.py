"""Parsing of a typed share and option string, with errors that name the wrong part."""

from __future__ import annotations

from advisor.options import MountOptions, check_options
from advisor.share import Share, ShareError
from app.errors import AppError, ErrorKind


def parse_share(text: str) -> Share:
    """Return the parsed share.

    Raises:
        AppError: SHARE_INVALID if the text is not server:/export.
    """
    try:
        return Share.parse(text)
    except ShareError as error:
        raise AppError(
            ErrorKind.SHARE_INVALID,
            f"“{text}” is not an NFS share: {error}",
            hint="Write it as server:/export, for example nas01:/export/home or [2001:db8::7]:/data.",
        ) from error


def share_to_mount(text: str) -> Share:
    """Return the parsed share, if the helper can mount it.

    mount.nfs(8) also accepts an export without a leading slash; the helper does not (app/helper/validate.py).

    Raises:
        AppError: SHARE_INVALID if the text is not server:/export, or its export has no leading slash.
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
    """Return the parsed options.

    Unknown options are accepted here; the helper decides who may use them.

    Raises:
        AppError: OPTION_INVALID for the first option with a wrong value.
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
