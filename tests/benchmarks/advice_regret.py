"""What following the advice costs: ``python tests/benchmarks/advice_regret.py --links wan --out regret``.

For every link profile of the lab and for reading and writing as cp does, small reads and small files: the
speed with the advised options against the best other setting of a sweep, and against the kernel's defaults.
Every measurement has a fresh mount, with no other one of the server, and its connections and its readahead
are looked at.

1. The sweep visits each setting once, in random order, and the quickest three twice more.
2. The quickest of these by three runs then runs beside the advised settings and the defaults, in rounds of
   random order, so that whatever else the computer does meets all three alike. Only these rounds count: what
   was chosen for its luck in the sweep has no luck in them. The figures are medians of the ratios within a
   round, with the interval of the sign test (advisor/experiment/intervals.py). There are at least six rounds,
   and no more once both ratios are decided.

The sweep varies what changes speed alone: connections, readahead, sizes and the version. Options that change
what programs may rely on (soft, async, nocto, long attribute times) are not in it. The advice is asked for
large files (“media”) and for small ones (“builds”), as a person would choose.

    --links     profiles, or links spelled out (rate=37mbit,delay=7ms,loss=0.2%); all profiles if not given,
                and “held-out” stands for three links that no rule and no figure of the model was made with
    --works     of read, small-read, write, small (docs/call-sizes.md); all if not given
    --budget    seconds for one cell, half of them for the sweep
    --rounds    at most so many
    --out       OUT.json holds every figure, OUT.md the table; both are written after every cell, and cells of
                other links and works that are in OUT.json already stay
    --record    measure nothing: write what OUT.json holds to this file, for the test of the model
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[2]))

import lab_guest
from advice_table import Cell, Setting, read_cells, recorded, table, write_cells
from advice_work import SMALL_BYTES, WorkArgs, Worked

from advisor.experiment.intervals import MIN_INTERVAL_VALUES
from advisor.facts import payload_rate_bps
from advisor.options import MountOptions
from advisor.throughput import DEFAULT_READAHEAD_BYTES
from advisor.transfer_sizes import CP_CALL_SIZE, SMALL_READ_SIZE, call_size
from app.links import load_links, parse_link
from app.service.model import AdviceArgs
from app.service.protocol import LinkArgs

if TYPE_CHECKING:
    from app.lab.guest import Guest
    from app.service.model import AdviceResult

#: Files are multiples of this, the largest call of cp.
GRAIN = 2**20
MOST_BYTES = 160 * 2**20
CONNECTIONS = (1, 2, 4, 8)
READ_AHEADS = (128, 512, 1024, 4096, 15360)
SIZES = (None, 65536, 262144)
#: A radio link that loses packets now and then, a cable modem with a slow way up, a fast line between towns.
HELD_OUT = (
    "rate=54mbit,delay=4ms,jitter=1ms,loss=0.3%",
    "rate=200mbit,up=20mbit,delay=9ms,jitter=1ms,loss=0.005%",
    "rate=300mbit,delay=6ms",
)
FINALISTS = 3
#: Reading as cp does, and with small calls (docs/call-sizes.md).
READS = ("read", "small-read")
SECONDS = 2.0
DEFAULTS = Setting()
#: A run over a link that loses packets, from this part on, should meet so many losses: with a few, their
#: number decides.
LOSSY, LOSSES = 1e-3, 25


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", nargs="+", default=list(load_links()))
    parser.add_argument("--works", default="read,small-read,write,small")
    parser.add_argument("--budget", type=float, default=240.0)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", default="advice-regret")
    parser.add_argument("--record", type=Path)
    args = parser.parse_args()
    order = [*load_links(), *HELD_OUT]
    cells = read_cells(args.out)
    if args.record is not None:
        write_cells(cells, args.out, order)
        args.record.write_text(recorded(cells, order), encoding="utf-8")
        return 0
    links = [link for name in args.links for link in (HELD_OUT if name == "held-out" else (name,))]
    with lab_guest.boot(parse_link(links[0]), "2G") as guest:
        for name in links:
            guest.client.submit("lab.link", LinkArgs(link=name)).result(60)
            for kind in args.works.split(","):
                cells[name, kind] = cell = Bench(guest, name, kind).cell(args.budget, args.rounds)
                print(table([cell]).splitlines()[-1], file=sys.stderr, flush=True)
                write_cells(cells, args.out, order)
    print(Path(f"{args.out}.md").read_text(encoding="utf-8"))
    return 0


class Bench:
    """One link and one kind of work."""

    def __init__(self, guest: Guest, link: str, kind: Any) -> None:
        self._guest = guest
        self._link = link
        self._kind = kind
        self._chance = random.Random(f"{link} {kind}")
        workload = "builds" if kind == "small" else "media"
        self._advice: AdviceResult = guest.client.submit(
            "advice.get", AdviceArgs(share=guest.share, workload=workload)
        ).result(60)
        self._advised = advised(self._advice)
        self._work = self._sized(parse_link(link))

    def cell(self, budget_s: float, rounds: int) -> Cell:
        """Sweep, then measure the best other setting beside the advised one and the defaults."""
        self._place()
        end = time.monotonic() + budget_s
        self._fit(DEFAULTS)
        seen = self._sweep(time.monotonic() + (end - time.monotonic()) / 2)
        others = [setting for setting in self._quickest(seen) if not self._is_advised(setting)]
        best = min(others, key=lambda setting: statistics.median(seen[setting]))
        chosen = list(dict.fromkeys([DEFAULTS, self._advised, best]))
        amount = self._work.files * SMALL_BYTES * 2 if self._kind == "small" else self._work.size
        cell = Cell(
            link=self._link, kind=self._kind, amount=amount, files=self._work.files,
            block=SMALL_READ_SIZE if self._kind == "small-read" else CP_CALL_SIZE,
            swept=len(seen), advised=self._advised, best=best, facts=self._advice.facts,
            speeds={str(setting): [] for setting in chosen},
            sweep={str(setting): [amount / seconds for seconds in row] for setting, row in seen.items()},
        )  # fmt: skip
        for done in range(rounds):
            if done >= MIN_INTERVAL_VALUES and (time.monotonic() > end or cell.decided()):
                break
            for setting in self._chance.sample(chosen, len(chosen)):
                cell.speeds[str(setting)].append(amount / self._measure(setting))
        return cell

    def _sized(self, link: Any) -> WorkArgs:
        """Return work that should take two seconds at the link's rate, or for its round trips."""
        trip_s = 2 * link.delay_s + 0.6e-3
        if self._kind == "small":
            # Eight round trips a file, each of two packets or more that may be lost.
            lossy = LOSSES / (16 * link.loss) if link.loss >= LOSSY else 0.0
            files = int(min(max(SECONDS, min(lossy * 8 * trip_s, 2 * SECONDS)) / (8 * trip_s), 300))
            return WorkArgs(kind="small", files=max(3, files))
        rate_bps = link.up_bps if self._kind == "write" else link.rate_bps
        size = int(SECONDS * payload_rate_bps(rate_bps, link.mtu) / 8)
        return WorkArgs(kind=self._kind, size=_whole(min(size, MOST_BYTES)))

    def _place(self) -> None:
        if self._kind != "write":
            self._ask(msgspec.structs.replace(self._work, kind="place"))

    def _fit(self, setting: Setting) -> None:
        """Make the work smaller if the defaults take longer than is bearable for a whole sweep."""
        trip_s = self._advice.facts.link.rtt_s or 0.0 if self._advice.facts.link is not None else 0.0
        bearable_s = 6.0 + 16 * trip_s
        seconds = self._measure(setting)
        if seconds > bearable_s and self._kind != "small":
            size = _whole(int(self._work.size * bearable_s / seconds))
            self._work = msgspec.structs.replace(self._work, size=size)
            self._place()

    def _sweep(self, end: float) -> dict[Setting, list[float]]:
        """Return seconds by setting, as many as time allows; what matters most crossed, the rest beside."""
        seen: dict[Setting, list[float]] = {}
        for stage in (self._crossed, self._beside):
            settings = [setting.canonical() for setting in stage(seen)]
            for setting in self._chance.sample(settings, len(settings)):
                if setting not in seen and (time.monotonic() < end or len(seen) < FINALISTS):
                    seen[setting] = [self._measure(setting)]
        again = self._quickest(seen)
        for _time in range(2):
            for setting in again:
                seen[setting].append(self._measure(setting))
        return seen

    def _quickest(self, seen: dict[Setting, list[float]]) -> list[Setting]:
        """Return what was quickest when it was first visited, with one at least that is not as advised."""
        order = sorted(seen, key=lambda setting: seen[setting][0])
        others = [setting for setting in order if not self._is_advised(setting)]
        return list(dict.fromkeys([*order[: FINALISTS - 1], others[0], *order]))[:FINALISTS]

    def _is_advised(self, setting: Setting) -> bool:
        """Whether a setting is as advised for this work: to writes and small files readahead does nothing."""
        kilobytes = self._advised.read_ahead_kb if self._kind not in READS else setting.read_ahead_kb
        return msgspec.structs.replace(setting, read_ahead_kb=kilobytes) == self._advised

    def _crossed(self, _seen: dict[Setting, list[float]]) -> list[Setting]:
        if self._kind in READS:
            return [Setting(connections=n, read_ahead_kb=kb) for n in CONNECTIONS for kb in READ_AHEADS]
        if self._kind == "write":
            return [Setting(connections=n, size=size) for n in CONNECTIONS for size in SIZES]
        return [Setting(connections=n, version=version) for n in (1, 4) for version in ("3", "4.1", "4.2")]

    def _beside(self, seen: dict[Setting, list[float]]) -> list[Setting]:
        best = self._quickest(seen)[0]
        others = [msgspec.structs.replace(best, version="3")]
        if self._kind in READS:
            others += [msgspec.structs.replace(best, size=size) for size in SIZES[1:]]
        return others

    def _measure(self, setting: Setting) -> float:
        """Return the seconds of the work on a fresh mount with these settings."""
        asked = SMALL_READ_SIZE if self._kind == "small-read" else CP_CALL_SIZE
        work = msgspec.structs.replace(
            self._work, share=self._guest.share, options=setting.options, read_ahead_kb=setting.read_ahead_kb,
            block_size=call_size(asked, MountOptions.parse(setting.options).values()),
        )  # fmt: skip
        worked = self._ask(work)
        if worked.connections != (setting.connections or 1):
            raise RuntimeError(f"{worked.connections} connections with {setting}")
        if worked.read_ahead_kb != (setting.read_ahead_kb or DEFAULT_READAHEAD_BYTES // 1024):
            raise RuntimeError(f"{worked.read_ahead_kb} KiB of readahead with {setting}")
        return worked.seconds

    def _ask(self, work: WorkArgs) -> Worked:
        worked: Worked = self._guest.client.submit("bench.work", work).result(300)
        return worked


def advised(advice: AdviceResult) -> Setting:
    """Return the advice as a setting of the sweep.

    Raises:
        RuntimeError: if it changes what the sweep does not know.
    """
    values = MountOptions.parse(advice.advised_options).values()
    sizes = {values.pop(name, None) for name in ("rsize", "wsize")}
    version, connections = values.pop("vers", None), values.pop("nconnect", None)
    if set(values) - {"hard"} or len(sizes) > 1:
        raise RuntimeError(f"the sweep knows nothing like {advice.advised_options}")
    kilobytes = [item.proposed for item in advice.recommendations if item.option == "read_ahead_kb"]
    (size,) = sizes
    return Setting(
        version=version,
        connections=None if connections is None else int(connections),
        size=None if size is None else int(size),
        read_ahead_kb=int(kilobytes[0]) if kilobytes and kilobytes[0] else None,
    ).canonical()


def _whole(size: int) -> int:
    return max(GRAIN, size // GRAIN * GRAIN)


if __name__ == "__main__":
    sys.exit(main())
