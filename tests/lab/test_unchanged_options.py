"""A change without options leaves a mount as it is: live, in fstab and in units; whoever made the mount."""

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.lab

#: Version, options of the mount, and what has to stand in an entry for it, in any order.
MOUNTS = {
    "4.2": ("ro,noexec,acregmin=9", {"vers=4.2", "ro", "noexec", "acregmin=9"}),
    "3": ("sync,noatime,nodiratime", {"vers=3", "sync", "noatime", "nodiratime"}),
}
#: What the program adds to every new entry, and what it adds for safety.
BOOT, SAFE = {"_netdev", "nofail"}, {"nosuid", "nodev"}


def commands(version: str, options: str, *, ours: bool) -> list[str]:
    made = f"mw mount -o vers={version},{options} $S /mnt/a"
    if not ours:
        made = f"mkdir -p /mnt/a; mount -t nfs -o vers={version},{options} $S /mnt/a"
    return [
        made,
        "grep ' /mnt/a ' /proc/self/mountinfo",
        "mw apply --preview $S /mnt/a",
        "mw apply $S /mnt/a",
        "mw apply --keep-in systemd --preview $S /mnt/a",
        "mw apply --keep-in fstab --json $S /mnt/a",
        "grep /mnt/a /etc/fstab",
        "mw apply --keep-in fstab --preview $S /mnt/a",
        "mw advise --json /mnt/a",
        "mw list --json",
        "grep ' /mnt/a ' /proc/self/mountinfo",
    ]


@pytest.mark.parametrize(
    ("version", "ours"),
    [
        pytest.param("4.2", True, id="4.2-ours"),
        pytest.param("3", False, id="3-foreign"),
        pytest.param("3", True, id="3-ours", marks=pytest.mark.long),
        pytest.param("4.2", False, id="4.2-foreign", marks=pytest.mark.long),
    ],
)
def test_nothing_is_changed_unasked(
    guest_job: Callable[[dict[str, Any]], dict[str, Any]], version: str, ours: bool
) -> None:
    options, words = MOUNTS[version]
    answers = guest_job({"commands": commands(version, options, ours=ours)})["commands"]
    texts = [answer["out"] for answer in answers]
    for answer in answers:
        assert answer["ok"], answer
    _made, before, plan, done, units, _kept, line, again, advice, listed, after = texts
    assert before == after
    assert set(options.split(",")) - {"acregmin=9"} <= set(after.replace(" ", ",").split(","))
    assert plan.startswith("Nothing to do.\n")  # warnings of the lint may follow
    assert "already uses these settings" in done
    (said,) = [text for text in units.splitlines() if text.startswith("+Options=")]
    assert set(said.removeprefix("+Options=").split(",")) == words | BOOT | SAFE
    assert set(line.split()[3].split(",")) == words | BOOT | SAFE
    assert "retry" not in units + line + json.loads(advice)["options"]
    assert again.startswith("Nothing to do.\n")
    (row,) = [mount for mount in json.loads(listed)["mounts"] if mount["mount_point"] == "/mnt/a"]
    assert set(row["requested"].split(",")) == words | BOOT
    assert row["after_boot"] == "mounted"
    # A mount of somebody else has neither word yet, which the entry has.
    found = {item["params"]["option"] for item in row["differences"]}
    assert found == (set() if ours else {"dev", "suid"})


def test_the_words_for_the_boot_are_added_kept_and_left_out(
    guest_job: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    script = [
        "mw persist --yes -o vers=3,soft,timeo=100 $S /mnt/b; grep /mnt/b /etc/fstab",
        "mw persist --yes --exact -o vers=4.2 $S /mnt/b; grep /mnt/b /etc/fstab",
        "mw apply --keep-in fstab -o vers=4.2 $S /mnt/a; grep /mnt/a /etc/fstab",
        "mw apply --keep-in systemd -o vers=3 $S /mnt/d; cat /etc/systemd/system/mnt-d.mount",
        "mw persist --yes -o vers=4.2 $S /data; grep /data /etc/fstab",
        "mw mount --json -o vers=3,soft $S /mnt/g",
        'F=/etc/fstab; echo "$S /mnt/i nfs4 soft 0 0" >>$F; mw persist --yes -o ro $S /mnt/i; tail -1 $F',
        "mw apply --keep-in fstab --preview -o vers=4.2 $S /mnt/new",
    ]
    soft, exact, saved, unit, place, as_json, typed, shown = guest_job({"commands": script})["commands"]
    assert "vers=3,soft,timeo=100,_netdev,nofail,nosuid,nodev" in soft["out"]
    assert "error: A soft mount that is writable can lose data." in soft["err"]
    assert "vers=4.2,nosuid,nodev" in exact["out"]
    assert "nofail" in exact["err"]  # lint says what may come of it
    assert "vers=4.2,_netdev,nofail,nosuid,nodev" in saved["out"]
    assert "Options=vers=3,_netdev,nofail,nosuid,nodev\n" in unit["out"]
    assert "WantedBy=remote-fs.target" in unit["out"]
    assert "vers=4.2,_netdev,nosuid,nodev" in place["out"]
    assert "the boot waits for /data" in place["err"]
    assert as_json["err"] == ""
    assert json.loads(as_json["out"])["findings"][0]["rule"] == "soft-rw"
    assert "nfs4 ro 0 0" in typed["out"]
    assert "Added for safety: nosuid,nodev." in shown["out"]
    assert "Added for the boot: _netdev,nofail." in shown["out"]


@pytest.mark.long
def test_the_same_of_other_commands(guest_job: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    script = [
        "mw persist --yes -o vers=4.2 $S /mnt/b; grep /mnt/b /etc/fstab",
        "mw apply --keep-in systemd --exact -o vers=3 $S /mnt/e; cat /etc/systemd/system/mnt-e.mount",
        "mw mount -o vers=4.2,soft $S /mnt/f",
        "mw apply --confirm -5 -o vers=4.2,ro $S /mnt/a",
        "mw apply --read-ahead -5 --preview $S /mnt/a",
        "mw mount -o ,,,= $S /mnt/h",
    ]
    kept, bare, mounted, confirm, ahead, empty = guest_job({"commands": script})["commands"]
    assert "vers=4.2,_netdev,nofail,nosuid,nodev" in kept["out"]
    assert "Options=vers=3,nosuid,nodev\n" in bare["out"]
    assert "nofail" in bare["err"]
    assert mounted["err"].startswith("error: A soft mount that is writable can lose data.")
    assert [answer["ok"] for answer in (confirm, ahead, empty)] == [False] * 3
    assert "-5 s, which is out of range" in confirm["err"]
    assert "-5 KiB, which is out of range" in ahead["err"]
    assert "“=” has no option name." in empty["err"]


@pytest.mark.parametrize("version", [pytest.param("3", marks=pytest.mark.long), "4.2"])
def test_what_nfsmount_conf_adds_is_told_and_not_saved(
    guest_job: Callable[[dict[str, Any]], dict[str, Any]], version: str
) -> None:
    lines = '[ NFSMount_Global_Options ]\\nSoft=True\\n[ Server \\"10.9.0.1\\" ]\\nacregmin=9\\n'
    made = f"mw mount -o vers={version} $S /mnt/a; mkdir -p /mnt/b; mount -t nfs -o vers={version} $S /mnt/b"
    script = [
        f'printf "{lines}" > /etc/nfsmount.conf',
        made,
        "mw list --json",
        "mw apply --preview $S /mnt/a; mw apply --preview $S /mnt/b",
        "mw apply --keep-in fstab $S /mnt/b; grep /mnt/b /etc/fstab",
    ]
    _file, mounts, listed, plans, saved = guest_job({"commands": script})["commands"]
    assert mounts["ok"], mounts
    rows = json.loads(listed["out"])["mounts"]
    assert [(row["mount_point"], row["requested"]) for row in rows] == [
        ("/mnt/a", f"vers={version}"), ("/mnt/b", f"vers={version}"),
    ]  # fmt: skip
    for row in rows:
        assert {"soft", "acregmin=9"} <= set(row["active"]["options"].split(","))
        assert [(one["item"], one["section"], one["line"]) for one in row["added"]] == [
            ("acregmin=9", 'Server "10.9.0.1"', 4), ("soft", "NFSMount_Global_Options", 2),
        ]  # fmt: skip
        assert row["after_boot"] == "gone"
    assert plans["out"] == "Nothing to do.\n" * 2
    assert f"vers={version},_netdev,nofail,nosuid,nodev" in saved["out"]


def test_a_mount_whose_version_is_recorded_twice_is_changed_and_goes_back(
    guest_job: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    """mount.nfs records “vers=4,vers=4.1” for “vers=4,minorversion=1”."""
    mounted = "grep ' /mnt/a ' /proc/mounts"
    script = [
        "mkdir -p /mnt/a; mount -t nfs -o vers=4,minorversion=1 $S /mnt/a",
        "mw list --json",
        f"mw apply -o vers=4.1,rsize=65536 $S /mnt/a; {mounted}",
        "mw umount /mnt/a; mount -t nfs -o vers=4,minorversion=1,rsize=32768 $S /mnt/a",
        f"echo n | mw apply -o vers=4.2 --confirm 100 $S /mnt/a; {mounted}",
    ]
    made, listed, changed, again, back = guest_job({"commands": script})["commands"]
    assert made["ok"], made
    (row,) = json.loads(listed["out"])["mounts"]
    assert row["active"]["recorded"] == "vers=4,vers=4.1"
    assert row["requested"] == "vers=4.1"
    assert "vers=4.1,rsize=65536" in changed["out"], changed
    assert again["ok"], again
    assert "The change was rolled back." in back["err"], back
    assert "vers=4.1,rsize=32768" in back["out"]
