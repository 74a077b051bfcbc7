"""What following the advice costs: ``python tests/benchmarks/advice_regret.py --links wan --out regret``.

For every link profile of the lab and for reading, writing and small files: the speed with the advised
options against the best of a sweep, and against the kernel's defaults. Every measurement has a fresh mount,
with no other one of the server, and the number of connections is looked at. The sweep visits each setting
once, in random order; the quickest three then run against the advised settings and the defaults, in rounds of
random order. The figures are ratios of medians over these rounds, with a 95 % bootstrap interval.

The quickest of several noisy settings is partly the luckiest: ``best`` is biased upwards, so a ratio to it
errs against the advice. The guest has one processor that client, server and link share, so above some hundred
Mbit/s the figures are the guest's rather than the link's. Where the interval holds 0.95 the cell says
“noise”.

    --links     profiles, or links spelled out (rate=37mbit,delay=7ms,loss=0.2%); all profiles if not given
    --works     of read, write, small; all if not given
    --budget    seconds for one cell, half of them for the sweep
    --rounds    at most so many
    --out       OUT.json holds every figure, OUT.md the table; both are written after every cell
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
from advice_table import NOISE, Cell, Setting, table
from advice_work import SMALL_BYTES, WorkArgs

from advisor.facts import payload_rate_bps
from advisor.model import DEFAULT_READ_AHEAD, Prediction, Work, predict
from advisor.options import MountOptions
from app.advice import AdviceArgs
from app.agent.protocol import HelperArgs, LinkArgs, MountArgs, UnmountArgs
from app.lab.links import load_links, parse_link

if TYPE_CHECKING:
    from advisor.facts import Facts
    from app.advice import AdviceResult
    from app.lab.guest import Guest

POINT = "/mnt/benchmark"
#: What cp asks for in a call.
BLOCK = 2**17
MOST_BYTES = 160 * 2**20
CONNECTIONS = (1, 2, 4, 8)
READ_AHEADS = (128, 512, 1024, 4096, 15360)
SIZES = (None, 65536, 262144)
FINALISTS = 3
DEFAULTS = Setting()


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", nargs="+", default=list(load_links()))
    parser.add_argument("--works", default="read,write,small")
    parser.add_argument("--budget", type=float, default=240.0)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", default="advice-regret")
    args = parser.parse_args()
    cells: list[Cell] = []
    with lab_guest.boot(parse_link(args.links[0]), "2G") as guest:
        for name in args.links:
            guest.client.submit("lab.link", LinkArgs(link=name)).result(60)
            for kind in args.works.split(","):
                cells.append(Bench(guest, name, kind).cell(args.budget, args.rounds))
                print(table(cells[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
                Path(f"{args.out}.json").write_bytes(msgspec.json.format(msgspec.json.encode(cells)))
                Path(f"{args.out}.md").write_text(f"{table(cells)}\n\n{NOISE}\n")
    print(table(cells), NOISE, sep="\n\n")
    return 0


class Bench:
    """One link and one kind of work."""

    def __init__(self, guest: Guest, link: str, kind: Any) -> None:
        self._guest = guest
        self._link = link
        self._kind = kind
        self._chance = random.Random(f"{link} {kind}")
        workload = "general" if kind == "small" else "media"
        self._advice: AdviceResult = guest.client.submit(
            "advice.get", AdviceArgs(share=guest.share, workload=workload)
        ).result(60)
        self._advised = advised(self._advice)
        self._work = self._sized(parse_link(link))

    def cell(self, budget_s: float, rounds: int) -> Cell:
        """Sweep, then measure the best beside the advised settings and the defaults."""
        self._place()
        end = time.monotonic() + budget_s
        self._fit(DEFAULTS)
        seen = self._sweep(time.monotonic() + (end - time.monotonic()) / 2)
        quickest = sorted(seen, key=seen.__getitem__)
        finalists = [setting for setting in quickest if setting not in {DEFAULTS, self._advised}]
        chosen = list(dict.fromkeys([DEFAULTS, self._advised, *finalists[:FINALISTS]]))
        times: dict[Setting, list[float]] = {setting: [] for setting in chosen}
        done = 0
        while done < rounds and (done < 3 or time.monotonic() < end):
            for setting in self._chance.sample(chosen, len(chosen)):
                times[setting].append(self._measure(setting))
            done += 1
        best = min(chosen, key=lambda setting: statistics.median(times[setting]))
        amount = self._work.files * SMALL_BYTES * 2 if self._kind == "small" else self._work.size
        return Cell(
            link=self._link, kind=self._kind, amount=amount, files=self._work.files, swept=len(seen),
            advised=self._advised, best=best, defaults=DEFAULTS,
            speeds={str(setting): [amount / seconds for seconds in row] for setting, row in times.items()},
            sweep={str(setting): amount / seconds for setting, seconds in seen.items()},
            predicted={
                str(setting): self._predicted(setting) for setting in (DEFAULTS, self._advised, best)
            },
        )  # fmt: skip

    def _sized(self, link: Any) -> WorkArgs:
        """Return work that should take two seconds and a half at the link's rate, or for its round trips."""
        trip_s = 2 * link.delay_s + 0.6e-3
        if self._kind == "small":
            files = max(3, min(300, int(2.5 / (8 * trip_s))))
            return WorkArgs(kind="small", path=POINT, files=files)
        rate_bps = link.up_bps if self._kind == "write" else link.rate_bps
        size = int(2.5 * payload_rate_bps(rate_bps, link.mtu) / 8)
        return WorkArgs(kind=self._kind, path=POINT, size=_whole(min(size, MOST_BYTES)), block_size=BLOCK)

    def _place(self) -> None:
        if self._kind != "write":
            self._ask("bench.work", msgspec.structs.replace(self._work, kind="place"))

    def _fit(self, setting: Setting) -> None:
        """Make the work smaller if the defaults take longer than is bearable for a whole sweep."""
        trip_s = self._advice.facts.link.rtt_s or 0.0 if self._advice.facts.link is not None else 0.0
        bearable_s = 6.0 + 16 * trip_s
        seconds = self._measure(setting)
        if seconds > bearable_s and self._kind != "small":
            size = _whole(int(self._work.size * bearable_s / seconds))
            self._work = msgspec.structs.replace(self._work, size=size)
            self._place()

    def _sweep(self, end: float) -> dict[Setting, float]:
        """Return seconds by setting, as many as time allows; what matters most crossed, the rest beside."""
        seen: dict[Setting, float] = {}
        for stage in (self._crossed, self._beside):
            settings = [setting.canonical() for setting in stage(seen)]
            for setting in self._chance.sample(settings, len(settings)):
                if time.monotonic() < end or not seen:
                    seen[setting] = self._measure(setting)
        return seen

    def _crossed(self, _seen: dict[Setting, float]) -> list[Setting]:
        if self._kind == "read":
            return [Setting(connections=n, read_ahead_kb=kb) for n in CONNECTIONS for kb in READ_AHEADS]
        if self._kind == "write":
            return [Setting(connections=n, size=size) for n in CONNECTIONS for size in SIZES]
        return [Setting(connections=n, version=version) for n in (1, 4) for version in ("3", "4.1", "4.2")]

    def _beside(self, seen: dict[Setting, float]) -> list[Setting]:
        best = min(seen, key=seen.__getitem__)
        others = [msgspec.structs.replace(best, version="3")]
        if self._kind == "read":
            others += [msgspec.structs.replace(best, size=size) for size in SIZES[1:]]
        return [setting for setting in others if setting not in seen]

    def _measure(self, setting: Setting) -> float:
        """Return the seconds of the work on a fresh mount with these settings."""
        share, options = self._guest.share, setting.options
        args = MountArgs(share=share, mount_point=POINT, options=options, timeout_s=60.0)
        self._ask("mounts.mount", args)
        try:
            if setting.read_ahead_kb is not None:
                wire = {"target": POINT, "read_ahead_kb": setting.read_ahead_kb}
                self._ask("lab.helper", HelperArgs(role="tune", verb="tune", args=wire))
            worked = self._ask("bench.work", self._work)
        finally:
            self._ask("mounts.unmount", UnmountArgs(mount_point=POINT))
        if worked.connections != (setting.connections or 1):
            raise RuntimeError(f"{worked.connections} connections with {setting}")
        if worked.read_ahead_kb != (setting.read_ahead_kb or DEFAULT_READ_AHEAD // 1024):
            raise RuntimeError(f"{worked.read_ahead_kb} KiB of readahead with {setting}")
        return float(worked.seconds)

    def _ask(self, verb: str, args: Any) -> Any:
        return self._guest.client.submit(verb, args).result(300)

    def _predicted(self, setting: Setting) -> Prediction | None:
        """Return the model's word for this work; for small files what is written and read, one by one."""
        facts = self._advice.facts
        if self._kind != "small":
            work = Work(direction=self._kind, length=self._work.size, block=BLOCK)
            return _predict(setting, facts, work)
        files = self._work.files
        halves = [
            _predict(setting, facts, Work(direction=way, length=files * SMALL_BYTES, files=files))
            for way in ("write", "read")
        ]
        if halves[0] is None or halves[1] is None:
            return None
        seconds = halves[0].seconds + halves[1].seconds
        return Prediction(
            seconds=seconds, bytes_per_s=2 * files * SMALL_BYTES / seconds, limit=halves[0].limit,
            error=max(halves[0].error, halves[1].error),
        )  # fmt: skip


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


def _predict(setting: Setting, facts: Facts, work: Work) -> Prediction | None:
    read_ahead = DEFAULT_READ_AHEAD if setting.read_ahead_kb is None else setting.read_ahead_kb * 1024
    return predict(MountOptions.parse(setting.options), facts, work, read_ahead=read_ahead)


def _whole(size: int) -> int:
    return max(BLOCK, size // BLOCK * BLOCK)


if __name__ == "__main__":
    sys.exit(main())
