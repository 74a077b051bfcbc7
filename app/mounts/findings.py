"""What lint says of the options of a mount of this host, before anything is done with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.lint import Finding, LintContext, lint
from advisor.options import MountOptions
from advisor.share import Share, ShareError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.facts import Facts
    from app.mounts.model import Mount


def judge(
    options: MountOptions,
    *,
    saved: bool,
    share: str,
    mount_point: str,
    fstype: str = "nfs",
    mounts: Iterable[Mount] = (),
    facts: Facts | None = None,
) -> list[Finding]:
    """Return the findings, errors first.

    Args:
        options: of the mount.
        saved: whether they stand in an entry of fstab or in a unit; else they are for a mount made now.
        share: server:/export.
        mount_point: absolute path.
        fstype: nfs or nfs4.
        mounts: of this host; those of the same server have opened its connections.
        facts: what is known of the link, the server and this computer.
    """
    context = LintContext(
        fstab=saved,
        share=share,
        mount_point=mount_point,
        fstype=fstype,
        connections=connections(mounts, share, mount_point),
    )
    return lint(options, context=context, facts=facts)


def connections(mounts: Iterable[Mount], share: str, mount_point: str) -> dict[str, int]:
    """Return NFS version ("4.2") to the connections that other live mounts of the share's server use.

    The first mount of a server and version opens them for all later ones (nfs(5), nconnect). What is mounted
    at the very place goes away before anything else is mounted there.
    """
    host = _host(share)
    found: dict[str, int] = {}
    for mount in mounts:
        active = mount.active
        if active is None or mount.mount_point == mount_point or not active.nconnect or not host:
            continue
        options = MountOptions.parse(active.options)
        version = options.get("vers")
        if version and host in {_host(active.share), options.get("addr")}:
            found[version] = active.nconnect
    return found


def grave(findings: Iterable[Finding]) -> list[Finding]:
    """Return the errors and warnings: notes are left to lint and to the form."""
    return [finding for finding in findings if finding.severity != "info"]


def _host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""
