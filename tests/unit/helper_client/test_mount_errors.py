"""Every known message of mount.nfs has an error kind, a message with the cause, and a hint."""

from pathlib import Path

import pytest

from app.errors import ErrorKind
from app.helper_client.mount_errors import MountAttempt, diagnose_mount

DATA = Path(__file__).parents[2] / "data" / "diagnose" / "mount_messages.tsv"
ROWS = [
    line.split("\t")
    for line in DATA.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def attempt(text="", options=(), **known):
    return MountAttempt(share="nas:/srv/a", mount_point="/mnt/a", options=tuple(options), text=text, **known)


def words(options):
    return tuple(word for word in options.split(",") if word)


@pytest.mark.parametrize(("kind", "code", "options", "text"), ROWS)
def test_a_recorded_text_has_its_kind(kind, code, options, text):
    error = diagnose_mount(attempt(text, words(options), exit_code=int(code)))
    assert error.kind == kind
    assert text in error.detail
    assert f"exit code {code}" in error.detail
    assert error.message.endswith(".")
    assert error.hint.endswith(".")
    assert "{" not in error.message + error.hint


@pytest.mark.parametrize(("kind", "code", "options", "text"), ROWS)
def test_newer_versions_say_more_after_the_same_words(kind, code, options, text):
    longer = diagnose_mount(attempt(f"{text} for /mnt/a\n", words(options), exit_code=int(code)))
    assert longer.kind == kind


def test_the_messages_tell_the_cases_apart():
    messages = {diagnose_mount(attempt(text, words(options))).message for _k, _c, options, text in ROWS}
    assert len(messages) >= 25


def test_a_deadline_without_a_text_is_a_silent_server():
    error = diagnose_mount(attempt(timed_out=True, timeout_s=15))
    assert error.kind is ErrorKind.SERVER_SILENT
    assert "ended by the deadline" in error.detail
    answering = diagnose_mount(attempt(timed_out=True, server_answers=True))
    assert "accepts connections" in answering.message


def test_an_unknown_text_is_in_the_details():
    error = diagnose_mount(attempt("mount.nfs: something new", exit_code=32))
    assert error.kind is ErrorKind.MOUNT_FAILED
    assert "something new" in error.detail


def test_an_unknown_option_is_named():
    text = "mount.nfs: an incorrect mount option was specified"
    options = ("vers=4.2", "nosuchoption=1", "nosuid", "nodev")
    attempt = MountAttempt(share="nas:/a", mount_point="/mnt/a", options=options, text=text, exit_code=32)
    error = diagnose_mount(attempt)
    assert error.kind is ErrorKind.OPTION_REJECTED
    assert "“nosuchoption”" in error.message
    assert attempt.unknown == "nosuchoption"


def test_kerberos_is_suspected_if_requested():
    text = "mount.nfs: an incorrect mount option was specified"
    assert "rpc.gssd" in diagnose_mount(attempt(text, ["sec=krb5i"])).message
    assert "rpc.gssd" not in diagnose_mount(attempt(text, ["sec=sys"])).message


def test_text_from_outside_is_not_a_format():
    error = diagnose_mount(
        MountAttempt(share="nas:/{kind}/{0}", mount_point="/mnt/{x}", text="access denied by server")
    )
    assert "{kind}" in error.message


@pytest.mark.parametrize(
    ("share", "server", "export"),
    [
        ("nas:/a", "nas", "/a"),
        ("[fe80::1%eth0]:/a/b", "fe80::1%eth0", "/a/b"),
        ("10.0.0.1:/", "10.0.0.1", "/"),
    ],
)
def test_parts_of_a_share(share, server, export):
    known = MountAttempt(share=share, mount_point="/mnt/a")
    assert (known.server, known.export) == (server, export)


@pytest.mark.parametrize(
    ("options", "version"),
    [
        ((), ""),
        (("vers=4.2",), "4.2"),
        (("nfsvers=3", "ro"), "3"),
        (("v4.1",), "4.1"),
        (("ro", "v3"), "3"),
    ],
)
def test_requested_version(options, version):
    assert attempt(options=options).version == version
