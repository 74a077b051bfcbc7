"""Version 4's root by a test mount, for servers that answer only privileged ports or have no version 4.0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from app.discovery.model import Problem, RootEntry
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.discovery.model import ExportsResult

#: For the mount; soft, so that a server that dies meanwhile ends in an error (nfs(5)).
TRY_S = 10.0
_OPTIONS = "vers=4,ro,soft,timeo=20,retrans=1"


def with_test_mount(
    result: ExportsResult, port: int, attempt: Callable[[dict[str, Any]], dict[str, Any]]
) -> ExportsResult:
    """Return the answer with version 4's root, if it was unknown and a test mount shows it.

    Args:
        result: what is known without mounting.
        port: of NFS, 0 for 2049.
        attempt: carries out the helper's verb "try" with these arguments.
    """
    if result.root is not None:
        return result
    host = f"[{result.address}]" if ":" in result.address else result.address
    options = f"{_OPTIONS},port={port}" if port else _OPTIONS
    wire = {"share": f"{host}:/", "options": options, "names": True, "timeout_s": TRY_S}
    try:
        found = attempt(wire)
    except AppError as error:
        if error.kind is ErrorKind.CANCELLED:
            raise
        return msgspec.structs.replace(result, root_problem=Problem.of(error))
    if found["names_error"]:
        problem = Problem(
            kind=ErrorKind.ACCESS_DENIED,
            message="A test mount of version 4's root was made, but you may not list it.",
            detail=str(found["names_error"]),
        )
        return msgspec.structs.replace(result, root_problem=problem)
    return msgspec.structs.replace(
        result,
        root=[RootEntry(path=f"/{name}", export=False) for name in found["names"]],
        root_complete=bool(found["names_whole"]),
        root_problem=None,
        root_by_mount=True,
    )
