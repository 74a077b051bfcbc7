"""Parsing of a typed share and option string, with errors that name the wrong part."""

from __future__ import annotations

from advisor.options import MountOptions, check_options
from advisor.share import Share, ShareError
from app.errors import AppError, ErrorKind
from app.text.errors import ErrorCode


def parse_share(text: str) -> Share:
    """Return the parsed share.

    Raises:
        AppError: SHARE_INVALID if the text is not server:/export.
    """
    try:
        return Share.parse(text)
    except ShareError as error:
        raise AppError(ErrorCode.SHARE_SYNTAX, share=text, problem=str(error)) from error


def share_to_mount(text: str) -> Share:
    """Return the parsed share, if the helper can mount it.

    mount.nfs(8) also accepts an export without a leading slash; the helper does not (app/helper/validate.py).

    Raises:
        AppError: SHARE_INVALID if the text is not server:/export, or its export has no leading slash.
    """
    share = parse_share(text)
    if share == share.absolute:
        return share
    raise AppError(ErrorCode.EXPORT_WITHOUT_SLASH, share=text, absolute=share.absolute)


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
