"""Free space of a mount: queried by a child that is killed after a timeout, and at most once a minute."""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from waiting import DEADLINE_S

from app.errors import CancelledError
from app.mounts.model import Space
from app.mounts.space import LOW_BYTES, MAX_AGE_S, SILENT_S, SpaceReader, find_shortage, space_text
from app.tasks import CancelToken, run_in_thread

GIB = 2**30


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def mount_id_of(path: Path) -> int:
    fd = os.open(path, os.O_PATH)
    try:
        lines = Path(f"/proc/self/fdinfo/{fd}").read_text().splitlines()
    finally:
        os.close(fd)
    return int(next(line.split()[1] for line in lines if line.startswith("mnt_id:")))


def write_mountinfo(root: Path, point: str, mount_id: int, fstype: str = "nfs4") -> None:
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    options = "rw,vers=4.2,addr=127.0.0.1"
    (root / "proc/self/mountinfo").write_text(
        f"1 0 254:1 / / rw - ext4 /dev/vda rw\n{mount_id} 1 0:33 / {point} rw - {fstype} nas:/a {options}\n"
    )


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A local directory that the mount table shows as an NFS mount."""
    place = tmp_path / "place"
    place.mkdir()
    write_mountinfo(tmp_path, str(place), mount_id_of(place))
    return place


def counting(folder: Path, script: str) -> list[str]:
    """Return a command that appends a line to a file at each start, and then runs a script."""
    return [sys.executable, "-I", "-S", "-c",
            f"open({str(folder / 'starts')!r}, 'a').write('x')\n{script}"]  # fmt: skip


def starts(folder: Path) -> int:
    file = folder / "starts"
    return len(file.read_text()) if file.exists() else 0


def test_the_numbers_are_those_of_the_file_system(tmp_path: Path, here: Path) -> None:
    space = SpaceReader(str(tmp_path)).ask(str(here), CancelToken())
    real = os.statvfs(here)
    assert space.state == "known"
    assert space.total_bytes == real.f_blocks * real.f_frsize
    assert space.total_files == real.f_files
    assert 0 <= space.available_bytes <= space.total_bytes


def test_another_mount_than_in_the_table_is_not_queried(tmp_path: Path, here: Path) -> None:
    # An automount may expire after the table was read, so that autofs is at the mount point.
    write_mountinfo(tmp_path, str(here), mount_id_of(here) + 100_000)
    assert SpaceReader(str(tmp_path)).ask(str(here), CancelToken()).state == "not-mounted"


def test_other_file_systems_are_not_queried(tmp_path: Path, here: Path) -> None:
    write_mountinfo(tmp_path, str(here), mount_id_of(here), fstype="autofs")
    asker = SpaceReader(str(tmp_path), command=counting(tmp_path, ""))
    assert asker.ask(str(here), CancelToken()).state == "not-mounted"
    assert starts(tmp_path) == 0


def test_the_server_is_queried_once_a_minute(tmp_path: Path, here: Path) -> None:
    clock = Clock()
    command = counting(tmp_path, "print('{\"numbers\": [100, 50, 40, 10, 5]}')")
    asker = SpaceReader(str(tmp_path), clock=clock, command=command)
    first = asker.ask(str(here), CancelToken())
    assert (first.total_bytes, first.free_bytes, first.available_bytes) == (100, 50, 40)
    clock.now += MAX_AGE_S - 1
    again = asker.ask(str(here), CancelToken())
    assert again.age_s == MAX_AGE_S - 1
    assert starts(tmp_path) == 1
    clock.now += 1
    assert asker.ask(str(here), CancelToken()).age_s == 0
    assert starts(tmp_path) == 2


def test_a_server_without_answer_is_not_queried_again_at_once(tmp_path: Path, here: Path) -> None:
    command = counting(tmp_path, "import time; time.sleep(600)")
    asker = SpaceReader(str(tmp_path), answer_s=0.3, command=command)
    began = time.monotonic()
    assert asker.ask(str(here), CancelToken()).state == "no-answer"
    assert asker.ask(str(here), CancelToken()).state == "no-answer"
    assert time.monotonic() - began < DEADLINE_S
    assert starts(tmp_path) <= 1


def test_cancelling_ends_the_child(tmp_path: Path, here: Path) -> None:
    token = CancelToken()
    asker = SpaceReader(
        str(tmp_path), answer_s=600, command=counting(tmp_path, "import time; time.sleep(600)")
    )
    asked = run_in_thread("ask", lambda: asker.ask(str(here), token))
    while not starts(tmp_path):
        threading.Event().wait(0.01)
    token.cancel()
    with pytest.raises(CancelledError):
        asked.result(DEADLINE_S)


@pytest.mark.parametrize(
    ("said", "state", "error"),
    [('{"errno": 116}', "failed", "ESTALE"), ('{"errno": 13}', "failed", "EACCES"),
     ('{"errno": 110}', "no-answer", ""), ('{"errno": 2}', "not-mounted", ""), ("{}", "not-mounted", ""),
     ("oops", "failed", "EIO"), ("", "failed", "EIO"),
     ('{"numbers": [0, 0, 0, 0, 0]}', "failed", "ENOSYS")],
)  # fmt: skip
def test_errors_are_distinguished(tmp_path: Path, here: Path, said: str, state: str, error: str) -> None:
    asker = SpaceReader(str(tmp_path), command=[sys.executable, "-I", "-S", "-c", f"print({said!r})"])
    space = asker.ask(str(here), CancelToken())
    assert (space.state, space.error) == (state, error)
    assert space_text(space).line.startswith("Free space unknown: ")
    assert space_text(space).warning == ""


@pytest.mark.parametrize(
    ("total", "available", "short"),
    [
        (2000 * GIB, 99 * GIB, []),  # less than 5 %, and plenty
        (2000 * GIB, LOW_BYTES - 1, ["bytes"]),
        (64 * 2**20, 4 * 2**20, []),  # little, and more than 5 %
        (64 * 2**20, 3 * 2**20, ["bytes"]),
        (64 * 2**20, 0, ["bytes"]),
    ],
)
def test_nearly_full_is_little_and_a_small_part(total: int, available: int, short: list[str]) -> None:
    assert find_shortage(total, available, 0, 0) == short


def test_inodes_count_where_there_is_a_fixed_number() -> None:
    assert find_shortage(GIB, GIB, 1_000_000, 9_999) == ["files"]
    assert find_shortage(GIB, GIB, 1_000_000, 10_000) == []
    assert find_shortage(GIB, GIB, 0, 0) == []


def test_text_has_free_space_and_warns_when_nearly_full() -> None:
    known: dict[str, Any] = {"mount_point": "/mnt/a", "state": "known", "total_bytes": 2000 * GIB}
    roomy = space_text(Space(**known, available_bytes=500 * GIB))
    assert roomy == ("500 GiB of 1.953 TiB free (25%)", "")
    low = space_text(Space(**known, available_bytes=GIB, short=["bytes"]))
    assert low.line == "Nearly full: 1 GiB of 1.953 TiB free (less than 1%)"
    assert "No space left on device" in low.warning
    assert "quota -f /mnt/a" in low.warning
    full = space_text(Space(**known, short=["bytes"]))
    assert full.line == "Full: 0 B of 1.953 TiB free (0%)"
    files = Space(**known, available_bytes=500 * GIB, total_files=10_000, available_files=3, short=["files"])
    assert "3 of 10,000 inodes free" in space_text(files).line


def test_it_travels_as_json() -> None:
    import msgspec

    space = Space(mount_point="/mnt/a", state="known", total_bytes=1, short=["bytes"])
    assert json.loads(msgspec.json.encode(space))["short"] == ["bytes"]


def test_a_server_without_answer_is_queried_again_sooner(tmp_path: Path, here: Path) -> None:
    clock = Clock()
    silent = tmp_path / "silent"
    silent.touch()
    answers = ('{"errno": 110}', '{"numbers": [100, 50, 40, 10, 5]}')
    script = f"import os; print({answers!r}[not os.path.exists({str(silent)!r})])"
    command = [sys.executable, "-I", "-S", "-c", script]
    asker = SpaceReader(str(tmp_path), clock=clock, command=command)
    assert asker.ask(str(here), CancelToken()).state == "no-answer"
    silent.unlink()
    clock.now += SILENT_S - 1
    assert asker.ask(str(here), CancelToken()).state == "no-answer"
    clock.now += 1
    assert asker.ask(str(here), CancelToken()).state == "known"
