"""Structure of the source code: lines of code, imports between files and directories, cycles, names.

The source text is parsed with ``ast``; no module is imported. Imports inside functions and below
``TYPE_CHECKING`` count too.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parents[2]
PACKAGES = ("advisor", "app", "resources", "ui")
#: File of words that may not be used in names, one a line; ``#`` begins a comment.
BANNED_NAMES = ROOT / "tests" / "data" / "banned_names.txt"
_IGNORED_TOKENS = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


@dataclass
class SourceFile:
    """Python file of the program.

    Attributes:
        path: path relative to the checkout.
        module: dotted name.
        code_lines: number of lines with code; blank lines, comments and docstrings are not counted.
        lines: number of all lines.
        imports: dotted names of the program's modules that it imports.
        classes: public classes at its top level.
        functions: public functions at its top level.
    """

    path: str
    module: str
    code_lines: int
    lines: int
    imports: set[str] = field(default_factory=set)
    classes: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    @property
    def package(self) -> str:
        """Dotted name of its directory."""
        return self.module if self.path.endswith("__init__.py") else self.module.rpartition(".")[0]


def read(root: Path = ROOT) -> dict[str, SourceFile]:
    """Parse all Python files of the program; return them by dotted name."""
    paths = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
    modules = {_dotted(path.relative_to(root)): path for path in paths}
    return {name: _read_file(name, path, root, modules) for name, path in modules.items()}


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components with more than one member (R. Tarjan, 1972), sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def connect(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                connect(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = []
            while not component or component[-1] != node:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(edges):
        if node not in index:
            connect(node)
    return sorted(found)


def file_edges(files: Mapping[str, SourceFile]) -> dict[str, set[str]]:
    """Return the imported modules of each file."""
    return {name: file.imports - {name} for name, file in files.items()}


def folder_edges(files: Mapping[str, SourceFile]) -> dict[str, set[str]]:
    """Return the directories that each directory imports from, without its subdirectories."""
    edges: dict[str, set[str]] = defaultdict(set)
    for file in files.values():
        edges[file.package] |= {files[name].package for name in file.imports} - {file.package}
    return dict(edges)


def single_importers(files: Mapping[str, SourceFile]) -> dict[str, str]:
    """Return the modules that only one other module imports, each with that module."""
    importers: dict[str, set[str]] = defaultdict(set)
    for name, imported in file_edges(files).items():
        for each in imported:
            importers[each].add(name)
    return {
        name: next(iter(users))
        for name, users in sorted(importers.items())
        if len(users) == 1 and not files[name].path.endswith("__init__.py")
    }


def repeated_classes(files: Mapping[str, SourceFile]) -> dict[str, list[str]]:
    """Return the public class names that occur in more than one module, with these modules."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name, file in sorted(files.items()):
        for each in file.classes:
            homes[each].append(name)
    return {name: modules for name, modules in sorted(homes.items()) if len(modules) > 1}


def banned_words(path: Path = BANNED_NAMES) -> set[str]:
    """Return the words that no name may contain as a token, from BANNED_NAMES."""
    rows = (row.partition("#")[0].strip() for row in path.read_text().splitlines())
    return {row for row in rows if row}


def banned_names(files: Mapping[str, SourceFile], banned: set[str]) -> Iterator[str]:
    """Yield the names of files, public classes and public functions that contain a banned word."""
    for name, file in sorted(files.items()):
        stem = (
            file.package.rpartition(".")[2] if file.path.endswith("__init__.py") else name.rpartition(".")[2]
        )
        for what in (stem, *file.classes, *file.functions):
            if found := banned.intersection(tokens(what)):
                yield f"{file.path}: {what} ({', '.join(sorted(found))})"


#: Files that read the output of other programs, which has no codes.
_READERS = frozenset({
    "app/helper/fstab_writer.py", "app/helper_client/mount_errors.py", "app/helper_client/polkit.py",
    "app/kernel/mountstats.py",
})  # fmt: skip
#: Attributes that hold sentences for the user.
_PROSE = frozenset({"message", "hint", "detail", "note", "sentence", "title", "reason_text", "headline"})
_SEARCHES = frozenset({
    "startswith", "endswith", "replace", "removeprefix", "removesuffix", "split", "partition", "rpartition",
    "find", "index",
})  # fmt: skip
_SENTENCE = re.compile(r"[A-Za-z]{2,} [a-z]{2,}")


def prose_in_logic(root: Path = ROOT) -> Iterator[str]:
    """Yield the places where code compares or searches a sentence instead of a code."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            name = str(path.relative_to(root))
            if name not in _READERS:
                tree = ast.parse(path.read_text(encoding="utf-8"))
                yield from (f"{name}:{line}" for line in prose_lines(tree))


def prose_lines(tree: ast.AST) -> list[int]:
    """Return the lines of comparisons and searches of sentences."""
    lines: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = [text for side in sides for text in _texts(side)]
            if any(map(_SENTENCE.search, texts)) or (texts and any(texts) and any(map(_is_prose, sides))):
                lines.append(node.lineno)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _SEARCHES
            and (
                _is_prose(node.func.value)
                or any(_SENTENCE.search(text) for arg in node.args for text in _texts(arg))
            )
        ):
            lines.append(node.lineno)
    return lines


def _is_prose(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _PROSE


def _texts(node: ast.AST) -> list[str]:
    """Return the texts of a literal: a string, or the strings of a tuple, list or set."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return [text for item in node.elts for text in _texts(item)]
    return []


def tokens(name: str) -> list[str]:
    """Split a name into its words, in lower case: ``MountOptions`` is mount, options."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _read_file(name: str, path: Path, root: Path, modules: Mapping[str, Path]) -> SourceFile:
    text = path.read_text()
    tree = ast.parse(text)
    file = SourceFile(str(path.relative_to(root)), name, _code_lines(text, tree), len(text.splitlines()))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            file.imports |= {alias.name for alias in node.names if alias.name in modules}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                file.imports |= {
                    each for each in ([inner] if inner in modules else [node.module]) if each in modules
                }
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            file.classes.append(node.name)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            file.functions.append(node.name)
    return file


def _code_lines(text: str, tree: ast.Module) -> int:
    """Count the lines with a token that is neither comment nor docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _IGNORED_TOKENS and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)
