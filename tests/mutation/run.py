"""Mutation testing of the helper's rules: does a test fail when a rule is changed?

    nice -n 19 .venv-test/bin/python -P tests/mutation/run.py             all modules; about half an hour
    nice -n 19 .venv-test/bin/python -P tests/mutation/run.py options     one of them
    ... --write                                                           and write survivors.txt anew

Each mutant is one small change of one module's syntax tree: a comparison, a constant, an element of a table,
a statement left out. It is run in a fork of this process, which has pytest loaded, against the tests of its
module until one fails. At least 90 % of the mutants must be killed; those that live are listed, with the
reason where it is known, in survivors.txt.

Why not a tool from the index: mutmut from version 3 on changes nothing outside functions, and the tables,
patterns and limits at the top of these modules are the rules. cosmic-ray changes them, and starts Python and
pytest once for each mutant, by the thousand. Either brings a dozen packages into the locked environment.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import hypothesis  # noqa: F401 - loaded once, for all forks
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).absolute().parents[2]
TESTS = "tests/unit/helper"
SURVIVORS = Path(__file__).with_name("survivors.txt")
#: Each module, and its tests in the order in which they are run: quick ones first.
MODULES = {
    "validate": ["test_validate.py", "test_fstab_text.py"],
    "options": ["test_options.py", "test_fstab_text.py"],
    "policy": ["test_mount_point_path.py", "test_entry_permission.py", "test_policy.py"],
    "mount_permission": ["test_mount_point_path.py"],
    "entry_permission": ["test_entry_permission.py"],
    "boot_options": ["test_fstab_text.py", "test_unit_text.py"],
    "unit_text": ["test_unit_text.py"],
    "fstab_text": ["test_fstab_text.py", "test_fstab_properties.py"],
    "readahead_rule": ["test_readahead_rule.py"],
}
GOAL = 0.9
#: Processor time, time and memory of one mutant, for those that loop for ever.
CPU_S, WALL_S, MEMORY = 30, 900, 4 << 30
_OTHER: dict[type, type] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}  # fmt: skip
_NO_RULES = (ast.Import, ast.ImportFrom, ast.alias, ast.arg, ast.expr_context, ast.operator, ast.cmpop)


class Mutant(NamedTuple):
    """One change of a module.

    Attributes:
        where: name of the function or class, "" for the module.
        line: number of the line.
        what: the change in words.
        tree: the whole module with it.
    """

    where: str
    line: int
    what: str
    tree: ast.Module


def mutants(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    for number, (where, node) in enumerate(places(ast.parse(source))):
        for at, (what, _change) in enumerate(changes(node)):
            tree = ast.parse(source)
            _, same = next(pair for count, pair in enumerate(places(tree)) if count == number)
            changes(same)[at][1]()
            yield Mutant(where, getattr(node, "lineno", 0), what, ast.fix_missing_locations(tree))


def places(tree: ast.AST, where: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield every node that counts, with the name of what it is in."""
    for child in ast.iter_child_nodes(tree):
        if is_no_rule(child, tree):
            continue
        name = where
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{where}.{child.name}".lstrip(".")
        yield name, child
        yield from places(child, name)


def is_no_rule(node: ast.AST, parent: ast.AST) -> bool:
    """Whether it is an annotation, an import, a docstring, or a text for people."""
    if isinstance(node, _NO_RULES):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(parent, ast.AnnAssign | ast.FunctionDef):
        return node in {getattr(parent, "annotation", None), getattr(parent, "returns", None)}
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        of_people = {"Refusal": parent.args[1:], "ValueError": parent.args, "cast": parent.args[:1]}
        return node in [
            *of_people.get(parent.func.id, []),
            *(parent.args if parent.func.id == "TypeVar" else []),
        ]
    return isinstance(parent, ast.keyword) and parent.arg in {"detail", "errors", "encoding"}


#: The words of a change, and what makes it.
Change = tuple[str, "Callable[[], object]"]


def changes(node: ast.AST) -> list[Change]:
    """Return the changes that can be made to a node."""
    found = [change for kind, of in _CHANGES.items() if isinstance(node, kind) for change in of(node)]
    if isinstance(node, ast.Raise | ast.Expr | ast.AugAssign | ast.Delete | ast.Continue):
        found.append(("left out", lambda: turn_into(node, ast.Pass())))
    return found


def of_compare(node: ast.Compare) -> Iterator[Change]:
    """Yield another operator for each."""
    for at, operator in enumerate(node.ops):
        other = _OTHER[type(operator)]

        def change(at: int = at, other: type = other) -> None:
            node.ops[at] = other()

        yield f"{type(operator).__name__} to {other.__name__}", change


def of_bool(node: ast.BoolOp) -> Iterator[Change]:
    """Yield the other operator, and each operand left out."""
    yield from of_operator(node)
    for at in range(len(node.values)):
        yield f"without operand {at + 1}", lambda at=at: node.values.pop(at)


def of_operator(node: ast.BoolOp | ast.BinOp | ast.AugAssign) -> Iterator[Change]:
    """Yield another operator."""
    other = _OTHER.get(type(node.op))
    if other is not None:
        yield f"{type(node.op).__name__} to {other.__name__}", lambda: setattr(node, "op", other())


def of_not(node: ast.UnaryOp) -> Iterator[Change]:
    """Yield what is negated."""
    if isinstance(node.op, ast.Not):
        yield "without not", lambda: turn_into(node, node.operand)


def of_constant(node: ast.Constant) -> Iterator[Change]:
    """Yield other constants."""
    for value in other_constants(node.value):
        yield f"{node.value!r} to {value!r}", lambda value=value: setattr(node, "value", value)


def of_table(node: ast.Set | ast.List | ast.Tuple) -> Iterator[Change]:
    """Yield a table of constants without each of them."""
    if len(node.elts) > 1 and all(isinstance(element, ast.Constant) for element in node.elts):
        for at, element in enumerate(node.elts):
            yield f"without {ast.unparse(element)}", lambda at=at: node.elts.pop(at)


def of_condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Change]:
    """Yield the opposite condition."""
    yield "condition reversed", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))


def of_comprehension(node: ast.comprehension) -> Iterator[Change]:
    """Yield it without each condition."""
    for at in range(len(node.ifs)):
        yield "without condition", lambda at=at: node.ifs.pop(at)


def of_return(node: ast.Return) -> Iterator[Change]:
    """Yield nothing as the result."""
    if node.value is not None and ast.unparse(node.value) not in {"None", "False"}:
        yield "returns None", lambda: setattr(node, "value", ast.Constant(None))


_CHANGES: dict[Any, Callable[[Any], Iterator[Change]]] = {
    ast.Compare: of_compare, ast.BoolOp: of_bool, ast.BinOp: of_operator, ast.AugAssign: of_operator,
    ast.UnaryOp: of_not, ast.Constant: of_constant, (ast.Set, ast.List, ast.Tuple): of_table,
    (ast.If, ast.IfExp, ast.While): of_condition, ast.comprehension: of_comprehension, ast.Return: of_return,
}  # fmt: skip


def other_constants(value: object) -> list[object]:
    """Return what a constant may become."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, str):
        return [value + "X"] if value else ["X"]
    return [value + b"X"] if isinstance(value, bytes) else []


def turn_into(node: ast.AST, other: ast.AST) -> None:
    """Let a node be a copy of another one, of whatever class."""
    other = copy.deepcopy(other)
    node.__class__ = type(other)
    lines = {field: getattr(node, field) for field in ("lineno", "col_offset") if hasattr(node, field)}
    node.__dict__.clear()
    node.__dict__.update({**lines, **other.__dict__})


class Instead(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Loads a mutant in place of its module."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self._name, self._path, self._tree = name, path, tree

    def find_spec(self, name, _path=None, _target=None):
        if name == self._name:
            return importlib.util.spec_from_file_location(name, self._path, loader=self)
        return None

    def get_source(self, _name):
        return None

    def get_filename(self, _name):
        return str(self._path)

    def exec_module(self, module):
        exec(compile(self._tree, str(self._path), "exec"), module.__dict__)


def is_killed(module: str, path: Path, tree: ast.Module, tests: list[str]) -> bool:
    """Run the tests of a mutant in a fork; return whether one failed, or it did not end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for standard in range(3):
                os.dup2(null, standard)
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(WALL_S)
            sys.meta_path.insert(0, Instead(f"app.helper.{module}", path, tree))
            # Neither the window's plugin nor the ini file, which names its settings.
            options = [
                "-x", "-q", "-c", os.devnull, f"--rootdir={ROOT}", "-p", "no:cacheprovider",
                "-p", "_hypothesis_pytestplugin", "--hypothesis-seed=0", "--import-mode=importlib",
                "-o", f"pythonpath={ROOT / 'tests' / 'common'}", "-W", "ignore::pytest.PytestWarning",
            ]  # fmt: skip
            code = int(pytest.main([*options, *(f"{TESTS}/{test}" for test in tests)]))
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] != 0


def survivors_of(module: str) -> tuple[int, list[str]]:
    """Try all mutants of a module; return how many they are, and those that live."""
    path = ROOT / "app" / "helper" / f"{module}.py"
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    if is_killed(module, path, ast.parse(source), MODULES[module]):
        raise SystemExit(f"{module}: a test fails without any change")
    alive: list[str] = []
    total = 0
    for mutant in mutants(source):
        total += 1
        if not is_killed(module, path, mutant.tree, MODULES[module]):
            code = lines[mutant.line - 1].strip() if mutant.line else ""
            alive.append(f"{module}.{mutant.where}: {mutant.what}: {code}")
            print(f"  lives: line {mutant.line}: {alive[-1]}", flush=True)
    return total, alive


def main(argv: list[str]) -> int:
    """Carry out the command line; return 1 if too many mutants live."""
    parser = argparse.ArgumentParser(description="Mutation testing of the helper's rules.")
    parser.add_argument("modules", nargs="*", choices=[*MODULES, []], help="all by default")
    parser.add_argument("--write", action="store_true", help="write survivors.txt anew")
    parser.add_argument("--count", action="store_true", help="only say how many mutants there are")
    options = parser.parse_args(argv)
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT)]
    score_of: dict[str, tuple[int, list[str]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HYPOTHESIS_STORAGE_DIRECTORY": folder, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        # The tests are compiled once, for all forks.
        sys.dont_write_bytecode, sys.pycache_prefix = False, folder
        for module in options.modules or MODULES:
            began = time.monotonic()
            if options.count:
                source = (ROOT / "app" / "helper" / f"{module}.py").read_text(encoding="utf-8")
                print(f"{module}: {sum(1 for _ in mutants(source))} mutants")
                continue
            total, alive = score_of[module] = survivors_of(module)
            score = (total - len(alive)) / total
            spent = time.monotonic() - began
            print(f"{module}: {total} mutants, {score:.1%} killed, {spent:.0f} s", flush=True)
    if options.write:
        write(score_of)
    return int(any(len(alive) > total * (1 - GOAL) for total, alive in score_of.values()))


def write(score_of: dict[str, tuple[int, list[str]]]) -> None:
    """Write the list of the survivors; what other modules have in it stays, and so do the reasons."""
    old = SURVIVORS.read_text(encoding="utf-8").splitlines() if SURVIVORS.exists() else []
    reasons = {line.partition("  # ")[0]: line for line in old}
    kept = [line for line in old if line.partition(".")[0].lstrip("# ") not in score_of and line]
    for module, (total, alive) in score_of.items():
        kept.append(f"# {module}.py: {total - len(alive)} of {total} mutants killed")
        kept += [reasons.get(line, line) for line in alive]
    SURVIVORS.write_text("\n".join(kept) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
