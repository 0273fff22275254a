"""Sealed forgeries: a bundle is edited and every digest repaired. Verify believes nothing."""

import hashlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
import rfc8785
from random_suites import random_suite

from wayproof.bundles.manifest import read_manifest, verify_digests
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.fitness_names import RESULTS_NAME, SUMMARY_NAME
from wayproof.fitness.check_bundle import check_bundle

FORGERIES = 5000
LIMIT_S = 60

Files = dict[str, bytes]


def _seal(
    folder: Path, files: Files, *changed: str, edit: Callable[[Any], None] = lambda _: None
) -> None:
    """Write changed files, and a manifest that is edited and whose digests fit them."""
    manifest = json.loads(files["manifest.json"])
    for name in changed:
        (folder / name).write_bytes(files[name])
        digest = hashlib.sha256(files[name]).hexdigest()
        manifest["files"][name] = {"bytes": len(files[name]), "sha256": digest}
    edit(manifest)
    (folder / "manifest.json").write_bytes(rfc8785.dumps(manifest) + b"\n")


def _unpack(folder: Path, files: Files) -> Path:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def _verify(folder: Path) -> None:
    manifest = read_manifest(folder)
    verify_digests(folder, manifest)
    check_bundle(folder, manifest)


# -- random forgeries -----------------------------------------------------------------

# What a result says that nothing else in a bundle settles: only the inputs can. None of them
# is a verdict, a share or a count. `forbidden_status` is here for one change alone: between
# "pass" and "unscored" (see NOT_DETECTABLE).
FREE = {
    *("command_used", "defaulted_fields", "error", "expected_artifacts", "family"),
    *("first_contact_command", "forbidden_first_route_hits", "forbidden_status"),
    *("latency_budget_ms", "literal_ids", "missing_scent_terms", "relevance", "route_role"),
    *("selected_artifacts", "selection_order", "task_id", "task_prompt", "task_sha256"),
    *("attempt", "wall_ms", "route_type"),
}
FREE_IN_SUMMARY = {"ignored_packet_count", "draft_packet_count", "draft_task_count"}


class Forgery(NamedTuple):
    """An edit: of which file, at which path, and what it made of the files."""

    file: str
    field: str
    files: Files


def _other(value: Any, random: Random) -> Any:
    """Return another value, mostly of the same kind."""
    if random.random() < 0.1:
        return random.choice((None, "(absent)", 0, 0.0, [], {}, True, "x", -1, 1e300))
    others: tuple[Any, ...]
    match value:
        case bool():
            others = (not value,)
        case int() | float():
            steps = (1, -1, 0.25, 1e-6, -value, 0.99 - value, 10)
            others = tuple(value + step for step in steps)
        case str():
            others = (value + "x", value[:-1], "pass", "fail", "unscored", "timeout")
        case list():
            extra = random.choice(("zz", "a", "", "weak_scent", 0))
            others = ([*value, extra], value[1:], value[:-1], value[::-1])
        case dict():
            others = ({**value, "zz": 1},)
        case _:
            others = (0, 1, "x", True, 0.5)
    return random.choice(others)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _paths(inner, (*path, key))
    return found


def _edit(record: Any, random: Random) -> str:
    """Change, drop or add one field somewhere; return the name of the outermost one."""
    path = random.choice(_paths(record))
    owner = record
    for key in path[:-1]:
        owner = owner[key]
    chance = random.random()
    if chance < 0.1:
        del owner[path[-1]]
    elif chance < 0.15:
        owner["release_authority"] = True
        return "release_authority"
    else:
        owner[path[-1]] = _other(owner[path[-1]], random)
    return str(path[0])


def _dumps(record: Any, random: Random) -> bytes:
    """Write a record in canonical form, mostly; else as Python would."""
    if random.random() < 0.95:
        return rfc8785.dumps(record)
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode()


def _forge(files: Files, random: Random) -> Forgery | None:
    name = random.choice([name for name in files if name != "manifest.json"])
    lines = files[name].split(b"\n")[:-1]
    if not lines:
        return Forgery(name, "lines", {**files, name: b"{}\n"})
    chance = random.random()
    at = random.randrange(len(lines))
    field = "lines"
    if chance < 0.05:
        del lines[at]
    elif chance < 0.1:
        lines.insert(at, random.choice(lines))
    elif chance < 0.13:
        random.shuffle(lines)
    else:
        record = json.loads(lines[at])
        field = _edit(record, random)
        try:
            lines[at] = _dumps(record, random)
        except (rfc8785.CanonicalizationError, ValueError):
            return None
    data = b"".join(line + b"\n" for line in lines)
    return None if data == files[name] else Forgery(name, field, {**files, name: data})


def _files(bundle: Path) -> Files:
    return {path.name: path.read_bytes() for path in bundle.iterdir()}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Files]:
    """Forty honest bundles, of either form."""
    folder = tmp_path_factory.mktemp("honest")
    found = []
    for number in range(60):
        suite = random_suite(folder, Random(f"forged/{number}"), most_tasks=6)
        if suite is not None:
            found.append(_files(suite.bundle))
    return found[:40]


def _is_listed(forgery: Forgery, before: Files) -> bool:
    """Tell whether an accepted forgery is of a kind that only the inputs can betray."""
    if forgery.file == SUMMARY_NAME:
        is_brief = RESULTS_NAME not in before
        old, new = json.loads(before[SUMMARY_NAME]), json.loads(forgery.files[SUMMARY_NAME])
        counts = {name for name in FREE_IN_SUMMARY if old.get(name) != new.get(name)}
        rest = {k: v for k, v in old.items() if k not in counts}
        if rest == {k: v for k, v in new.items() if k not in counts}:
            return bool(counts)
        # A share of more than a hundred terms isn't settled by its four decimals.
        mean = "mean_scent_coverage"
        is_near = abs((old["summary"][mean] or 0) - (new["summary"][mean] or 0)) < 1e-4
        return is_brief or (forgery.field == "summary" and is_near)
    return forgery.file == RESULTS_NAME and forgery.field in FREE


def _figures(files: Files) -> list[tuple[Any, ...]]:
    """List what a reader takes for measured: verdicts, shares, counts."""
    names = (
        *("sufficiency_status", "sufficiency_failure_kind", "failed_checks", "latency_status"),
        *("recall_at_packet", "precision_at_packet", "scent_coverage", "scent_status"),
        *("selected_artifact_count", "vacuous", "vacuous_metrics", "timed_out"),
    )
    rows = [json.loads(line) for line in files.get(RESULTS_NAME, b"").splitlines()]
    return [tuple(repr(row.get(name)) for name in names) for row in rows]


def _refusal(folder: Path) -> Exception | None:
    try:
        _verify(folder)
    except (IntegrityError, InputError) as error:
        return error
    return None


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where the system has one: thousands of small files are written."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_sealed_forgery_of_a_figure_is_accepted(
    bundles: list[Files], quick_folder: Path
) -> None:
    """5,000 edits with every digest repaired: refused, or of a kind that is listed."""
    random = Random("sealed")
    counted: Counter[str] = Counter()
    folders = [_unpack(quick_folder / str(at), files) for at, files in enumerate(bundles)]
    assert [folder for folder in folders if _refusal(folder)] == []
    started_s = time.process_time()
    while counted.total() < FORGERIES:
        at = random.randrange(len(bundles))
        forgery = _forge(bundles[at], random)
        if forgery is None:
            continue
        _seal(folders[at], forgery.files, forgery.file)
        error = _refusal(folders[at])
        if error is None:
            counted[f"accepted: {forgery.field}"] += 1
            assert _is_listed(forgery, bundles[at]), (forgery.field, forgery.files[forgery.file])
            assert _figures(forgery.files) == _figures(bundles[at])
        else:
            counted["refused"] += 1
            assert isinstance(error, IntegrityError), error
            assert "\n" not in str(error)
        for name in (forgery.file, "manifest.json"):
            (folders[at] / name).write_bytes(bundles[at][name])
    assert counted["refused"] > 0.9 * FORGERIES
    assert time.process_time() - started_s < LIMIT_S
