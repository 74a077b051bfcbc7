"""One trial: mounted afresh, checked, tested, unmounted; every failure but cancelling becomes its outcome."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.experiment import measurements
from app.errors import AppError
from app.experiment.factors import spec_of
from app.experiment.feasibility import VOLATILE
from app.speedtest.cleanup import unless_cancelled
from app.tasks import CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.experiment.measurements import Outcome
    from app.experiment.context import Hands, OpenMount
    from app.experiment.model import PlannedSet, Work
    from app.speedtest.model import TestEvent, TestResult
    from app.speedtest.private_mount import Closing


def never(_event: TestEvent) -> bool:
    """Give no trial up."""
    return False


class Surroundings(NamedTuple):
    """What a trial runs in.

    Attributes:
        hands: the world.
        token: cancels it.
        tell: gets what the test says.
        give_up: looks at the same, and returns whether the trial need not go on.
    """

    hands: Hands
    token: CancelToken
    tell: Callable[[TestEvent], None]
    give_up: Callable[[TestEvent], bool] = never


def run_trial(one: PlannedSet, work: Work, begun: Outcome, around: Surroundings) -> Outcome:
    """Run a trial.

    Args:
        one: the option set; its values in use are compared if they are known.
        work: what is copied.
        begun: the outcome without figures.
        around: world, token and listeners.

    Returns:
        the outcome; a trial that was given up is "skipped".

    Raises:
        CancelledError: when the token is set. The mount goes in the background then.
    """
    began = around.hands.now()
    begun = msgspec.structs.replace(begun, started_at=datetime.now(UTC).isoformat(timespec="seconds"))
    outcome = _run(one, work, begun, around)
    took_s = around.hands.now() - began
    return msgspec.structs.replace(outcome, figures=outcome.figures | {measurements.TRIAL_S: took_s})


def _run(one: PlannedSet, work: Work, begun: Outcome, around: Surroundings) -> Outcome:
    hands, token = around.hands, around.token
    try:
        mount = hands.open(one.options, one.read_ahead_kb, token)
    except CancelledError:
        raise
    except AppError as error:
        return _failed(begun, error)
    other = _differing(one, mount)
    outcome = msgspec.structs.replace(
        begun,
        effective=mount.effective,
        figures={measurements.MOUNT_S: mount.mount_s},
        state="mismatch" if other else "ok",
        note=other,
    )
    own = CancelToken()

    def pass_on(event: TestEvent) -> None:
        around.tell(event)
        if around.give_up(event):
            own.cancel()

    try:
        with token.on_cancel(own.cancel):
            result = mount.run_test(spec_of(work, one.levels), own, pass_on, hands.link, round_trip=False)
    except AppError as error:
        if token.cancelled:
            mount.abandon()
            cancelled = CancelledError()
            cancelled.remains = error.remains
            raise cancelled from error
        _close(mount, token)
        if isinstance(error, CancelledError):
            return msgspec.structs.replace(
                outcome, state="skipped", note="Given up on the way: it could not win any more."
            )
        return _failed(outcome, error)
    except BaseException:
        mount.abandon()
        raise
    return _finished(outcome, result, _close(mount, token))


def _close(mount: OpenMount, token: CancelToken) -> Closing | None:
    """Unmount, unless cancelled meanwhile; None if the helper is gone, and the mount with it."""
    try:
        return unless_cancelled(mount.close, token, mount)
    except CancelledError:
        raise
    except AppError:
        return None


def _differing(one: PlannedSet, mount: OpenMount) -> str:
    """Return what is in use otherwise than when the set was tried, as a sentence, or ""."""
    known = one.effective.keys() | (mount.effective.keys() if one.whole else ())
    names = sorted(known - VOLATILE)
    pairs = [(name, one.effective.get(name, ""), mount.effective.get(name, "")) for name in names]
    if one.read_ahead_kb is not None:
        pairs.append(("read_ahead_kb", str(one.read_ahead_kb), str(mount.read_ahead_kb)))
    differing = [f"{name} is {found or 'absent'} instead of {wanted or 'absent'}"
                 for name, wanted, found in pairs if wanted != found]  # fmt: skip
    return f"Not mounted as planned: {', '.join(differing)}." if differing else ""


def _failed(outcome: Outcome, error: AppError) -> Outcome:
    return msgspec.structs.replace(outcome, state="failed", note=error.message)


def _finished(outcome: Outcome, result: TestResult, closing: Closing | None) -> Outcome:
    """Return the outcome with its figures."""
    figures = dict(outcome.figures)
    notes = [outcome.note] if outcome.note else []
    write, read = result.write, result.read
    if write is not None:
        figures |= {
            measurements.WRITE: write.bytes_per_s,
            measurements.WRITE_BYTES: write.bytes,
            measurements.WRITE_S: write.transfer_s,
            measurements.WRITE_SYNC_S: write.fsync_s + write.close_s,
            measurements.WRITE_TIMEOUTS: write.timeouts,
            **_known({measurements.WRITE_RTT_S: write.mean_rtt_s}),
        }
    if read is not None and read.cached:
        notes.append(result.cache.note if result.cache is not None else "The read came from the cache.")
    elif read is not None:
        figures |= {
            measurements.READ: read.bytes_per_s,
            measurements.READ_BYTES: read.bytes,
            measurements.READ_S: read.transfer_s + read.close_s,
            measurements.READ_TIMEOUTS: read.timeouts,
            **_known({measurements.READ_RTT_S: read.mean_rtt_s}),
        }
    for name in (measurements.CREATE, measurements.STAT, measurements.DELETE):
        if name in result.figures:
            figures[name] = result.figures[name].median
    if closing is None or closing.unmount_s is None:
        notes.append("How long unmounting took is not known: the server or the helper did not answer.")
    if closing is not None:
        figures |= _known({measurements.SYNC_S: closing.sync_s, measurements.UNMOUNT_S: closing.unmount_s})
    transfers = [transfer for transfer in (write, read) if transfer is not None]
    return msgspec.structs.replace(
        outcome,
        figures=figures,
        timeouts=sum(transfer.timeouts for transfer in transfers),
        retransmissions=sum(transfer.retransmissions for transfer in transfers),
        note=" ".join(notes),
    )


def _known(figures: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if value is not None}
