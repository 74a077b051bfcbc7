"""Probes of a mount and its unmount exclude each other."""

import threading

from app.mounts import probe_exclusion
from app.mounts.probe_exclusion import ProbeExclusion


def test_an_excluded_mount_is_not_probed() -> None:
    asked = ProbeExclusion()
    with asked.without_probes("/mnt/a"), asked.without_probes("/mnt/a"):
        assert not asked.begin("/mnt/a")
        assert asked.begin("/mnt/b")
    assert asked.begin("/mnt/a")


def test_an_answer_under_way_is_waited_for() -> None:
    asked = ProbeExclusion()
    assert asked.begin("/mnt/a")
    ended = threading.Timer(0.05, asked.end, ["/mnt/a"])
    ended.start()
    with asked.without_probes("/mnt/a"):
        assert ended.finished.is_set()
    ended.join()


def test_a_silent_server_is_not_waited_for_long(monkeypatch) -> None:
    monkeypatch.setattr(probe_exclusion, "_PROBE_END_TIMEOUT_S", 0.01)
    asked = ProbeExclusion()
    assert asked.begin("/mnt/a")
    with asked.without_probes("/mnt/a"):
        assert not asked.begin("/mnt/a")
