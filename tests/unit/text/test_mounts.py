"""Texts about the state of a mount and about a failed unmount while the server does not answer."""

from __future__ import annotations

import pytest

from app.errors import AppError, ErrorKind
from app.mounts.model import Active, Holder, Mount, WaitingProcesses
from app.mounts.mount_users import explain_unmount
from app.text.mounts import lasting_text, mount_state_text, trouble_text, waiting_text

VIM = Holder(pid=4711, command="vim", user="ann", use="open file", own=True)


def mount(state: str, since: float | None = 1000.0, reason: str = "", options: str = "rw,hard") -> Mount:
    live = Active(mount_id=7, device="0:50", share="nas01:/a", fstype="nfs4", options=options)
    return Mount(
        mount_point="/mnt/a", share="nas01:/a", state=state, active=live, since=since, reason=reason  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize(("seconds", "words"), [
    (-3, "0 s"), (0, "0 s"), (40.9, "40 s"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"),
    (47 * 3600, "47 h"), (49 * 3600, "2 days"),
])  # fmt: skip
def test_a_duration_has_its_largest_unit(seconds: float, words: str) -> None:
    assert lasting_text(seconds) == words


def test_states_have_words() -> None:
    assert mount_state_text(mount("mounted"), 0) == "Mounted"
    assert mount_state_text(mount("not-responding"), 1040.5) == "Not responding for 40 s"
    assert mount_state_text(mount("not-responding", None), 1040.5) == "Not responding"
    assert mount_state_text(mount("stale"), 1180) == "Stale for 3 min"
    assert mount_state_text(mount("differs"), 0) == "Mounted (differs from configuration)"
    assert trouble_text(mount("mounted"), 0) is None


@pytest.mark.parametrize(("reason", "message"), [
    ("silent", "nas01 has not answered for 40 s."),
    ("refused", "nas01 has refused connections for 40 s: its NFS service does not run."),
    ("unreachable", "nas01 has been unreachable for 40 s: the network or the computer is down."),
])  # fmt: skip
def test_the_silence_has_its_kind(reason: str, message: str) -> None:
    text = trouble_text(mount("not-responding", reason=reason), 1040)
    assert text is not None
    assert text.message == message
    assert [choice.name for choice in text.choices] == ["Wait", "Unmount by force", "Detach"]
    assert "No data is lost" in text.choices[0].meaning
    assert "permanently lost" in text.choices[1].meaning


@pytest.mark.parametrize(("reason", "message"), [
    ("silent", "nas01 does not answer."),
    ("refused", "nas01 refuses connections: its NFS service does not run."),
    ("unreachable", "nas01 is unreachable: the network or the computer is down."),
])  # fmt: skip
def test_where_it_is_not_known_since_when_it_is_so_now(reason: str, message: str) -> None:
    text = trouble_text(mount("not-responding", None, reason), 1040)
    assert text is not None
    assert text.message == message


def test_a_soft_mount_does_not_promise_that_waiting_loses_nothing() -> None:
    text = trouble_text(mount("not-responding", options="rw,soft"), 1040)
    assert text is not None
    assert "No data is lost" not in text.choices[0].meaning


def test_who_waits_is_named_and_others_are_counted() -> None:
    assert waiting_text(WaitingProcesses()) == ""
    assert waiting_text(WaitingProcesses(own=[VIM])) == "vim (4711) waits for it."
    assert waiting_text(WaitingProcesses(others=1)) == "1 blocked process of other users waits for it."
    many = waiting_text(WaitingProcesses(own=[VIM] * 6, others=2))
    assert many.endswith("vim (4711), 2 more and 2 blocked processes of other users wait for it.")
    text = trouble_text(mount("not-responding"), 1040, WaitingProcesses(own=[VIM]))
    assert text is not None
    assert "vim (4711)" in text.message


def test_a_stale_mount_is_offered_a_remount() -> None:
    text = trouble_text(mount("stale"), 1040)
    assert text is not None
    assert "stale file handle) for 40 s" in text.message
    assert "Remount" in [choice.name for choice in text.choices]


def test_a_failed_forced_unmount_names_holders_and_remaining_actions() -> None:
    error = AppError(ErrorKind.BUSY, "The mount is in use.", hint="Close them.", detail="")
    told = explain_unmount(
        error, mount("not-responding"), 1040, WaitingProcesses(own=[VIM]), force=True, lazy=False
    )
    assert told.kind is ErrorKind.BUSY
    assert "/mnt/a could not be unmounted. nas01 has not answered for 40 s. " in told.message
    assert told.detail == "vim (process 4711): open file"
    assert "umount -f" not in told.hint
    assert "Detach (umount -l /mnt/a): /mnt/a disappears immediately." in told.hint
    assert explain_unmount(error, mount("mounted"), 0, WaitingProcesses(), force=False, lazy=False) is error
