"""The guest itself: boot, control of link and server, and cleanup."""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab_guest import DEADLINE_S, LabGuest

from advisor.facts import LinkFacts
from app.errors import AppError, CancelledError, ErrorKind
from app.lab import supervisor
from app.lab.guest import Guest
from app.links import load_links, parse_link
from app.service.protocol import MountArgs, UnmountArgs
from app.speedtest.model import TestSpec
from app.tasks import CancelToken

POINT = "/mnt/guest"
Switch = Callable[[str], LinkFacts]
Fault = Callable[..., None]

PARENT = """
import sys, time
from app.lab.guest import Guest
from app.links import parse_link
guest = Guest.boot(parse_link("gigabit"), timeout_s=240)
print(guest.pid, flush=True)
time.sleep(600)
"""


def descendants(pid: int) -> set[int]:
    """The processes of this one, by the kernel's list of children."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        found.add(parent)
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # it has just ended
                waiting.extend(int(child) for child in children.read_text().split())
    return found


def wait_gone(pids: set[int]) -> None:
    """Wait for the end of each."""
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended, _, _ = select.select([fd], [], [], DEADLINE_S)
        os.close(fd)
        assert ended, f"process {pid} of the guest has not ended within {DEADLINE_S:.0f} s"


def left(folder: Path) -> list[str]:
    """What a guest has left; of one that boots just now for other tests, a file is there for a moment."""
    end = time.monotonic() + DEADLINE_S
    while (names := traces(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    return names


def traces(folder: Path) -> list[str]:
    """What a guest may have left: files of its own, its memory, the kernel's default place, mounts."""
    names = [path.name for path in folder.iterdir()]
    names += [path.name for path in Path("/tmp").glob("vm_file-*")]
    names += [path.name for path in Path("/dev/shm").glob("vm_file-*")]
    names += [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if "10.9.0." in line]
    return names


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lab_installed: None) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def mounted(lab: LabGuest) -> Iterator[None]:
    lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT))
    yield
    lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))


def ping(lab: LabGuest) -> float:
    facts: LinkFacts = lab.ask("lab.ping")
    assert facts.rtt_s is not None
    return facts.rtt_s


def test_it_says_hello_and_who_it_is(lab: LabGuest) -> None:
    assert lab.hello.lab
    assert lab.hello.host == "client"
    assert lab.hello.uid == 0
    assert lab.share.startswith("10.9.0.1:/")


def test_every_profile_can_be_switched_to_and_delays_what_it_says(lab: LabGuest, lab_link: Switch) -> None:
    for name, link in load_links().items():
        assert lab_link(name) == link.facts()
        if link.loss < 0.01:
            assert ping(lab) > 1.8 * link.delay_s


def test_a_spelled_out_link_is_emulated(lab: LabGuest, lab_link: Switch) -> None:
    facts = lab_link("rate=37mbit,delay=50ms,loss=0.2%")
    assert facts.rate_bps == 37e6
    assert facts.emulated
    # A busy guest's timers run up to some microseconds early by its own clock, as in other tests of the link.
    assert ping(lab) >= 0.1 * 0.95


def test_a_wrong_link_is_refused_and_the_old_one_stays(lab: LabGuest, lab_link: Switch) -> None:
    lab_link("wan")
    with pytest.raises(AppError) as refused:
        lab_link("carrier-pigeon")
    assert refused.value.kind is ErrorKind.LINK_INVALID
    assert lab.ask("hello").link.name == "wan"


def test_the_link_is_switched_under_a_mount(lab: LabGuest, lab_link: Switch, mounted: None) -> None:
    spec = TestSpec(path=POINT, size=256 * 1024)
    for name in ("10base-t", "gigabit"):
        lab_link(name)
        assert lab.ask("test.run", spec).write.bytes == spec.size


def test_a_link_that_is_down_answers_nothing_until_it_is_up(lab: LabGuest, lab_fault: Fault) -> None:
    lab_fault("link-down")
    with pytest.raises(AppError) as silent:
        ping(lab)
    assert silent.value.kind is ErrorKind.SERVER_SILENT
    lab_fault("link-up")
    assert ping(lab) > 0


def test_a_stopped_server_refuses_until_it_is_started(lab: LabGuest, lab_fault: Fault) -> None:
    lab_fault("server-stop")
    with pytest.raises(AppError) as refused:
        ping(lab)
    assert refused.value.kind is ErrorKind.SERVER_REFUSED
    lab_fault("server-start")
    assert ping(lab) > 0


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("export-ro", ErrorKind.READ_ONLY), ("fill", ErrorKind.NO_SPACE)],
)
def test_a_fault_of_the_export_stops_a_test(
    lab: LabGuest, lab_fault: Fault, mounted: None, fault: str, kind: ErrorKind
) -> None:
    lab_fault(fault, 64 * 1024)
    with pytest.raises(AppError) as failed:
        lab.ask("test.run", TestSpec(path=POINT, size=2**20))
    assert failed.value.kind is kind


def test_a_withdrawn_export_cannot_be_mounted(lab: LabGuest, lab_fault: Fault) -> None:
    lab_fault("export-none")
    with pytest.raises(AppError) as refused:
        lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT))
    assert refused.value.kind in {ErrorKind.ACCESS_DENIED, ErrorKind.EXPORT_MISSING}


def test_all_its_processes_have_one_processor(lab: LabGuest) -> None:
    processors: set[int] = set()
    for pid in descendants(lab.guest.pid) - {lab.guest.pid}:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            processors |= os.sched_getaffinity(pid)
    assert len(processors) == 1


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_guests_share_the_processors(tmp_path: Path) -> None:
    taken = supervisor._processor()
    program = shutil.copy("/bin/sleep", tmp_path / "linux.uml")
    command = ["taskset", "--cpu-list", str(taken), program, "600"]
    # More than the guests of other tests, which may be on the other processors.
    others = [subprocess.Popen(command, start_new_session=True) for _ in range(8)]
    try:
        end = time.monotonic() + DEADLINE_S
        while supervisor._processor() == taken and time.monotonic() < end:
            time.sleep(0.02)
        assert supervisor._processor() != taken
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_closing_leaves_nothing_and_may_be_repeated(folder: Path) -> None:
    guest = Guest.boot(parse_link("gigabit"), timeout_s=DEADLINE_S)
    pids = descendants(guest.pid)
    assert len(pids) > 2
    assert traces(folder)
    guest.close()
    guest.close()
    wait_gone(pids)
    assert left(folder) == []
    with pytest.raises(AppError) as gone:
        guest.client.submit("hello").result(DEADLINE_S)
    assert gone.value.kind is ErrorKind.PROTOCOL


def test_a_killed_parent_leaves_nothing(folder: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-P", "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    supervisor = int(parent.stdout.readline())
    pids = descendants(parent.pid)
    assert supervisor in pids
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    wait_gone(pids)
    assert left(folder) == []


def test_a_killed_supervisor_takes_the_guest_with_it(folder: Path) -> None:
    guest = Guest.boot(parse_link("gigabit"), timeout_s=DEADLINE_S)
    pids = descendants(guest.pid)
    os.kill(guest.pid, signal.SIGKILL)
    wait_gone(pids - {guest.pid})
    guest.close()


def test_cancelling_the_boot_ends_it(folder: Path) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        Guest.boot(parse_link("gigabit"), token=token)
    assert left(folder) == []


def test_a_guest_that_cannot_boot_shows_what_it_printed(folder: Path) -> None:
    with pytest.raises(AppError) as failed:
        Guest.boot(parse_link("gigabit"), memory="8M")
    assert failed.value.kind is ErrorKind.LAB_FAILED
    assert failed.value.detail
    assert left(folder) == []


def test_a_missing_program_is_named_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "app.lab.guest.find_server_program", lambda name: None if name == "linux.uml" else "/bin/x"
    )
    with pytest.raises(AppError) as missing:
        Guest.boot(parse_link("gigabit"))
    assert missing.value.kind is ErrorKind.LAB_MISSING
    assert "user-mode-linux" in missing.value.message
    assert "apt-get install" in missing.value.hint
