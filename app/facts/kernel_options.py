"""Which mount options the running kernel knows, by its own word.

A release says less: distributors bring options to older kernels of theirs.
"""

from __future__ import annotations

import sys

import msgspec

from advisor.catalogue import Option, catalogue
from app.process import run
from resources.decoding import from_json

#: Python takes this long to start on a busy machine at most; the kernel answers at once, or loads its module.
_DEADLINE_S = 10.0
#: Options that the kernel takes as flags of mount(2), not as options of NFS.
_SCOPES = frozenset({"client", "superblock"})

_answers: dict[tuple[tuple[str, str], ...], dict[str, bool]] = {}


def newer_options(release: str) -> dict[str, bool]:
    """Return the options that came with a later kernel than this release, and whether the kernel has them.

    A value that is younger than its option stands for itself, as its word: softerr, rdirplus=force.

    What it does not tell is left out: where user namespaces are forbidden an ordinary user learns nothing. An
    answer is kept for the life of this process; where there was none, the next call asks again.

    Args:
        release: of the running kernel.
    """
    questions: dict[str, tuple[str, str]] = {}
    for option in catalogue():
        if option.scope not in _SCOPES:
            continue
        if option.newer_than(release):
            questions[option.name] = _question(option)
        for value in option.newer_values(release):
            word = option.word_for(value) or f"{option.name}={value}"
            name, _, text = word.partition("=")
            questions[word] = (name, text)
    if not questions:
        return {}
    known = _known(tuple(questions.values()))
    return {word: known[name] for word, (name, _) in questions.items() if name in known}


def _question(option: Option) -> tuple[str, str]:
    """Return the option's name and a value that it takes, "" for a flag."""
    if not option.takes_value:
        return option.name, ""
    return option.name, option.values[0] if option.values else "1"


def _known(questions: tuple[tuple[str, str], ...]) -> dict[str, bool]:
    if questions not in _answers:
        answer = _ask(questions)
        if answer is None:
            return {}
        _answers[questions] = answer
    return _answers[questions]


def _ask(questions: tuple[tuple[str, str], ...]) -> dict[str, bool] | None:
    """Return what a child learns of the kernel, {} if it may not ask; None if it does not end in time."""
    argv = [sys.executable, "-P", "-m", "app.kernel.fsconfig"]
    try:
        outcome = run(argv, timeout=_DEADLINE_S, input_data=msgspec.json.encode(questions))
        if outcome.timed_out:
            return None
        return from_json(outcome.stdout.encode(), dict[str, bool]) if outcome.ok else {}
    except (OSError, msgspec.DecodeError):
        return None
