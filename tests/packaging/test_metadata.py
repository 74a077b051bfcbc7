"""The files that the desktop, polkit and man read are valid and agree with the program."""

import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from app.cli.parser import build_parser
from app.version import VERSION

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
sys.path.insert(0, str(PACKAGING))

import changes  # noqa: E402

APP_ID = "org.mountwright.Mountwright"


def check(*command: str) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_desktop_file() -> None:
    check("desktop-file-validate", str(PACKAGING / f"{APP_ID}.desktop"))


def test_metainfo() -> None:
    """AppStream finds no fault; the severities are those of its validator (appstreamcli(1)).

    AppStream 1.0 warns of a missing home page. The program has none yet, and an invented one would be worse.
    """
    if shutil.which("appstreamcli") is None:
        pytest.skip("appstreamcli is not installed")
    command = ["appstreamcli", "validate", "--no-net", "--format=yaml", f"{PACKAGING}/{APP_ID}.metainfo.xml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Validator:" in done.stdout, done.stdout + done.stderr
    issues = re.findall(r"^- tag: (\S+)\n  severity: (\S+)$", done.stdout, re.MULTILINE)
    serious = {tag for tag, severity in issues if severity in {"warning", "error"}}
    assert serious <= {"url-homepage-missing"}, done.stdout
    # The severity is only “info”, but a later version refuses it.
    assert "developer-name-tag-deprecated" not in dict(issues)


def test_metainfo_names_the_developer() -> None:
    """The tag of AppStream 1.0; the one of 0.x, “developer_name”, is deprecated."""
    component = ET.parse(PACKAGING / f"{APP_ID}.metainfo.xml").getroot()
    assert component.findtext("developer/name") == "The Mountwright developers"
    assert component.find("developer_name") is None


def test_policy_is_well_formed() -> None:
    check("xmllint", "--noout", "--nonet", str(PACKAGING / "mountwright.policy"))


@pytest.mark.parametrize("icon", sorted((ROOT / "resources/icons").glob("*.svg")), ids=lambda path: path.name)
def test_icons_are_named_after_the_program(icon: Path) -> None:
    check("xmllint", "--noout", "--nonet", str(icon))
    assert icon.name.startswith(APP_ID)


def test_man_page() -> None:
    check("mandoc", "-T", "lint", "-W", "warning", str(PACKAGING / "mountwright.1"))


def test_man_page_names_every_command() -> None:
    text = (PACKAGING / "mountwright.1").read_text()
    usage = build_parser().format_help()
    commands = re.findall(r"^    ([a-z]+) ", usage, re.MULTILINE)
    assert len(commands) >= 5
    assert [name for name in commands if f".It Cm {name}" not in text] == []


def test_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dynamic"] == ["version"]
    newest = changes.releases((ROOT / "CHANGELOG.md").read_text())[0]
    assert newest.version == changes.version() == VERSION
    releases = ET.parse(PACKAGING / f"{APP_ID}.metainfo.xml").getroot().find("releases")
    assert releases is not None
    assert len(releases) == 1
    assert releases[0].get("version") == VERSION


def test_packaging_is_no_package() -> None:
    assert not (PACKAGING / "__init__.py").exists()  # it would shadow the library of that name


def test_one_name() -> None:
    """The desktop finds a window's icon and menu entry by the name that the window gives."""
    assert f'DESKTOP_NAME = "{APP_ID}"' in (ROOT / "ui" / "notifications.py").read_text()
    assert f"<icon_name>{APP_ID}</icon_name>" in (PACKAGING / "mountwright.policy").read_text()
