"""Shell completions for bash, zsh and fish, generated from the parser of the command line.

    python -P packaging/completions.py FOLDER    # mountwright, _mountwright, mountwright.fish

The program's modules must be importable. The shells complete commands, options and choices; paths where an
argument has no choices.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = "mountwright"


@dataclass(frozen=True)
class Option:
    """Option of a command.

    Attributes:
        names: spellings, with their dashes.
        text: help text, one line.
        takes: whether the option takes a value.
        choices: allowed values, empty if any value is allowed.
    """

    names: tuple[str, ...]
    text: str
    takes: bool
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """Command or subcommand.

    Attributes:
        path: names of the commands from the top, the command's own name last; empty for the program itself.
        text: help text, one line.
        options: options of the command.
        choices: allowed values of its first positional argument that has choices.
        commands: its subcommands.
    """

    path: tuple[str, ...]
    text: str
    options: list[Option] = field(default_factory=list)
    choices: tuple[str, ...] = ()
    commands: list[Command] = field(default_factory=list)

    def everything(self) -> list[Command]:
        """Return this command and all its subcommands, recursively."""
        return [self, *(each for below in self.commands for each in below.everything())]


def read(parser: argparse.ArgumentParser, path: tuple[str, ...] = (), text: str = "") -> Command:
    """Read the commands and options of an argparse parser, recursively.

    Args:
        parser: parser of the program or of a subcommand.
        path: names of the commands that lead to it.
        text: help text of the command.
    """
    command = Command(path, text)
    choices: tuple[str, ...] = ()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {each.dest: each.help or "" for each in action._choices_actions}
            command.commands.extend(
                read(each, (*path, name), _line(helps[name]))
                for name, each in action.choices.items()
                if name in helps
            )
        elif action.help == argparse.SUPPRESS:
            continue
        elif action.option_strings:
            names = tuple(sorted(action.option_strings))
            values = tuple(map(str, action.choices or ()))
            command.options.append(Option(names, _line(action.help or ""), action.nargs != 0, values))
        elif action.choices and not choices:
            choices = tuple(map(str, action.choices))
    return Command(path, text, command.options, choices, command.commands)


def _line(text: str) -> str:
    return " ".join(
        (text % {"default": "", "prog": PROGRAM} if "%(" in text else text.replace("%%", "%")).split()
    )


def _quoted(text: str) -> str:
    """Return a text in single quotation marks, without the quotation marks and backslashes in it."""
    return "'" + text.replace("\\", "").replace("'", "") + "'"


def for_bash(program: Command) -> str:
    """Return the completion script for bash."""
    words, values, valued = [], [], []
    for command in program.everything():
        path = " ".join(command.path)
        offered = [each.path[-1] for each in command.commands]
        offered += [name for option in command.options for name in option.names]
        offered += command.choices
        words.append(f"        {_quoted(path)}) words={_quoted(' '.join(offered))} ;;")
        for option in command.options:
            for name in option.names:
                if option.choices:
                    shown = _quoted(" ".join(option.choices))
                    values.append(f"        {_quoted(f'{path} {name}'.strip())}) words={shown} ;;")
                elif option.takes:
                    valued.append(f"        {_quoted(f'{path} {name}'.strip())}) ;;")
    paths = " | ".join(_quoted(" ".join(each.path)) for each in program.everything()[1:])
    new = "\n".join
    return f"""\
# bash completion for {PROGRAM}: written by packaging/completions.py
_{PROGRAM}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} path='' words='' i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${{path:+$path }}${{COMP_WORDS[i]}}" in
        {paths}) path="${{path:+$path }}${{COMP_WORDS[i]}}" ;;
        esac
    done
    COMPREPLY=()
    case "${{path:+$path }}$before" in
{new(values)}
{new(valued)}
    *)
        case "$path" in
{new(words)}
        esac ;;
    esac
    [ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _{PROGRAM} {PROGRAM}
"""


def for_zsh(program: Command) -> str:
    """Return the completion script for zsh."""
    parts = [f"#compdef {PROGRAM}", "# zsh completion: written by packaging/completions.py", ""]
    for command in reversed(program.everything()):
        name = "_".join(("", PROGRAM, *command.path))
        lines = [f"    {_zsh_option(option)}" for option in command.options]
        if command.commands:
            entries = " ".join(_quoted(f"{each.path[-1]}:{each.text}") for each in command.commands)
            cases = "\n".join(f"    {each.path[-1]}) {name}_{each.path[-1]} ;;" for each in command.commands)
            lines += ["    '1: :->command'", "    '*:: :->arguments'"]
            tail = (
                f"    command) local -a commands=({entries}); _describe command commands ;;\n"
                f'    arguments) case "$words[1]" in\n{cases}\n    esac ;;'
            )
            tail = f'    case "$state" in\n{tail}\n    esac'
        else:
            first = f"'1: :({' '.join(command.choices)})'" if command.choices else ""
            lines += [f"    {first}"] * bool(first) + ["    '*: :_files'"]
            tail = ""
        body = " \\\n    ".join(["_arguments -C", *(line.strip() for line in lines)])
        parts += [f"{name}() {{", "    local state line", f"    {body}", *([tail] if tail else []), "}", ""]
    return "\n".join([*parts, f'_{PROGRAM} "$@"', ""])


def _zsh_option(option: Option) -> str:
    text = option.text.replace("[", "(").replace("]", ")").replace(":", " -")
    value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
    names = "{" + ",".join(option.names) + "}" if len(option.names) > 1 else option.names[0]
    shown = _quoted(f"[{text}]{value if option.takes else ''}")
    return f"'*'{names}{shown}"


def for_fish(program: Command) -> str:
    """Return the completion script for fish."""
    lines = [f"# fish completion for {PROGRAM}: written by packaging/completions.py"]
    for command in program.everything():
        seen = [f"__fish_seen_subcommand_from {word}" for word in command.path]
        if command.commands:
            below = " ".join(each.path[-1] for each in command.commands)
            condition = _quoted("; and ".join([*seen, f"not __fish_seen_subcommand_from {below}"]))
            lines += [
                f"complete -c {PROGRAM} -f -n {condition} -a {each.path[-1]} -d {_quoted(each.text)}"
                for each in command.commands
            ]
        when = f" -n {_quoted('; and '.join(seen))}" if seen else ""
        if command.choices:
            lines.append(f"complete -c {PROGRAM}{when} -a {_quoted(' '.join(command.choices))}")
        for option in command.options:
            names = "".join(
                f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.names
            )
            value = " -r" if option.takes else ""
            value += f" -f -a {_quoted(' '.join(option.choices))}" if option.choices else ""
            lines.append(f"complete -c {PROGRAM}{when}{names}{value} -d {_quoted(option.text)}")
    return "\n".join(lines) + "\n"


#: Generator of each completion file, by the file name that the shell searches for.
FILES = {PROGRAM: for_bash, f"_{PROGRAM}": for_zsh, f"{PROGRAM}.fish": for_fish}


def main(arguments: list[str]) -> int:
    """Write the completion files into the directory that is the only argument; return the exit status."""
    from app.cli.parser import build_parser

    (folder,) = arguments
    program = read(build_parser())
    for name, write in FILES.items():
        (Path(folder) / name).write_text(write(program), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
