"""Missing prerequisites of a mount, as findings of the lint, before the mount is tried."""

from __future__ import annotations

import platform
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from advisor.facts import ClientFacts, Facts, PrerequisiteFacts, ServerFacts
from advisor.lint import LintContext, prerequisite_findings
from advisor.options import MountOptions, options_for_mount
from advisor.share import is_share
from app.facts.client import client_facts
from app.facts.gather import gather_facts
from app.facts.prerequisites import prerequisite_facts
from app.kernel.nfsmount_conf import added_to

if TYPE_CHECKING:
    from advisor.lint import Finding


def missing_prerequisites(share: str, mount_point: str, options: str) -> list[Finding]:
    """Return what this computer lacks for a mount, errors first; most mounts need nothing, and cost nothing.

    The server is asked only where Kerberos needs to know its clock and its name, for three seconds at most.

    Args:
        share: server:/export.
        mount_point: absolute path.
        options: as in fstab; what nfsmount.conf adds to them counts too.
    """
    asked = MountOptions.parse(options)
    for extra in added_to(share, mount_point, options_for_mount(asked)):
        if not extra.beats:
            asked.set(extra.name, MountOptions.parse(extra.item).values().get(extra.name, ""))
    context = LintContext(share=share, mount_point=mount_point)
    at_worst = prerequisite_findings(asked, context=context, facts=_nothing_there())
    if not at_worst:
        return []
    if any(finding.options == ("sec",) for finding in at_worst) and is_share(share):
        facts = gather_facts(share)
        if facts.prerequisites is None:  # they came after the server's time, and here they are the point
            facts = replace(facts, prerequisites=prerequisite_facts())
    else:
        facts = Facts(client=client_facts(), prerequisites=prerequisite_facts())
    return prerequisite_findings(asked, context=context, facts=facts)


@cache
def _nothing_there() -> Facts:
    """Return the facts of a computer that lacks everything, and a server without clock and name."""
    absent: dict[str, Any] = {
        field.name: False for field in fields(PrerequisiteFacts) if field.type == "bool | None"
    }
    return Facts(
        client=ClientFacts(kernel=platform.release(), udp=False),
        server=ServerFacts(clock_ahead_s=1e9, reverse_name=""),
        prerequisites=PrerequisiteFacts(**absent),
    )
