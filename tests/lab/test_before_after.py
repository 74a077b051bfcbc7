"""A before-and-after test of a left-over noac in the lab: kept if proven, saved, undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from copy_tests import POINT

from app.mounts.change_model import RestoreArgs
from app.service.model import AdviceArgs, BeforeAfterArgs
from app.service.protocol import ListArgs, MountArgs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lab_guest import LabGuest

    from app.mounts.model import Mount

pytestmark = pytest.mark.lab


def row(lab: LabGuest) -> Mount:
    return next(item for item in lab.ask("mounts.list", ListArgs()).mounts if item.mount_point == POINT)


@pytest.fixture
def noac_mount(lab: LabGuest, lab_link: Callable[[str], object]) -> Iterator[None]:
    lab_link("wan")
    lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT, options="vers=4.2,noac"))
    yield
    lab.unmount_when_free(POINT)


@pytest.mark.usefixtures("noac_mount")
def test_a_left_over_noac(lab: LabGuest) -> None:
    plan = lab.ask("before-after.plan", AdviceArgs(mount_point=POINT))
    assert "noac" not in plan.change.options
    assert plan.plan.interruption.effect == "interrupts"
    events = []
    args = BeforeAfterArgs(
        change=plan.change, spec=plan.spec, recommendations=plan.recommendations, seconds=plan.seconds
    )
    report = lab.submit("before-after.run", args, events.append).result()
    assert {event.stage for event in events} == {"before", "change", "after"}
    assert report.before.options == "vers=4.2,noac"
    if report.keep is None:
        assert report.verdict != "faster"
        assert "noac" in row(lab).requested
        return
    assert "noac" not in row(lab).requested
    lab.ask("mounts.apply", report.keep)
    kept = row(lab)
    assert kept.configured is not None
    assert "noac" not in kept.configured.options
    assert kept.saved_read_ahead_kb == plan.change.read_ahead_kb
    lab.ask("mounts.restore", RestoreArgs(settings=report.before))
    restored = row(lab)
    assert (restored.configured, restored.saved_read_ahead_kb) == (None, None)
    assert "noac" in restored.requested
