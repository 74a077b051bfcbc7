"""Reference figures from nfsiostat and mountstats of nfs-utils, for a comparison with the program's own.

Both are Python scripts. mountstats compares two files itself. nfsiostat reads only the mountstats of its own
process, so its functions are called with the contents of the files.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from app.kernel.mountstats import parse
from app.stats.rates import RateMeter

if TYPE_CHECKING:
    from app.stats.model import OperationRate

_OPERATIONS = ("READ", "WRITE")


class Said(NamedTuple):
    """Figures of one operation of one mount, as printed.

    Attributes:
        ops: requests per second.
        kilobytes: throughput, kB/s.
        retransmissions: number of retransmissions.
        rtt: mean round-trip time, ms.
        execute: mean execution time, ms.
        queue: mean time in the queue, ms.
        errors: number of errors, None if not printed.
    """

    ops: float
    kilobytes: float
    retransmissions: int
    rtt: float
    execute: float
    queue: float
    errors: int | None


#: Figures by (mount point, operation); "sends" has the requests per second of the last connection.
Report = dict[tuple[str, str], Said | float]


def script(name: str) -> str | None:
    """Return the path of a script of nfs-utils, None if it is not installed."""
    return shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")


def load(name: str) -> Any:
    """Return the definitions of a script as a module, without running its main program."""
    path = script(name)
    assert path is not None
    tree = ast.parse(Path(path).read_text())
    imports = (ast.Import, ast.ImportFrom)
    kinds = (*imports, ast.FunctionDef, ast.ClassDef, ast.Assign)
    tree.body = [
        node
        for node in tree.body
        if isinstance(node, kinds) or (isinstance(node, ast.Try) and isinstance(node.body[0], imports))
    ]
    module = ModuleType(name)
    module.__dict__["open"] = lambda file: io.StringIO(Path(file).read_text())  # they leave files open
    exec(compile(tree, path, "exec"), module.__dict__)
    return module


def nfsiostat(old: Path, new: Path, seconds: float) -> Report:
    """Return the figures that nfsiostat prints for the interval between two mountstats files."""
    module = load("nfsiostat")

    class Options:
        which, sort, list = 0, False, sys.maxsize

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        before, after = module.parse_stats_file(str(old)), module.parse_stats_file(str(new))
        devices = module.list_nfs_mounts([], after)
        module.print_iostat_summary(before, after, devices, seconds, Options)
    return _read(printed.getvalue())


def mountstats(old: Path, new: Path) -> Report:
    """Return the figures that ``mountstats iostat`` prints; the interval follows from the mounts' ages."""
    path = script("mountstats")
    assert path is not None
    done = subprocess.run(
        [sys.executable, path, "iostat", "-f", str(new), "-S", str(old)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return _read(done.stdout)


def ours(old: Path, new: Path, seconds: float | None = None) -> Report:
    """Return the figures of the program's own parser and RateMeter.

    Args:
        old: mountstats file at the beginning of the interval.
        new: mountstats file at its end.
        seconds: length of the interval, s; None to take it from the ages of the mounts.
    """
    before = {mount.mount_point: mount for mount in parse(old.read_text())}
    found: Report = {}
    for mount in parse(new.read_text()):
        point = mount.mount_point.replace(" ", "\\040")
        meter = RateMeter()
        meter.update(before[mount.mount_point], 0.0)
        sample = meter.update(mount, seconds or float(mount.age_s - before[mount.mount_point].age_s))
        assert sample is not None
        found[point, "sends"] = sample.transports[-1].sends_per_s
        rates = {rate.name: rate for rate in sample.operations}
        for name in _OPERATIONS:
            found[point, name] = _ours(rates.get(name), counts_errors=mount.statvers >= "1.1")
    return found


def assert_agree(theirs: Report, our: Report) -> None:
    """Assert that all figures are equal to the three decimal places that nfs-utils prints."""
    assert theirs
    assert theirs.keys() == our.keys()
    for key, said in theirs.items():
        mine = our[key]
        if isinstance(said, float):
            assert mine == pytest.approx(said, abs=6e-4), key
            continue
        assert isinstance(mine, Said)
        assert mine[:6] == pytest.approx(said[:6], abs=6e-4), key
        # mountstats prints 0 errors where the kernel does not count them; the program reports None.
        assert mine.errors == said.errors or (mine.errors is None and said.errors == 0), key


def _ours(rate: OperationRate | None, *, counts_errors: bool) -> Said:
    if rate is None:
        return Said(0, 0, 0, 0, 0, 0, 0 if counts_errors else None)
    return Said(
        rate.ops_per_s, rate.bytes_per_s / 1024, rate.retransmissions,
        rate.rtt_s * 1000, rate.execute_s * 1000, rate.queue_s * 1000, rate.errors,
    )  # fmt: skip


def _read(text: str) -> Report:
    found: Report = {}
    point = operation = ""
    for line in text.splitlines():
        head = re.fullmatch(r"\S+ mounted on (\S+):", line)
        name = re.match(r"(read|write): ", line)
        numbers = re.findall(r"\d+\.\d+|\d+(?= \()", line)
        if head:
            point = head[1]
        elif name:
            operation = name[1].upper()
        elif len(numbers) == 2:
            found[point, "sends"] = float(numbers[0])
        elif len(numbers) >= 8:
            ops, kilobytes, _per_op, retransmissions, _percent, rtt, execute, queue, *errors = numbers
            found[point, operation] = Said(
                float(ops), float(kilobytes), int(retransmissions), float(rtt), float(execute), float(queue),
                int(errors[0]) if errors else None,
            )  # fmt: skip
    return found
