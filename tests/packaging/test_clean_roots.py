"""The package in clean roots of Debian, as a person has it: installed, used, upgraded, removed, purged.

It takes about half an hour and 4 GB. MOUNTWRIGHT_PACKAGES names a directory with packages that are built
already.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from clean_roots import WINDOW, Root, why_not

ROOT = Path(__file__).parents[2]
#: Codenames of the releases, and what a package's version says of them.
RELEASES = {"trixie": "deb13", "bookworm": "deb12"}
#: What the test itself uses inside.
TOOLS = ("python3", "xvfb", "xdotool", "imagemagick", "passwd", "ca-certificates", "dbus-daemon")
BUILD_TOOLS = (
    "python3",
    "python3-venv",
    "ca-certificates",
    "git",
    "lintian",
    "desktop-file-utils",
    "appstream",
)
PICTURES = ROOT / ".cache" / "packages"
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(bool(why_not()), reason=f"THE PACKAGE IS NOT TRIED IN CLEAN ROOTS: {why_not()}"),
]
#: polkit says yes to the ordinary user: the prompt itself needs a person.
RULE = (
    'polkit.addRule(function(action, subject) { if (/^org.mountwright/.test(action.id)) return "yes"; });\n'
)
HELPER = """\
mkdir -p /run/dbus
dbus-daemon --system --fork
/usr/lib/polkit-1/polkitd --no-debug >/tmp/polkitd.log 2>&1 &
for i in $(seq 100); do pkaction --action-id org.mountwright.mount >/dev/null 2>&1 && break; sleep 0.2; done
pkaction | grep mountwright
setpriv --reuid ann --regid ann --init-groups env HOME=/home/ann \
    /usr/lib/mountwright/bin/python3 -P -c "$ASK"
grep -h mountwright /tmp/polkitd.log || true
"""
#: Asked through pkexec: the role's process answers that nothing is mounted there.
ASK = """\
from app.errors import AppError
from app.helper_client.client import HelperClient
from app.tasks import CancelToken
client = HelperClient("mount")
try:
    client.call("unmount", {"target": "/mnt/nothing"}, CancelToken(), 60)
except AppError as error:
    print("answer:", error.kind, client.running, error.message)
"""


@pytest.fixture(params=list(RELEASES))
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def roots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    # Not in memory, where the tests' files may lie.
    folder = Path("/var/tmp") / f"mountwright-clean-roots-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build(folder: Path, release: str, place: str = "/opt/mountwright", **more: str) -> tuple[Root, Path]:
    """Build the package in a root of its release; return the root and the package."""
    root = Root(folder / f"build-{release}")
    if not root.folder.exists():
        root = Root.make(root.folder, release, BUILD_TOOLS)
    source = root.folder / place[1:]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name, follow_symlinks=False)
    root.sh(f"{place}/packaging/build deb --out {place}/dist", **more)
    (package,) = (source / "dist").glob("*.deb")
    return root, package


def package_for(release: str, folder: Path) -> Path:
    """Return the package, as it was built before or now."""
    before = os.environ.get("MOUNTWRIGHT_PACKAGES")
    if before:
        (package,) = Path(before).glob(f"mountwright_*~{RELEASES[release]}_*.deb")
        return package
    return build(folder, release, SOURCE_DATE_EPOCH="1790000000")[1]


def as_version(package: Path, version: str, target: Path) -> None:
    """Write the package as that of an earlier version, with a file that the later one does not have."""
    tree = target.with_suffix(".tree")
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(tree)], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(
        re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.MULTILINE)
    )
    (tree / "usr/lib/mountwright/app/of_an_earlier_version.py").write_text("")
    subprocess.run(
        ["dpkg-deb", "-Zgzip", "--root-owner-group", "--build", str(tree), str(target)], check=True
    )
    shutil.rmtree(tree)


def test_as_a_person_has_it(release: str, roots: Path) -> None:
    package = package_for(release, roots)
    root = Root.make(roots / release, release, TOOLS)
    root.sh("useradd --create-home ann")
    before = root.names("mountwright")

    # A helper that a checkout installed, and a version before.
    stray = root.folder / "usr/libexec/mountwright/app/helper/of_a_checkout.py"
    stray.parent.mkdir(parents=True)
    stray.touch()
    shutil.copy(package, root.folder / "root/new.deb")
    as_version(package, "0.0.9-1", root.folder / "root/old.deb")
    root.sh("apt-get -q --yes install /root/old.deb")
    assert not stray.exists()
    earlier = root.folder / "usr/lib/mountwright/app/of_an_earlier_version.py"
    assert earlier.exists()
    root.sh("apt-get -q --yes install /root/new.deb")
    assert not earlier.exists()
    assert list(earlier.parent.glob("__pycache__/of_an_earlier_version*")) == []
    assert root.sh("dpkg --verify mountwright") == ""

    # No server was installed, and the size is that of the files and what Python made of them.
    installed = root.sh("dpkg-query -W -f '${Package}\n'").split()
    assert "nfs-kernel-server" not in installed
    size = int(root.sh("du --summarize --block-size=1000000 /usr/lib/mountwright").split()[0])
    assert size <= 250
    assert root.sh("find /usr/libexec/mountwright '(' ! -user root -o -perm /022 ')' -print") == ""

    assert root.sh("mountwright --version", user="ann").startswith("mountwright ")
    assert json.loads(root.sh("mountwright list --json", user="ann"))["mounts"] == []
    assert root.sh(
        "man --version >/dev/null 2>&1 && man -w mountwright || ls /usr/share/man/man1/mountwright.1.gz"
    )

    root.sh(WINDOW, user="ann")
    PICTURES.mkdir(parents=True, exist_ok=True)
    shutil.copy(root.folder / "tmp/window.png", PICTURES / f"window-{release}.png")

    measured = json.loads(root.sh("mountwright --lab gigabit test --size 16M --json 2>/dev/null", user="ann"))
    assert measured["write"]
    assert measured["read"]

    # As an ordinary user, through pkexec and polkitd: the installed helper runs as root and answers.
    (root.folder / "etc/polkit-1/rules.d").mkdir(parents=True, exist_ok=True)
    (root.folder / "etc/polkit-1/rules.d/10-test.rules").write_text(RULE)
    told = root.sh(HELPER, ASK=ASK)
    assert "org.mountwright.apply-system" in told
    assert "answer: not-mounted True" in told, told

    data = {
        "/home/ann/.local/share/mountwright",
        "/home/ann/.config/mountwright",
        "/home/ann/.local/state/mountwright",
    }
    root.sh("apt-get -q --yes remove mountwright")
    assert not (root.folder / "usr/lib/mountwright").exists()
    root.sh("apt-get -q --yes purge mountwright")
    left = {
        path for path in root.names("mountwright") - before if not any(path.startswith(each) for each in data)
    }
    assert left - {"/etc/polkit-1/rules.d/10-test.rules"} == set()


def test_two_builds_are_equal_and_lintian_finds_nothing(roots: Path) -> None:
    root, first = build(roots, "trixie", SOURCE_DATE_EPOCH="1790000000")
    second = build(roots, "trixie", "/srv/elsewhere/source", SOURCE_DATE_EPOCH="1790000000", TZ="Asia/Tokyo")[
        1
    ]
    assert first.read_bytes() == second.read_bytes()
    shown = root.sh("lintian --fail-on error,warning --allow-root /opt/mountwright/dist/*.deb")
    assert not re.search(r"^[EW]: ", shown, re.MULTILINE), shown
