"""A link in a home directory to a mount below the directories for mounts: there no share is mounted."""

from __future__ import annotations

from pathlib import Path

from app.errors import AppError, ErrorKind


def make_link(path: str, target: str) -> None:
    """Make a link as this user; one that leads there already is fine.

    Args:
        path: absolute, where the link is to stand. An empty directory there makes room.
        target: mount point. It is not touched: its server may not answer.

    Raises:
        AppError: there is no link then.
    """
    link = Path(path)
    try:
        if link.is_symlink() and str(link.readlink()) == target:
            return
        if link.is_dir() and not link.is_symlink():
            link.rmdir()
        link.symlink_to(target)
    except OSError as error:
        raise AppError(
            ErrorKind.PATH_MISSING,
            f"The link “{path}” could not be made: {error.strerror}.",
            hint=f"Make room for it, then run: ln -s {target} {path}",
        ) from error
