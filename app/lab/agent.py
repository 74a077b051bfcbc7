"""Lab agent: serves the verbs of any host and those of the lab over the guest's serial line."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING

from app.lab import network
from app.lab.serial_line import READY
from app.lab.server import SHARE
from app.lab.shell import Shells
from app.links import Link, parse_link
from app.service.protocol import Empty, LinkArgs
from app.service.server import AgentServer
from app.service.verbs import HostVerbs, LabInfo

if TYPE_CHECKING:
    from advisor.facts import LinkFacts
    from app.lab.serial_line import SerialLine
    from app.lab.server_host import ServerHost
    from app.service.server import Context, Handler

#: Time for the last answer to arrive before the guest is powered off, s.
_DRAIN_TIMEOUT_S = 5.0


class LabAgent:
    """Agent inside the guest; serves requests until "lab.power-off" or the end of its input.

    Args:
        server: host of the NFS server.
        link: link emulated at the beginning.
        own_delay_s: one-way delay that the guest itself adds to the link, s.
    """

    def __init__(self, server: ServerHost, link: Link, own_delay_s: float) -> None:
        self._server = server
        self._link = link
        self._own_delay_s = own_delay_s
        self._change_lock = threading.Lock()
        self._services = HostVerbs(LabInfo(share=SHARE, link=self._current_facts))
        self._shells = Shells()
        self._ended = threading.Event()
        self._power_off_thread: threading.Thread | None = None

    def serve(self, line: SerialLine) -> None:
        """Report that the guest is ready, serve requests, and return when the guest is to power off."""
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="agent: %(message)s")
        server = AgentServer(line, self._handlers())

        def answer() -> None:
            try:
                server.serve()
            finally:
                self._ended.set()

        threading.Thread(target=answer, name="agent-server", daemon=True).start()
        line.write_boot_report(READY)
        self._ended.wait()
        server.cancel_all()
        self._services.close()
        if self._power_off_thread is not None:
            self._power_off_thread.join()  # the thread still has to send its answer
        line.drain(_DRAIN_TIMEOUT_S)

    def _current_facts(self) -> LinkFacts:
        return self._link.facts()

    def _handlers(self) -> dict[str, Handler]:
        return {
            **self._services.handlers(),
            "lab.link": self._set_link,
            **self._shells.handlers(),
            "lab.power-off": self._power_off,
        }

    def _set_link(self, args: LinkArgs, _context: Context) -> LinkFacts:
        link = parse_link(args.link)
        with self._change_lock:
            network.emulate(self._server, link, self._own_delay_s)
            self._link = link
        return link.facts()

    def _power_off(self, _args: Empty, _context: Context) -> Empty:
        self._power_off_thread = threading.current_thread()
        self._ended.set()
        return Empty()
