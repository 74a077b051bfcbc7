"""Host session: opens the host that the window shows, watches its mounts and speeds, and closes it.

Hosts are this computer (an agent as a child process) and the lab with one of its emulated links
(``resources/links.toml``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.errors import AppError, ErrorKind
from app.service.protocol import HelloResult, LinkArgs, ListArgs
from app.stats.model import SpeedsArgs
from app.tasks import CancelToken, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from advisor.facts import LinkFacts
    from app.mounts.model import MountTable
    from app.service.client import Host
    from app.stats.model import SpeedsSample
    from ui.common.bridge import Bridge, BridgeCall

if TYPE_CHECKING:
    #: Function that opens the host of a key; it blocks until the host runs or the token is canceled.
    Opener = Callable[[str, CancelToken], "OpenHost"]

#: Key of this computer; any other key names a link of the lab.
LOCAL = ""

#: Delay before speeds are requested again after an error, ms.
_SPEEDS_RETRY_MS = 5000


@dataclass(frozen=True, slots=True)
class OpenHost:
    """An open host.

    Attributes:
        client: client of the agent on the host.
        close: ends the host; blocks for seconds, so it runs on a thread.
        watch: registers a listener for slow answers; None for this computer. The listener is called on
            another thread, with whether the host is slow, at each change.
    """

    client: Host
    close: Callable[[], None]
    watch: Callable[[Callable[[bool], None]], None] | None = None


@dataclass(frozen=True, slots=True)
class _Opening:
    """A host that is being opened: its call, its future, and the token that cancels it."""

    call: BridgeCall
    future: Future[OpenHost]
    token: CancelToken


class HostSession(QObject):
    """Opens one host at a time and watches its mounts.

    Args:
        bridge: delivers answers to the main thread.
        opener: opens a host.
        parent: Qt parent.

    Signals:
        starting: a host is being opened; its key.
        opened: the host has answered (HelloResult).
        failed: the host could not be opened, or the connection was lost (AppError).
        table_changed: the mounts after the opening and after each change (MountTable).
        speeds_changed: speeds of the mounts, once a second (SpeedsSample).
        speeds_lost: the speeds are unknown until they are requested again.
        link_changed: the lab switched to another link (LinkFacts).
        trouble: a request failed, but the host still answers (AppError).
        slow_changed: whether the host has not answered for some seconds.
    """

    starting = Signal(str)
    opened = Signal(object)
    failed = Signal(object)
    table_changed = Signal(object)
    speeds_changed = Signal(object)
    speeds_lost = Signal()
    link_changed = Signal(object)
    trouble = Signal(object)
    slow_changed = Signal(bool)

    def __init__(self, bridge: Bridge, opener: Opener, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._opener = opener
        self._key = LOCAL
        self._host: OpenHost | None = None
        self._hello: HelloResult | None = None
        self._slow = False
        self._watch: BridgeCall | None = None
        self._opening: _Opening | None = None
        self._closing: list[Future[None]] = []
        self._speeds_retry_timer = QTimer(self)
        self._speeds_retry_timer.setSingleShot(True)
        self._speeds_retry_timer.timeout.connect(self._request_speeds)

    @property
    def key(self) -> str:
        """Key of the host that is open or being opened."""
        return self._key

    @property
    def hello(self) -> HelloResult | None:
        """Description of the host by its agent, None until it has answered."""
        return self._hello

    @property
    def slow(self) -> bool:
        """Whether the host has not answered for some seconds."""
        return self._slow

    def restart(self) -> None:
        """Close the present host with all its requests, and open it again."""
        key = self._key
        self.leave()
        self.open(key)

    def open(self, key: str) -> None:
        """Close the present host and open another; a running lab only switches its link."""
        if self._hello is not None and self._hello.lab and key != LOCAL:
            self._switch_link(key)
            return
        self.leave()
        self._key = key
        self.starting.emit(key)
        token = CancelToken()
        opener = self._opener
        future = run_in_thread("open-host", lambda: opener(key, token))
        opening = _Opening(self._bridge.follow(future), future, token)
        self._opening = opening
        opening.call.succeeded.connect(partial(self._on_host, opening))
        opening.call.failed.connect(partial(self._on_open_failed, opening))

    def submit(self, verb: str, args: Any = None) -> BridgeCall:
        """Send a request to the present host.

        Raises:
            AppError: no host is open.
        """
        if self._host is None:
            raise AppError(ErrorKind.UNAVAILABLE, "The host is not ready yet.", hint="Wait until it answers.")
        return self._bridge.submit(self._host.client, verb, args)

    def refresh(self) -> BridgeCall | None:
        """Read the mounts again; return the call, None without a host."""
        if self._hello is None:
            return None
        call = self.submit("mounts.list", ListArgs())
        call.succeeded.connect(partial(self._on_table, self._host))
        call.failed.connect(partial(self._on_trouble, self._host))
        return call

    def leave(self) -> None:
        """Close the present host in the background."""
        host, self._host = self._host, None
        self._hello = None
        self._slow = False
        self._watch = None
        self._speeds_retry_timer.stop()
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.token.cancel()
            self._close_in_background(partial(_close_when_open, opening.future))
        if host is not None:
            self._close_in_background(host.close)

    def close(self, wait_s: float) -> None:
        """Close all hosts at the end of the program, and wait at most `wait_s` seconds for each."""
        self.leave()
        for future in self._closing:
            try:
                future.exception(wait_s)
            except TimeoutError:
                return

    def _close_in_background(self, close: Callable[[], None]) -> None:
        self._closing = [future for future in self._closing if not future.done()]
        self._closing.append(run_in_thread("close-host", close))

    def _switch_link(self, key: str) -> None:
        call = self.submit("lab.link", LinkArgs(link=key))
        call.succeeded.connect(partial(self._on_link, self._host, key))
        call.failed.connect(partial(self._on_trouble, self._host))

    # An answer of a closed host may arrive late; the slots below ignore it.

    def _on_trouble(self, host: OpenHost | None, error: AppError) -> None:
        if host is self._host:
            self.trouble.emit(error)

    def _on_link(self, host: OpenHost | None, key: str, link: LinkFacts) -> None:
        if host is not self._host:
            return
        self._key = key
        if self._hello is not None:
            self._hello = msgspec.structs.replace(self._hello, link=link)
        self.link_changed.emit(link)

    def _on_host(self, opening: _Opening, host: OpenHost) -> None:
        if opening is not self._opening:  # closed before it was ready
            return
        self._opening = None
        self._host = host
        if host.watch is not None:
            host.watch(lambda slow: self._bridge.post(partial(self._on_slow, host, slow)))
        call = self.submit("hello")
        call.succeeded.connect(partial(self._on_hello, host))
        call.failed.connect(partial(self._on_lost, host))

    def _on_slow(self, host: OpenHost, slow: bool) -> None:  # noqa: FBT001 - a slot
        if host is self._host and slow != self._slow:
            self._slow = slow
            self.slow_changed.emit(slow)

    def _on_open_failed(self, opening: _Opening, error: AppError) -> None:
        if opening is self._opening:
            self._opening = None
            self.failed.emit(error)

    def _on_hello(self, host: OpenHost, hello: HelloResult) -> None:
        if host is not self._host:
            return
        self._hello = hello
        self.opened.emit(hello)
        watch = self.submit("mounts.list", ListArgs(watch=True))
        self._watch = watch
        watch.progressed.connect(partial(self._on_watched, watch))
        watch.failed.connect(partial(self._on_lost, host))
        self._request_speeds()

    def _request_speeds(self) -> None:
        host = self._host
        if host is not None:
            speeds = self.submit("stats.speeds", SpeedsArgs())
            speeds.progressed.connect(partial(self._on_speeds, host))
            speeds.failed.connect(partial(self._on_no_speeds, host))

    def _on_watched(self, watch: BridgeCall, table: MountTable) -> None:
        if watch is self._watch:
            self.table_changed.emit(table)

    def _on_speeds(self, host: OpenHost, sample: SpeedsSample) -> None:
        if host is self._host:
            self.speeds_changed.emit(sample)

    def _on_no_speeds(self, host: OpenHost, _error: AppError) -> None:
        if host is self._host:
            self.speeds_lost.emit()
            self._speeds_retry_timer.start(_SPEEDS_RETRY_MS)

    def _on_table(self, host: OpenHost | None, table: MountTable) -> None:
        if host is self._host:
            self.table_changed.emit(table)

    def _on_lost(self, host: OpenHost, error: AppError) -> None:
        if host is self._host:
            self.leave()
            self.failed.emit(error)


def _close_when_open(future: Future[OpenHost]) -> None:
    """Close a host as soon as it is open; its user has chosen another one meanwhile."""
    if future.exception() is None:
        future.result().close()


@dataclass(frozen=True, slots=True)
class LabLink:
    """Emulated link of the lab, offered in the list of hosts.

    Attributes:
        key: argument of ``parse_link``: name of a link profile, or a link specification.
        title: name for the user.
    """

    key: str
    title: str


def lab_links() -> list[LabLink]:
    """Return the link profiles of the lab in the order of ``resources/links.toml``."""
    from app.links import load_links

    return [LabLink(link.name, link.title) for link in load_links().values()]


def open_host(key: str, token: CancelToken) -> OpenHost:
    """Open a host; blocks until it runs, so call it on a thread.

    Args:
        key: `LOCAL` for this computer, otherwise a link of the lab.
        token: cancels the opening.

    Raises:
        AppError: the host could not be opened.
    """
    if key == LOCAL:
        from app.service.hosts import LocalAgent

        agent = LocalAgent()
        return OpenHost(agent.client, agent.close)
    from app.lab.guest import Guest
    from app.lab.guest_monitor import GuestState
    from app.links import parse_link

    guest = Guest.boot(parse_link(key), token=token)

    def watch(listener: Callable[[bool], None]) -> None:
        guest.listen(lambda state: listener(state is GuestState.SLOW))

    return OpenHost(guest.client, guest.close, watch)
