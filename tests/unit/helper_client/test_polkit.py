"""Start of the helper as an ordinary user: checks before it, and the meaning of pkexec's failures."""

import os
from pathlib import Path

import pytest

from app.errors import AppError, ErrorKind
from app.helper_client import polkit

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of root")
# The texts of polkit 122's pkexec.
NO_AGENT = "Error executing command as another user: No authentication agent found."
REFUSED = "Error executing command as another user: Not authorized\n\nThis incident has been reported."
DISMISSED = "Error executing command as another user: Request dismissed"
NO_BUS = "Error getting authority: Error initializing authority: Could not connect: No such file or directory"


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (126, DISMISSED, ErrorKind.NOT_AUTHORIZED),
        (126, "", ErrorKind.NOT_AUTHORIZED),
        (127, REFUSED, ErrorKind.NOT_AUTHORIZED),
        (127, NO_AGENT, ErrorKind.POLKIT_AGENT_MISSING),
        (127, NO_BUS, ErrorKind.NOT_AUTHORIZED),
        (71, "mountwright-helper: users other than root can change /usr", ErrorKind.HELPER_FAILED),
        (None, "", ErrorKind.HELPER_FAILED),
    ],
)
def test_each_end_of_pkexec_has_its_message(code, text, kind):
    error = polkit.explain_pkexec(code, text, "mount")
    assert error.kind is kind
    assert error.message.endswith(".")
    assert error.hint.endswith(".")
    assert text in error.detail


def test_the_messages_differ():
    cases = [(126, DISMISSED), (127, REFUSED), (127, NO_AGENT), (127, NO_BUS), (71, "")]
    assert len({polkit.explain_pkexec(*case, "mount").message for case in cases}) == len(cases)


def test_root_starts_its_own_helper():
    command = polkit.helper_command("mount", euid=0)
    assert command[1] == "-IBSXutf8"
    assert Path(command[2]).is_file()
    assert command[3] == "mount"


def test_a_missing_helper_is_reported():
    with pytest.raises(AppError) as caught:
        polkit.helper_command("mount", euid=1000, helper=Path("/usr/libexec/mountwright-no-such/helper"))
    assert caught.value.kind is ErrorKind.HELPER_MISSING
    assert "install-helper" in caught.value.hint


def test_a_helper_that_others_could_change_is_not_started(tmp_path):
    helper = tmp_path / "mountwright-helper"
    helper.touch(0o755)
    with pytest.raises(AppError) as caught:
        polkit.helper_command("mount", euid=1000, helper=helper)
    assert caught.value.kind is ErrorKind.HELPER_UNTRUSTED


@as_root
def test_a_missing_pkexec_names_its_package(monkeypatch):
    monkeypatch.setattr(polkit, "find_program", lambda _name: None)
    with pytest.raises(AppError) as caught:
        polkit.helper_command("mount", euid=1000, helper=Path("/usr/bin/env").resolve())
    assert caught.value.kind is ErrorKind.PKEXEC_MISSING
    assert "policykit-1" in caught.value.hint


@as_root
def test_a_trusted_helper_is_started_through_pkexec(monkeypatch):
    monkeypatch.setattr(polkit, "find_program", lambda _name: "/usr/bin/pkexec")
    helper = Path("/usr/bin/env").resolve()
    assert polkit.helper_command("bench", euid=1000, helper=helper) == [
        "/usr/bin/pkexec",
        "--disable-internal-agent",
        str(helper),
        "bench",
    ]


def test_only_a_user_without_the_helper_is_told_how_to_install_it(tmp_path: Path) -> None:
    missing = tmp_path / "mountwright-helper"
    assert polkit.missing_helper_command(euid=0, helper=missing) == ""
    assert polkit.missing_helper_command(euid=1000, helper=missing) == polkit.install_command()


@as_root
def test_an_installed_helper_needs_no_command() -> None:
    assert polkit.missing_helper_command(euid=1000, helper=Path("/usr/bin/env").resolve()) == ""
