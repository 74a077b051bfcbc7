"""What the wheel holds."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(next(folder.glob("*.whl"))).namelist()


def test_top_level_names(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert tops == {"app", "ui", "advisor", "resources"}


def test_data_is_in(names: list[str]) -> None:
    icon = "resources/icons/org.mountwright.Mountwright.svg"
    assert {"resources/options.toml", "resources/links.toml", icon} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
