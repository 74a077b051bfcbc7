"""Mount request: share, mount point and options as the form spells them."""

from __future__ import annotations

from dataclasses import dataclass

from app.service.protocol import MountArgs


@dataclass(frozen=True, slots=True)
class MountRequest:
    """A mount as the person spelled it: share, mount point, option string, and the readahead for “Apply…”."""

    share: str
    mount_point: str
    options: str
    read_ahead_kb: int | None = None

    def args(self) -> MountArgs:
        """Return it as the agent's verb takes it."""
        return MountArgs(share=self.share, mount_point=self.mount_point, options=self.options)
