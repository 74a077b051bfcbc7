"""Fault injection into the lab's server and link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.errors import AppError
from app.lab import network, server
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.lab.server_host import ServerHost


def apply_fault(host: ServerHost, fault: str, free_bytes: int) -> None:
    """Inject a fault, or undo one.

    Args:
        host: host of the NFS server.
        fault: name of the fault, see :class:`app.service.protocol.FaultArgs`.
        free_bytes: free bytes that the fault ``fill`` leaves on the export.

    Raises:
        AppError: USAGE for an unknown fault, LAB_FAILED if it could not be injected.
    """
    link_faults = {"link-down": False, "link-up": True}
    if fault in link_faults:
        network.set_carrier(up=link_faults[fault])
        return
    server_faults: dict[str, Callable[[], None]] = {
        "server-stop": server.stop_threads,
        "server-start": server.start_threads,
        "export-ro": lambda: server.export_as("ro,no_root_squash"),
        "export-rw": lambda: server.export_as(server.DEFAULT_EXPORT),
        "export-squash": lambda: server.export_as("rw,root_squash"),
        "export-secure": lambda: server.export_as(server.DEFAULT_EXPORT, "fsid=0,secure"),
        "export-none": server.unexport,
        "export-replaced": lambda: server.export_as(server.DEFAULT_EXPORT, "fsid=2,insecure"),
        "fill": lambda: server.limit_free_space(free_bytes),
        "unfill": server.restore_size,
        "disk-slow": server.use_slow_disk,
        "disk-quick": server.use_memory,
    }
    if fault not in server_faults:
        names = ", ".join([*link_faults, *server_faults])
        raise AppError(ErrorCode.FAULT_UNKNOWN, fault=fault, names=names)
    try:
        host.run(server_faults[fault])
    except OSError as error:
        raise AppError(ErrorCode.FAULT_NOT_MADE, detail=str(error), fault=fault) from error
