"""The local agent process: ``python -P -m app.service`` speaks the protocol on its standard streams."""

from __future__ import annotations

import logging
import os
import signal
import sys


def main() -> int:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the window's to handle
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="agent: %(message)s")
    # The protocol has standard output for itself: whatever prints by mistake goes to standard error.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    from app.service.server import AgentServer
    from app.service.transport import PipeTransport
    from app.service.verbs import HostVerbs
    from app.speedtest import leftover_files

    services = HostVerbs()
    leftover_files.watch_mounts()
    try:
        AgentServer(PipeTransport(sys.stdin.buffer, out), services.handlers()).serve()
    finally:
        services.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
