"""What a tool is for, by its name, and which files its input names.

The lists here are the whole of what is known; any other tool is a navigation call that
selects nothing. So is an MCP tool, whatever its own name says, unless its server is one of
those known to work on files; then its file tools are what their names say. Names are
compared without their namespace (``functions.``, ``mcp__filesystem__``) and without regard
to case, ``_`` and ``-``.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from wayproof.capture.session import Named

__all__ = [
    "Purpose",
    "Tool",
    "command_of",
    "delegates",
    "folder_asked",
    "folder_of",
    "named_files",
    "tool_of",
    "tool_writes",
]

Purpose = Literal[
    "read", "matched", "listed", "search", "shell", "mutation", "plan", "delegate", "answer",
    "run", "remote", "other",
]  # fmt: skip


class Tool(msgspec.Struct, frozen=True):
    """A tool's bare name and purpose.

    ``matched`` and ``listed`` tools give files in their results; ``plan`` tools keep plans,
    ask, and find other tools; ``run`` tools run tests and builds; ``remote`` ones write
    somewhere else than to files; ``other`` tools navigate in ways that no table knows.
    """

    name: str
    purpose: Purpose


_NAMES: dict[Purpose, str] = {
    "read": """
        read readfile getfile view viewfile open openfile cat readtextfile readmanyfiles
        readmultiplefiles readlines notebookread getfilecontents fileread readdocument
        viewrange goto readmediafile viewcode viewfileoutline readfilerange viewimage
        retrievefile loadfile
    """,
    "matched": """
        grep searchfilecontent grepsearch codesearch codebasesearch searchcode searchfiles
        searchdir searchfile semanticsearch textsearch ripgrep searchtext searchcodebase
        searchforpattern greptool grepfiles findreferences symbolsearch search
    """,
    "listed": """
        glob ls listdir listdirectory listfiles find findfile findfiles findbyname filesearch
        directorytree tree listdirectorywithsizes list listcode globtool viewdirectory listdirtool
        listdirectorytool getdirectorycontents lstool
    """,
    "shell": """
        bash shell execcommand localshell localshellcall runshellcommand terminal executebash
        runcommand runinterminal runterminalcommand runterminalcmd containerexec
        executecommand commandexecution cmdrun cmd exec shellcommand bashtool powershell
        runbash unifiedexec bashsession executeshell bashcommand sh terminaltool powershelltool
        runcommandinterminal pwsh runshell shelltool executeterminalcommand runpowershell
    """,
    "mutation": """
        edit write multiedit notebookedit applypatch createfile editfile replace writefile
        insert inserteditintofile replacestringinfile multireplacestringinfile deletefile
        movefile renamefile create append strreplace writetofile replaceinfile editnotebook
        editnotebookfile filechange fileedit filewrite patch applydiff createdirectory
        copyfile removefile writetextfile edittextfile insertline undoedit
        replacefilecontent multireplacefilecontent writenewfile searchreplace searchandreplace
        applyedit smartedit
    """,
    "plan": """
        todowrite todoread updateplan exitplanmode enterplanmode askuserquestion think
        tasktracker tasktrack sequentialthinking askuser requestuserinput setmode switchmode
        newplan writetodos taskcreate taskupdate tasklist taskget planmode managetodolist
        setgoal updategoal creategoal getgoal askfollowupquestion togglemode agentthink
        reportintent updatetodos askquestions toolsearch searchtools listtools gettool
        taskoutput taskstop taskresume killshell killbash bashoutput structuredoutput teamcreate
        teamdelete sendmessage skill enterworktree exitworktree croncreate crondelete cronlist
        listmcpresources listmcpresourcestool readmcpresourcetool slashcommand writestdin
        wait waitagent closeagent sendinput resumeagent sendagentmessage listagents awaitshell
        savememory updatememory creatememory memory remembermemory storememory notifyuser
        sendusermessage presentplan plan todo updateplanstatus pushnotification monitor
        schedulewakeup artifact verifyplanexecution getterminaloutput terminallastcommand
        toolsearchtool discovertools loadtool loadtools activatetools listmcptools
        sleep remotetrigger updatetodolist getcontextremaining
        readbash writebash stopbash listbash readpowershell writepowershell stoppowershell
        listpowershell readagent fetchcopilotclidocumentation
    """,
    "run": """
        runtests runtest runtask runbuild testfailure runvscodetask createandruntask buildproject
        executetests runtestsuite installpythonpackages
    """,
    "delegate": """
        task agent spawnagent delegate runsubagent dispatchagent newtask subagent invokeagent
        delegatetoagent callagent startagent handoff agentdelegate codebaseinvestigator
        explore delegatetask workflow
    """,
    "answer": """
        finish submit finalanswer attemptcompletion complete completetask exit taskcomplete
        marktaskcomplete agentfinish
    """,
}
_PURPOSES: dict[str, Purpose] = {
    name: purpose for purpose, names in _NAMES.items() for name in names.split()
}
# One tool, several verbs: purpose by the input's ``command``.
_EDITORS = frozenset({
    "strreplaceeditor", "strreplacebasededittool", "fileeditor", "texteditor", "editanthropic",
    "editor", "strreplacebasededittool20250728", "texteditor20250124",
})  # fmt: skip
_VIEWING = frozenset({"view", "open", "read", "view_range", "cat"})
_HARNESS = re.compile(r"^(?:functions?|default_api|tools)[.:/]+", re.IGNORECASE)
_MCP = re.compile(r"^mcp(?:__(?P<server>.+?)__|_(?P<short>[a-z0-9-]+)_(?=.*_)|_+)", re.IGNORECASE)
_SPACE = re.compile(r"^(?P<space>.*)[.:/](?P<name>[^.:/]+)$", re.DOTALL)

# MCP servers whose tools work on the files of the working folder.
_FILE_SERVERS = frozenset({
    "filesystem", "fs", "files", "serena", "desktopcommander", "acp", "texteditor", "ide",
    "jetbrains", "shell", "terminal",
})  # fmt: skip
_FILE_PURPOSES = frozenset({"read", "matched", "listed", "shell", "mutation"})
# Namespaces of agents' own tools; what else stands before a dot may be anybody's.
_OWN_SPACES = frozenset({
    "container", "repobrowser", "browser", "multiagent", "multiagents", "collaboration", "agents",
    "multitooluse",
})  # fmt: skip
_CONTROL = frozenset({"plan", "delegate", "answer"})

_PATH_KEYS = (
    "file_path", "path", "filePath", "absolute_path", "abs_path", "filename", "file_name", "file",
    "target_file", "relative_path", "relative_workspace_path", "uri", "notebook_path",
    "TargetFile", "AbsolutePath", "filepath", "fileName", "File",
)  # fmt: skip
_PATHS_KEYS = ("paths", "files", "file_paths", "filePaths", "filenames", "targets", "include")
_COMMAND_KEYS = (
    "command",
    "cmd",
    "script",
    "CommandLine",
    "code",
    "commandLine",
    "keystrokes",
    "input",
)
_ASKED_KEYS = (
    "path", "dir_path", "directory", "DirectoryPath", "directory_path", "target_directory", "dir",
    "relative_workspace_path", "folder", "dirPath", "uri",
)  # fmt: skip
_FOLDER_KEYS = ("workdir", "cwd", "working_directory", "directory", "dir_path", "Cwd", "dir")
_START_KEYS = ("offset", "start_line", "startLine", "start_line_one_indexed", "line_number",
               "StartLine", "startLineNumberBaseOne", "line_start", "start")  # fmt: skip
_END_KEYS = ("end_line", "endLine", "end_line_one_indexed_inclusive", "EndLine",
             "endLineNumberBaseOne", "line_end", "end")  # fmt: skip


def _plain(name: str) -> str:
    return re.sub(r"[_\-\s]", "", name).lower()


class _Name(msgspec.Struct, frozen=True):
    """A bare name, and whether it may stand for a file tool and for a control of the agent."""

    bare: str
    files: bool = True
    controls: bool = True
    remote: bool = False


def _parsed(name: str) -> _Name:
    stripped = _HARNESS.sub("", name.strip())
    mcp = _MCP.match(stripped)
    if mcp is not None:
        bare = _plain(stripped[mcp.end() :])
        remote = _REMOTE.match(stripped[mcp.end() :]) is not None
        files = _on_files(mcp["server"] or mcp["short"] or "")
        return _Name(bare, files=files, controls=False, remote=remote)
    spaced = _SPACE.match(stripped)
    if spaced is None:
        return _Name(_plain(stripped))
    return _Name(_plain(spaced["name"]), controls=_plain(spaced["space"]) in _OWN_SPACES)


def _on_files(server: str) -> bool:
    if server.startswith("plugin_"):  # plugin_NAME_SERVER
        server = server.rsplit("_", 1)[-1]
    return _plain(server) in _FILE_SERVERS


_MAX_KNOWN = 10_000
_known: dict[str, _Name] = {}
_settled: dict[str, Tool] = {}


_REMOTE = re.compile(
    r"(?:create|update|add|post|send|delete|write|set|put|insert|merge|close|reply|submit|upload"
    r"|publish|assign|edit|remove)(?:[A-Z_-]|$)"
)


def tool_of(name: str, arguments: Mapping[str, Any] | str | None = None) -> Tool:
    """Return what the tool ``name``, called with ``arguments``, is for."""
    settled = _settled.get(name)
    if settled is not None:
        return settled
    parsed = _known.get(name)
    if parsed is None:
        parsed = _parsed(name)
        if len(_known) < _MAX_KNOWN:
            _known[name] = parsed
            if not parsed.remote and parsed.bare not in _EDITORS:  # whatever its input is
                _settled[name] = Tool(parsed.bare, _purpose(parsed, None))
    return Tool(parsed.bare, _purpose(parsed, arguments))


_delegating: dict[str, bool] = {}


def delegates(name: str) -> bool:
    """Whether the tool ``name`` hands work to another agent, whatever its input is."""
    known = _delegating.get(name)
    if known is None:
        known = tool_of(name).purpose == "delegate"
        if len(_delegating) < _MAX_KNOWN:
            _delegating[name] = known
    return known


def _purpose(name: _Name, arguments: Mapping[str, Any] | str | None) -> Purpose:
    if name.bare in _EDITORS and name.files:
        verb = arguments.get("command") if isinstance(arguments, (dict, Mapping)) else None
        if not isinstance(verb, str):
            return "other"
        return "read" if verb in _VIEWING else "mutation"
    purpose = _PURPOSES.get(name.bare, "other")
    if name.remote and not name.files:
        # Nobody knows the server, but its tool says that it writes.
        return "mutation" if _names_a_path(arguments) else "remote"
    if (purpose in _FILE_PURPOSES and not name.files) or (
        purpose in _CONTROL and not name.controls
    ):
        return "other"
    return purpose


def _names_a_path(arguments: Mapping[str, Any] | str | None) -> bool:
    return isinstance(arguments, (dict, Mapping)) and any(
        isinstance(arguments.get(key), str) for key in _PATH_KEYS
    )


def command_of(arguments: Mapping[str, Any] | str | None) -> str | list[Any] | None:
    """Return the shell command in a shell tool's input, or None where it isn't logged."""
    if isinstance(arguments, str):
        return arguments or None
    if isinstance(arguments, (dict, Mapping)):
        for key in _COMMAND_KEYS:
            value = arguments.get(key)
            if isinstance(value, (str, list)) and value:
                return value
    return None


def folder_of(arguments: Mapping[str, Any] | str | None) -> str | None:
    """Return the working directory that a shell call asks for, or None."""
    if isinstance(arguments, (dict, Mapping)):
        for key in _FOLDER_KEYS:
            value = arguments.get(key)
            if isinstance(value, str) and value:
                return value
    return None


# Tools that put content at a path, whatever was there before.
_PUTS = frozenset({
    "write", "writefile", "writetofile", "filewrite", "writetextfile", "writenewfile", "createfile",
    "create", "append", "copyfile",
})  # fmt: skip
_PATCHES = frozenset({"applypatch", "patch", "applydiff"})
_TARGET_KEYS = ("destination", "target", "dest", "new_path", "newPath", "to")
_CHANGES = {"add": "new", "create": "new", "update": "edit", "delete": "edit", "move": "edit"}


def tool_writes(tool: Tool, arguments: Mapping[str, Any] | str | None) -> Iterator[tuple[Any, str]]:
    """Yield how a writing tool writes, and the path; ``patch`` with a patch's text.

    The words are those of :data:`wayproof.capture.shell.writes.How`.
    """
    if tool.name in _PATCHES:
        yield from _patch_texts(arguments)
        return
    if not isinstance(arguments, (dict, Mapping)):
        return
    changes = arguments.get("changes")
    if isinstance(changes, (Mapping, list)):
        yield from _changed(changes)
        return
    paths = [named.path for named in named_files(arguments)]
    if tool.name in {"createdirectory", "makedirectory"}:
        how = "make"
    elif tool.name in _PUTS or (tool.name in _EDITORS and arguments.get("command") == "create"):
        how = "put"
    else:
        how = "edit"
    if tool.name == "copyfile":
        paths = [arguments[key] for key in _TARGET_KEYS if isinstance(arguments.get(key), str)]
    for path in paths:
        yield how, path


def _patch_texts(arguments: Mapping[str, Any] | str | None) -> Iterator[tuple[str, str]]:
    if isinstance(arguments, str):
        yield "patch", arguments
    elif isinstance(arguments, (dict, Mapping)):
        for value in arguments.values():
            if isinstance(value, str) and "\n" in value:
                yield "patch", value
            elif isinstance(value, list):
                yield from (("patch", one) for one in value if isinstance(one, str) and "\n" in one)


def _changed(changes: Mapping[str, Any] | list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the changes of Codex's file changes: a mapping by path, or a list of records."""
    if isinstance(changes, Mapping):
        pairs = [(path, value) for path, value in changes.items()]
    else:
        records = [one for one in changes if isinstance(one, Mapping)]
        pairs = [(str(one.get("path") or ""), one.get("kind", one.get("type"))) for one in records]
    for path, value in pairs:
        kind = value.get("type", value) if isinstance(value, Mapping) else value
        if isinstance(kind, Mapping):  # {"add": {...}}
            kind = next(iter(kind), None)
        if path:
            yield _CHANGES.get(str(kind), "edit"), path


def folder_asked(arguments: Mapping[str, Any] | str | None) -> str | None:
    """Return the folder that a listing tool was asked about, or None."""
    if isinstance(arguments, (dict, Mapping)):
        for key in _ASKED_KEYS:
            value = arguments.get(key)
            if isinstance(value, str) and value:
                return value
    return None


def _integer(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.isdigit() and len(value) < 10:
            value = int(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**31:
            return int(value)
    return None


def _lines(arguments: Mapping[str, Any]) -> tuple[int, int] | None:
    pair = arguments.get("view_range")
    if isinstance(pair, (list, tuple)) and len(pair) == 2:
        first, last = pair
        if isinstance(first, int) and isinstance(last, int) and 0 < first <= last:
            return (first, last)
        return None
    start = _integer(arguments, _START_KEYS)
    end = _integer(arguments, _END_KEYS)
    limit = _integer(arguments, ("limit", "num_lines", "max_lines"))
    if start is None and end is None and limit is None:
        return None
    first = max(1, start or 1)
    if end is None and limit is not None:
        end = first + limit - 1
    return (first, end) if end is not None and end >= first else None


def named_files(arguments: Mapping[str, Any] | str | None) -> Iterator[Named]:
    """Yield the files that a reading tool's input names."""
    if isinstance(arguments, str):
        text = arguments.strip()
        if text and "\n" not in text and not text.startswith("{"):
            yield Named("read", text)
        return
    if not isinstance(arguments, (dict, Mapping)):
        return
    lines = _lines(arguments)
    for key in _PATH_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            yield Named("read", value, lines)
            break
        if isinstance(value, list):
            yield from _each(value)
            break
    for key in _PATHS_KEYS:
        value = arguments.get(key)
        if isinstance(value, list):
            yield from _each(value)


_GLOB = re.compile(r"[*?\[]")


def _each(values: list[Any]) -> Iterator[Named]:
    for value in values:
        if isinstance(value, str) and value and not _GLOB.search(value):
            yield Named("read", value)
        elif isinstance(value, Mapping):
            yield from named_files(value)
