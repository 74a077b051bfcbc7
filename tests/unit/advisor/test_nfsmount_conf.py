"""nfsmount.conf: options that it adds to a mount. A lab test compares the same cases with mount.nfs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.nfsmount_conf import added_options, conf_problems, parse_conf, section_options
from advisor.options import MountOptions

TEXT = """
stray=1
[ NFSMount_Global_Options ]
  Soft=True   # a comment
  Rsize=64k
  timeo=10
  Background=False
[ Server "NAS" ]
  timeo=20
  Ac=False
[ MountPoint "/Home" ]
  timeo=30
"""


def items(options: str, host: str = "nas", point: str = "/home", text: str = TEXT) -> list[str]:
    return [
        one.item for one in added_options(parse_conf(text, "f"), MountOptions.parse(options), host, point)
    ]


@pytest.mark.parametrize(
    ("options", "host", "point", "expected"),
    [
        ("", "nas", "/home", ["timeo=30", "noac", "soft", "rsize=65536"]),
        ("", "nas", "/other", ["timeo=20", "noac", "soft", "rsize=65536"]),
        ("", "nas.example", "/other", ["soft", "rsize=65536", "timeo=10"]),
        ("timeo=600,rsize=4096,soft,ac", "nas", "/home", []),
    ],
)
def test_the_nearest_section_counts_and_the_mount_itself_before_all(
    options: str, host: str, point: str, expected: list[str]
) -> None:
    assert items(options, host, point) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TEXT, [(2, "“stray=1” stands before the first section.")]),
        ("[ Server nas ]\nRsize=1k\n", [(1, 'The name of the section stands in quotes: [ Server "nas" ].')]),
        (
            '[ Server "nas:/a" ]\n',
            [(1, "“nas:/a” never fits: the section names the server alone, without a path.")],
        ),
        ('[ MountPoint "home" ]', [(1, "“home” is no mount point: it begins with /.")]),
        (
            "[ NFSMount_Global_Option ]",
            [
                (
                    1,
                    (
                        "“[ NFSMount_Global_Option ]” is no section of this file. Did you mean [ "
                        "NFSMount_Global_Options ]?"
                    ),
                )
            ],
        ),
        (
            "[ NFSMount_Global_Options ]\nhard\n",
            [(2, "“hard” has no value; an option without one is written hard=True.")],
        ),
        ('[ Server "[::1]" ]\nacl=False\n', []),
        ('[ MountPoint "/" ]\n', []),
        (
            '[ MountPoint "/a/" ]\n',
            [(1, "“/a/” fits a mount point only that is written with the slash at its end, too.")],
        ),
        ("[ NFSMount_Global_Options ]\nDefaultvers=4.2\nDefaultproto=tcp\n", []),
        (
            "[ NFSMount_Global_Options ]\nDefaultvers=5\nDefaultproto=sctp\n",
            [
                (2, "“5” is no version for Defaultvers (Defaultvers=5)."),
                (3, "“sctp” is no transport for Defaultproto (Defaultproto=sctp)."),
            ],
        ),
        (
            "[ NFSMount_Global_Options ]\nRsize=32k,Wsize=32k\nBackground=yes\nac=off\nfsc=tag\n",
            [
                (2, "“Rsize=32k,Wsize=32k” has more than one setting: each stands in a line of its own."),
                (3, "“Background=yes” switches nothing: write Background=True or Background=False."),
                (4, "“ac=off” switches nothing: write ac=True or ac=False."),
            ],
        ),
        ("# only\n\n; comments\n", []),
        (
            '[ Server "*" ]\n',
            [(1, "“*” never fits: names are compared as they are written, without wildcards.")],
        ),
        ('[ Server "a,b" ]\n', [(1, "“a,b” never fits: a section has one server.")]),
        ('[ Server "a" "b" ]\n', [(1, "Only the first name counts, “a”: a section has one.")]),
        (
            '[ MountPoint "/mnt/*" ]\n',
            [(1, "“/mnt/*” never fits: names are compared as they are written, without wildcards.")],
        ),
        (
            "[ NFSMount_Global_Options ]\nVers=4.2,hard\n",
            [(2, "“Vers=4.2,hard” has more than one setting: each stands in a line of its own.")],
        ),
        (
            "[ NFSMount_Global_Options ]\nrw,hard=True\n",
            [(2, "“rw,hard=True” has more than one setting: each stands in a line of its own.")],
        ),
        (
            "[ NFSMount_Global_Options ]\nTimeo=600;Retrans=2\n",
            [(2, "“Timeo=600;Retrans=2” has more than one setting: each stands in a line of its own.")],
        ),
        (
            "[ NFSMount_Global_Options ]\nNolock=True\nnoac = true\nNofsc=False\nNoatime=True\n",
            [
                (2, "“Nolock=True” is written lock=False in this file."),
                (3, "“noac = true” is written ac=False in this file."),
                (4, "“Nofsc=False” is written fsc=True in this file."),
            ],
        ),
        ("[ NFSMount_Global_Options ]\n=4.2\n", [(2, "“=4.2” has no name before the equals sign.")]),
        ("[ NFSMount_Global_Options ]\nTimeo=600 ; Retrans=2\n;Hard=True\nSec=krb5:krb5i\n", []),
    ],
)
def test_what_mount_passes_over_is_told(text: str, told: list[tuple[int, str]]) -> None:
    assert conf_problems(text) == told


def test_a_section_without_quotes_ends_the_one_before() -> None:
    settings = parse_conf("[ NFSMount_Global_Options ]\ntimeo=1\n[ Server nas ]\nrsize=32k\n", "f")
    assert [one.item for one in added_options(settings, MountOptions(), "nas", "/home")] == ["timeo=1"]


def test_what_is_told_by_its_line_is_no_option_to_judge() -> None:
    text = "[ NFSMount_Global_Options ]\nRsize=32k,Wsize=32k\nBackground=yes\nac=off\ntimeo=600\n"
    assert section_options(parse_conf(text, "f")) == [(5, "nfsmount_global_options", "", "timeo=600")]


def test_the_options_of_each_section() -> None:
    assert section_options(parse_conf(TEXT + "Defaultvers=4\n", "f")) == [
        (4, "nfsmount_global_options", "", "soft,rsize=65536,timeo=10"),
        (9, "server", "nas", "timeo=20,noac"),
        (12, "mountpoint", "/home", "timeo=30"),
    ]


def test_soft_there_beats_hard() -> None:
    found = added_options(
        parse_conf(TEXT, "/etc/nfsmount.conf"), MountOptions.parse("hard,acregmin=3"), "x", "/y"
    )[0]
    assert (found.item, found.name, found.beats) == ("soft", "hard", "hard")
    assert (found.file, found.line, found.section) == ("/etc/nfsmount.conf", 4, "NFSMount_Global_Options")


def test_later_files_outdo_earlier_ones() -> None:
    first = parse_conf("[ NFSMount_Global_Options ]\ntimeo=1\n", "a")
    second = parse_conf("[ NFSMount_Global_Options ]\nTIMEO=2\n", "b")
    found = added_options([*first, *second], MountOptions(), "nas", "/home")
    assert [(one.item, one.file) for one in found] == [("timeo=2", "b")]


def test_one_attribute_time_behind_all_of_them_wins() -> None:
    found = added_options(
        parse_conf("[ NFSMount_Global_Options ]\nacregmin=5", "f"), MountOptions.parse("actimeo=9"), "n", "/"
    )
    assert [(one.item, one.beats) for one in found] == [("acregmin=5", "actimeo=9")]


@given(st.text(), st.text())
def test_any_text_can_be_read(text: str, options: str) -> None:
    added_options(
        parse_conf("[ NFSMount_Global_Options ]\n" + text, "f"), MountOptions.parse(options), "nas", "/home"
    )
