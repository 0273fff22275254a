"""Each wall is broken on purpose in a copy of the source, and the readers must see it."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from tools.walls import faults, read_tree

ROOT = Path(__file__).parents[2]


class Breach(NamedTuple):
    """Code that breaks a wall, where it goes, and a word that the complaint must hold."""

    file: str
    code: str
    seen: str


BREACHES = {
    "1 clock": Breach(
        "fitness/judge.py",
        "from datetime import datetime\nNOW = datetime.now()",
        "datetime.datetime.now",
    ),
    "1 clock, module alias": Breach(
        "recovery/referee.py",
        "import datetime as d\nNOW = d.datetime.now(d.UTC)",
        "datetime.datetime.now",
    ),
    "1 clock, class alias": Breach(
        "capture/packet.py",
        "from datetime import datetime as stamp\nNOW = stamp.now()",
        "datetime.datetime.now",
    ),
    "1 clock, assigned": Breach(
        "stats/intervals.py",
        "import datetime\nmoment = datetime.datetime\nNOW = moment.now()",
        "datetime.datetime.now",
    ),
    "1 clock, getattr": Breach(
        "fitness/judge.py",
        "import datetime\nNOW = getattr(datetime.datetime, 'utcnow')()",
        "datetime.datetime.utcnow",
    ),
    "1 clock, computed name": Breach(
        "fitness/judge.py",
        "import datetime\nNOW = getattr(datetime.datetime, 'n' + 'ow')()",
        "getattr(datetime.datetime, …)",
    ),
    "1 clock, time": Breach(
        "fitness/judge.py",
        "def judge():\n    from time import perf_counter as tick\n    return tick()",
        "time",
    ),
    "2 sys.exit": Breach("recovery/run.py", "import sys\nsys.exit(1)", "sys.exit"),
    "2 sys.exit, imported": Breach(
        "capture/collect.py", "from sys import exit as leave\nleave(1)", "sys.exit"
    ),
    "2 SystemExit": Breach("report/site.py", "raise SystemExit(1)", "SystemExit"),
    "2 SystemExit, alias": Breach("bundles/writer.py", "Stop = SystemExit", "SystemExit"),
    "2 os._exit": Breach("recovery/run.py", "import os\nos._exit(1)", "os._exit"),
    "3 stdout": Breach("fitness/score.py", "import sys\nsys.stdout.write('x')", "sys.stdout"),
    "3 stdout, imported": Breach(
        "fitness/score.py", "from sys import stdout as out\nout.write('x')", "sys.stdout"
    ),
    "3 stdout, getattr": Breach(
        "recovery/trial.py", "import sys\ngetattr(sys, 'std' + 'out').write('x')", "getattr(sys, …)"
    ),
    "3 stdout, device": Breach("fitness/score.py", "OUT = '/dev/stdout'", "/dev/stdout"),
    "4 uuid": Breach("recovery/run.py", "from uuid import uuid4\nID = uuid4()", "uuid"),
    "4 uuid, alias": Breach("bundles/writer.py", "import uuid as ids\nID = ids.uuid4()", "uuid"),
    "5 urandom": Breach("stats/seeded.py", "import os\nSALT = os.urandom(8)", "os.urandom"),
    "5 urandom, getattr": Breach(
        "recovery/generate.py", "import os\nSALT = getattr(os, 'urandom')(8)", "os.urandom"
    ),
    "5 random": Breach("recovery/generate.py", "import random\nN = random.random()", "random"),
    "5 numpy": Breach(
        "stats/intervals.py", "import numpy as np\nR = np.random.default_rng(0)", "numpy.random"
    ),
    "6 bundle, fitness": Breach(
        "bundles/writer.py",
        "def late():\n    from wayproof.fitness.judge import evaluate_task",
        "wayproof.bundles.writer -> wayproof.fitness.judge",
    ),
    "7 recovery, cli": Breach(
        "recovery/run.py",
        "from wayproof.cli import main",
        "wayproof.recovery.run -> wayproof.cli",
    ),
    "8 report, fitness": Breach(
        "report/site.py",
        "from importlib import import_module as load\nJUDGE = load('wayproof.fitness.judge')",
        "importlib.import_module",
    ),
    "8 report, __import__": Breach(
        "report/site.py", "JUDGE = __import__('wayproof.fitness.judge')", "__import__"
    ),
    "8 report, made name": Breach(
        "capture/registry.py",
        "JUDGE = import_module('wayproof' + '.fitness.judge')",
        "literal table",
    ),
    "8 report, suppressed": Breach(
        "report/site.py",
        "import importlib\nJ = importlib.import_module('wayproof.fitness.judge')  # noqa: TID251",
        "noqa",
    ),
    "9 certificate, planner": Breach(
        "recovery/certificate.py",
        "def certify():\n    from wayproof.recovery import planner\n    return planner",
        "wayproof.recovery.certificate -> wayproof.recovery.planner",
    ),
    "9 referee, world": Breach(
        "recovery/referee.py",
        "def judge():\n    import wayproof.recovery.world as w\n    return w",
        "wayproof.recovery.referee -> wayproof.recovery.world",
    ),
    "10 print": Breach("fitness/judge.py", "print('judged')", "print"),
    "10 print, alias": Breach("explorer/site.py", "tell = print\ntell('written')", "print"),
    "10 print, builtins": Breach("web/write.py", "import builtins\nbuiltins.print(1)", "builtins"),
    "ground, above": Breach(
        "text.py", "from wayproof.evidence import recovery_names", "wayproof.text"
    ),
    "fitness, capture": Breach(
        "fitness/judge.py", "import wayproof.capture.ids", "wayproof.fitness.judge"
    ),
    "a room without a place": Breach("util/__init__.py", "", "wayproof.util"),
}


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the source with its linters' configuration."""
    place = tmp_path_factory.mktemp("walls")
    skipped = shutil.ignore_patterns("__pycache__", "*.jsonl", "static", "templates")
    shutil.copytree(ROOT / "src", place / "src", ignore=skipped)
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def test_the_copy_itself_is_whole(copy: Path) -> None:
    """What the next tests see is the breach and nothing else."""
    assert faults(copy) == []


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_is_seen(copy: Path, name: str) -> None:
    """The complaint names the file or module, and what it did."""
    breach = BREACHES[name]
    path = copy / "src" / "wayproof" / breach.file
    before = path.read_text("utf-8") if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before or ''}\n\n{breach.code}\n", "utf-8")
    try:
        complaints = faults(copy)
    finally:
        if before is None:
            shutil.rmtree(path.parent)
        else:
            path.write_text(before, "utf-8")
    module = breach.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    told = [line for line in complaints if breach.seen in line]
    assert any(breach.file in line or module in line for line in told), complaints


HIDDEN = {
    "clock, parameter": "import datetime\ndef f(d=datetime.datetime): return d.now()",
    "clock, pair": "import datetime\na, b = datetime.datetime, 1\nN = a.now()",
    "clock, list": "import datetime\nN = [datetime.datetime][0].now()",
    "clock, loop": "import datetime\nfor d in (datetime.datetime,):\n    d.utcnow()",
    "clock, instance": "import datetime\nN = datetime.datetime.min.now()",
    "clock, type": "import datetime\nN = type(datetime.date.min).today()",
    "clock, methodcaller": "import operator as o\nN = o.methodcaller('now')",
    "clock, attrgetter": "from operator import attrgetter\nN = attrgetter('datetime.now')",
    "clock, nanoseconds": "from time import time_ns as t\nN = t()",
    "clock, star": "from time import *\nN = time()",
    "clock, e-mail": "from email.utils import localtime\nN = localtime()",
    "exit, signal": "import os, signal\nos.kill(0, signal.SIGTERM)",
    "exit, raised signal": "from signal import raise_signal as stop\nstop(2)",
    "exit, interrupt": "raise KeyboardInterrupt",
    "exit, posix": "import posix\nposix._exit(1)",
    "exit, argparse": "import argparse\nargparse.ArgumentParser().exit(1)",
    "exit, exec": "import os as o\no.execv('/bin/true', ['true'])",
    "terminal, os.write": "import os\nos.write(1, b'x')",
    "terminal, descriptor": "open(1, 'w').write('x')",
    "terminal, named descriptor": "open(file=2, mode='w').write('x')",
    "terminal, FileIO": "from io import FileIO as f\nf(1, 'w').write(b'x')",
    "terminal, stderr": "from sys import stderr as e\ne.write('x')",
    "terminal, warnings": "import warnings\nwarnings.warn('x')",
    "terminal, traceback": "import traceback\ntraceback.print_exc()",
    "terminal, rich": "from rich import print as tell\ntell(1)",
    "terminal, default": "def f(tell=print): tell(1)",
    "terminal, map": "list(map(print, 'x'))",
    "terminal, help": "help(1)",
    "chance, secrets": "from secrets import token_hex as t\nN = t()",
    "chance, system": "from random import SystemRandom as S\nN = S().random()",
    "chance, uuid1": "from uuid import uuid1 as u\nN = u()",
    "chance, name": "import tempfile\nN = tempfile.mktemp()",
    "host": "import os\nN = os.uname()",
    "user": "from pathlib import Path as P\nN = P.home()",
    "environment": "from os import environ as e\nN = e['LANG']",
    "import, loader": "__loader__.load_module('time')",
    "import, pydoc": "from pydoc import locate\nlocate('time.time')",
    "import, globals": "globals()['__builtins__']['print'](1)",
    "import, ctypes": "import ctypes\nN = ctypes.CDLL(None).time(0)",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_hidden_breach_is_seen_in_the_syntax_tree(copy: Path, name: str) -> None:
    """Whatever the banned thing is called, and wherever it is asked for."""
    path = copy / "src" / "wayproof" / "fitness" / "judge.py"
    before = path.read_text("utf-8")
    path.write_text(f"{before}\n\n{HIDDEN[name]}\n", "utf-8")
    try:
        assert {one.file for one in read_tree(copy)} == {"src/wayproof/fitness/judge.py"}
    finally:
        path.write_text(before, "utf-8")
