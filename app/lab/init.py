"""Init (PID 1) of the guest: sets up two hosts and a link on the host's read-only files, and runs the agent.

The launcher script written by :mod:`app.lab.supervisor` starts it. The agent runs in a child process, so that
this process can reap orphans. When the agent ends, at the latest at the end of the serial line's input, init
powers the guest off.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from app.lab import network, server, syscalls, udev
from app.lab.programs import run_program
from app.lab.serial_line import SerialLine
from app.lab.server_host import ServerHost
from app.lab.shell import HOME
from app.links import Link, parse_link
from app.process import SYSTEM_PATH

#: Module directory of Debian's package user-mode-linux; modprobe expects it below lib/modules.
_UML_MODULES = Path("/usr/lib/uml/modules")
_MODULES = ("overlay", "nfs", "nfsv3", "nfsv4", "nfsd", "sch_netem", "veth")
#: Files of /etc that the guest replaces, with their contents.
_ETC = {
    "hosts": "127.0.0.1 localhost\n10.9.0.1 server\n10.9.0.2 client\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nrpc: files\n",
    "fstab": "",
    "exports": "",
    "nfs.conf": "",
    "nfsmount.conf": "",
}
#: Launcher of Mountwright for shells in the guest.
_COMMAND = Path("/usr/local/bin/mountwright")
_ETC_FOLDERS = ("exports.d", "nfs.conf.d", "nfsmount.conf.d")
#: Time for the report of a failure to arrive, s.
_LAST_REPORT_S = 10.0


def main() -> NoReturn:
    """Boot the guest, run the agent and power off. The command line argument is the link."""
    os.environ.update(PATH=SYSTEM_PATH, HOME="/tmp", LC_ALL="C.UTF-8")  # noqa: S108 - of the guest
    os.environ.pop("PYTHONPATH", None)  # only this process needs it
    try:
        link = parse_link(sys.argv[1])
        host, own_delay_s = _boot(link)
        udev.start_udev()
        agent = os.fork()
        if agent == 0:
            _run_agent(host, link, own_delay_s)
        _reap_until(agent)
    except BaseException as error:  # noqa: BLE001 - PID 1 must not end, whatever it was
        traceback.print_exc()
        sys.stderr.flush()
        _report_failure(error)
    finally:
        # No sync or unmount: all files are in memory, and a dead server would block an unmount forever.
        syscalls.power_off()
    os._exit(1)


def _boot(link: Link) -> tuple[ServerHost, float]:
    _mount_file_systems()
    _write_configuration()
    socket.sethostname("client")
    host = ServerHost.create("server")
    own_delay_s = network.build(host, link)
    server.start(host)
    return host, own_delay_s


def _mount_file_systems() -> None:
    """Load the kernel modules and make a writable overlay over the host's files the root."""
    syscalls.mount("proc", "/proc", "proc")
    syscalls.mount("tmpfs", "/run", "tmpfs", data="mode=755")
    with contextlib.suppress(OSError):  # Debian's kernel has mounted it before init
        syscalls.mount("devtmpfs", "/dev", "devtmpfs")
    release = os.uname().release
    modules = Path("/run/kmod/lib/modules", release)
    modules.parent.mkdir(parents=True)
    modules.symlink_to(_UML_MODULES / release)
    run_program("modprobe", "-a", "-d", "/run/kmod", *_MODULES)
    # Disable module loading by the kernel, which would start modprobe in vain, for example for Kerberos.
    Path("/proc/sys/kernel/modprobe").write_text("\n")
    root = Path("/run/o/root")
    for name in ("upper", "work", "root"):
        (root.parent / name).mkdir(parents=True)
    syscalls.mount(
        "overlay", str(root), "overlay", data="lowerdir=/,upperdir=/run/o/upper,workdir=/run/o/work"
    )
    for name in ("proc", "dev"):
        syscalls.mount(f"/{name}", str(root / name), flags=syscalls.MS_MOVE)
    syscalls.pivot_root(str(root), str(root / "run"))
    os.chdir("/")
    # The overlay still reads from the old root at /run, so it is covered instead of unmounted.
    syscalls.mount("tmpfs", "/run", "tmpfs", data="mode=755")
    syscalls.mount("sysfs", "/sys", "sysfs")
    for name, fstype, options in (("pts", "devpts", "ptmxmode=666"), ("shm", "tmpfs", "mode=1777")):
        Path("/dev", name).mkdir(exist_ok=True)
        syscalls.mount(fstype, f"/dev/{name}", fstype, data=options)
    for name, fd in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        with contextlib.suppress(FileExistsError):  # on other systems, udev creates these links
            Path("/dev", name).symlink_to(f"/proc/self/fd{fd}")
    Path("/run/lock").mkdir(mode=0o1777)


def _write_configuration() -> None:
    for name, text in _ETC.items():
        path = Path("/etc", name)
        path.unlink(missing_ok=True)
        path.write_text(text)
    for name in _ETC_FOLDERS:
        path = Path("/etc", name)
        path.mkdir(exist_ok=True)
        syscalls.mount("tmpfs", str(path), "tmpfs", data="mode=755,size=1m")
    source_directory = Path(__file__).resolve().parents[2]
    command = shlex.join([sys.executable, "-P", "-m", "ui.entry"])
    _COMMAND.parent.mkdir(parents=True, exist_ok=True)
    _COMMAND.unlink(missing_ok=True)
    _COMMAND.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(source_directory))} exec {command} "$@"\n')
    _COMMAND.chmod(0o755)
    HOME.mkdir(mode=0o700)


def _run_agent(host: ServerHost, link: Link, own_delay_s: float) -> NoReturn:
    # The line is opened in this process, because its thread would not survive a fork.
    line: SerialLine | None = None
    try:
        from app.lab.agent import LabAgent

        line = SerialLine.open_guest_end()
        LabAgent(host, link, own_delay_s).serve(line)
    except BaseException as error:  # noqa: BLE001 - reported on the line, then the guest ends
        traceback.print_exc()
        _report_failure(error, line)
    finally:
        sys.stderr.flush()
        os._exit(0)


def _report_failure(error: BaseException, line: SerialLine | None = None) -> None:
    """Report over the serial line why there is no agent; ignore a broken line."""
    with contextlib.suppress(OSError):
        line = line or SerialLine.open_guest_end()
        line.write_boot_report(str(error) or type(error).__name__)
        line.drain(_LAST_REPORT_S)


def _reap_until(agent: int) -> None:
    """Reap orphaned processes until the agent ends."""
    while os.wait()[0] != agent:
        pass


if __name__ == "__main__":
    main()
