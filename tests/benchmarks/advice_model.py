"""How good the throughput model is on links it was not made with: ``tests/benchmarks/advice_model.py``.

Every cell is one link and one kind of work. What the model expects is asked for first, of the facts that
the program itself finds in the guest, and then the work is done on fresh mounts. Before and after each cell
runs a control: the same rate with a millisecond and without loss or jitter, the same work, in calls of 1
MiB. What it must carry is known without a model, the link's payload rate. Where one of the two is off by
more than a tenth, the guest was short of processor, and the cell is measured again with new controls; what
is never calm is recorded, and does not count.

A cell is met if the median lies in the stated band and the band is no wider than 40 % either way. “Cannot
be predicted” counts as met for the first three cells only. The goal is nine of ten.

    --links     instead of the list below; --kinds likewise of write, read and small-read
    --out       JSON with every figure, written after every cell; cells in it that count stay as they are
    --tries     how often a cell is measured while its controls are off
    --runs      of each cell; the median counts
    --seconds   stop after so many
    --score     measure nothing: print the table of what OUT holds
    --again     with --score: as the model of today expects it, of the round trips that were measured then; it
                may have been made with these very cells, so this is no proof of it
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import os
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[2]))

import lab_guest
from advice_work import WorkArgs, Worked

from advisor.facts import ClientFacts, Facts, payload_rate_bps
from advisor.options import MountOptions
from advisor.speeds import format_speed
from advisor.throughput import CopySpec, predict
from advisor.transfer_sizes import CP_CALL_SIZE, SMALL_READ_SIZE, call_size
from app.links import parse_link
from app.service.model import AdviceArgs
from app.service.protocol import LinkArgs

if TYPE_CHECKING:
    from advisor.prediction import Direction, Prediction
    from app.lab.guest import Guest
    from app.service.model import AdviceResult

ROOT = Path(__file__).parents[2]
OUT = ROOT / "tests/data/advice/model_cells.json"
MIB = 2**20
#: Loss on short links, loss on longer ones, long ways without loss, slow and fast wires. No figure of the
#: model comes from any of them, and no rule.
LINKS = (
    "rate=45mbit,delay=0.15ms,loss=1.5%",
    "rate=60mbit,delay=0.3ms,loss=3%",
    "rate=25mbit,delay=0.5ms,loss=4%",
    "rate=80mbit,delay=0.4ms,loss=0.5%",
    "rate=30mbit,delay=1ms,loss=2%",
    "rate=16mbit,delay=3ms,loss=0.4%",
    "rate=70mbit,delay=5ms,loss=0.15%",
    "rate=12mbit,delay=11ms,loss=0.2%",
    "rate=37mbit,delay=7ms,loss=0.3%",
    "rate=120mbit,delay=2ms",
    "rate=90mbit,delay=13ms",
    "rate=65mbit,delay=30ms",
    "rate=20mbit,delay=60ms",
    "rate=6mbit,delay=17ms",
    "rate=160mbit,delay=0.25ms",
    "rate=48mbit,up=9mbit,delay=8ms,jitter=1ms",
)
KINDS = ("write", "read", "small-read")
WIDEST, CALM, SILENT = 0.40, 0.10, 3
SECONDS = 3.0


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """One run without loss: bytes per second, and what the wire carries."""

    speed: float
    carries: float

    def calm(self) -> bool:
        """Whether the guest kept up with the wire."""
        return abs(self.speed / self.carries - 1) <= CALM


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What one cell came to; speeds are bytes per second."""

    link: str
    kind: str
    size: int
    block: int
    rtt_s: float | None
    predicted: float
    error: float
    unpredictable: str
    limit: str
    speeds: list[float]
    controls: list[Control]
    tries: int
    load: float
    model: str
    when: str
    command: str

    def counts(self) -> bool:
        """Whether both controls were calm."""
        return all(control.calm() for control in self.controls)

    def inside(self) -> bool:
        """Whether the median lies in the stated band, and the band is narrow enough to say something."""
        off = abs(statistics.median(self.speeds) - self.predicted)
        return self.error <= WIDEST and off <= self.error * self.predicted


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", nargs="+", default=list(LINKS))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=7200.0)
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    cells = read(args.out)
    if not args.score:
        measure(args, cells)
    if args.again:
        cells = {key: expected_again(cell) for key, cell in cells.items()}
    print(table(list(cells.values())))
    return 0


def measure(args: argparse.Namespace, cells: dict[tuple[str, str], Cell]) -> None:
    """Measure what is not there yet, as long as the time lasts."""
    end = time.monotonic() + args.seconds
    wanted = [(link, kind) for link in args.links for kind in args.kinds.split(",")]
    missing = [key for key in wanted if key not in cells or not cells[key].counts()]
    if not missing:
        return
    with lab_guest.boot(parse_link(missing[0][0]), "1G") as guest:
        for link, kind in missing:
            for tried in range(1, args.tries + 1):
                if time.monotonic() > end:
                    return
                cells[link, kind] = cell = Bench(guest, link, kind).cell(args.runs, tried)
                args.out.write_bytes(msgspec.json.format(msgspec.json.encode(list(cells.values()))) + b"\n")
                print(_row(cell), file=sys.stderr, flush=True)
                if cell.counts():
                    break


class Bench:
    """One link and one kind of work."""

    def __init__(self, guest: Guest, link: str, kind: str) -> None:
        self._guest = guest
        self._link = link
        self._kind = kind
        parsed = parse_link(link)
        self._rate = parsed.up_bps if kind == "write" else parsed.rate_bps
        self._carries = payload_rate_bps(self._rate, parsed.mtu) / 8
        self._size = max(MIB, int(SECONDS * self._carries) // MIB * MIB)

    def cell(self, runs: int, tried: int) -> Cell:
        """Ask the model, then measure between two controls."""
        before = self._control()
        block = call_size(SMALL_READ_SIZE if self._kind == "small-read" else CP_CALL_SIZE, {})
        self._set(self._link, block)
        advice: AdviceResult = self._guest.client.submit(
            "advice.get", AdviceArgs(share=self._guest.share)
        ).result(120)
        expected = self._expected(advice, block)
        speeds = [self._run(self._kind, block) for _run in range(runs)]
        after = self._control()
        link = advice.facts.link
        return Cell(
            link=self._link, kind=self._kind, size=self._size, block=block,
            rtt_s=link.rtt_s if link is not None else None,
            predicted=expected.bytes_per_s, error=expected.error, unpredictable=expected.unpredictable,
            limit=expected.limit, speeds=speeds, controls=[before, after], tries=tried,
            load=os.getloadavg()[0], model=model_digest(),
            when=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            command=" ".join(["python", "tests/benchmarks/advice_model.py", *sys.argv[1:]]),
        )  # fmt: skip

    def _expected(self, advice: AdviceResult, block: int) -> Prediction:
        direction: Direction = "write" if self._kind == "write" else "read"
        work = CopySpec(direction=direction, length=self._size, block=block)
        found = predict(MountOptions(), advice.facts, work)
        if found is None:
            raise RuntimeError(f"nothing is known of {self._link}")
        return found

    def _control(self) -> Control:
        block = call_size(CP_CALL_SIZE, {})
        self._set(f"rate={self._rate:.0f}bit,delay=1ms", block)
        kind = "write" if self._kind == "write" else "read"
        return Control(speed=self._run(kind, block), carries=self._carries)

    def _set(self, link: str, block: int) -> None:
        self._guest.client.submit("lab.link", LinkArgs(link=link)).result(60)
        if self._kind != "write":
            self._ask(WorkArgs(kind="place", size=self._size, block_size=block))

    def _run(self, kind: str, block: int) -> float:
        work = WorkArgs(kind=cast("Any", kind), size=self._size, block_size=block, share=self._guest.share)
        return self._size / self._ask(work).seconds

    def _ask(self, work: WorkArgs) -> Worked:
        worked: Worked = self._guest.client.submit("bench.work", work).result(300)
        return worked


def model_digest() -> str:
    """Return what tells one state of the model from another."""
    digest = hashlib.sha256()
    for name in ("model.py", "throughput_loss.py"):
        digest.update((ROOT / "advisor" / name).read_bytes())
    return digest.hexdigest()[:12]


def read(path: Path) -> dict[tuple[str, str], Cell]:
    """Return the cells of a file, none if there is none."""
    found = msgspec.json.decode(path.read_bytes(), type=list[Cell]) if path.exists() else []
    return {(cell.link, cell.kind): cell for cell in found}


def expected_again(cell: Cell) -> Cell:
    """Return a kept cell with what the model of today expects."""
    link = replace(parse_link(cell.link).facts(), rtt_s=cell.rtt_s)
    direction: Direction = "write" if cell.kind == "write" else "read"
    work = CopySpec(direction=direction, length=cell.size, block=cell.block)
    found = predict(MountOptions(), Facts(client=ClientFacts(), link=link), work)
    if found is None:
        raise RuntimeError(f"nothing is known of {cell.link}")
    return msgspec.structs.replace(
        cell, predicted=found.bytes_per_s, error=found.error, unpredictable=found.unpredictable,
        limit=found.limit, model=model_digest(),
    )  # fmt: skip


def score(cells: list[Cell]) -> tuple[int, int]:
    """Return how many of the cells that count are met, and how many count."""
    counted = [cell for cell in cells if cell.counts()]
    silent = sum(bool(cell.unpredictable) for cell in counted)
    told = sum(cell.inside() for cell in counted if not cell.unpredictable)
    return told + min(silent, SILENT), len(counted)


def table(cells: list[Cell]) -> str:
    """Return the cells as Markdown, and the score below."""
    titles = ("link", "work", "expected", "measured", "off", "controls", "verdict")
    met, counted = score(cells)
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", *(_row(cell) for cell in cells)]
    off = len(cells) - counted
    return "\n".join(
        [*lines, "", f"{met} of {counted} cells met; {off} do not count, their controls were off."]
    )


def _row(cell: Cell) -> str:
    median = statistics.median(cell.speeds)
    verdict = "met" if cell.inside() else "missed"
    if cell.unpredictable:
        verdict = cell.unpredictable
    if not cell.counts():
        verdict = f"does not count ({verdict})"
    words = (
        cell.link, f"{cell.kind} {cell.size // MIB} MiB",
        f"{format_speed(cell.predicted)} ± {cell.error:.0%}", format_speed(median),
        f"{cell.predicted / median - 1:+.0%}",
        ", ".join(f"{control.speed / control.carries:.0%}" for control in cell.controls), verdict,
    )  # fmt: skip
    return f"| {' | '.join(words)} |"


if __name__ == "__main__":
    sys.exit(main())
