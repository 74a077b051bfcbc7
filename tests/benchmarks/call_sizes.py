"""What programs ask for when they read and write on an NFS mount, in the lab's guest: docs/call-sizes.md.

``python call_sizes.py`` boots a guest, mounts its share with versions 3 and 4.2 and three transfer sizes, and
traces each program with strace(1). Programs that are not installed are left out; ``--tools DIR`` adds the
programs and libraries of packages unpacked there (``dpkg-deb -x rsync_*.deb DIR``).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
MIB = 2**20
POINT, LOCAL = Path("/mnt/calls"), Path("/tmp/calls")
SIZE = 4 * MIB
SIZES = (MIB, 65536, 32768)
VERSIONS = ("3", "4.2")
#: By name: what copies {local} to {remote} and what copies {remote} to {local}, "" for nothing. {source} is a
#: second file on the share, {archive} and {remote_archive} hold a file of the same size.
PROGRAMS = {
    "cp": ("cp {local} {remote}", "cp {remote} {local}"),
    "cp, both on the share": ("cp {source} {remote}", ""),
    "cat": ("cat {local} > {remote}", "cat {remote} > {local}"),
    "dd (no bs)": ("dd if={local} of={remote} count=2048", "dd if={remote} of={local} count=2048"),
    "dd bs=64k": ("dd if={local} of={remote} bs=64k", "dd if={remote} of={local} bs=64k"),
    "tar, files on the share": ("tar -xf {archive} -C {folder}", "tar -cf - -C {folder} far | cat > {local}"),
    "tar, archive on the share": ("tar -cf {remote} -C {home} local", "tar -xf {remote_archive} -C {home}"),
    "rsync": ("rsync -WI {local} {remote}", "rsync -WI {remote} {local}"),
    "Python shutil.copyfile": (
        "{python} -c 'import shutil; shutil.copyfile(\"{local}\", \"{remote}\")'",
        "{python} -c 'import shutil; shutil.copyfile(\"{remote}\", \"{local}\")'",
    ),
    "Python open().read(65536)": (
        "",
        "{python} -c 'f = open(\"{remote}\", \"rb\")\nwhile f.read(65536): pass'",
    ),
    "gio copy": ("gio copy {local} {remote}", "gio copy {remote} {local}"),
    "sha256sum": ("", "sha256sum {remote}"),
    "grep": ("", "grep -c mountwright {remote}"),
    "gzip": ("", "gzip -1 -c {remote} > {local}"),
}  # fmt: skip
_CALLS = "read,write,pread64,pwrite64,readv,writev,sendfile,copy_file_range,splice,mmap,ioctl"
_CALL = re.compile(r"(?P<call>[a-z0-9_]+)\((?P<rest>.*)\) += (?P<result>-?\d+|0x[0-9a-f]+)")


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tools", type=Path, help="packages unpacked with dpkg-deb -x")
    parser.add_argument("--json", action="store_true", help="print the calls as JSON instead of a table")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help="print the table of what --json printed to this file")
    args = parser.parse_args()
    if args.table is not None:
        print(tables(json.loads(args.table.read_text(encoding="utf-8"))))
        return 0
    if args.inside:
        print(json.dumps(measured()))
        return 0
    environment = dict(os.environ)
    path = os.environ["PATH"]
    command = [str(ROOT / "run"), "--lab", "gigabit", "shell", "env"]
    if args.tools is not None:
        tools = args.tools.resolve()
        libraries = ":".join(str(one) for one in sorted(tools.glob("usr/lib/*-linux-gnu")))
        path, environment["LD_LIBRARY_PATH"] = f"{tools}/usr/bin:{path}", libraries
        command.append(f"LD_LIBRARY_PATH={libraries}")
    command += [f"PATH={path}", f"PYTHONPATH={ROOT}", sys.executable, "-P", str(HERE), "--inside"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found = json.loads(done.stdout)
    print(json.dumps(found, indent=1) if args.json else tables(found))
    return 0


def measured() -> dict[str, Any]:
    """Trace every program on every mount; runs as root in the guest."""
    from app.lab.server import SHARE

    LOCAL.mkdir(parents=True, exist_ok=True)
    POINT.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for version in VERSIONS:
        for size in SIZES:
            options = f"vers={version},rsize={size},wsize={size}"
            subprocess.run(["mount.nfs", SHARE, str(POINT), "-o", options], check=True)
            try:
                rows += _on_mount(version, size)
            finally:
                subprocess.run(["umount", str(POINT)], check=True)
    return {"kernel": os.uname().release, "versions": _versions(), "rows": rows}


def _on_mount(version: str, size: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    places = _places()
    block = places["folder"].joinpath("far").stat().st_blksize
    base = {"vers": version, "size": size, "st_blksize": block, "f_bsize": os.statvfs(POINT).f_bsize}
    for name, commands in PROGRAMS.items():
        for way, command in zip(("write", "read"), commands, strict=True):
            if not command or not _there(name):
                continue
            _places()
            line = command.format(**places, python=sys.executable)
            Path("/proc/sys/vm/drop_caches").write_text("3")
            before = _requests(way)
            calls = _traced(line)
            os.sync()
            ops, moved = (new - old for new, old in zip(_requests(way), before, strict=True))
            row = {"program": name, "way": way, "calls": calls, "request": moved // ops if ops else 0}
            rows.append(base | row)
    return rows


def _places() -> dict[str, Path]:
    """Return the files of the commands, made afresh: what a command writes is not there."""
    names = {
        "home": LOCAL, "folder": POINT, "local": LOCAL / "local", "remote": POINT / "remote",
        "source": POINT / "far", "archive": LOCAL / "archive.tar", "remote_archive": POINT / "archive.tar",
    }  # fmt: skip
    data = os.urandom(SIZE)
    for name in ("local", "remote", "source"):
        names[name].write_bytes(data)
    if not names["archive"].exists():
        subprocess.run(["tar", "-cf", names["archive"], "-C", LOCAL, "local"], check=True)
    if not names["remote_archive"].exists():
        shutil.copyfile(names["archive"], names["remote_archive"])
    return names


def _there(name: str) -> bool:
    return name.startswith("Python") or shutil.which(name.partition(" ")[0].strip(",")) is not None


def _requests(way: str) -> tuple[int, int]:
    """Return how many READ or WRITE requests the mount has made, and their bytes (mountstats)."""
    text = Path("/proc/self/mountstats").read_text(encoding="ascii", errors="replace")
    block = text.partition(f" mounted on {POINT} ")[2].partition("\ndevice ")[0]
    found = re.search(rf"\n\s*{way.upper()}: (.*)", block)
    numbers = found[1].split() if found is not None else []
    # Operations, transmissions, time-outs, bytes sent, bytes received: a header of some 100 bytes is in them.
    return int(numbers[0]), int(numbers[3 if way == "write" else 4])


def _traced(line: str) -> list[list[Any]]:
    """Return what a line of the shell asked for on the share: call, bytes, how often; most often first."""
    folder = LOCAL / "trace"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    # The files that a command writes are truncated or replaced by it, as they are in ordinary use.
    tracer = ["strace", "-ff", "-y", "-s", "0", "-e", f"trace={_CALLS}", "-o", str(folder / "of")]
    done = subprocess.run([*tracer, "/bin/sh", "-c", line], check=False, capture_output=True)
    if done.returncode > 1:  # grep finds nothing
        return [["failed", done.returncode, 1]]
    counted: Counter[tuple[str, int]] = Counter()
    lines = [line for file in folder.iterdir() for line in file.read_text(errors="replace").splitlines()]
    for text in lines:
        found = _CALL.match(text)
        if found is None or f"<{POINT}/" not in text or found["result"][:1] in {"-", "0"}:
            continue
        size = _asked(found["call"], found["rest"])
        if size:
            counted[found["call"], size] += 1
    return [[call, size, count] for (call, size), count in counted.most_common(4)]


def _asked(call: str, rest: str) -> int:
    """Return the bytes that a call asked for, 0 for one that moves none."""
    if call in {"readv", "writev"}:
        return sum(int(one) for one in re.findall(r"iov_len=(\d+)", rest))
    words = rest.split(", ")
    place = {"read": -1, "write": -1, "pread64": -2, "pwrite64": -2, "sendfile": -1, "mmap": 1,
             "copy_file_range": -2, "splice": -2}.get(call)  # fmt: skip
    return int(words[place]) if place is not None and words[place].isdigit() else 0


def _versions() -> list[str]:
    found = []
    for command in ("cp", "tar", "rsync", "gio", "gzip", "grep", sys.executable, "strace"):
        if shutil.which(command):
            done = subprocess.run([command, "--version"], check=False, capture_output=True, text=True)
            first = (done.stdout or done.stderr).splitlines()[:1]
            found.append(f"{Path(command).name}: {first[0] if first else '?'}")
    return found


def tables(found: dict[str, Any]) -> str:
    """Return what was found as Markdown: a table for each version, a row for each program and way."""
    lines = [f"Linux {found['kernel']}; {'; '.join(found['versions'])}"]
    for version in VERSIONS:
        rows = [row for row in found["rows"] if row["vers"] == version]
        blocks = {row["size"]: row["st_blksize"] for row in rows}
        heads = [f"{size // 1024} KiB (st_blksize {blocks[size]})" for size in SIZES]
        lines += ["", f"Version {version}", "", f"| Program | Way | {' | '.join(heads)} |"]
        lines.append("|---" * (2 + len(SIZES)) + "|")
        for name, way in dict.fromkeys((row["program"], row["way"]) for row in rows):
            of_size = {row["size"]: row for row in rows if (row["program"], row["way"]) == (name, way)}
            cells = [_cell(of_size[size]) for size in SIZES]
            lines.append(f"| {name} | {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: dict[str, Any]) -> str:
    """Return the usual call of a row, and the usual size of a request in KiB."""
    call, size, _count = row["calls"][0] if row["calls"] else ("none", 0, 0)
    asked = f"{size / 1024:g} KiB" if size < 2**40 else "the rest"
    request = f"{row['request'] / 1024:.0f} KiB" if row["request"] else "none"
    return f"{call} {asked}, {request}"


if __name__ == "__main__":
    sys.exit(main())
