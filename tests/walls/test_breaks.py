"""Each wall is broken on purpose in a copy of the source, and the readers must see it."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from tools.walls import faults

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
