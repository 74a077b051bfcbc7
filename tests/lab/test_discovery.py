"""Discovery: queries of the guest's real nfsd, mountd and rpcbind, from the guest's client."""

from collections.abc import Callable
from typing import Any

import pytest
from lab_guest import LabGuest
from lab_verbs import HelperArgs

from app.discovery.model import (
    ExportsArgs,
    ExportsResult,
    KnownServer,
    ProbeArgs,
    ProbeResult,
    RootEntry,
    ServersArgs,
    ServersResult,
)
from app.errors import AppError, ErrorKind
from app.service.protocol import Empty, ListArgs, MountArgs, UnmountArgs


@pytest.fixture
def place(lab: LabGuest) -> tuple[str, str]:
    """Return the server and the path that it exports."""
    server, _, path = lab.share.partition(":")
    return server, path


def ask(lab: LabGuest, verb: str, args: Any) -> Any:
    return lab.ask(verb, args)


def test_exports_and_root(lab: LabGuest, place: tuple[str, str]) -> None:
    found: ExportsResult = ask(lab, "discover.exports", ExportsArgs(server=place[0]))
    assert found.exports is not None, found.exports_problem
    assert place[1] in [export.path for export in found.exports]
    assert found.root == [RootEntry(path=place[1], export=True)], found.root_problem


def test_versions_and_services(lab: LabGuest, place: tuple[str, str]) -> None:
    found: ProbeResult = ask(lab, "discover.probe", ProbeArgs(server=place[0]))
    offered = {row.version for row in found.versions if row.transport == "tcp" and row.offered}
    assert offered == {"3", "4.0", "4.1", "4.2"}
    answering: set[str] = set()

    def look() -> bool:
        found = ask(lab, "discover.probe", ProbeArgs(server=place[0]))
        assert found.services is not None, found.services_problem
        answering.update(row.name for row in found.services if row.answers)
        return {"rpcbind", "nfs", "mountd"} <= answering

    # The program gives each service a second, in which a busy machine may not come to answer.
    lab.until(look, "rpcbind, nfs and mountd to answer")


def known(lab: LabGuest) -> list[KnownServer]:
    found: ServersResult = ask(lab, "discover.servers", ServersArgs(browse=False))
    assert not [line for line in found.warnings if "recently" in line]
    return [server for server in found.servers if server.name.startswith("10.9.")]


def test_a_mounted_server_is_known_also_afterwards_until_it_is_forgotten(
    lab: LabGuest, place: tuple[str, str]
) -> None:
    ask(lab, "mounts.mount", MountArgs(share=":".join(place), mount_point="/mnt/discovery"))
    try:
        assert known(lab) == [KnownServer(name=place[0], sources=["mounted", "recent"], exports=[place[1]])]
    finally:
        ask(lab, "mounts.unmount", UnmountArgs(mount_point="/mnt/discovery"))
    assert known(lab) == [KnownServer(name=place[0], sources=["recent"], exports=[place[1]])]
    ask(lab, "discover.forget", Empty())
    assert known(lab) == []


def test_a_server_that_stopped(lab: LabGuest, place: tuple[str, str], lab_fault: Callable[..., None]) -> None:
    lab_fault("server-stop")
    found: ProbeResult = ask(lab, "discover.probe", ProbeArgs(server=place[0]))
    assert not any(row.offered for row in found.versions)


def test_a_link_that_is_down(lab: LabGuest, place: tuple[str, str], lab_fault: Callable[..., None]) -> None:
    lab_fault("link-down")
    with pytest.raises(AppError) as caught:
        ask(lab, "discover.exports", ExportsArgs(server=place[0]))
    assert caught.value.kind is ErrorKind.SERVER_SILENT


def test_a_withdrawn_export(lab: LabGuest, place: tuple[str, str], lab_fault: Callable[..., None]) -> None:
    lab_fault("export-none")
    found: ExportsResult = ask(lab, "discover.exports", ExportsArgs(server=place[0]))
    assert found.exports is not None
    assert place[1] not in [export.path for export in found.exports]


def test_names_of_a_test_mount(lab: LabGuest, place: tuple[str, str]) -> None:
    wire = {"share": f"{place[0]}:/", "options": "vers=4.2,ro", "names": True}
    found = ask(lab, "lab.helper", HelperArgs(action="mount", verb="try", args=wire))
    assert (found["names"], found["names_whole"], found["names_error"]) == ([place[1].strip("/")], True, "")


def test_a_server_that_wants_privileged_ports_is_listed_by_a_test_mount_if_allowed(
    lab: LabGuest, place: tuple[str, str], lab_fault: Callable[..., None]
) -> None:
    lab_fault("export-secure")
    found: ExportsResult = ask(lab, "discover.exports", ExportsArgs(server=place[0]))
    assert found.root is None
    assert found.root_problem is not None
    assert found.root_problem.kind == ErrorKind.ACCESS_DENIED
    before = ask(lab, "mounts.list", ListArgs()).mounts
    found = ask(lab, "discover.exports", ExportsArgs(server=place[0], test_mount=True))
    assert found.root is not None, found.root_problem
    assert found.root_by_mount
    assert ask(lab, "mounts.list", ListArgs()).mounts == before
