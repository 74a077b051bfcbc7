"""Findings of the lint about a mount of this host: as a list, in words, and as an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.lint import Finding, LintContext, apply_fix, lint
from advisor.options import MountOptions
from advisor.share import Share, ShareError
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advisor.facts import Facts
    from app.mounts.model import Mount

#: What every new entry gets, and this one does without: whoever leaves it out is to know what follows.
_SHOWN_NOTES = frozenset({"no-nofail"})


def lint_mount(
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
        place="fstab" if saved else "",
        fstab=saved,
        share=share,
        mount_point=mount_point,
        fstype=fstype,
        connections=connections_by_version(mounts, share, mount_point),
    )
    return lint(options, context=context, facts=facts)


def connections_by_version(mounts: Iterable[Mount], share: str, mount_point: str) -> dict[str, int]:
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


def merge_findings(first: Iterable[Finding], second: Iterable[Finding]) -> list[Finding]:
    """Return both, without those of the second that the first has with better facts."""
    found = list(first)
    told = {(finding.rule, finding.options) for finding in found}
    return [*found, *(finding for finding in second if (finding.rule, finding.options) not in told)]


def findings_before_writing(findings: Iterable[Finding]) -> list[Finding]:
    """Return what is told before something is written; other notes are left to lint and to the form."""
    return [finding for finding in findings if finding.severity != "info" or finding.rule in _SHOWN_NOTES]


def refusal_error(findings: Sequence[Finding], options: str) -> AppError | None:
    """Return the error of a mount that the kernel is sure to refuse, None if it may be tried."""
    finding = next((one for one in findings if one.before_mount == "refuse"), None)
    if finding is None:
        return None
    left = apply_fix(MountOptions.parse(options), finding)
    hint = f"Use the options “{left}” instead." if len(left) else "Leave the option out."
    return AppError(
        ErrorKind.OPTION_REJECTED,
        finding.title,
        hint=f"{finding.why} {hint}",
        detail="\n".join([finding.rule, *finding.mend]),
    )


def finding_text(finding: Finding) -> str:
    """Return what is lacking, why it is needed, and the commands that mend it, a line each."""
    return "\n".join([f"{finding.title} {finding.why}", *finding.mend])


def _host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""
