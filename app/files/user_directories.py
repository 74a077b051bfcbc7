"""Directories of the user: home directory and the directories of the XDG Base Directory Specification."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

_NAME = "mountwright"


def home() -> Path:
    """Return the home directory: $HOME, or that of the user database if $HOME is empty or relative.

    The entry of the effective user in passwd(5) counts. The result is "/" for a user without an entry.
    """
    path = Path(os.environ.get("HOME", ""))
    if path.is_absolute():
        return path
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir or "/")
    except KeyError:
        return Path("/")


def state_directory() -> Path:
    """Return the directory of state files, such as drafts, which may be lost ($XDG_STATE_HOME)."""
    return _folder("XDG_STATE_HOME", ".local/state")


def data_directory() -> Path:
    """Return the directory of the history ($XDG_DATA_HOME)."""
    return _folder("XDG_DATA_HOME", ".local/share")


def config_directory() -> Path:
    """Return the directory of the user's own recipes ($XDG_CONFIG_HOME)."""
    return _folder("XDG_CONFIG_HOME", ".config")


def _folder(variable: str, default: str) -> Path:
    base = Path(os.environ.get(variable, ""))  # the specification ignores relative paths
    return (base if base.is_absolute() else home() / default) / _NAME
