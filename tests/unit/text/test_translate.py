"""Translation: one hook for code, Qt and data files, its template, and the pseudo-language."""

import importlib.util
import os
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text import translate
from app.text.translate import PSEUDO_LANGUAGE, gettext, install, mark, ngettext, pseudo_text
from resources import with_texts

ROOT = Path(__file__).parents[3]


def load_program() -> ModuleType:
    path = ROOT / "packaging" / "translation_template.py"
    spec = importlib.util.spec_from_file_location("translation_template", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PROGRAM = load_program()
ENTRIES = PROGRAM.entries()


@pytest.fixture
def pseudo() -> Iterator[None]:
    install(PSEUDO_LANGUAGE)
    yield
    install("en")


def placeholders(text: str) -> list[str]:
    """Return the placeholders of str.format(); a text that is no template has none."""
    try:
        return sorted(
            f"{name}!{kind}:{spec}" for _, name, spec, kind in string.Formatter().parse(text) if name
        )
    except ValueError:
        return []


def test_every_placeholder_survives_the_pseudo_language() -> None:
    assert [
        entry.text for entry in ENTRIES if placeholders(entry.text) != placeholders(pseudo_text(entry.text))
    ] == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("&Mount", ["&M"]),
        ("<b>{name}</b> is &lt; %1", ["<b>", "{name}", "</b>", "&lt;", "%1"]),
        ("one of %(choices)s, 100%%", ["%(choices)s", "%%"]),
        ("{used:speed} at {mount_point}", ["{used:speed}", "{mount_point}"]),
    ],
)
def test_tags_mnemonics_and_placeholders_are_kept(text: str, kept: list[str]) -> None:
    assert all(part in pseudo_text(text) for part in kept)


@given(st.text(alphabet=st.characters(categories=("L", "Zs")), min_size=20, max_size=200))
def test_a_pseudo_text_is_about_a_third_longer(text: str) -> None:
    if text.strip():
        assert 1.3 <= len(pseudo_text(text)) / len(text) <= 1.4


def test_plural_forms(pseudo: None) -> None:
    assert ngettext("One test", "{count} tests", 1) == pseudo_text("One test")
    assert ngettext("One test", "{count} tests", 3) == pseudo_text("{count} tests")


def test_without_a_catalogue_texts_are_english() -> None:
    install("xx")
    assert not translate.is_translated()
    assert gettext("Mount") == "Mount"
    assert gettext("") == ""
    assert mark("Mount") == "Mount"


# The template


def test_the_template_has_texts_of_code_and_data() -> None:
    texts = {entry.text for entry in ENTRIES}
    for text in (
        "{mount_point} is in use, so it was not unmounted.",  # an error
        "The kernel rounded it to {used}.",  # a message
        "&Quit",  # an action of the window
        "NFS version 2 is gone.",  # a rule
        "One setting at a time",  # a recipe
    ):
        assert text in texts
    assert "nfs(5), rsize: client and server negotiate the largest size that both support" not in texts
    plurals = {entry.text: entry.plural for entry in ENTRIES if entry.plural}
    assert plurals["One setting should change"] == "{count} settings should change"


def test_the_template_is_well_formed() -> None:
    text = PROGRAM.template(ENTRIES)
    ids = [line for line in text.splitlines() if line.startswith("msgid ")]
    assert len(ids) == len(set(ids)) > 2000
    assert text.count("\nmsgid_plural ") == text.count("\nmsgstr[1] ")


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('self.tr("Mount")', [("Mount", "")]),
        ('QCoreApplication.translate("actions", "Quit")', [("Quit", "")]),
        ('ngettext("One", "{count}", n)', [("One", "{count}")]),
        ('_("a " "b")', [("a b", "")]),
        ("tr(name)", []),
        ('parser.add_argument("-f", help="force it")', [("force it", "")]),
        ("text.translate(table)", []),
    ],
)
def test_texts_are_found_in_code(source: str, texts: list[tuple[str, str]]) -> None:
    assert list(PROGRAM.code_texts(PROGRAM.ast.parse(source))) == texts


@pytest.mark.parametrize("source", ['tr(f"{a} tests")', '_("a" + b)'])
def test_a_glued_text_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="glued"):
        list(PROGRAM.code_texts(PROGRAM.ast.parse(source)))


def test_commands_among_the_steps_of_a_rule_are_no_texts() -> None:
    steps = ["Look at the file:", "sudo sed -i s/a/b/ /etc/x", "To undo it, mount again."]
    tables = with_texts({"rule": {"how_to": steps, "source": "nfs(5)"}}, str.upper)
    assert tables["rule"]["how_to"] == [steps[0].upper(), steps[1], steps[2].upper()]
    assert tables["rule"]["source"] == "nfs(5)"


# The pseudo-language reaches everything


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["mount", "--help"], "åbšölüté påth"),  # help of the command line
        (["lint", "--options", "vers=2"], "NFS véršîöñ 2 îš göñé."),  # a rule
        (["--lab", "delay=7ms", "list"], "îš wröñg:"),  # an error
        (["experiment", "list"], "Öñé šéttîñg åt å tîmé"),  # a recipe
    ],
)
def test_the_pseudo_language_reaches_the_command_line(words: list[str], text: str, tmp_path: Path) -> None:
    environment = {**os.environ, "LANGUAGE": PSEUDO_LANGUAGE, "HOME": str(tmp_path), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ui.entry", *words],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert text in done.stdout + done.stderr
