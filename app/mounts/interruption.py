"""Whether a change interrupts a mount: the sentence for what the plan found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.mounts.change_model import Interruption


def interruption_text(found: Interruption) -> str:
    """Return what is interrupted, for a person; "" of a change that does nothing."""
    if found.effect == "interrupts":
        return (
            f"Interrupts {found.mount_point} for about {found.typical_s:g} s. "
            f"It takes {found.most_s:g} s at most."
        )
    return {
        "nothing": "",
        "at-once": "Changes at once. Nothing is interrupted.",
        "next-mount": "Takes effect at the next mount. Nothing is interrupted.",
        "first-mount": "Nothing is interrupted.",
    }[found.effect]
