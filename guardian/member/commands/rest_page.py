"""The part of docs/rest.md that says what only the command line has: made of the commands and the routes themselves.

    command ─▶ the functions that it is made of ─▶ methods of GuardianClient ─▶ RPCs
    route   ─▶ the same                                                     ─▶ RPCs

What a command calls and no route does is listed, as are commands that ask no member; each with the reason why it is
done where the command runs, and nothing else is. Functions are read as they are compiled: a call is what is asked of a
variable of the name that clients have everywhere.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from typer.core import TyperGroup

from guardian.cli.tree import tree
from guardian.client import GuardianClient
from guardian.errors import InvalidInput
from guardian.member.web_routes import api_handlers, rpcs_answered
from guardian.security.rules.permitting import RPCS

BEGIN = "<!-- Made by `guardian docs rest --out docs/rest.md`: change commands or routes, not what is below. -->"
END = "<!-- The end of what is made. -->"
_OWN = ("guardian.cli", "guardian.rest", "guardian.planning.making")
_CLIENT, _MAKING = "guardian.client", "guardian.planning.making"
_CLIENTS = ("client", "_client", "clients", "GuardianClient")
LOCAL_RPCS: Mapping[str, str] = {
    "Planning/GetLiveFacts": "of `--spark`, whose plan is made where the command runs",
    "Tiering/AppendSegmentEvents": "`--sweep` deletes files of the remote store from where it runs, `tiering import` "
    "reads Kafka from there; both then tell it as a broker does",
    "Tiering/PullSegmentEvents": "`tiering import` compares what Guardian has with what it reads from Kafka",
}
"""RPCs that commands call and no route does, with the reason."""
LOCAL_COMMANDS: Mapping[str, str] = {
    "apply links": "reads and writes files",
    "apply schema": "prints what the command itself knows",
    "audit verify": "reads a file",
    "certs": "reads and writes keys and certificates, which leave no machine",
    "config": "prints what the command itself knows, and checks files",
    "context": "reads and writes the user's own file of contexts",
    "docs": "prints what the command itself knows",
    "local": "starts and stops processes on this machine",
    "login": "keeps a token in the user's own file",
    "logout": "deletes a token of the user's own file",
    "plan model": "reads and writes files, without a server",
    "plan score": "reads files",
    "raft snapshot restore": "writes the folder of a member that does not run",
    "raft snapshot salvage": "reads and writes the folder of a member that does not run",
    "raft snapshot verify": "reads a file",
    "server": "is a member",
    "token": "reads and writes the members' file of tokens",
    "version": "prints what the command itself knows",
}
"""Commands that ask no member, or whole groups of them, with the reason."""
_METHODS = {path.rpartition("/")[2]: path.removeprefix("/guardian.v1.") for path in RPCS if "guardian.v1" in path}


def with_block(document: str) -> str:
    """Return the page with the list as it is now. Raises InvalidInput where the page has no place for it."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InvalidInput(f"--out: a page without the place for the list; put these lines into it: {BEGIN} {END}")
    return f"{before}{BEGIN}\n\n{block()}\n{END}{after}"


def block() -> str:
    """Return the lists: each RPC that no route calls, with the commands that need it, and commands that ask no member.
    Raises KeyError where nothing says why."""
    of_commands = calls_of_commands()
    found = lacking(of_commands, calls_of_routes())
    rows = "".join(
        f"| `{rpc}` | {', '.join(f'`{name}`' for name in names)} | {LOCAL_RPCS[rpc]} |\n"
        for rpc, names in found.items()
    )
    local: dict[str, str] = {name: LOCAL_COMMANDS[name] for name in local_groups(of_commands)}
    others = "".join(f"| `{name}` | {why} |\n" for name, why in local.items())
    return (
        f"| RPC | commands | why |\n|---|---|---|\n{rows}\n| commands that ask no member | why |\n|---|---|\n{others}"
    )


def local_groups(of_commands: Mapping[str, Collection[str]]) -> list[str]:
    """Return by which entry of LOCAL_COMMANDS each command is local that calls nothing: its own name, or its group's;
    of one that none is about, its name. Pure."""
    found = {
        next((entry for entry in (name, name.partition(" ")[0]) if entry in LOCAL_COMMANDS), name)
        for name, rpcs in of_commands.items()
        if not rpcs
    }
    return sorted(found)


def lacking(of_commands: Mapping[str, Collection[str]], of_routes: Collection[str]) -> dict[str, list[str]]:
    """Return the RPCs that a command calls and no route, with these commands, all in order. Pure."""
    found: dict[str, list[str]] = {}
    for name, rpcs in sorted(of_commands.items()):
        for rpc in rpcs:
            if rpc not in of_routes:
                found.setdefault(rpc, []).append(name)
    return dict(sorted(found.items()))


def calls_of_commands() -> dict[str, frozenset[str]]:
    """Return the RPCs that each command calls, by its words."""
    from typer.main import get_command

    return {name: rpcs_of(command.callback) for name, command in _commands(get_command(tree()))}


def calls_of_routes() -> frozenset[str]:
    """Return the RPCs that the routes of /api/v1 call."""
    return rpcs_answered().union(*map(rpcs_of, api_handlers()))


def rpcs_of(function: Callable[..., Any]) -> frozenset[str]:
    """Return the RPCs that a function calls, by itself or by those that it is made of."""
    methods = _rpcs_of_client()
    return frozenset(rpc for each in _made_of(function) for name in _called(each) for rpc in methods.get(name, ()))


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if command.hidden:
        return
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from _commands(child, (*path, name))
    else:
        yield " ".join(path), command


@cache
def _rpcs_of_client() -> dict[str, frozenset[str]]:
    """Return the RPCs of each method of the client; one calls others by their names."""
    public = {
        name: each for name in dir(GuardianClient) if isinstance(each := getattr(GuardianClient, name), FunctionType)
    }
    used = {name: set(_names(each.__code__)) & _METHODS.keys() for name, each in public.items()}
    own = {name: {*_asked_of(each.__code__, ("self",))} & public.keys() for name, each in public.items()}
    while True:
        more = {name: names.union(*(used[each] for each in own[name])) for name, names in used.items()}
        if more == used:
            break
        used = more
    found = {name: frozenset(_METHODS[each] for each in names) for name, names in used.items()}
    return {name: rpcs for name, rpcs in found.items() if rpcs and not name.startswith("_")}


def _made_of(function: Callable[..., Any]) -> Iterator[FunctionType]:
    """Yield itself, functions of commands and routes that it calls, at any depth, and the client's that it holds."""
    waiting: list[tuple[Any, Any]] = [(function, None)]  # with the class that a method is of
    seen: set[int] = set()
    while waiting:
        each, holder = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, FunctionType):
            yield each
            waiting += _used_by(each, holder)
        elif isinstance(each, type):
            functions = [getattr(value, "__func__", value) for value in vars(each).values()]
            waiting += [(value, each) for value in functions if isinstance(value, FunctionType)]


def _used_by(function: FunctionType, holder: Any) -> Iterator[tuple[Any, Any]]:
    if function.__module__.startswith(_CLIENT):
        return
    names = set(_names(function.__code__))
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    used = [function.__globals__.get(name) for name in names]
    modules = [each for each in used if isinstance(each, ModuleType) and ".commands" in each.__name__]
    yield from ((value, None) for value in used if _is_own(value))
    yield from ((value, None) for each in modules for name in names if _is_own(value := getattr(each, name, None)))
    yield from ((cell, None) for cell in cells if isinstance(cell, FunctionType) or _is_own(cell))
    for kind in (holder, *(type(cell) for cell in cells)):
        if _is_own(kind):
            yield from ((getattr(kind, name), kind) for name in names if hasattr(kind, name))


def _is_own(value: object) -> bool:
    module = getattr(value, "__module__", None) or ""
    return isinstance(value, FunctionType | type) and (module.startswith(_OWN) or ".commands" in module)


def _called(function: FunctionType) -> Iterator[str]:
    """Yield the client's methods that a function calls or hands on; those that stand for one are it."""
    if function.__module__.startswith((_CLIENT, _MAKING)):
        yield function.__name__
    else:
        is_route = function.__module__.startswith("guardian.rest")
        yield from _asked_of(function.__code__, _CLIENTS, of_what_is_made=is_route)


def _asked_of(code: CodeType, names: Collection[str], *, of_what_is_made: bool = False) -> Iterator[str]:
    """Yield what is asked of variables of these names, and of what a call has just made where that counts too."""
    before: dis.Instruction | None = None
    for each in dis.get_instructions(code):
        is_asked = before is not None and (before.argval in names or (of_what_is_made and before.opname == "CALL"))
        if is_asked and each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            yield str(each.argval)
        before = each
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _asked_of(constant, names, of_what_is_made=of_what_is_made)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
