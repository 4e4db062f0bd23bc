"""What the source may not do, wherever it is written: held by reading it, and by importing all of it."""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("domain", "projections", "replays", "adapters", "api")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

CLIENT_BUILDERS = {
    "adapters/endpoint_policy.py": "the one client for model servers, which connects only where the policy allows",
    "adapters/small_narrator/supervisor.py": "the small narrator's health check, which asks loopback only",
    "api/cli/serve.py": "the socket that `fabula serve` listens on",
}
CLIENT_LIBRARIES = {
    "aiohttp",
    "ftplib",
    "http.client",
    "imaplib",
    "nntplib",
    "poplib",
    "pycurl",
    "requests",
    "asyncssh",
    "httplib2",
    "niquests",
    "paramiko",
    "smtplib",
    "telnetlib",
    "urllib.request",
    "urllib3",
    "websockets",
    "xmlrpc.client",
}
CLIENTS = {
    *(f"httpx.{name}" for name in ("Client", "AsyncClient", "HTTPTransport", "AsyncHTTPTransport")),
    *(f"httpx.{name}" for name in ("get", "post", "put", "patch", "delete", "head", "options", "request", "stream")),
    *(f"httpcore.{name}" for name in ("ConnectionPool", "AsyncConnectionPool", "HTTPProxy", "request", "stream")),
    *(f"httpcore.{name}" for name in ("HTTPConnection", "AsyncHTTPConnection", "AnyIOBackend", "SyncBackend")),
    "asyncio.open_connection",
    "anyio.connect_tcp",
    "socket.create_connection",
    "socket.socket",
    "ssl.get_server_certificate",
}
CONNECTING = {
    "connect_ex",
    "connect_tcp",
    "create_connection",
    "open_connection",
    "sock_connect",
    "urlopen",
    "urlretrieve",
}
"""Methods that connect, whatever they are called on: a loop, a socket, a module behind another name."""
CODE_FROM_TEXT = {"eval", "exec", "compile", "__import__", "builtins.eval", "builtins.exec", "runpy.run_path"}
UNPICKLERS = {"pickle", "cPickle", "_pickle", "dill", "marshal", "shelve", "joblib", "cloudpickle", "yaml", "ruamel"}
ARCHIVES = {"zipfile", "tarfile", "shutil.unpack_archive", "zipimport", "py7zr", "rarfile"}
SHELLS = {
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell",
}


def _imports(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Every import: its line, the name that it gives here, and what that is called where it comes from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.asname or alias.name, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.lineno, alias.asname or alias.name, f"{node.module}.{alias.name}"


class _Aliases:
    """Names as they are called where they come from: `from httpx import Client as C` makes `C` httpx.Client."""

    def __init__(self, tree: ast.Module) -> None:
        self._known = {here: origin for _, here, origin in _imports(tree)}

    def origin(self, node: ast.expr) -> str:
        """The dotted name of an expression, empty when it is none."""
        dotted = _dotted(node)
        first, _, rest = dotted.partition(".")
        return ".".join(filter(None, (self._known.get(first, first), rest)))


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every name that is imported or used, with its line."""
    aliases = _Aliases(tree)
    for line, _, origin in _imports(tree):
        yield line, origin
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            yield node.lineno, aliases.origin(node)


def _built(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every name that is called or made a base: whoever is given a client may name it in an annotation."""
    aliases = _Aliases(tree)
    for node in ast.walk(tree):
        parts = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
        for part in parts:
            yield part.lineno, aliases.origin(part)


def _within(name: str, forbidden: set[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in forbidden)


def clients(tree: ast.Module) -> list[int]:
    imported = [line for line, name in _names(tree) if _within(name, CLIENT_LIBRARIES)]
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    connecting = [func.lineno for func in called if isinstance(func, ast.Attribute) and func.attr in CONNECTING]
    return imported + connecting + [line for line, name in _built(tree) if name in CLIENTS]


def code_from_text(tree: ast.Module) -> list[int]:
    return [line for line, name in _names(tree) if name in CODE_FROM_TEXT]


def unpicklers(tree: ast.Module) -> list[int]:
    return [line for line, name in _names(tree) if _within(name, UNPICKLERS)]


def archives(tree: ast.Module) -> list[int]:
    return [line for line, name in _names(tree) if _within(name, ARCHIVES)]


def shells(tree: ast.Module) -> list[int]:
    named = [line for line, name in _names(tree) if name in SHELLS]
    through_keyword = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "shell" and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
    ]
    return named + through_keyword


Rule = Callable[[ast.Module], list[int]]
RULES: tuple[Rule, ...] = (clients, code_from_text, unpicklers, archives, shells)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_source_does_nothing_of_the_kind(rule: Rule) -> None:
    allowed = CLIENT_BUILDERS if rule is clients else {}
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        if str(path.relative_to(ROOT)) not in allowed
        for line in rule(ast.parse(path.read_text(), filename=str(path)))
    }
    assert found == set()


@pytest.mark.parametrize("path", sorted(CLIENT_BUILDERS))
def test_an_exception_is_still_one(path: str) -> None:
    assert clients(ast.parse((ROOT / path).read_text()))


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (clients, "import httpx\nclient = httpx.Client()"),
        (clients, "import httpx as h\nasync def f():\n    async with h.AsyncClient(timeout=1) as c: ..."),
        (clients, "from httpx import AsyncClient as Mine\nclient = Mine()"),
        (clients, "import httpx\nhttpx.get('http://127.0.0.1')"),
        (clients, "import httpx\nclass Mine(httpx.AsyncHTTPTransport): ..."),
        (clients, "import urllib.request"),
        (clients, "from urllib import request"),
        (clients, "from http.client import HTTPConnection"),
        (clients, "def f():\n    import requests"),
        (clients, "import socket\nsocket.create_connection(('127.0.0.1', 1))"),
        (clients, "from socket import create_connection as c\nc(('127.0.0.1', 1))"),
        (clients, "import socket\ns = socket.socket()\ns.connect(('127.0.0.1', 1))"),
        (clients, "from socket import socket\nsocket().connect_ex(('127.0.0.1', 1))"),
        (clients, "import asyncio\nasync def f():\n    await asyncio.open_connection('127.0.0.1', 1)"),
        (clients, "import asyncio\nasync def f(p):\n    await asyncio.get_running_loop().create_connection(p, 'x', 1)"),
        (clients, "import urllib\nurllib.request.urlopen('http://127.0.0.1')"),
        (clients, "import urllib.request as r\nr.urlretrieve('http://127.0.0.1')"),
        (clients, "from urllib.request import urlopen"),
        (clients, "import http.client as c\nc.HTTPSConnection('127.0.0.1')"),
        (clients, "import requests.sessions"),
        (clients, "import httpcore\nhttpcore.ConnectionPool()"),
        (clients, "import ssl\nssl.get_server_certificate(('127.0.0.1', 1))"),
        (code_from_text, "eval('1')"),
        (code_from_text, "run = exec"),
        (code_from_text, "def f(x):\n    return __import__(x)"),
        (unpicklers, "import pickle"),
        (unpicklers, "from yaml import load"),
        (unpicklers, "import marshal as m"),
        (archives, "import zipfile"),
        (archives, "from tarfile import open as opened"),
        (archives, "import shutil\nshutil.unpack_archive('x')"),
        (shells, "import subprocess\nsubprocess.run('ls', shell=True)"),
        (shells, "import subprocess as s\ndef f(x):\n    s.Popen('ls', shell=x)"),
        (shells, "import os\nos.system('ls')"),
        (shells, "from os import popen\npopen('ls')"),
    ],
)
def test_the_rules_bite(rule: Rule, source: str) -> None:
    assert rule(ast.parse(source))


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (clients, "import httpx\ndef ask(client: httpx.AsyncClient) -> httpx.Response: return client.get('x')"),
        (clients, "import httpx\ntry: ...\nexcept httpx.HTTPError: ..."),
        (clients, "from urllib.parse import urlsplit\nurlsplit('x')"),
        (code_from_text, "import re\nre.compile('x')"),
        (code_from_text, "def evaluate(): ...\nevaluate()"),
        (shells, "import subprocess\nsubprocess.run(['ls'], shell=False)"),
    ],
)
def test_the_rules_let_the_rest_be(rule: Rule, source: str) -> None:
    assert rule(ast.parse(source)) == []


_IMPORT_ALL = """
import importlib, os, pkgutil, sys

done = []

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        writes = (mode and set("wax+") & set(mode)) or (flags and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if writes and path != os.devnull:
            done.append((event, str(path)))
    elif event in FORBIDDEN or event.startswith("socket.") and event not in ("socket.gethostname",):
        done.append((event, repr(arguments)[:200]))

FORBIDDEN = {
    "sqlite3.connect", "subprocess.Popen", "os.system", "os.mkdir", "os.remove", "os.rename", "os.fork", "os.exec",
    "os.posix_spawn", "shutil.rmtree", "_thread.start_new_thread", "signal.signal", "urllib.Request",
}

sys.addaudithook(watch)
names = []
for package in PACKAGES:
    names.append(package)
    found = importlib.import_module(package)
    for module in pkgutil.walk_packages(found.__path__, package + "."):
        if not module.name.endswith("__main__"):
            names.append(module.name)
            importlib.import_module(module.name)
print(len(names))
for event, what in done:
    print(event, what)
sys.exit(1 if done else 0)
"""


def test_nothing_happens_on_import() -> None:
    """Every module is imported by a process that reports what it writes, starts, or connects to."""
    program = f"PACKAGES = {PACKAGES!r}\n{_IMPORT_ALL}"
    ran = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(ran.stdout) == len([path for path in SOURCES if path.name != "__main__.py"])


def test_the_importing_process_would_report_it(tmp_path: Path) -> None:
    for statement in (
        f"open({str(tmp_path / 'x')!r}, 'w')",
        "import socket; socket.socket()",
        "import sqlite3; sqlite3.connect(':memory:')",
    ):
        program = f"PACKAGES = ()\n{_IMPORT_ALL.replace('names = []', statement)}".replace("len(names)", "0")
        ran = subprocess.run(
            [sys.executable, "-B", "-c", program], capture_output=True, text=True, check=False, timeout=60
        )
        assert ran.returncode == 1, statement
