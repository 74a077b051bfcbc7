"""Directories of the person's files: the XDG Base Directory Specification, and the home directory."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

_NAME = "mountwright"


def home() -> Path:
    """Return the home directory: $HOME, or what the user database has where that is empty or relative.

    passwd(5) is asked for the effective user, as by $HOME of a login. A user without an entry has "/".
    """
    path = Path(os.environ.get("HOME", ""))
    if path.is_absolute():
        return path
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir or "/")
    except KeyError:
        return Path("/")


def state_directory() -> Path:
    """Return the folder of what is no setting and may be lost."""
    return _folder("XDG_STATE_HOME", ".local/state")


def data_directory() -> Path:
    """Return the folder of the history."""
    return _folder("XDG_DATA_HOME", ".local/share")


def config_directory() -> Path:
    """Return the folder of a person's own recipes."""
    return _folder("XDG_CONFIG_HOME", ".config")


def _folder(variable: str, default: str) -> Path:
    base = Path(os.environ.get(variable, ""))  # a relative path is ignored, as the specification has it
    return (base if base.is_absolute() else home() / default) / _NAME
