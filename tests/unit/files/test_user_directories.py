"""Directories of the user if $HOME is empty or relative."""

import os
import pwd
from pathlib import Path

import pytest

from app.files.user_directories import config_directory, data_directory, home, state_directory


@pytest.mark.parametrize("environment", [{"HOME": ""}, {"HOME": None}, {"HOME": "home"}])
def test_without_a_home_the_user_database_has_one(
    environment: dict[str, str | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name)
    for name, value in environment.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    own = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert home() == own
    assert config_directory() == own / ".config/mountwright"
    assert data_directory() == own / ".local/share/mountwright"
    assert state_directory() == own / ".local/state/mountwright"
