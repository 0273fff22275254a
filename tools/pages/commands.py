"""One page a top-level command, from its argparse parser.

The text is laid out here and not by argparse, whose usage lines, option columns and
colours differ between Python versions and terminal widths: a page is the same anywhere.
"""

import argparse
import textwrap
from collections.abc import Iterator

from tools.pages.markdown import sentence, table

from wayproof.cli import COMMANDS, EXIT_STATUS_HELP, build_parser

_WIDTH = 88


def bodies() -> dict[str, str]:
    """Return the page of every command, by the command's name."""
    return {name: _page(name) for name in COMMANDS}


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return a top-level command's own parser, with its arguments."""
    return _subparsers(build_parser(name))[name]


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and all below it, depth first."""
    yield parser
    for child in _subparsers(parser).values():
        yield from leaves(child)


def _page(name: str) -> str:
    sections = [f"# wayproof {name}", sentence(COMMANDS[name].summary)]
    for parser in leaves(parser_of(name)):
        sections += _section(parser, is_top=parser.prog == f"wayproof {name}")
    # argparse's epilog is one line of clauses; here each exit status gets its own.
    _, _, statuses = EXIT_STATUS_HELP.partition(": ")
    sections += ["## Exit status", "\n".join(f"- {part}" for part in statuses.split("; "))]
    return "\n\n".join(sections)


def _section(parser: argparse.ArgumentParser, *, is_top: bool) -> Iterator[str]:
    if not is_top:
        yield f"## {parser.prog}"
        yield sentence(parser.description or "")
    yield f"```text\n{usage(parser)}\n```"
    summaries = list(_summaries(parser))
    if summaries:
        yield table(["commands", "what it does"], summaries)
    for group in parser._action_groups:  # noqa: SLF001 - argparse has no public view of groups
        actions = [action for action in group._group_actions if _is_shown(action)]  # noqa: SLF001
        if not actions:
            continue
        if group.description:
            yield f"**{group.title}**: {group.description}"
        yield table(
            [group.title or "arguments", "meaning"],
            [[f"`{_invocation(action)}`", _meaning(parser, action)] for action in actions],
        )


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public view of them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return dict(action.choices)
    return {}


def _summaries(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield each command below ``parser`` with its line in ``--help``."""
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for choice in action._choices_actions:  # noqa: SLF001
                yield f"`{parser.prog} {choice.dest}`", choice.help or ""


def _is_shown(action: argparse.Action) -> bool:
    is_commands = isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
    return action.help != argparse.SUPPRESS and not is_commands


# -- one argument ---------------------------------------------------------------------


def _placeholder(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper() if action.option_strings else action.dest


def _values(action: argparse.Action) -> str:
    """Return what follows the option's name: nothing for a switch."""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    name = _placeholder(action)
    if isinstance(action.nargs, int):
        return " ".join([name] * action.nargs)
    forms = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}
    forms |= {argparse.REMAINDER: "...", argparse.PARSER: f"{name} ..."}
    return forms.get(str(action.nargs), name)


def _invocation(action: argparse.Action) -> str:
    if not action.option_strings:
        return _placeholder(action)
    return f"{', '.join(action.option_strings)} {_values(action)}".rstrip()


def _meaning(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    values = {**vars(action), "prog": parser.prog}
    text = ((action.help or "") % values).replace("<", "\\<")  # no HTML
    return f"{text} (required)" if action.option_strings and action.required else text


# -- the usage line -------------------------------------------------------------------


def usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage, as argparse words it, wrapped between arguments."""
    prog = f"usage: {parser.prog}"
    indent = " " * (len("usage: ") + 4)
    lines = [prog]
    for part in _usage_parts(parser):
        if len(lines[-1]) + 1 + len(part) > _WIDTH:
            lines.append(indent + part)
        else:
            lines[-1] += f" {part}"
    return textwrap.dedent("\n".join(lines))


def _usage_parts(parser: argparse.ArgumentParser) -> Iterator[str]:
    actions = [a for a in parser._actions if a.help != argparse.SUPPRESS]  # noqa: SLF001
    exclusive = {
        id(action): group
        for group in parser._mutually_exclusive_groups  # noqa: SLF001
        for action in group._group_actions  # noqa: SLF001
    }
    told: set[int] = set()
    for action in sorted(actions, key=lambda action: not action.option_strings):
        group = exclusive.get(id(action))
        if group is None:
            yield _optional(_bare(action), required=action.required)
        elif id(group) not in told:
            told.add(id(group))
            members = [a for a in group._group_actions if a.help != argparse.SUPPRESS]  # noqa: SLF001
            joined = " | ".join(map(_bare, members))
            yield f"({joined})" if group.required else f"[{joined}]"


def _bare(action: argparse.Action) -> str:
    if not action.option_strings:
        return _values(action)
    return f"{action.option_strings[0]} {_values(action)}".rstrip()


def _optional(text: str, *, required: bool) -> str:
    return text if required or text.startswith("[") else f"[{text}]"
