"""Waits of a change: for programs that use the mount, and for the confirmation; also over the protocol."""

import os
import threading
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest
from memory_host import CLASSES, POINT, SHARE, MemoryHost, ask
from waiting import DEADLINE_S, wait_for

from app.errors import AppError, ErrorKind
from app.mounts.apply import ChangeRunner
from app.mounts.change_model import ApplyArgs, ApplyEvent, ApplyReport, KeepArgs
from app.service.client import AgentClient, Call
from app.service.protocol import Empty
from app.service.server import AgentServer, Context
from app.service.transport import PipeTransport
from app.tasks import run_in_thread

pytestmark = pytest.mark.usefixtures("no_waiting")

# Programs in the way


def test_busy_ask_fails_and_names_the_processes(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    before = world.state()
    world.busy = 1
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", keeper="fstab"))
    assert caught.value.kind is ErrorKind.BUSY
    assert world.state() == before
    assert [holder.command for event in world.events for holder in event.holders] == ["init"]


def test_they_are_waited_for(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    world.busy = 3
    world.apply(ask(options="vers=4.1", busy="wait", wait_s=60.0))
    assert world.live[POINT].options.count("vers=4.1") == 1
    assert len([event for event in world.events if event.holders]) == 3
    world.busy = 10**6
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.2", busy="wait", wait_s=0.05))
    assert caught.value.kind is ErrorKind.BUSY


def test_detached_it_is_mounted_again(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    world.busy = 10**6
    report = world.apply(ask(options="vers=4.1", busy="lazy"))
    assert any("lives on" in warning for warning in report.plan.warnings)
    assert any("umount --lazy" in step.command for step in report.plan.steps)


def test_others_are_not_stopped(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    before = world.state()
    world.busy = 10**6
    with pytest.raises(AppError) as caught:
        world.apply(ask(options="vers=4.1", busy="stop"))
    assert caught.value.kind is ErrorKind.BUSY
    assert world.state() == before


# Keep these settings?


def test_a_confirmed_change_stays(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)

    def keep(event: ApplyEvent) -> None:
        if event.kind == "keep" and event.keep_s:
            world.change.keep()

    world.on_event = keep
    report = world.apply(ask(options="vers=4.1", keeper="fstab", keep_s=60.0))
    assert report.plan.steps[-1].kind == "keep"
    assert world.live[POINT].options.count("vers=4.1") == 1


@pytest.mark.parametrize("name", ["live", "remount", "mount", "moved"])
def test_without_a_yes_it_goes_back(tmp_path: Path, name: str) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    before = world.state()
    with pytest.raises(AppError) as caught:
        world.apply(msgspec.structs.replace(CLASSES[name][1], keep_s=0.03))
    assert caught.value.kind is ErrorKind.CANCELLED
    assert "The change was rolled back." in caught.value.message
    assert world.state() == before
    left = [event.keep_s for event in world.events if event.keep_s]
    assert left == sorted(left, reverse=True)
    assert left[0] <= 0.03


def test_the_first_mount_asks_nothing(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=False)
    report = world.apply(ask(options="vers=4.2", keep_s=60.0))
    assert "keep" not in [step.kind for step in report.plan.steps]


# Over the protocol


class Served:
    """A MemoryHost behind an agent's server, over pipes."""

    def __init__(self, world: MemoryHost) -> None:
        self.world = world
        request, self._to_agent = os.pipe()
        self._from_agent, answer = os.pipe()
        reader, writer = os.fdopen(request, "rb"), os.fdopen(answer, "wb", buffering=0)
        handlers = {"mounts.apply": self._apply, "mounts.keep": self._keep}
        self.server = AgentServer(PipeTransport(reader, writer), handlers)
        self.over = run_in_thread("served", lambda: self._serve(reader, writer))
        self._answers = os.fdopen(self._from_agent, "rb")
        self.client = AgentClient(PipeTransport(self._answers, os.fdopen(self._to_agent, "wb")))
        self.done = threading.Event()
        self._changes: dict[int, ChangeRunner] = {}

    def _serve(self, reader: BinaryIO, writer: BinaryIO) -> None:
        with reader:
            self.server.serve()
        self.done.wait(DEADLINE_S)
        writer.close()

    def _apply(self, args: ApplyArgs, context: Context) -> ApplyReport:
        world = self.world
        change = ChangeRunner(
            args, world.view(), world.actions(), context.token, context.emit, records=world.records
        )
        self._changes[context.request_id] = change
        try:
            return change.run()
        finally:
            self.done.set()

    def _keep(self, args: KeepArgs, _context: Context) -> Empty:
        self._changes[args.id].keep()
        return Empty()

    def change(self) -> Call:
        """Request a change, and wait until it waits for its confirmation."""
        asked = Asked()
        call = self.client.submit("mounts.apply", ask(options="vers=4.1", keeper="fstab", keep_s=60.0), asked)
        wait_for(asked, "the question whether to keep the change")
        return call

    def close(self) -> None:
        """Disconnect, and wait for the agent's end."""
        self.client.close()
        self.over.result(DEADLINE_S)
        assert self.client.join(DEADLINE_S)
        self._answers.close()


class Asked(threading.Event):
    """An event that is set when the change waits for its confirmation."""

    def __call__(self, event: ApplyEvent) -> None:
        if event.keep_s:
            self.set()


def test_a_change_is_confirmed_over_the_protocol_by_request_number(tmp_path: Path) -> None:
    served = Served(MemoryHost(tmp_path, mounted=True))
    call = served.change()
    served.client.submit("mounts.keep", KeepArgs(id=call.id)).result(DEADLINE_S)
    assert call.result(DEADLINE_S).report.mount.share == SHARE
    served.close()


def test_a_window_that_goes_away_keeps_nothing(tmp_path: Path) -> None:
    world = MemoryHost(tmp_path, mounted=True)
    before = world.state()
    served = Served(world)
    call = served.change()
    assert world.state() != before
    served.close()
    with pytest.raises(AppError):
        call.result(DEADLINE_S)
    assert world.state() == before
