"""How our copy engine compares with fio: ``python tests/benchmarks/copy_engine.py --where tmpfs|lab``.

Prints a Markdown table, or with ``--json`` every figure. ``ratio`` is the median speed of our engine over
that of fio, with a 95 % bootstrap interval over the pairs; the goal is 0.97 to 1.03. Run it on a quiet
machine: memory is shared, and so are the ratios' errors.

    --where tmpfs      a directory of /dev/shm on this computer
    --where lab        an NFS mount inside the lab's guest, where both programs run (fio from this computer)
    --where DIRECTORY  any directory
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from pairs import Comparison, PairArgs, compare

from advisor.speeds import format_speed
from app.text.units import format_size, parse_size

POINT = "/mnt/benchmark"


def main() -> int:
    """Compare as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--where", default="tmpfs")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--size", help="bytes of the file; 1G, or 96M in the lab")
    parser.add_argument("--block-size", action="append", help="1M if not given; may be repeated")
    parser.add_argument("--link", default="gigabit", help="of the lab")
    parser.add_argument("--options", default="vers=4.2", help="mount options in the lab")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    size = parse_size(args.size or ("96M" if args.where == "lab" else "1G"))
    jobs = [
        PairArgs(path="", direction=direction, size=size, block_size=parse_size(block), pairs=args.pairs)
        for block in args.block_size or ["1M"]
        for direction in ("write", "read")
    ]
    if args.where == "lab":
        results = in_lab(args.link, args.options, jobs)
    elif args.where == "tmpfs":
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            results = [compare(msgspec.structs.replace(job, path=folder)) for job in jobs]
    else:
        results = [compare(msgspec.structs.replace(job, path=args.where)) for job in jobs]
    print(json.dumps(msgspec.to_builtins(results), indent=1) if args.json else table(results))
    return 0


def in_lab(link: str, options: str, jobs: list[PairArgs]) -> list[Comparison]:
    """Compare on a mount inside the guest."""
    import lab_guest

    from app.links import parse_link
    from app.service.protocol import MountArgs, UnmountArgs

    with lab_guest.boot(parse_link(link), "2G") as guest:
        mount = MountArgs(share=guest.share, mount_point=POINT, options=options)
        guest.client.submit("mounts.mount", mount).result(60)
        try:
            return [
                guest.client.submit("bench.pairs", msgspec.structs.replace(job, path=POINT)).result()
                for job in jobs
            ]
        finally:
            guest.client.submit("mounts.unmount", UnmountArgs(mount_point=POINT)).result(60)


def table(results: list[Comparison]) -> str:
    """Return the results as Markdown."""
    lines = [
        "| direction | file | block | pairs | ours (median) | fio (median) | ratio | 95 % interval |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        ours, theirs = (sorted(speeds)[len(speeds) // 2] for speeds in (result.ours, result.fio))
        lines.append(
            f"| {result.direction} | {format_size(result.size)} | {format_size(result.block_size)} "
            f"| {len(result.ours)} | {format_speed(ours)} | {format_speed(theirs)} "
            f"| {result.ratio:.3f} | {result.low:.3f} to {result.high:.3f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
