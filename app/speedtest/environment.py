"""Environment of a test: client, server, link and mount, recorded for later comparisons."""

from __future__ import annotations

import platform
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from advisor.facts import ServerFacts
from advisor.share import Share, ShareError
from app.facts.client import client_facts
from app.facts.server import server_mounts, with_identity
from app.speedtest.model import Environment
from app.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.facts import ClientFacts, LinkFacts
    from app.mounts.model import Mount, MountTable
    from app.speedtest.model import TestResult


def with_environment(result: TestResult, read_ahead_kb: int | None = None) -> TestResult:
    """Return the result with the environment of this host, determined after the test to not disturb it.

    Args:
        result: result of a test that ran on this host.
        read_ahead_kb: readahead of the mount, KiB; None if unknown.
    """
    environment = environment_of(result.share, result.link, result.effective, read_ahead_kb)
    return msgspec.structs.replace(result, environment=environment)


def environment_of(
    share_text: str | None,
    link: LinkFacts | None,
    effective: Mapping[str, str],
    read_ahead_kb: int | None = None,
) -> Environment:
    """Return the environment of this host.

    It uses no NFS file system and contacts no server. The first call takes about 50 ms, because mount.nfs
    reports its version; further calls take 1 ms.

    Args:
        share_text: server:/export, None or "" if the test was not on NFS.
        link: facts on the link to the server.
        effective: option values in use, by name.
        read_ahead_kb: readahead of the mount, KiB; None if unknown.
    """
    client = _cached_client_facts()
    server = ServerFacts()
    if share_text:
        try:
            share = Share.parse(share_text)
            server = with_identity(ServerFacts(name=share.host), share.export, server_mounts(share.host))
        except ShareError:  # the kernel accepts names that the parser rejects
            pass
    return Environment(
        host=client.hostname or None,
        system=_distribution(),
        kernel=client.kernel or None,
        nfs_utils=client.nfs_utils,
        program=VERSION,
        memory_bytes=client.memory_bytes,
        interface=link.interface if link else None,
        adapter=link.adapter if link else None,
        driver=link.driver if link else None,
        rate_bps=link.rate_bps if link else None,
        duplex=link.duplex if link else None,
        mtu=link.mtu if link else None,
        rtt_s=link.rtt_s if link else None,
        emulated_link=link.name if link and link.emulated else None,
        server=server.name or None,
        server_address=effective.get("addr"),
        server_kind=server.kind,
        server_implementation=server.implementation,
        nfs_version=effective.get("vers"),
        read_ahead_kb=read_ahead_kb,
    )


def readahead_of_result(result: TestResult, table: MountTable) -> int | None:
    """Return the readahead of the mount that a test ran on, KiB; None if unknown.

    Args:
        result: result of the test.
        table: mount table of the host, read after the test.
    """

    def contains_path(mount: Mount) -> bool:
        point = mount.mount_point.rstrip("/")
        return mount.share == result.share and (result.path == point or result.path.startswith(point + "/"))

    candidates = [mount for mount in table.mounts if mount.active is not None and contains_path(mount)]
    nearest = max(candidates, key=lambda mount: len(mount.mount_point), default=None)
    return nearest.active.read_ahead_kb if nearest is not None and nearest.active is not None else None


@cache
def _cached_client_facts() -> ClientFacts:
    return client_facts()


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
