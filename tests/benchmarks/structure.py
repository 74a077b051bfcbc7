"""The size and order of the source code, as figures: ``python -P tests/benchmarks/structure.py [--names]``.

What each figure means stands in tests/common/code_structure.py. With ``--names``, the files, classes and
names behind the figures are listed, too.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "common"))

import code_structure as structure


def main() -> None:
    files = structure.read(Path.cwd())
    single = structure.single_importers(files)
    repeated = structure.repeated_classes(files)
    long = {file.path: file.lines for file in files.values() if file.lines > 700}
    in_files = structure.circles(structure.file_edges(files))
    in_folders = structure.circles(structure.folder_edges(files))
    banned = list(structure.banned_names(files, structure.banned_words()))
    rows = [
        ("files", len(files)),
        ("lines", sum(file.lines for file in files.values())),
        (
            "lines of code, without blank lines, comments, docstrings",
            sum(f.code_lines for f in files.values()),
        ),
        ("files with one importer", len(single)),
        ("files over 700 lines", len(long)),
        ("circles of files", len(in_files)),
        ("circles of folders", len(in_folders)),
        ("public class names in more than one module", len(repeated)),
        ("names with a banned word", len(banned)),
    ]
    for what, figure in rows:
        print(f"{figure:8,}  {what}")
    if "--names" in sys.argv:
        for title, found in (
            ("One importer", [f"{name} <- {user}" for name, user in single.items()]),
            ("Over 700 lines", [f"{path} {lines}" for path, lines in long.items()]),
            ("Circles", [" ".join(circle) for circle in (*in_files, *in_folders)]),
            ("Classes", [f"{name}: {' '.join(modules)}" for name, modules in repeated.items()]),
            ("Banned words", banned),
        ):
            print(f"\n{title}")
            print("\n".join(f"  {row}" for row in found))


if __name__ == "__main__":
    main()
