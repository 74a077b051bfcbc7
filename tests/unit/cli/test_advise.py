"""Command "advise", from its arguments to the exit code."""

import json

import msgspec
import pytest

from advisor.facts import ClientFacts, Facts
from app.cli.main import main
from app.service.advice import advise
from app.service.model import AdviceArgs, AdviceResult

_KEYS = {"option", "current", "proposed", "reason", "evidence", "source", "scope", "risk", "confidence",
         "status"}  # fmt: skip


def test_the_seed_s_card_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--adapter", "3c509", "--transport", "udp", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {"facts", "recommendations", "not_recommended", "unknown"} <= set(answer)
    proposed = {item["option"]: item["proposed"] for item in answer["recommendations"]}
    assert proposed == {"rsize": "1024", "wsize": "1024", "timeo": "3"}
    for item in answer["recommendations"]:
        assert set(item) >= _KEYS
    assert answer["advised_options"] == "proto=udp,rsize=1024,wsize=1024,timeo=3"


def test_the_answer_can_be_encoded() -> None:
    args = AdviceArgs(adapter="3c509", transport="udp", link="wan")
    answer = advise(args, lambda _share: Facts(client=ClientFacts()), None)
    assert msgspec.json.decode(msgspec.json.encode(answer), type=AdviceResult) == answer
    assert answer.recommendations


def test_over_tcp_the_remaining_advice_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--adapter", "3c509", "--transport", "tcp"]) == 0
    out = capsys.readouterr().out
    assert "Nothing to change was found, but not all is known: round trip." in out
    assert "Not recommended:\n  rsize=1024; timeo=3: " in out
    assert "What still holds" in " ".join(out.split())


def test_a_link_given_on_the_command_line_has_an_expected_speed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--link", "rate=100mbit,delay=20ms", "-o", "rsize=4096"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Link: as described, 100 Mbit/s, round-trip time 40 ms")
    assert "rsize: leave it out   now: 4096 (requested by you)" in out
    assert "read_ahead_kb=1024" in out
    assert "from a model, not measured" in out
    assert "MB/s as advised" in out
    assert "[nfsrahead]" in out
    assert "--read-ahead 1024 --save-readahead" in " ".join(out.split())


def test_each_option_of_a_rule_has_its_own_undo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--server", "ontap", "-o", "vers=4.1,rsize=8192"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Undo: rsize: Set it back to 8192 and mount again. wsize: Take the option out again" in out


def test_hardware_of_a_profile_is_not_assumed_for_another_computer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["advise", "--link", "wan", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["facts"]["link"]["driver"] is None
    assert "another machine" in answer["unknown"]["link.driver"]


def test_server_s_adapter(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--adapter", "3c509", "--server-adapter", "etherexpress", "--transport", "udp", "--json"]
    assert main(["advise", *words]) == 0
    proposed = {
        item["option"]: item["proposed"] for item in json.loads(capsys.readouterr().out)["recommendations"]
    }
    assert proposed == {"rsize": "1024", "wsize": "8192", "timeo": "3"}


def test_a_host_wide_change_has_steps_and_is_not_in_the_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["advise", "--server", "ontap", "-o", "vers=3,rsize=262144,wsize=262144"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "tcp_max_slot_table_entries=128   now: not known [the whole computer]" in out
    assert "echo 128 | sudo tee /proc/sys/sunrpc/tcp_max_slot_table_entries" in out
    assert "options sunrpc tcp_max_slot_table_entries=128" in out
    assert out.index("To undo it:") < out.index("echo 65536 | sudo tee")
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["advised_options"] == "vers=3,rsize=262144,wsize=262144"
    assert [item["scope"] for item in answer["recommendations"] if item["how_to"]] == ["host"]


def test_an_unknown_adapter_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--adapter", "NE2000"]) == 2
    assert "3c509" in capsys.readouterr().err


def test_unknown_facts_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--adapter", "3c509", "--transport", "udp"]) == 0
    out = capsys.readouterr().out
    assert "another machine, which was not asked" in " ".join(out.split())
    assert "Round trip; " in out
    assert "rtt s" not in out
    assert "Expected speed of a copy over UDP" in out


def test_nothing_to_change_has_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "localhost:/x"]) == 0
    out = capsys.readouterr().out
    assert "Nothing to change. Rules and lint agree with these options." in out


def test_each_recommendation_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["advise", "--link", "gigabit", "-o", "soft,rsize=8192"]
    assert main([*words, "--without", "soft", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {item["option"]: item["included"] for item in answer["recommendations"]} == {
        "hard": False,
        "rsize": True,
    }
    assert answer["advised_options"] == "soft"
    assert main([*words, "--without", "hard,rsize"]) == 0
    out = capsys.readouterr().out
    assert "Nothing is changed: all recommendations are left out." in out
    assert "hard   now: soft (requested by you) [left out]" in out
    assert main([*words, "--without", "nconnect"]) == 2
    assert "Name one of these after --without: rsize, hard." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "advised"),
    [
        (["--transport", "udp", "--link", "gigabit"], ""),
        (["-o", "timeo=7,vers=3", "--link", "gigabit"], "timeo=600,vers=3"),
        (["[2001:db8::1]:/export", "-o", "proto=tcp", "--link", "gigabit"], "proto=tcp6"),
        (["-o", "bg,nofail", "--link", "gigabit", "--needed-at-boot"], "fg"),
        (["-o", "sec=krb5", "--link", "gigabit", "--encrypted"], "sec=krb5p"),
        (["-o", "sec=krb5i", "--link", "gigabit", "--encrypted"], "sec=krb5p"),
        (["-o", "sec=sys", "--link", "gigabit", "--encrypted"], "sec=sys,xprtsec=tls"),
        (["-o", "sec=krb5,xprtsec=tls", "--link", "gigabit", "--encrypted"], "sec=krb5,xprtsec=tls"),
        (
            ["-o", "vers=3,udp,rsize=32768,wsize=32768", "--link", "rate=10mbit,delay=2ms"],
            "vers=3,udp,rsize=8192,wsize=8192",
        ),
        (["-o", "lookupcache=none,nordirplus,vers=3", "--link", "gigabit"], "vers=3"),
        (["-o", "ro,noac", "--link", "gigabit"], "ro"),
        (["-o", "vers=4.2,intr", "--link", "gigabit"], "vers=4.2"),
        (["-o", "vers=4.1", "--link", "gigabit", "--server", "alibaba-nas"], "vers=4.0"),
        (["-o", "vers=4.1", "--link", "gigabit", "--server", "solaris"], "vers=4.0"),
        (["-o", "vers=4.2", "--link", "gigabit", "--server", "macos"], "vers=3"),
        (
            ["-o", "hard", "--link", "rate=1gbit,delay=0.1ms", "--server", "anf"],
            "hard,vers=4.1,rsize=262144,wsize=262144",
        ),
        (["-o", "vers=3,actimeo=0", "--link", "gigabit", "--workload", "builds"], "vers=3"),
        (["-o", "noac,sync", "--link", "gigabit", "--workload", "database"], ""),
        (["-o", "noac", "--link", "gigabit", "--workload", "mail"], "acregmin=60,acdirmin=60"),
        (["-o", "nordirplus", "--link", "gigabit", "--workload", "mail"], "nordirplus"),
        (["-o", "hard", "--link", "gigabit", "--workload", "shared-writing"], "hard,lookupcache=pos"),
        (["-o", "nconnect=8", "--link", "gigabit", "--kernel", "4.18"], ""),
        (["-o", "vers=3,mountport=635,nolock", "--link", "gigabit", "--firewall"], "vers=4.2"),
        (["-o", "nconnect=4", "--link", "rate=100gbit,delay=0.02ms", "--rdma"], "proto=rdma,port=20049"),
        (["-o", "sec=sys", "--link", "gigabit", "--encrypted", "--kerberos"], "sec=krb5p"),
        (["-o", "vers=3", "--link", "gigabit", "--many-mounts"], "vers=3,noresvport"),
        (["-o", "ro", "--link", "gigabit", "--no-waiting"], "ro,nofail,timeo=100,retrans=3,soft"),
        (
            ["-o", "bg,timeo=600", "--link", "gigabit", "--workload", "oracle", "--alone"],
            "bg,timeo=600,rsize=32768,wsize=32768",
        ),
        (
            ["-o", "vers=4.2", "--link", "rate=5mbit,delay=20ms", "--alone"],
            "vers=4.2,acregmax=300,acdirmax=300",
        ),
    ],
)
def test_dangerous_options_are_reported(
    capsys: pytest.CaptureFixture[str], words: list[str], advised: str
) -> None:
    assert main(["advise", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["advised_options"] == advised


def test_a_computer_that_travels_mounts_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    """A laptop in its dock has a wired link, but it still sleeps and is carried away."""
    assert main(["advise", "--link", "gigabit", "--travels", "--json"]) == 0
    advised = json.loads(capsys.readouterr().out)["advised_options"].split(",")
    assert set(advised) == {
        "nofail", "x-systemd.automount", "x-systemd.idle-timeout=10min", "x-systemd.mount-timeout=30s",
    }  # fmt: skip


def test_a_server_that_sleeps_is_mounted_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "-o", "hard,bg", "--link", "gigabit", "--server-sleeps", "--json"]) == 0
    advised = json.loads(capsys.readouterr().out)["advised_options"].split(",")
    assert set(advised) == {"hard", "nofail", "x-systemd.automount", "x-systemd.mount-timeout=90s"}


def test_small_files_need_no_readahead(capsys: pytest.CaptureFixture[str]) -> None:
    for workload, wanted in (("general", True), ("builds", False), ("mail", False)):
        assert main(["advise", "--link", "rate=1gbit,delay=5ms", "--workload", workload, "--json"]) == 0
        names = [item["option"] for item in json.loads(capsys.readouterr().out)["recommendations"]]
        assert ("read_ahead_kb" in names) is wanted


def test_a_kernel_is_named_by_its_release(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["advise", "--link", "gigabit", "--kernel", "old"])
    assert "Enter what “uname -r” shows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-o", "rw", "--link", "gigabit", "--no-waiting"], "a soft mount would lose data"),
        (["-o", "vers=3", "--link", "gigabit", "--needed-at-boot"], "If /var lies on this mount"),
        (["-o", "bg", "--link", "gigabit", "--needed-at-boot"], "x-initrd.mount"),
        (["-o", "hard", "--link", "gigabit", "--workload", "database"], "export the directory with sync"),
        (["-o", "vers=3,udp", "--link", "fast-ethernet"], "the risk to data is small"),
        (["--link", "rate=10gbit,delay=40ms"], "One TCP connection needs larger buffers"),
        (["-o", "vers=4.1", "--server", "filestore"], "if the mount is refused, use vers=3"),
    ],
)
def test_problems_without_an_option_are_reported(
    capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    assert main(["advise", *words]) == 0
    assert expected in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("link", "kept"), [("fast-ethernet", True), ("gigabit", False)])
def test_a_stated_transport_is_kept_where_data_is_safe(
    link: str, capsys: pytest.CaptureFixture[str], *, kept: bool
) -> None:
    words = ["-o", "vers=3,udp,ro,hard,rsize=8192", "--transport", "udp", "--link", link, "--json"]
    assert main(["advise", *words]) == 0
    advised = json.loads(capsys.readouterr().out)["advised_options"]
    assert ("udp" in advised) is kept
    assert ("rsize=8192" in advised) is kept


def test_a_vendor_is_known_by_a_name_that_does_not_resolve(capsys: pytest.CaptureFixture[str]) -> None:
    share = "fs-12345678.efs.us-east-1.amazonaws.com:/"
    assert main(["advise", share, "--link", "rate=25gbit,delay=0.3ms", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["facts"]["server"]["kind"] == "efs"
    assert answer["advised_options"].startswith("vers=4.1,rsize=1048576")


def test_an_mtu_mismatch_given_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--link", "gigabit", "--mtu", "9000", "--path-mtu", "1500"]) == 0
    out = capsys.readouterr().out
    assert "The adapter sends large frames" in out
    assert "No option to change, but something else to look at." in out
    with pytest.raises(SystemExit):
        main(["advise", "--link", "gigabit", "--mtu", "9"])
    assert "is not a packet size" in capsys.readouterr().err


@pytest.mark.parametrize("options", ["soft", "hard"])
def test_a_laptop_mounts_on_demand(capsys: pytest.CaptureFixture[str], options: str) -> None:
    assert main(["advise", "--link", "wifi", "-o", options, "--json"]) == 0
    advised = json.loads(capsys.readouterr().out)["advised_options"].split(",")
    assert set(advised) == {
        "hard", "nofail",
        "x-systemd.automount", "x-systemd.idle-timeout=10min", "x-systemd.mount-timeout=30s",
    }  # fmt: skip


def test_a_server_without_an_address_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "nosuch.invalid:/x"]) == 0
    out = capsys.readouterr().out
    assert "No advice yet: “nosuch.invalid” has no address." in out
    assert "Nothing to change" not in out
