"""Requested options against options in use, with recorded mounts of Linux 6.1, 6.12 and 7.2."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.message import Message
from advisor.options import MountOptions
from advisor.transfer_sizes import kernel_number, rounded_io_size
from app.mounts.model import Active, Configured, OptionValue
from app.mounts.option_comparison import (
    OptionNote,
    compare_options,
    configuration_differences,
    overridden_options,
    values_in_use,
)
from app.text.message import message_text

RECORDED = [
    line.split("\t")
    for line in (Path(__file__).parents[2] / "data" / "mounts" / "asked_and_shown.tsv")
    .read_text(encoding="utf-8")
    .splitlines()
    if not line.startswith("#")
]

V42 = (
    "rw,relatime,vers=4.2,rsize=262144,wsize=262144,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,"
    "clientaddr=127.0.0.1,local_lock=none,addr=127.0.0.1"
)


def active(options: str = V42, nconnect: int = 1) -> Active:
    fstype = "nfs" if "vers=3" in options else "nfs4"
    return Active(
        mount_id=1, device="0:30", share="nas:/a", fstype=fstype, options=options, nconnect=nconnect
    )


def configured(options: str, fstype: str = "nfs") -> Configured:
    return Configured(origin="/etc/fstab", line=1, share="nas:/a", fstype=fstype, options=options)


def texts(messages: list[Message]) -> list[str]:
    return [message_text(one) for one in messages]


def by_name(asked: str, options: str = V42) -> dict[str, OptionValue]:
    return {value.name: value for value in compare_options(MountOptions.parse(asked), active(options))}


#: Recorded mounts whose options in use differ from the requested ones.
REAL_DIFFERENCES = {"vers=3,lock,local_lock=flock", "vers=4.2,acregmin=4294967295"}


@pytest.mark.parametrize(("asked", "_fstype", "mount", "shown"), RECORDED)
def test_what_a_kernel_made_of_the_options_is_no_difference(
    asked: str, _fstype: str, mount: str, shown: str
) -> None:
    found = configuration_differences(
        configured(asked), active(f"{mount},{shown.removeprefix('rw,')}", nconnect=0)
    )
    assert bool(found) == (asked in REAL_DIFFERENCES)


@pytest.mark.parametrize(("asked", "_fstype", "_mount", "shown"), RECORDED)
def test_every_value_that_differs_from_the_requested_one_has_a_note(
    asked: str, _fstype: str, _mount: str, shown: str
) -> None:
    values = compare_options(MountOptions.parse(asked), active(shown, nconnect=0))
    for value in values:
        if value.requested is not None and value.requested != value.effective:
            assert value.note
    names = [value.name for value in values]
    assert set(names) >= {"vers", "rsize", "acregmin", "ac", "hard", "ro"}
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("asked", "used"),
    [
        (0, 0), (1, 4096), (1000, 4096), (1023, 4096), (1024, 1024), (1500, 1024), (4095, 2048), (4096, 4096),
        (5000, 4096), (8191, 4096), (12288, 12288), (12345, 12288), (100000, 98304), (1048576, 1048576),
        (4194304, 1048576),
    ],
)  # fmt: skip
def test_transfer_sizes_are_rounded_as_the_kernel_does(asked: int, used: int) -> None:
    assert rounded_io_size(asked) == used


def test_over_udp_sizes_are_powers_of_two() -> None:
    assert rounded_io_size(12288, "udp") == 8192


@given(st.integers(0, 2**33))
def test_rounding_again_changes_nothing(size: int) -> None:
    assert rounded_io_size(rounded_io_size(size)) == rounded_io_size(size)


@pytest.mark.parametrize(
    ("asked", "shown", "name", "effective", "note"),
    [
        ("rsize=1000", "rsize=262144>rsize=4096", "rsize", "4096", "The kernel rounded it to 4096."),
        ("rsize=1048576", "", "rsize", "262144", "The server limited it to 262144."),
        (
            "rsize=4194304",
            "rsize=262144>rsize=1048576",
            "rsize",
            "1048576",
            "The kernel limited it to 1048576.",
        ),
        (
            "timeo=9000",
            "timeo=600>timeo=6000",
            "timeo",
            "6000",
            "The kernel limited it to 600 s (timeo=6000).",
        ),
        ("timeo=100", "", "timeo", "600", "An earlier mount of the same server file system decides."),
        ("timeo=0600", "timeo=600>timeo=384", "timeo", "384", "The kernel reads “0600” as 384."),
        ("nconnect=4", "", "nconnect", "1", "The first mount of this server and version decides."),
        ("vers=4", "", "vers", "4.2", "Negotiated with the server."),
        ("bg", "", "bg", None, "The kernel does not show it."),
        ("_netdev", "", "_netdev", None, "Has a meaning in fstab only."),
        ("nolock", "", "lock", "", "Has no effect on version 4.2."),
        ("intr", "", "intr", None, "Has no effect."),
        ("x-foo", "", "x-foo", None, "Has a meaning in fstab only."),
        ("", "relatime>nosuid", "suid", "no", "This program always sets it."),
        ("cto", "", "cto", "", ""),
        ("lookupcache=none", "", "lookupcache", "all", "The kernel uses another value."),
        ("hard", "", "hard", "hard", ""),
        ("proto=tcp", "proto=tcp>proto=tcp6", "proto", "tcp6", "The server has an IPv6 address."),
        ("noac", "hard>noac,sync,acregmin=0,hard", "sync", "sync", "Follows from noac."),
        ("", "", "acregmin", "3", ""),
    ],
)
def test_notes_say_why(asked: str, shown: str, name: str, effective: str | None, note: str) -> None:
    old, _, new = shown.partition(">")
    value = by_name(asked, V42.replace(old, new) if old else V42)[name]
    expected = None if name == "lock" else effective  # version 4 does not show the option lock
    assert (value.effective, message_text(value.note)) == (expected, note)


def test_without_a_mount_nothing_is_in_use() -> None:
    values = compare_options(MountOptions.parse("vers=4.2,rsize=1"), None)
    assert [(v.name, v.requested, v.effective, v.note) for v in values] == [
        ("vers", "4.2", None, None),
        ("rsize", "1", None, None),
    ]


def test_effective_values_are_canonical() -> None:
    values = values_in_use(
        active("rw,nosuid,vers=3,soft,noac,lookupcache=pos,nordirplus,sec=null", nconnect=4)
    )
    assert values.items() >= {
        "ro": "rw", "vers": "3", "hard": "soft", "ac": "no", "lookupcache": "pos", "rdirplus": "none",
        "sec": "none", "nconnect": "4", "suid": "no",
    }.items()  # fmt: skip


@pytest.mark.parametrize(
    ("written", "shown", "sentences"),
    [
        ("defaults", "", []),
        ("defaults", "relatime>relatime,nosuid,nodev", []),
        ("hard", "hard>soft", ["/etc/fstab says “hard”, in use is “soft”."]),
        ("", "hard>soft", ["In use is “soft”, which /etc/fstab does not say."]),
        ("ro", "", ["/etc/fstab says “ro”, in use is “rw”."]),
        ("rsize=65536", "", ["/etc/fstab says “rsize=65536”, in use is “rsize=262144”."]),
        ("rsize=1048576,vers=4", "", []),
        ("vers=3", "", ["/etc/fstab says “vers=3”, in use is “vers=4.2”."]),
        ("timeo=300", "", ["/etc/fstab says “timeo=300”, in use is “timeo=600”."]),
        ("nconnect=4", "", ["/etc/fstab says “nconnect=4”, in use is “nconnect=1”."]),
        ("user", "relatime>relatime,noexec,nosuid,nodev", []),
        ("bg,noauto,x-systemd.automount,nofail,_netdev,retry=5", "", []),
        ("softreval", "", ["/etc/fstab says “softreval”, in use is “no softreval”."]),
        ("nolock,acl,intr", "", []),
    ],
)
def test_differences_between_fstab_and_the_mount(written: str, shown: str, sentences: list[str]) -> None:
    old, _, new = shown.partition(">")
    assert (
        texts(configuration_differences(configured(written), active(V42.replace(old, new) if old else V42)))
        == sentences
    )


def test_nfs4_means_version_4() -> None:
    v3 = V42.replace("vers=4.2", "vers=3")
    assert configuration_differences(configured("", "nfs4"), active()) == []
    assert texts(configuration_differences(configured("", "nfs4"), active(v3))) == [
        "/etc/fstab says “vers=4”, in use is “vers=3”."
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("600", 600),
        ("0600", 384),
        ("0x10", 16),
        ("08", None),
        ("1m", None),
        ("", None),
        ("-1", None),
    ],
)
def test_numbers_are_read_as_the_kernel_reads_them(text: str, number: int | None) -> None:
    assert kernel_number(text) == number


@given(st.text(), st.text())
def test_any_texts_can_be_compared(asked: str, shown: str) -> None:
    compare_options(MountOptions.parse(asked), active(shown))
    configuration_differences(configured(asked), active(shown))


@pytest.mark.parametrize(("asked", "told"), [
    ("rsize=1000", {"rsize"}),  # rounded
    ("timeo=100", {"timeo"}),  # an earlier mount decides
    ("intr", {"intr"}),  # no effect in any version
    ("timeo=600,rsize=262144,hard", set()),
    ("vers=4,port=0,addr=10.0.0.1,timeo=01130", set()),  # filled in, agreed upon, or the same number
    ("noauto,x-systemd.automount,_netdev", set()),  # fstab-only options
    ("retry=3", set()),  # not shown by the kernel
])  # fmt: skip
def test_values_that_are_not_in_use(asked: str, told: set[str]) -> None:
    values = compare_options(MountOptions.parse(asked), active())
    assert {value.name for value in overridden_options(values)} == told


def test_a_tag_of_fsc_that_the_kernel_does_not_show_is_not_laid_to_an_earlier_mount() -> None:
    value = by_name("fsc=x1,lookupcache=positive", f"{V42},fsc")["fsc"]
    assert message_text(value.note) == "Kernels before 6.12 show fsc without its tag."
    assert value.name not in {other.name for other in overridden_options([value])}
    note = by_name("fsc=x1", f"{V42},fsc=other")["fsc"].note
    assert note is not None
    assert note.code == OptionNote.SAME_FILESYSTEM
