"""Verbs of the bench role without a mount: refusals before anything is created."""

import pytest

from app.helper import bench_verbs as module
from app.helper import mount_nfs, private_mount
from app.helper.bench_verbs import MAX_SUPERBLOCKS, BenchVerbs
from app.helper.callers import Caller
from app.helper.errors import Refusal

HEAD = "NV SERVER   PORT DEV          FSID                              FSC\n"
ROW = "v4 0a090002  801 {device:<12} 0:0                               no \n"
OPEN = {"share": "nas:/a", "options": [], "read_ahead_kb": -1, "timeout_ms": 1000}
CLOSE = {"timeout_ms": 1000}


class Session:
    holds = False
    cancelled = False


class Apart:
    """Fake namespace whose mounts get different devices."""

    count = 0

    def __init__(self, _work):
        self.wish = {}

    def say(self, wish):
        self.wish = wish

    def hear(self, _deadline_s, _waiter, _grace_s=0.0):
        if "open" in self.wish:
            Apart.count += 1
            return {"device": f"0:{Apart.count}"}
        return {"sync_ms": 1.0, "unmount_ms": 1.0, "gone": True, "read_ahead_kb": 128}

    def end(self, _patience_s=0.0):
        return True


@pytest.fixture
def bench(monkeypatch, tmp_path):
    volumes = tmp_path / "volumes"
    volumes.write_text(HEAD)
    monkeypatch.setattr(module, "_VOLUMES", str(volumes))
    monkeypatch.setattr(private_mount, "NamespaceChild", Apart)
    monkeypatch.setattr(Apart, "count", 0)
    monkeypatch.setattr(mount_nfs, "command", lambda *_words: ["mount.nfs"])
    made = BenchVerbs(Caller(0, 0))
    made.volumes = volumes
    return made


def test_mounts_that_go_may_be_any_number(bench):
    session = Session()
    for _ in range(3 * MAX_SUPERBLOCKS):
        bench.open(OPEN, session)
        assert session.holds
        with pytest.raises(Refusal, match="open already"):
            bench.open(OPEN, session)
        bench.close(CLOSE, session)
        assert not session.holds


def test_at_most_64_are_kept_alive_from_outside(bench):
    """A process outside the namespace has a descriptor of each mount, so the kernel keeps its superblock."""
    session = Session()
    for number in range(1, MAX_SUPERBLOCKS + 1):
        bench.open(OPEN, session)
        with bench.volumes.open("a") as file:
            file.write(ROW.format(device=f"0:{number}") + ROW.format(device=f"1:{number}"))
        bench.close(CLOSE, session)
    with pytest.raises(Refusal, match="64 earlier") as caught:
        bench.open(OPEN, session)
    assert caught.value.code == "busy"
    assert not session.holds
    bench.volumes.write_text(HEAD + ROW.format(device="0:7"))
    bench.open(OPEN, session)
