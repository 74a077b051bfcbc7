"""The command "lint" on files and option strings."""

import io
import json
import sys
from pathlib import Path

import pytest

from advisor.dialects import MountSpec, autofs
from advisor.facts import ClientFacts, Facts, PrerequisiteFacts
from app.cli import lint as command
from app.cli.main import main
from app.kernel import fstab
from app.mounts.model import Active, Mount, MountTable

CLIENT = ClientFacts(hostname="h", kernel="6.1.0", udp=False, mount_nfs=True)


def replicas(shares: str) -> str:
    return (
        f"Line 1 of auto.x: the servers of “{shares}” hold copies, and what is written reaches one of them "
        "only. Mount copies read-only: -ro."
    )


ZOO = sorted((Path(__file__).parents[2] / "data" / "fstab").iterdir())


def mounted(point: str, share: str, nconnect: int, options: str = "rw,vers=4.2") -> Mount:
    active = Active(mount_id=1, device="0:50", share=share, fstype="nfs4", options=options, nconnect=nconnect)
    return Mount(mount_point=point, share=share, state="mounted", active=active)


@pytest.fixture(autouse=True)
def this_computer(monkeypatch: pytest.MonkeyPatch) -> list[Mount]:
    mounts: list[Mount] = []
    monkeypatch.setattr(command, "client_facts", lambda: CLIENT)
    monkeypatch.setattr(command, "prerequisite_facts", PrerequisiteFacts)
    monkeypatch.setattr(command, "read_table", lambda: MountTable(mounts=mounts, warnings=[]))
    return mounts


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fstab"
    path.write_bytes(
        b"UUID=1 / ext4 defaults,soft 0 1\n"
        b"nas01:/a /mnt/a nfs soft,_netdev,nofail 0 0\n"
        b"broken line\n"
        b"nas01:/b /mnt/b\\040c nfs intr,_netdev,nofail 0 0\n"
        b"nas01:/d /mnt/d nfs _netdev,nofail 0 0\n"
    )
    return path


def test_an_fstab_is_checked(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(file)]) == 1
    text = capsys.readouterr().out
    assert f"error: {file}:2: /mnt/a: A soft mount" in text
    assert "Fix: set hard → hard,_netdev,nofail" in text
    assert "Source: " in text
    assert "Why: " in text
    assert f"warning: Line 3 of {file} is ignored by mount: it has fewer than three fields." in text
    assert f"info: {file}:4: /mnt/b c: “intr”" in text
    assert f"3 NFS entries of {file}: 1 error, 1 note." in text
    assert ":1: " not in text
    assert ":5: " not in text
    assert "✖" not in text


def test_a_terminal_has_icons() -> None:
    text = command.report_text(command.lint_options("soft,intr,timeo=7,udp", None), icons=True)
    for words in ("✖ error: ", "⚠ warning: ", "• info: "):
        assert words in text


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["soft"], 1),
        (["_netdev,nofail"], 0),
        (["noac"], 0),
        (["x-systemd.requires=/mnt/a,ro"], 0),
        (["ro,soft", "--options"], 0),
        (["hard", "--no-facts"], 0),
        ([",".join(["ro"] * 500)], 0),
    ],
)
def test_options_are_checked_as_of_a_mount_command(argv: list[str], code: int) -> None:
    assert main(["lint", *argv]) == code


def test_a_file_in_this_directory_needs_no_slash(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(file.parent)
    assert main(["lint", "fstab"]) == 1
    assert "fstab:2:" in capsys.readouterr().out
    assert main(["lint", "fstab", "--options"]) == 0
    assert "warning: The option “fstab” is not known to this program." in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["/no/such/fstab"], ["hard", "--file"], ["/"]])
def test_a_file_that_cannot_be_read_is_wrong_usage(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", *argv]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_standard_input_is_read_as_a_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert main(["lint", "-"]) == 1
    assert "standard input:2: /mnt/a:" in capsys.readouterr().out


def test_json_has_the_findings_with_their_fixes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(file), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["file"] == str(file)
    assert len(report["warnings"]) == 1
    assert [entry["line"] for entry in report["entries"]] == [2, 4, 5]
    finding = report["entries"][0]["findings"][0]
    assert (finding["rule"], finding["severity"]) == ("soft-rw", "error")
    assert finding["fix"] == {"remove": [], "set": ["hard"]}


def test_facts_of_this_computer_count_except_with_no_facts(
    this_computer: list[Mount], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    this_computer.append(mounted("/mnt/other", "nas01:/other", 2))
    path = tmp_path / "fstab"
    path.write_text(
        "nas01:/a /mnt/a nfs nconnect=4,_netdev,nofail\nnas02:/a /mnt/b nfs nconnect=4,_netdev,nofail\n"
    )
    main(["lint", str(path), "--json"])
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert [[finding["rule"] for finding in entry["findings"]] for entry in entries] == [
        ["nconnect-taken"],
        [],
    ]
    main(["lint", str(path), "--json", "--no-facts"])
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert [entry["findings"] for entry in entries] == [[], []]


def test_a_mount_at_the_same_mount_point_does_not_count(this_computer: list[Mount]) -> None:
    this_computer.append(mounted("/mnt/a", "nas01:/a", 1))
    raw = b"nas01:/a /mnt/a nfs nconnect=4,_netdev,nofail\n"
    assert not command.lint_file("f", raw, Facts(client=CLIENT), this_computer).entries[0].findings


def test_a_server_is_also_known_by_its_address() -> None:
    live = mounted("/mnt/other", "nas01:/other", 2, "rw,vers=4.2,addr=192.0.2.7")
    raw = b"192.0.2.7:/a /mnt/a nfs nconnect=4,_netdev,nofail\n"
    findings = command.lint_file("f", raw, Facts(client=CLIENT), [live]).entries[0].findings
    assert [finding.rule for finding in findings] == ["nconnect-taken"]


def test_a_file_that_is_much_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_MAX_BYTES", 10)
    path = tmp_path / "big"
    path.write_bytes(b"#" * 11)
    assert main(["lint", str(path)]) == 2
    assert "too long" in capsys.readouterr().err


def test_the_lab_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["lint", "hard", "--lab", "gigabit"])
    assert caught.value.code == 2
    assert "remove --lab" in capsys.readouterr().err


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.name)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_every_sample_file_is_read(path: Path, form: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(path), *form]) in {0, 1}
    assert capsys.readouterr().out


def test_control_characters_are_escaped() -> None:
    raw = b"nas:/a /mnt/\\033[31m nfs soft,comment=\x1b[2J,_netdev,nofail\n"
    text = command.report_text(command.lint_file("f", raw, None, []), icons=True)
    assert "\x1b" not in text
    assert "\\x1b[31m" in text


UNIT = "[Unit]\nDescription=x\n[Mount]\nWhat=nas01:/a\nWhere=/mnt/a\nType=nfs\nOptions=soft,bg\n"


def judged(raw: str) -> tuple[list[tuple[int, str, str, list[str]]], list[str]]:
    report = command.lint_file("f", raw.encode(), Facts(client=CLIENT), [])
    entries = [(e.line, e.mount_point, e.options, [f.rule for f in e.findings]) for e in report.entries]
    return entries, report.warnings


def test_a_unit_is_checked_by_its_mount_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mnt-a.mount"
    path.write_text(UNIT)
    assert main(["lint", str(path)]) == 1
    text = capsys.readouterr().out
    assert f"error: {path}: /mnt/a: A soft mount" in text
    assert f"warning: {path}: /mnt/a: “bg” does not go with systemd units" in text
    assert f"1 NFS entry of {path}: 1 error" in text
    # Findings about fstab do not apply: a unit needs neither nofail nor _netdev.
    entries, warnings = judged(UNIT.replace("soft,bg", "ro") + "[Install]\nRequiredBy=x.target\n")
    assert entries == [(0, "/mnt/a", "ro", [])]
    assert warnings == []


def test_a_unit_of_another_file_system_is_not_checked() -> None:
    text = "[Mount]\nWhat=/dev/sdb1\nWhere=/mnt/a\nType=ext4\n"
    assert judged(text) == ([], ["f is not judged: the unit mounts the type “ext4”, not nfs."])


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("mnt-a.mount", UNIT.replace("Type=nfs\n", "Type=cifs\n"), "entry-type"),
        ("mnt-b.mount", UNIT, "unit-name"),
        ("mnt-b.automount", "[Automount]\nWhere=/mnt/a\n[Install]\nWantedBy=x.target\n", "unit-name"),
        ("mnt-a.mount", "[Mount]\nWhat=nas:/a\n", "point-missing"),
        ("mnt-a.mount", "[mount]\nWhat=nas:/a\nWhere=/mnt/a\n", "unit-section-missing"),
        ("mnt-a.mount", UNIT.replace("nas01:/a", "nas01/a"), "share-no-server"),
        ("mnt-a.mount", UNIT.replace("[Mount]", "After=remote-fs.target\n[Mount]"), "ordering-cycle"),
        ("mnt-a.mount", UNIT.replace("soft,bg", "noauto"), "words-for-fstab"),
    ],
)
def test_findings_about_other_settings_of_a_unit(name: str, text: str, rule: str) -> None:
    report = command.lint_file(f"/etc/systemd/system/{name}", text.encode(), None, [])
    assert rule in [finding.rule for finding in report.entries[0].findings]


@pytest.mark.parametrize("options", ["vers=4.2,hard", "soft", "ro,bg", "nconnect=4"])
def test_options_in_the_type_field_are_reported(options: str) -> None:
    report = command.lint_file("fstab", f"nas:/a /mnt/a {options} 0 0\n".encode(), None, [])
    assert "entry-type" in [finding.rule for entry in report.entries for finding in entry.findings]


def test_findings_about_other_fields_of_an_fstab() -> None:
    text = (
        "UUID=1 /m/f ext4 defaults 0 1\nnas /m/e nfs nofail 0 0\n//nas/b /m/b nfs nofail 0 0\n"
        "fd00::7:/p /m/c nfs nofail 0 0\nnas:/a m/rel nfs nofail 0 0\nnas:/a /m/d nfs nofail 1 2\n"
        "nas:/b /m/d/ nfs nofail 0 0\nnas:/c /m/f nfs4.1 nofail 0 0\nnas:/my share /m/g nfs nofail 0 0\n"
        "nas:/x /m/h nfs rw, hard 0 0\nceph1:/ /m/i ceph name=a 0 0\nann@box:/ /m/j fuse.sshfs ro 0 0\n"
    )
    report = command.lint_file("fstab", text.encode(), None, [])
    found = [(e.line, [f.rule for f in e.findings if f.severity != "info"]) for e in report.entries]
    assert found == [
        (2, ["share-no-server"]),
        (3, ["share-cifs"]),
        (4, ["share-ipv6"]),
        (5, ["point-relative"]),
        (6, ["fsck-pass", "dump-field"]),
        (7, ["point-twice"]),
        (8, ["entry-type", "point-twice"]),
    ]
    assert "a blank in a share or a mount point is written \\040, here “" in report.warnings[0]
    assert "(no blank can stand among the options, as in “rw, hard”)" in report.warnings[1]
    text = command.report_text(report, icons=False)
    assert "Fix: share → [fd00::7]:/p" in text
    assert "Fix: pass → 0" in text


#: Warning about an escape of fstab in a map.
OCTAL = (
    "Line 1 of auto.x: autofs has no escapes with digits, as in “\\040”: "
    "a backslash stands right before the blank."
)


@pytest.mark.parametrize(
    ("text", "rules", "warnings"),
    [
        ("data nas/x\n", ["share-no-server"], []),
        ("data -fstype=nfs3 nas:/x\n", ["entry-type"], []),
        ("data -rw nas:/a\ndata -ro nas:/b\n", ["point-twice"], []),
        ("data fstype=nfs,rw nas:/x\n", ["map-options"], []),
        ("data nas:/$USERNAME/$USER\n", [], ["Line 1 of auto.x: autofs sets no variable $USERNAME."]),
        ("data nas:/x -rw\n", [], ["Line 1 of auto.x: the options stand behind the share, not before it."]),
        ("/- auto.direct --timeout=1m\n", [], ["Line 1 of auto.x: --timeout takes whole seconds."]),
        ("/nfs /etc/auto.nfs --timout=60 -soft\n", ["soft-rw"],
         ["Line 1 of auto.x: --timout is not an option of a master map."]),
        ("/nfs /etc/auto.nfs --timeout 60 --ghost\n/h -hosts\n+auto.master\n", ["map-ghost"], []),
        ("/nfs /etc/auto.nfs browse --timeout 60\n", [], []),
        ("/nfs /etc/auto.nfs ro,timeout=60 verbose\n", [],
         ["Line 1 of auto.x: autofs passes “timeout=60” to mount: its own option is --timeout=60.",
          "Line 1 of auto.x: autofs passes “verbose” to mount: its own option is --verbose."]),
        ("/m//d auto.d\n", [], ["Line 1 of auto.x: autofs takes the two slashes in “/m//d” as they are."]),
        ("a -fstype=bind /b\n", [],
         ["Line 1 of auto.x: no share stands after “/b”. A path of this computer begins with a colon: :/b."]),
        ("a -ro / nas:/a /b /c nas:/c\n", [],
         ["Line 1 of auto.x: no share stands after “/b”. A path of this computer begins with a colon: :/b."]),
        ("a -fstype=bind :/srv/a\n", [], []),
        ("a -rw,hard / -ro nas:/a /b nas:/b\n", [], []),
        ("a -rw,ro / nas:/a\n", ["contradiction"], []),
        ("/- auto.a\n/- auto.b\n", [], []),
        ("/- auto.a\n/- auto.a\n", [], ["Line 2 of auto.x is ignored: line 1 has a map for /- already."]),
        ("/h auto.a --use-weight-only --random-multimount-selection\n", [], []),
        ("/h auto.a -t 60s\n", [], ["Line 1 of auto.x: -t takes whole seconds."]),
        ("/h auto.a --mode=999\n", [], ["Line 1 of auto.x: --mode takes octal digits, for example 0755."]),
        ("/h auto.a\n/h auto.b\n", [], ["Line 2 of auto.x is ignored: line 1 has a map for /h already."]),
        ("a/b -rw nas:/x\n", [], ["Line 1 of auto.x: the key “a/b” is neither one name nor a path from /."]),
        ("/m//d -rw nas:/x\n", [],
         ["Line 1 of auto.x: autofs takes the two slashes in “/m//d” as they are."]),
        ("d -fstype=nfs;rw nas:/x\n", ["entry-type"], []),
        ("*.d -rw nas:/x\n", [],
         ["Line 1 of auto.x: the key “*.d” is one name: * stands for every name only alone."]),
        ("d -ro one(1),two(x):/x\n", [], ["Line 1 of auto.x: “two(x):/x” is not a share."]),
        ("d -ro one(1),two(2):/x 10.0.0.5:/x [fd00::7]:/x $HOST:/x\n", [], []),
        ("d -fstype=nfs,rw :/x\n", [], ["Line 1 of auto.x: “:/x” has no server before the colon."]),
        ("d -rw nas:/my\\040files\n", [],
         [OCTAL]),
        ("d -ro one,two:/x\n", [], []),
        ("d -rw one,two:/x\n", [], [replicas("one,two:/x")]),
        ("d one:/x two:/y\n", [], [replicas("one:/x two:/y")]),
    ],
)  # fmt: skip
def test_a_file_called_auto_is_a_map(text: str, rules: list[str], warnings: list[str]) -> None:
    report = command.lint_file("/etc/auto.x", text.encode(), None, [])
    assert [f.rule for e in report.entries for f in e.findings] == rules
    assert [warning.replace("/etc/", "") for warning in report.warnings] == warnings


@pytest.mark.parametrize(
    ("name", "told"),
    [("auto.direct", True), ("auto_direct", True), ("auto.indirect", False), ("auto.x", False)],
)
def test_a_key_of_a_direct_map_is_a_path(name: str, told: bool) -> None:
    report = command.lint_file(f"/etc/{name}", b"/mnt/a -rw nas:/a\ndata -rw nas:/b\n", None, [])
    sentence = (
        f"Line 2 of /etc/{name}: the key “data” of a direct map is no path from /: it names no directory."
    )
    assert report.warnings == [sentence] * told


@pytest.mark.parametrize("name", ["auto.master", "auto_master", "auto.master.d/nas.autofs"])
def test_a_share_in_a_master_map_is_reported(name: str) -> None:
    text = "/home nas01:/home\n/- file:/etc/auto.a\n/b yp:auto.b\n/c ldap://ldap/ou=c\n"
    report = command.lint_file(f"/etc/{name}", text.encode(), None, [])
    sentence = "“nas01:/home” is a share, and a map stands here, such as /etc/auto.home."
    assert report.warnings == [f"Line 1 of /etc/{name}: {sentence}"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("Options rw,hard", "“Options rw,hard” has no equals sign."),
        ("What: nas01:/b", "“What: nas01:/b” has no equals sign."),
        ("[Install", "“[Install” is no section: the bracket is not closed."),
        ("=nas01:/a", "“=nas01:/a” has no name before the equals sign."),
    ],
)
def test_lines_that_systemd_cannot_read_are_reported(line: str, problem: str) -> None:
    text = UNIT.replace("Type=nfs\n", f"{line}\n# a comment\nType=nfs\n")
    report = command.lint_file("mnt-a.mount", text.encode(), None, [])
    assert report.warnings[0].endswith(f"is ignored by systemd: {problem}")
    report = command.lint_file("mnt-a.mount", f"Type=nfs\n\n{UNIT}".encode(), None, [])
    before = "“Type=nfs” stands before the first section."
    assert report.warnings == [f"Line 1 of mnt-a.mount is ignored by systemd: {before}"]


def test_fields_after_the_sixth_are_reported() -> None:
    text = (
        "nas:/a /mnt/a nfs ro 0 0 hard,nofail\nnas:/b /mnt/b nfs ro 0 0 # a comment\n"
        "/dev/sda1 / ext4 ro 0 1 a\n"
    )
    report = command.lint_file("fstab", text.encode(), None, [])
    assert report.warnings == ["Line 1 of fstab: mount ignores “hard,nofail” after the sixth field."]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("fs-0123456789abcdef0:/ /efs efs tls 0 0", True),
        ("fs-0123456789abcdef0:/ /efs efs tls,_netdev 0 0", False),
        ("fs-0123456789abcdef0:/ /efs efs tls,noauto 0 0", False),
        ("acct.blob.core.windows.net:/acct/c /c aznfs vers=3,nolock 0 0", True),
    ],
)
def test_a_type_with_a_helper_needs_the_word_for_the_network(line: str, *, problem: bool) -> None:
    report = command.lint_file("fstab", line.encode(), None, [])
    assert report.entries == []
    fstype = line.split()[2]
    sentence = (
        f"Line 1 of fstab: systemd takes the type {fstype} for a local one: it needs the option _netdev."
    )
    assert report.warnings == [sentence] * problem


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("_netdev,iam", "iam"),
        ("_netdev,accesspoint=fsap-0123456789abcdef0", "accesspoint"),
        ("_netdev,tls,iam,accesspoint=fsap-0123456789abcdef0", ""),
        ("_netdev", ""),
    ],
)
def test_an_access_point_and_iam_need_tls(options: str, word: str) -> None:
    report = command.lint_file("fstab", f"fs-0123456789abcdef0:/ /efs efs {options} 0 0\n".encode(), None, [])
    sentence = f"Line 1 of fstab: mount.efs takes “{word}” with the option tls only."
    assert report.warnings == ([sentence] if word else [])


@pytest.mark.parametrize(
    ("flag", "problem"),
    [
        ("-f", "with -f nothing is mounted."),
        ("--fake", "with --fake nothing is mounted."),
        ("-i", "with -i mount does not call mount.nfs, which NFS needs."),
        ("--internal-only", "with --internal-only mount does not call mount.nfs, which NFS needs."),
        ("-o rw hard", "mount needs one share and one mount point, not 3 words: “hard”, “nas:/a”, “/mnt/a”."),
    ],
)
def test_flags_that_keep_a_share_from_being_mounted_are_reported(flag: str, problem: str) -> None:
    report = command.lint_file("m.sh", f"mount {flag} -t nfs nas:/a /mnt/a\n".encode(), None, [])
    assert [one.replace(" is not judged", "") for one in report.warnings] == [f"Line 1 of m.sh: {problem}"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "mount.nfs -o ro nas:/a /mnt/a",
            "mount.nfs takes the share and the mount point first, and flags after.",
        ),
        (
            "mount.nfs4 -r nas:/a /mnt/a",
            "mount.nfs4 takes the share and the mount point first, and flags after.",
        ),
        ("mount.nfs nas:/a /mnt/a -t nfs4", "mount.nfs has no flag -t."),
        ("mount.nfs nas:/a /mnt/a -v -o ro -n", ""),
        ("/sbin/mount.nfs4 nas:/a /mnt/a -o ro,vers=4.2 -s", ""),
    ],
)
def test_flags_of_the_helper_are_checked(line: str, problem: str) -> None:
    report = command.lint_file("m.sh", f"{line}\n".encode(), None, [])
    assert report.warnings == ([f"Line 1 of m.sh: {problem}"] if problem else [])


def test_a_mount_of_all_entries_is_passed_over() -> None:
    text = "mount -a -t nfs,nfs4\nmount --all -t nfs\n"
    report = command.lint_file("m.sh", text.encode(), None, [])
    assert (report.entries, report.warnings) == ([], [])


def test_shell_variables_in_a_command_are_no_bad_values() -> None:
    text = "mount -t nfs -o vers=3,port=$PORT,mountport=${PORT},$EXTRA,ro nas:/a /mnt/a\n"
    report = command.lint_file("m.sh", text.encode(), None, [])
    assert [f.rule for f in report.entries[0].findings if f.severity != "info"] == []


@pytest.mark.parametrize(
    ("words", "split"),
    [("vers= 4.2", "vers= 4.2"), ("vers =4.2", "vers =4.2"), ("rw hard", "rw hard"), ("rw o o", "")],
)
def test_a_blank_among_the_options_is_named(words: str, split: str) -> None:
    report = command.lint_file("fstab", f"nas:/a /mnt/a nfs {words} 0 0\n".encode(), None, [])
    note = f"(no blank can stand among the options, as in “{split}”)"
    assert (note in report.warnings[0]) is bool(split)


@pytest.mark.parametrize(
    ("line", "disordered"),
    [
        ("/mnt/a nfs rw 0 0", True),
        ("nfs nas:/a /mnt/a rw 0 0", True),
        ("/mnt/a nfs4 nas:/a rw 0 0", True),
        ("UUID=1 /nfs ext4 rw 0 0", False),
        ("proc /proc proc defaults 0 0", False),
        ("nas:/a /mnt/a fuse.sshfs rw 0 0", False),
    ],
)
def test_fields_in_another_order_are_reported(line: str, *, disordered: bool) -> None:
    report = command.lint_file("fstab", f"{line}\n/dev/sda1 / ext4 rw 0 1\n".encode(), None, [])
    sentence = (
        "Line 1 of fstab: the fields of an entry are share, mount point, type and options, in this order."
    )
    assert report.warnings == [sentence] * disordered


BIND = (
    "Line 2 of fstab: /srv/www comes from /mnt/a of line 1, a share: "
    "without the option _netdev systemd takes it for a local one and makes an ordering cycle."
)
HIDDEN = "Line 2 of fstab: /mnt is mounted after /mnt/a of line 1, which lies below it: mount -a hides that."


@pytest.mark.parametrize(
    ("line", "warnings"),
    [
        ("/mnt/a/www /srv/www none bind 0 0", [BIND]),
        ("/mnt/a /srv/www none rbind,ro 0 0", [BIND]),
        ("/mnt/a/www /srv/www none bind,_netdev 0 0", []),
        ("/mnt/a/www /srv/www none bind,noauto 0 0", []),
        ("/mnt/a/www /srv/www none bind,nofail 0 0", []),
        ("/mnt/a/www /srv/www none bind,x-systemd.automount 0 0", []),
        ("/mnt/ab /srv/www none bind 0 0", []),
        ("/dev/sdb1 /mnt ext4 defaults 0 2", [HIDDEN]),
        ("/dev/sdb1 / ext4 defaults 0 1", []),
        ("/dev/sdb1 /mnt ext4 noauto 0 2", []),
        ("/dev/sdb1 /mnt/a/b ext4 defaults 0 2", []),
    ],
)
def test_other_lines_that_get_in_the_way_of_a_share_are_reported(line: str, warnings: list[str]) -> None:
    report = command.lint_file("fstab", f"nas:/a /mnt/a nfs ro 0 0\n{line}\n".encode(), None, [])
    assert report.warnings == warnings


def test_a_drop_in_of_a_unit_may_have_a_part_of_its_settings() -> None:
    name = "/etc/systemd/system/mnt-a.mount.d/time.conf"
    report = command.lint_file(name, b"[Mount]\nTimeoutSec=60\n", None, [])
    assert [finding.rule for finding in report.entries[0].findings] == []
    report = command.lint_file(name, b"[Mount]\nTimeoutsSec=60\n", None, [])
    assert [finding.rule for finding in report.entries[0].findings] == ["unit-setting"]


def test_a_file_of_the_directory_nfsmount_conf_d_is_known_by_its_name() -> None:
    report = command.lint_file("/etc/nfsmount.conf.d/a.conf", b'[ Servr "nas" ]\nHard=True\n', None, [])
    assert "Did you mean [ Server ]?" in report.warnings[0]


@pytest.mark.parametrize(
    ("name", "told"),
    [("a.conf", False), ("a.cfg", True), ("a", True), ("a.conf.bak", True)],
)
def test_a_file_that_mount_does_not_read_is_named(name: str, *, told: bool) -> None:
    path = f"/etc/nfsmount.conf.d/{name}"
    report = command.lint_file(path, b"[ NFSMount_Global_Options ]\nNfsvers=4.1\n", None, [])
    sentence = f"{path} is not read: names of files in nfsmount.conf.d end in .conf."
    assert report.warnings == [sentence] * told
    assert len(report.entries) == 1


@pytest.mark.parametrize(("name", "told"), [("a.autofs", False), ("a.conf", True), ("auto.a", True)])
def test_a_file_that_autofs_does_not_read_is_named(name: str, *, told: bool) -> None:
    path = f"/etc/auto.master.d/{name}"
    report = command.lint_file(path, b"/proj /etc/auto.proj\n", None, [])
    sentence = f"{path} is not read: names of files in auto.master.d end in .autofs."
    assert report.warnings == [sentence] * told
    assert len(report.entries) == 1


def test_the_flag_for_a_choice_among_entries_is_reported() -> None:
    text = "mount -t nfs -O vers=4.2 nas:/a /mnt/a\nmount -a -O _netdev\n"
    report = command.lint_file("m.sh", text.encode(), None, [])
    assert report.warnings == [
        "Line 1 of m.sh: -O chooses among the entries of fstab; the options of a mount stand after -o."
    ]


@pytest.mark.parametrize("item", ["hard", "noac", "actimeo=0", "timeo=50", "sec=krb5", "nolock", "proto=udp"])
def test_a_remount_with_an_option_of_nfs_is_checked(item: str) -> None:
    report = command.lint_file("m.sh", f"mount -o remount,{item} /mnt/a\n".encode(), None, [])
    assert "remount-refused" in [finding.rule for entry in report.entries for finding in entry.findings]


def test_a_remount_of_another_file_system_is_not_checked() -> None:
    text = "mount -o remount,noatime,ro /\nmount -o remount,sync,acl /home\nmount -o remount,size=2G /tmp\n"
    assert command.lint_file("m.sh", text.encode(), None, []).entries == []


def test_mount_commands_of_a_script_are_checked() -> None:
    text = (
        "#!/bin/sh\nset -e\nmkdir -p /mnt/a\n"
        "sudo mount -t nfs -o vers=3,nolock \\\n  nas01:/a /mnt/a\n"
        "mount -t cifs //nas/b /mnt/b\nmount -o remount,rsize=65536 nas01:/a /mnt/a\n"
        "/sbin/mount.nfs4 nas01/c /mnt/c -o noauto\numount /mnt/a\nmount -t nfs nas01:/a\n"
    )
    report = command.lint_file("mounts.sh", text.encode(), None, [])
    found = [(e.mount_point, [f.rule for f in e.findings if f.severity != "info"]) for e in report.entries]
    assert found == [
        ("/mnt/a", ["nolock"]),
        ("/mnt/a", ["remount-refused", "remount-both"]),
        ("/mnt/c", ["share-no-server", "words-for-fstab-in-map"]),
    ]
    assert len(report.warnings) == 1


def test_a_remount_may_name_the_mount_point_alone() -> None:
    text = "mount -o remount,vers=4.2 /mnt/data\nmount -o remount,ro /\n"
    report = command.lint_file("mounts.sh", text.encode(), None, [])
    assert [(e.line, e.mount_point, [f.rule for f in e.findings]) for e in report.entries] == [
        (1, "/mnt/data", ["remount-refused"])
    ]
    report = command.lint_file("m.sh", b"mount -t nfs -o hard, timeo=600 nas:/a /mnt/a\n", None, [])
    told = "The options end with “hard,”: no blank can stand among them. “timeo=600” is not read as one."
    assert report.warnings[0].endswith(told)


def test_nfsmount_conf_is_checked_by_section() -> None:
    text = (
        "[ NFSMount_Global_Options ]\nSoft=True\nProto=Tcp\n"
        '[ MountPoint "/mnt/a" ]\nrsize=32k\n[ Server nas ]\n'
    )
    report = command.lint_file("/etc/nfsmount.conf", text.encode(), None, [])
    assert [(e.line, e.mount_point, e.options) for e in report.entries] == [
        (2, "", "soft,proto=Tcp"),
        (5, "/mnt/a", "rsize=32768"),
    ]
    # mount.nfs 2.6: Failed to find 'Tcp' protocol, although the manual page has it in an example.
    assert {f.rule for f in report.entries[0].findings if f.severity == "error"} == {"bad-value", "soft-rw"}
    assert report.warnings == [
        'Line 6 of /etc/nfsmount.conf: The name of the section stands in quotes: [ Server "nas" ].'
    ]


def test_an_autofs_map_is_checked_by_line() -> None:
    text = (
        "# users\nalice -soft nas:/home/&\n* -fstype=nfs4,ro nas:/home/&\ncd -fstype=iso9660 :/dev/sr0\n"
        "pc -rw / nas:/ \\\n  /usr -soft nas:/usr\n$x -bg $HOST:/x\ny -bg nas:/y\nbroken\n+auto.more\n"
    )
    entries, warnings = judged(text)
    assert [entry[:3] for entry in entries] == [
        (2, "alice", "soft"), (3, "*", "ro"), (5, "pc", "rw"), (5, "pc/usr", "rw,soft"), (7, "$x", "bg"),
        (8, "y", "bg"),
    ]  # fmt: skip
    errors = {point for _, point, _, rules in entries if any("soft" in rule for rule in rules)}
    assert errors == {"alice", "pc/usr"}
    assert warnings == ["Line 9 of f names nothing that autofs can mount."]
    assert {point for _, point, _, rules in entries if "background-elsewhere" in rules} == {"$x", "y"}


def test_maps_written_by_this_program_have_no_findings() -> None:
    entry = MountSpec.make("nas:/a b", "/mnt/a b", "ro,_netdev,nofail,x-systemd.automount")
    text = autofs.write(entry).text.partition("\n\n")[2]
    assert judged(text) == ([(2, "/mnt/a b", "ro", [])], [])


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.name)
def test_an_fstab_is_not_mistaken_for_a_map_or_a_unit(path: Path) -> None:
    raw = path.read_bytes()
    report = command.lint_file("f", raw, Facts(client=CLIENT), [])
    assert [entry.line for entry in report.entries] == [
        line.number for line, _ in fstab.parse(raw).nfs_lines()
    ]


def test_a_binary_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", sys.executable]) == 2
    assert "is a binary file" in capsys.readouterr().err
