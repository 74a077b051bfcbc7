"""Template for translations: collects all texts for people from the code and from the data files.

    python3 packaging/translation_template.py          # writes resources/i18n/mountwright.pot

A translator copies it to resources/i18n/LANGUAGE.po, and msgfmt(1) compiles that to
resources/i18n/LANGUAGE/LC_MESSAGES/mountwright.mo.

The code is parsed with ``ast``. Babel would need an extractor of its own for the TOML data, and xgettext(1)
does not know Qt's translate(), so this module needs no dependency instead.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).absolute().parents[1]
sys.path.insert(0, str(ROOT))

from resources import with_texts  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPLATE = ROOT / "resources" / "i18n" / "mountwright.pot"
PACKAGES = ("advisor", "app", "ui")
#: Names of functions whose first argument is a text.
_TEXT_FIRST = frozenset({"_", "gettext", "mark", "tr"})
#: Keywords of argparse that are texts, in app/cli.
_HELP_KEYWORDS = frozenset({"help", "description"})
_HEADER = """msgid ""
msgstr ""
"Project-Id-Version: mountwright\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"
"""


class Entry(NamedTuple):
    """A text to translate.

    Attributes:
        text: English text, the singular one if it has a plural form.
        plural: plural form, "" for none.
        file: file that it is in.
    """

    text: str
    plural: str
    file: str


def entries(root: Path = ROOT) -> list[Entry]:
    """Return all texts, in the order of the files."""
    found: list[Entry] = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            name = str(path.relative_to(root))
            if not name.startswith("app/helper/"):  # the root side keeps its own words
                tree = ast.parse(path.read_text(encoding="utf-8"))
                found += [Entry(text, plural, name) for text, plural in code_texts(tree)]
    for path in sorted((root / "resources").rglob("*.toml")):
        name = str(path.relative_to(root))
        found += [Entry(text, "", name) for text in data_texts(path.read_text(encoding="utf-8"))]
    return found


def code_texts(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the texts in code with their plural forms ("" for none).

    Raises:
        ValueError: if a text is glued from parts, as by an f-string, so that it cannot be translated.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _call_texts(node)


def _call_texts(node: ast.Call) -> Iterator[tuple[str, str]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "ngettext" and len(node.args) > 1:
        yield _text(node.args[0]), _text(node.args[1])
    elif name == "translate" and len(node.args) == 2 and isinstance(node.args[0], ast.Constant):
        yield from ((text, "") for text in [_text(node.args[1])] if text)
    elif name in _TEXT_FIRST and node.args:
        yield from ((text, "") for text in [_text(node.args[0])] if text)
    elif name == "add" and len(node.args) == 2:  # a command of app/cli/parser.py
        words = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        yield from ((text, "") for text in words[1:] if isinstance(text, str))
    elif name.startswith("add_"):
        for word in node.keywords:
            if word.arg in _HELP_KEYWORDS and isinstance(word.value, ast.Constant):
                yield str(word.value.value), ""


def _text(node: ast.expr) -> str:
    """Return a literal, "" for a variable, whose text is marked where it is made."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr | ast.BinOp):
        what = ast.unparse(node)[:80]
        raise ValueError(f"line {node.lineno}: a text to translate is glued: {what}")  # noqa: TRY004
    return ""


def data_texts(source: str) -> list[str]:
    """Return the texts for people in a TOML file."""
    found: list[str] = []

    def collect(text: str) -> str:
        found.append(text)
        return text

    with_texts(tomllib.loads(source), collect)
    return found


def template(found: list[Entry]) -> str:
    """Return the template in the format of gettext, one entry for each text, with the files that have it."""
    files: dict[tuple[str, str], list[str]] = {}
    plurals = {entry.text: entry.plural for entry in found if entry.plural}
    for entry in found:
        places = files.setdefault((entry.text, plurals.get(entry.text, "")), [])
        if entry.file not in places:
            places.append(entry.file)
    parts = [_HEADER]
    for (text, plural), places in files.items():
        if text:
            comments = "".join(f"#: {place}\n" for place in places)
            flag = "#, python-brace-format\n" if "{" in text else ""
            if plural:
                form = f'msgid_plural {_quoted(plural)}\nmsgstr[0] ""\nmsgstr[1] ""\n'
            else:
                form = 'msgstr ""\n'
            parts.append(f"{comments}{flag}msgid {_quoted(text)}\n{form}")
    return "\n".join(parts)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
    return f'"{escaped}"'


def main() -> int:
    """Write the template; return the exit status."""
    found = entries()
    TEMPLATE.parent.mkdir(exist_ok=True)
    TEMPLATE.write_text(template(found), encoding="utf-8")
    print(f"{TEMPLATE}: {len({entry.text for entry in found})} texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
