"""The hosts that the window can work on: this computer, and the lab with one of its links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ui.common.session import LOCAL, OpenHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.tasks import CancelToken


@dataclass(frozen=True, slots=True)
class LabLink:
    """A link of the lab as a choice.

    Attributes:
        key: what ``parse_link`` takes: a profile's name, or the link spelled out.
        title: what the person reads.
    """

    key: str
    title: str


def lab_links() -> list[LabLink]:
    """Return the lab's link profiles in their file's order."""
    from app.links import load_links

    return [LabLink(link.name, link.title) for link in load_links().values()]


def open_host(key: str, token: CancelToken) -> OpenHost:
    """Open a host; blocks until it runs, so call it on a thread.

    Args:
        key: "" for this computer, else a link of the lab.
        token: gives up.

    Raises:
        AppError: if it cannot be opened.
    """
    if key == LOCAL:
        from app.service.hosts import LocalAgent

        agent = LocalAgent()
        return OpenHost(agent.client, agent.close)
    from app.lab.guest import Guest
    from app.lab.guest_monitor import GuestState
    from app.links import parse_link

    guest = Guest.boot(parse_link(key), token=token)

    def watch(tell: Callable[[bool], None]) -> None:
        guest.listen(lambda state: tell(state is GuestState.SLOW))

    return OpenHost(guest.client, guest.close, watch)
