"""Identification of servers by implementation id, host name, RPC services and export path."""

from __future__ import annotations

import re

import pytest

from advisor.identify import identify_server, server_kinds

_NETAPP = {"mountd": 635, "nlockmgr": 4045, "status": 4046, "rquotad": 4049, "nfs": 2049}


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("fs-0123456789abcdef0.efs.eu-central-1.amazonaws.com", "efs"),
        ("eu-central-1a.fs-01234567.efs.eu-central-1.amazonaws.com.", "efs"),
        ("fs-0123456789abcdef0.efs.cn-north-1.amazonaws.com.cn", "efs"),
        ("fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com", "fsx-openzfs"),
        ("svm-0123456789abcdef0.fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com", "fsx-ontap"),
        ("myaccount.file.core.windows.net", "azure-files"),
        ("MyAccount.privatelink.file.core.windows.net", "azure-files"),
        ("myaccount.blob.core.windows.net", "azure-blob"),
        ("fss.sub01.vcn.oraclevcn.com", "oci"),
        ("nas01.example.org", None),
        ("efs.example.com", None),
        ("fs-0123456789abcdef0.efs.eu-central-1.amazonaws.com.example.org", None),
    ],
)
def test_by_name(host: str, kind: str | None) -> None:
    found = identify_server(host=host)
    assert (found[0] if found else None) == kind


@pytest.mark.parametrize(
    ("implementation", "kind"),
    [
        ("Linux 6.1.0 #1 SMP, kernel.org", "linux"),
        ("NetApp Release 9.14.1, netapp.com", "ontap"),
        ("FreeBSD 14.1, freebsd.org", "freebsd"),
        ("NFS-Ganesha 5.7", "ganesha"),
        ("", None),
        ("something else", None),
    ],
)
def test_by_what_it_calls_itself(implementation: str, kind: str | None) -> None:
    found = identify_server(implementation=implementation)
    assert (found[0] if found else None) == kind


def test_services_say_more_than_a_path() -> None:
    assert identify_server(export="/volume1/data", ports=_NETAPP) == (
        "ontap",
        "the ports of its RPC services",
    )
    assert identify_server(ports={"mountd": 635}) is None


def test_a_path_is_a_hint() -> None:
    found = identify_server(host="10.0.0.7", export="/volume1/photo")
    assert found is not None
    assert found[0] == "synology"
    assert "hint" in found[1]
    assert identify_server(host="10.0.0.7", export="/export/home") is None


#: Kinds of servers that cannot be identified; the user selects them.
BY_HAND = {"openbsd", "anf", "filestore-basic", "macos", "solaris"}


def test_patterns_are_patterns() -> None:
    for name, kind in server_kinds().items():
        assert kind.title
        known = kind.host or kind.export or kind.implementation or kind.ports
        assert bool(known) is (name not in BY_HAND)
        for pattern in (kind.host, kind.export, kind.implementation):
            re.compile(pattern)
