"""Mount request: share, mount point and options as entered in the form."""

from __future__ import annotations

from dataclasses import dataclass

from app.service.protocol import MountArgs


@dataclass(frozen=True, slots=True)
class MountRequest:
    """Mount as entered by the user.

    Attributes:
        share: server:/export.
        mount_point: path of the mount point.
        options: option string.
        read_ahead_kb: readahead that “Apply…” sets, KiB; None leaves it unchanged.
    """

    share: str
    mount_point: str
    options: str
    read_ahead_kb: int | None = None

    def args(self) -> MountArgs:
        """Return the request as arguments of the agent's mount verbs."""
        return MountArgs(share=self.share, mount_point=self.mount_point, options=self.options)
