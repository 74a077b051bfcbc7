"""How long advice takes: ``python tests/benchmarks/advice_speed.py``. Times are in milliseconds.

All rules on one host's facts should take less than 5 ms, and the facts of this computer without a question to
the network less than 150 ms. The first time is told apart: it reads the rules, or imports what it needs. The
others are the median, and the lowest and highest of the repeats, which a busy computer raises.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from advisor.facts import ClientFacts, Facts, ServerFacts
from advisor.options import MountOptions
from advisor.recommend import recommend
from app.facts.gather import gather_facts
from app.facts.interface import interface_facts
from app.links import load_links

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 200
#: Options and facts that many rules look at.
OPTIONS = "vers=3,proto=tcp,soft,noac,rsize=32768,wsize=32768,nconnect=4,noatime"


def main() -> int:
    """Time both and print a table of them."""
    options = MountOptions.parse(OPTIONS)
    client = ClientFacts(kernel="6.1.0", udp=False, sharing=())
    server = ServerFacts(name="nas", kind="linux", tcp_versions=("3", "4.0", "4.1", "4.2"))
    found: dict[str, list[float]] = {}
    for name, link in load_links().items():
        facts = Facts(client=client, server=server, link=link.facts())
        found[f"rules, link {name}"] = timed(partial(recommend, options, facts))
    found["facts of this computer"] = timed(gather_facts, REPEATS // 10)
    names = [path.name for path in Path("/sys/class/net").iterdir()]
    found[f"facts of its interfaces ({len(names)})"] = timed(
        lambda: [interface_facts(name) for name in names], REPEATS // 10
    )
    print("| what | first | median | lowest | highest |", "|---|---|---|---|---|", sep="\n")
    for name, (first, *times) in found.items():
        figures = (first, statistics.median(times), min(times), max(times))
        print(f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")
    print(json.dumps(found), file=sys.stderr)
    return 0


def timed(action: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Return the times of an action, the first one first."""
    times: list[float] = []
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        action()
        times.append((time.perf_counter() - begun) * 1000)
    return times


if __name__ == "__main__":
    sys.exit(main())
