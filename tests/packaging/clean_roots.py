"""Clean roots of Debian, in which a package is built, and installed as a person would.

A command in a root runs in mount and process namespaces of its own: what it mounts and starts ends with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

#: The first line that a command in a root runs: the file systems that programs expect.
_ENTER = """\
set -e
root=$1; shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
exec chroot "$root" "$@"
"""
#: What says how packages are fetched here.
_NETWORK = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_SETTINGS = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "SOURCE_DATE_EPOCH", "TZ")
#: Script of an ordinary user: opens the window, takes its picture as /tmp/window.png, ends it, and prints
#: what it printed. It needs xvfb, xdotool and imagemagick.
WINDOW = """\
export XDG_RUNTIME_DIR=/tmp/run-ann DISPLAY=:77
mkdir -p -m 700 $XDG_RUNTIME_DIR
cd
Xvfb :77 -screen 0 1000x700x24 -nolisten tcp >/dev/null 2>&1 &
screen=$!
for i in $(seq 100); do [ -e /tmp/.X11-unix/X77 ] && break; sleep 0.2; done
mountwright >window.log 2>&1 &
window=$!
timeout 120 xdotool search --sync --onlyvisible --name Mountwright >/dev/null
sleep 5
import -window root /tmp/window.png
kill -TERM $window
wait $window
kill $screen
cat window.log
"""
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def why_not() -> str:
    """Return why clean roots cannot be made here, "" if they can."""
    if os.geteuid() != 0:
        return "root is needed"
    missing = [name for name in ("mmdebstrap", "unshare", "chroot") if shutil.which(name) is None]
    return f"{', '.join(missing)} missing" if missing else ""


class Root:
    """A root of a release of Debian, in a directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def make(cls, folder: Path, release: str, packages: tuple[str, ...]) -> Root:
        """Make one with the packages of a minimal system and these."""
        command = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(packages)}", release]
        subprocess.run([*command, str(folder)], check=True)
        root = cls(folder)
        if _CERTIFICATES.exists():  # those that this machine trusts
            target = folder / _CERTIFICATES.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_CERTIFICATES, target)
        shutil.copyfile("/etc/resolv.conf", folder / "etc/resolv.conf")
        root.sh("apt-get -q update")
        return root

    def sh(self, script: str, *, user: str = "root", status: int = 0, **more: str) -> str:
        """Run a shell's script to its end, and return its output.

        Args:
            script: for sh(1); it stops at the first command that fails.
            user: who runs it.
            status: the exit status that it has to have.
            more: variables of the environment.
        """
        home = "/root" if user == "root" else f"/home/{user}"
        env = {name: os.environ[name] for name in (*_NETWORK, *_SETTINGS) if name in os.environ}
        env |= {"HOME": home, "USER": user, "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"} | more  # fmt: skip
        if _CERTIFICATES.exists():
            env["PIP_CERT"] = str(_CERTIFICATES)
        become = [] if user == "root" else ["setpriv", "--reuid", user, "--regid", user, "--init-groups"]
        words = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), *become]
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
                   "sh", "-c", _ENTER, "enter", str(self.folder), *words, "sh", "-euc", script]  # fmt: skip
        done = subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace",
        )  # fmt: skip
        assert done.returncode == status, f"status {done.returncode}: {script}\n{done.stdout}"
        return done.stdout

    def names(self, word: str) -> set[str]:
        """Return the paths whose last part has a word in it, but for those of dpkg, apt and logs."""
        done = subprocess.run(
            ["find", str(self.folder), "-xdev", "-iname", f"*{word}*", "-printf", "/%P\n"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        passed = ("/var/lib/dpkg/", "/var/cache/", "/var/log/", "/var/lib/apt/")
        return {line for line in done.stdout.splitlines() if not line.startswith(passed)}
