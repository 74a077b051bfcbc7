"""PID 1 of the guest: of the host's read-only files it makes a Linux with two hosts, a link and an agent.

Started by the launcher that :mod:`app.lab.supervisor` writes. The agent runs in a child of its own, so that
this process is free to reap orphans; when the agent ends, which it does at the end of the serial line's
input too, the guest is powered off.
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

#: Where Debian's user-mode-linux keeps its modules; modprobe wants them under lib/modules.
_UML_MODULES = Path("/usr/lib/uml/modules")
_MODULES = ("overlay", "nfs", "nfsv3", "nfsv4", "nfsd", "sch_netem", "veth")
#: Files of the person's computer that mean something else here.
_ETC = {
    "hosts": "127.0.0.1 localhost\n10.9.0.1 server\n10.9.0.2 client\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nrpc: files\n",
    "fstab": "",
    "exports": "",
    "nfs.conf": "",
    "nfsmount.conf": "",
}
#: The program, for whoever has a shell in the guest.
_COMMAND = Path("/usr/local/bin/mountwright")
_ETC_FOLDERS = ("exports.d", "nfs.conf.d", "nfsmount.conf.d")
#: How long the report of a failure may take to arrive.
_LAST_REPORT_S = 10.0


def main() -> NoReturn:
    """Boot, serve, power off. The one argument is the link."""
    os.environ.update(PATH=SYSTEM_PATH, HOME="/tmp", LC_ALL="C.UTF-8")  # noqa: S108 - of the guest
    os.environ.pop("PYTHONPATH", None)  # it was for this process alone
    try:
        link = parse_link(sys.argv[1])
        host, own_delay_s = _boot(link)
        udev.start_udev()
        agent = os.fork()
        if agent == 0:
            _agent(host, link, own_delay_s)
        _reap_until(agent)
    except BaseException as error:  # noqa: BLE001 - PID 1 must not end, whatever it was
        traceback.print_exc()
        sys.stderr.flush()
        _report_failure(error)
    finally:
        # Nothing is synchronised or unmounted: all is memory, and a dead server would never let it end.
        syscalls.power_off()
    os._exit(1)


def _boot(link: Link) -> tuple[ServerHost, float]:
    _file_systems()
    _configuration()
    socket.sethostname("client")
    host = ServerHost.create("server")
    own_delay_s = network.build(host, link)
    server.start(host)
    return host, own_delay_s


def _file_systems() -> None:
    """Load the modules, lay an overlay over the host's files and make it the root."""
    syscalls.mount("proc", "/proc", "proc")
    syscalls.mount("tmpfs", "/run", "tmpfs", data="mode=755")
    with contextlib.suppress(OSError):  # Debian's kernel has mounted it before init
        syscalls.mount("devtmpfs", "/dev", "devtmpfs")
    release = os.uname().release
    modules = Path("/run/kmod/lib/modules", release)
    modules.parent.mkdir(parents=True)
    modules.symlink_to(_UML_MODULES / release)
    run_program("modprobe", "-a", "-d", "/run/kmod", *_MODULES)
    # A kernel that looks for more (a mount of version 4 asks for Kerberos) would start modprobe in vain.
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
    # The old root lies on /run now and the overlay still reads from it: hidden, not unmounted.
    syscalls.mount("tmpfs", "/run", "tmpfs", data="mode=755")
    syscalls.mount("sysfs", "/sys", "sysfs")
    for name, fstype, options in (("pts", "devpts", "ptmxmode=666"), ("shm", "tmpfs", "mode=1777")):
        Path("/dev", name).mkdir(exist_ok=True)
        syscalls.mount(fstype, f"/dev/{name}", fstype, data=options)
    for name, fd in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        with contextlib.suppress(FileExistsError):  # udev makes these links elsewhere
            Path("/dev", name).symlink_to(f"/proc/self/fd{fd}")
    Path("/run/lock").mkdir(mode=0o1777)


def _configuration() -> None:
    for name, text in _ETC.items():
        path = Path("/etc", name)
        path.unlink(missing_ok=True)
        path.write_text(text)
    for name in _ETC_FOLDERS:
        path = Path("/etc", name)
        path.mkdir(exist_ok=True)
        syscalls.mount("tmpfs", str(path), "tmpfs", data="mode=755,size=1m")
    home = Path(__file__).resolve().parents[2]
    command = shlex.join([sys.executable, "-P", "-m", "ui.entry"])
    _COMMAND.parent.mkdir(parents=True, exist_ok=True)
    _COMMAND.unlink(missing_ok=True)
    _COMMAND.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(home))} exec {command} "$@"\n')
    _COMMAND.chmod(0o755)
    HOME.mkdir(mode=0o700)


def _agent(host: ServerHost, link: Link, own_delay_s: float) -> NoReturn:
    # Opened in this process: a fork has none of the threads of its parent.
    line: SerialLine | None = None
    try:
        from app.lab.agent import LabAgent

        line = SerialLine.open_guest_end()
        LabAgent(host, link, own_delay_s).serve(line)
    except BaseException as error:  # noqa: BLE001 - told on the line, then the guest ends
        traceback.print_exc()
        _report_failure(error, line)
    finally:
        sys.stderr.flush()
        os._exit(0)


def _report_failure(error: BaseException, line: SerialLine | None = None) -> None:
    """Tell the other end of the line why there is no agent, as far as the line still works."""
    with contextlib.suppress(OSError):
        line = line or SerialLine.open_guest_end()
        line.write_boot_report(str(error) or type(error).__name__)
        line.drain(_LAST_REPORT_S)


def _reap_until(agent: int) -> None:
    """Reap whatever is orphaned until the agent itself is gone."""
    while os.wait()[0] != agent:
        pass


if __name__ == "__main__":
    main()
