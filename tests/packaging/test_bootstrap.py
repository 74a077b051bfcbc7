"""Setting up: which packages, which interpreter, which lock files, and how often."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import bootstrap  # noqa: E402
import environments  # noqa: E402
import lock  # noqa: E402
import run_tests  # noqa: E402
import system_packages  # noqa: E402
from system_packages import Purpose, SetupError  # noqa: E402

LIBRARY = Purpose("a test", ("old-name|new-name", "other"))
EXTRA = Purpose("more", ("extra",), essential=False)


def test_lock_files_belong_to_the_project() -> None:
    assert lock.stale() == []


def test_every_locked_package_has_a_hash() -> None:
    for path in environments.REQUIREMENTS.glob("*.txt"):
        text = path.read_text().replace("\\\n", " ")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        assert lines
        assert [line for line in lines if "==" not in line or "--hash=sha256:" not in line] == []


def test_without_qt_means_without_qt() -> None:
    assert "pyside6" not in (environments.REQUIREMENTS / "noqt.txt").read_text().lower()


def test_an_alternative_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "installed", lambda _names: {"new-name", "extra"})
    assert system_packages.missing((LIBRARY, EXTRA)) == {LIBRARY: ["other"]}


@pytest.fixture
def powerless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(system_packages, "find", lambda _program: None)
    monkeypatch.setattr(system_packages, "is_debian", lambda: True)
    monkeypatch.setattr(system_packages, "_candidate", lambda name: name != "old-name")


@pytest.mark.usefixtures("powerless")
def test_without_rights_one_line_for_an_administrator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "installed", lambda _names: set())
    with pytest.raises(SetupError, match=r"apt-get install --no-install-recommends new-name other extra$"):
        system_packages.ensure((LIBRARY, EXTRA))


@pytest.mark.usefixtures("powerless")
def test_without_rights_the_optional_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system_packages, "installed", lambda _names: {"new-name", "other"})
    assert not system_packages.ensure((LIBRARY, EXTRA))
    assert "apt-get install --no-install-recommends extra" in capsys.readouterr().err


def test_an_interpreter_that_does_not_run_is_no_interpreter(tmp_path: Path) -> None:
    shim = tmp_path / "python3.13"
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.13: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    assert environments.version_of(str(shim)) is None
    assert environments.version_of(sys.executable) == sys.version_info[:2]


def test_stamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "CACHE", tmp_path)
    assert not bootstrap.packages_ready(system_packages.TO_RUN)
    stamp = bootstrap._package_stamp(system_packages.TO_RUN)
    stamp.write_text(json.dumps(bootstrap._package_state(system_packages.TO_RUN)))
    assert bootstrap.packages_ready(system_packages.TO_RUN)
    assert not bootstrap.packages_ready(system_packages.TO_TEST)


def test_counting(tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    report.write_text('<testsuites><testsuite tests="9" failures="1" errors="2" skipped="3"/></testsuites>')
    assert str(run_tests.read_report(report)) == "3 passed, 3 failed, 3 skipped"
    assert str(run_tests.read_report(tmp_path / "none")) == "0 passed, 0 failed, 0 skipped"


def test_every_lab_test_is_in_one_group() -> None:
    for options in ([], ["--long"]):
        steps = run_tests.side_by_side(options, [], lab=True)
        steps += run_tests.speeds(options) if options else []
        paths = [word for step in steps for word in step.command if word.startswith("tests/lab/")]
        assert sorted(paths) == sorted(f"tests/lab/{path.name}" for path in ROOT.glob("tests/lab/test_*.py"))


def test_the_unit_tests_run_on_the_newest_python_and_in_the_long_version_on_all() -> None:
    assert run_tests.unit_pythons([], all_=False) == run_tests.unit_pythons([], all_=True) == [""]
    assert run_tests.unit_pythons(["3.12", "3.13"], all_=False) == ["3.13"]
    assert run_tests.unit_pythons(["3.12", "3.13"], all_=True) == ["", "3.12", "3.13"]


def test_the_files_of_a_run_that_was_killed_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_tests, "_MEMORY_BYTES", 0)
    killed = tmp_path / "mountwright-tests-killed"
    (killed / "unit").mkdir(parents=True)
    with run_tests.temporary_files(tmp_path) as first:
        assert not killed.exists()
        with run_tests.temporary_files(tmp_path) as second:
            assert first is not None
            assert first.exists()
            assert second != first
    assert list(tmp_path.iterdir()) == []


def test_what_a_test_starts_can_be_interrupted_also_from_the_background() -> None:
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "  # as a shell does after “&”
    heed = f"import sys; sys.path.insert(0, {str(ROOT / 'packaging')!r}); import run_tests; {{}}"
    ask = "import subprocess; print(subprocess.run(['grep', 'SigIgn', '/proc/self/status'], text=True, "
    ask += "capture_output=True, check=True).stdout)"
    masks = []
    for call in ("", "run_tests.heed_signals_in_children(); "):
        code = ignored + heed.format(call) + ask
        told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        masks.append(bool(int(told.split()[1], 16) & 1 << (signal.SIGINT - 1)))
    assert masks == [True, False]


@pytest.mark.parametrize(
    ("uid", "ci", "counts"),
    [
        (0, "", "0 passed, 0 failed, 0 skipped"),
        (1000, "", "0 passed, 0 failed, 1 skipped"),
        (1000, "true", "0 passed, 1 failed, 0 skipped"),
    ],
)
def test_attacks_without_root_are_skipped_aloud_and_fail_in_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], uid: int, ci: str, counts: str
) -> None:
    monkeypatch.setattr(run_tests.os, "geteuid", lambda: uid)
    monkeypatch.setenv("CI", ci)
    attacks, counted = run_tests.can_attack()
    assert (attacks, str(counted)) == (uid == 0, counts)
    assert ("ATTACKS" in capsys.readouterr().err) != attacks
    names = [step.name for step in run_tests.side_by_side([], [], lab=False, attacks=attacks)]
    assert ("attacks" in names) == attacks


@pytest.mark.parametrize("script", ["run", "test", ".ci/run", "packaging/build"])
def test_scripts(script: str) -> None:
    path = ROOT / script
    assert os.access(path, os.X_OK)
    shell = path.read_text().partition("\n")[0].removeprefix("#!")
    assert subprocess.run([shell, "-n", str(path)], check=False).returncode == 0
