import pytest

from app.cli.parser import parse_args


def test_no_command_means_the_window() -> None:
    assert parse_args([]).command is None
    args = parse_args(["--lab", "gigabit"])
    assert (args.command, args.lab) == (None, "gigabit")


@pytest.mark.parametrize("argv", [["--lab", "wan", "list"], ["list", "--lab", "wan"]])
def test_lab_is_accepted_before_and_after_the_command(argv: list[str]) -> None:
    assert parse_args(argv).lab == "wan"


def test_sizes_with_units() -> None:
    args = parse_args(["test", "/mnt", "--size", "16M", "--block-size", "64k", "--json"])
    assert (args.size, args.block_size, args.json) == (16 * 2**20, 65536, True)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["test"], "needs PATH"),
        (["test", "/mnt", "--size", "x"], "is not a size"),
        (["test", "/mnt", "--size", "0"], "at least one byte"),
        (["test", "/mnt", "-o", "ro"], "are for a SHARE"),
        (["test", "/mnt", "--cache", "fresh-mount"], "needs a SHARE"),
        (["mount", "nas:/x"], "needs SHARE and MOUNTPOINT"),
        (["umount"], "needs MOUNTPOINT"),
        (["frobnicate"], "invalid choice"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_args(argv)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_help_names_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_args(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for word in ("list", "facts", "mount", "umount", "test", "--lab", "exit codes"):
        assert word in text
