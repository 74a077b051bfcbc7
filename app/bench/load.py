"""What a transfer does to this computer and to its connections, looked at from its first byte to its close.

Sources: /proc/stat (proc(5)), /proc/net/dev, times(2) of the worker itself, and the counters of the mount.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from advisor.bottleneck import Load, Traffic

if TYPE_CHECKING:
    from app.bench.probe import Look, Probe

#: /proc/stat: user nice system idle iowait irq softirq steal; later fields are counted in the first two.
_STAT_FIELDS = 8
_IDLE, _IOWAIT = 3, 4
#: system, irq and softirq: what the kernel does itself.
_KERNEL = (2, 5, 6)
#: /proc/net/dev: eight fields received, eight sent; bytes come first, drops fourth.
_SENT, _DROPS = 8, 3
#: Less of the clock's hundredths than this is too little to make a part of.
_FEWEST_TICKS = 20


class Machine(NamedTuple):
    """Counters of this computer at one moment.

    Attributes:
        processors: name to ticks busy, ticks of the kernel, and ticks in all; "cpu" is all of them together.
        worker_s: processor time of this process.
        interfaces: name to bytes received, bytes sent, packets dropped.
    """

    processors: dict[str, tuple[int, int, int]]
    worker_s: float
    interfaces: dict[str, tuple[int, int, int]]


def look_at_machine(root: str = "/") -> Machine:
    """Return the counters as they are now; what cannot be read is left out."""
    used = os.times()
    return Machine(
        processors=_processors(_read(root, "proc/stat")),
        worker_s=used.user + used.system,
        interfaces=_interfaces(_read(root, "proc/net/dev")),
    )


class LoadWatch:
    """Watches one transfer after the other.

    Attributes:
        network_s: round trip of an RPC that does nothing, measured before; None if it is not known.
    """

    def __init__(self) -> None:
        self.network_s: float | None = None
        self._before = look_at_machine()
        self._trips: list[float] = []
        self._unsent: list[int] = []

    def begin(self) -> None:
        """Begin with a transfer."""
        self._before = look_at_machine()
        self._trips, self._unsent = [], []

    def take(self, probe: Probe) -> None:
        """Note the state of the connections, as the probe saw it last."""
        if probe.tcp:
            self._trips.append(probe.tcp_s)
            self._unsent.append(probe.unsent)

    def end(self, seconds: float, done: int, added: Look) -> Load:
        """Return what the transfer did.

        Args:
            seconds: its time.
            done: its bytes.
            added: what it added to the mount's counters.
        """
        before, after = self._before, look_at_machine()
        busy, kernel = _shares(before, after, 0), _shares(before, after, 1)
        kernel.pop("cpu", None)
        return Load(
            seconds=seconds,
            bytes=done,
            calls=added.calls,
            rtt_s=added.rtt_ms / 1e3,
            queue_s=added.queue_ms / 1e3,
            commit_s=added.commit_ms / 1e3,
            network_s=self.network_s,
            tcp_s=sum(self._trips) / len(self._trips) if self._trips else None,
            unsent=sum(self._unsent) / len(self._unsent) if self._unsent else 0.0,
            window_s=added.window_us / 1e6,
            segments=added.segments,
            again=added.tcp_retransmissions,
            received=added.segments_received,
            disordered=added.disordered,
            cpu=busy.get("cpu"),
            core=max(kernel.values(), default=None),
            worker=(after.worker_s - before.worker_s) / max(seconds, 1e-9),
            interfaces=_traffic(before, after),
        )


def _shares(before: Machine, after: Machine, place: int) -> dict[str, float]:
    """Return the part of the time that one of the counters took, by processor."""
    found: dict[str, float] = {}
    for name, ticks in after.processors.items():
        old = before.processors.get(name, (0, 0, 0))
        whole = ticks[-1] - old[-1]
        if whole >= _FEWEST_TICKS:
            found[name] = max(0.0, ticks[place] - old[place]) / whole
    return found


def _traffic(before: Machine, after: Machine) -> dict[str, Traffic]:
    """Return what each interface carried that carried anything; a counter that began anew is left out."""
    found: dict[str, Traffic] = {}
    for name, counters in after.interfaces.items():
        received, sent, drops = (
            new - old for new, old in zip(counters, before.interfaces.get(name, (0, 0, 0)), strict=True)
        )
        if received >= 0 and sent >= 0 and received + sent:
            found[name] = Traffic(received=received, sent=sent, drops=max(drops, 0))
    return found


def _processors(text: str) -> dict[str, tuple[int, int, int]]:
    found: dict[str, tuple[int, int, int]] = {}
    for line in text.splitlines():
        name, *words = line.split()
        if not name.startswith("cpu"):
            break
        ticks = [int(word) for word in words[:_STAT_FIELDS]]
        if len(ticks) > _IOWAIT:
            busy = sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT]
            found[name] = (busy, sum(ticks[place] for place in _KERNEL if place < len(ticks)), sum(ticks))
    return found


def _interfaces(text: str) -> dict[str, tuple[int, int, int]]:
    found: dict[str, tuple[int, int, int]] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and len(words) > _SENT + _DROPS and all(word.isdigit() for word in words):
            numbers = [int(word) for word in words]
            drops = numbers[_DROPS] + numbers[_SENT + _DROPS]
            found[name.strip()] = (numbers[0], numbers[_SENT], drops)
    return found


def _read(root: str, path: str) -> str:
    try:
        return Path(root, path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
