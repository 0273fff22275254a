"""Shards of a suite, and merging: the bytes of one process, or a refusal that names the part."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recovery.same_actions import Mixed
from wayproof.bundles.parts import Shard
from wayproof.cli import main
from wayproof.errors import InputError, IntegrityError, WayproofError
from wayproof.recovery.agents.policy import client_agent
from wayproof.recovery.parts import merge_run_parts, run_shard
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path

FILES = ("results.jsonl", "suite.jsonl", "summary.json", "traces.jsonl")
SHARDS = 5
Document = dict[str, Any]


def same(one: Path, other: Path) -> None:
    """Every file but the manifest, and all of that but what may vary."""
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    manifests = [json.loads((folder / "manifest.json").read_bytes()) for folder in (one, other)]
    for manifest in manifests:
        del manifest["varies"]
    assert manifests[0] == manifests[1]


@pytest.fixture(scope="module")
def request_() -> RunRequest:
    """The controls on twelve grids, two seeds that are not the first ones."""
    return RunRequest(suite_path("explorer-sample"), policy_seeds=(3, 1))


@pytest.fixture(scope="module")
def whole(request_: RunRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process writes."""
    out = tmp_path_factory.mktemp("whole") / "bundle"
    run_suite(request_, out)
    return out


@pytest.fixture(scope="module")
def made(request_: RunRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Five parts of it."""
    folder = tmp_path_factory.mktemp("parts")
    for number in range(1, SHARDS + 1):
        run_shard(request_, Shard(number, SHARDS), folder / f"part-{number}")
    return [folder / f"part-{number}" for number in range(1, SHARDS + 1)]


@pytest.fixture
def parts(made: list[Path], tmp_path: Path) -> list[Path]:
    """A copy of them, to be spoilt."""
    return [Path(shutil.copytree(part, tmp_path / "parts" / part.name)) for part in made]


# -- the same bytes -----------------------------------------------------------------------


def test_parts_in_any_order_are_the_run(made: list[Path], whole: Path, tmp_path: Path) -> None:
    """Byte for byte; the bundle verifies."""
    shuffled = list(made)
    random.Random(4).shuffle(shuffled)
    merge_run_parts(shuffled, tmp_path / "merged")
    same(tmp_path / "merged", whole)
    assert main(["verify", str(tmp_path / "merged")]) == 0


def test_a_shard_depends_on_nothing_else(
    request_: RunRequest, made: list[Path], tmp_path: Path
) -> None:
    """Run twice, or by two processes: the same bytes."""
    for name, processes in (("again", 1), ("by two", 2)):
        run_shard(request_._replace(processes=processes), Shard(2, SHARDS), tmp_path / name)
        for file in ("grids.jsonl", "results.jsonl", "suite.jsonl", "traces.jsonl"):
            assert (tmp_path / name / file).read_bytes() == (made[1] / file).read_bytes()


@pytest.mark.parametrize("count", [1, 12, 14])
def test_any_number_of_shards(
    count: int, request_: RunRequest, whole: Path, tmp_path: Path
) -> None:
    """One, one a grid, and more than there are grids."""
    folders = [tmp_path / f"{number}" for number in range(1, count + 1)]
    for number, folder in enumerate(folders, 1):
        run_shard(request_, Shard(number, count), folder)
    merge_run_parts(folders, tmp_path / "merged")
    same(tmp_path / "merged", whole)


def test_parts_of_a_client_agent(tmp_path: Path) -> None:
    """Its identity travels; what it leaves to read lies beside the parts."""
    request = RunRequest(suite_path("explorer-sample"), policies=(client_agent("mixed", Mixed),))
    run_suite(request, tmp_path / "whole")
    folders = [tmp_path / "one", tmp_path / "two"]
    for number, folder in enumerate(folders, 1):
        run_shard(request, Shard(number, 2), folder)
    merge_run_parts(folders, tmp_path / "merged")
    same(tmp_path / "merged", tmp_path / "whole")


def test_the_commands(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A suite made in shards, run in shards: the files of one process each."""
    recipe = ["recovery", "generate", "--seed", "9", "--grids", "7"]
    assert main([*recipe, "--out", str(tmp_path / "suite.jsonl")]) == 0
    parts = [str(tmp_path / f"s{number}") for number in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        assert main([*recipe, "--shard", f"{number}/3", "--out", part]) == 0
        assert main(["verify", part]) == 0
    assert "part 3 of 3: grids 4 to 6 of 7" in capsys.readouterr().out
    assert main(["merge", *reversed(parts), "--out", str(tmp_path / "merged.jsonl")]) == 0
    assert (tmp_path / "merged.jsonl").read_bytes() == (tmp_path / "suite.jsonl").read_bytes()
    run = ["recovery", "run", "--suite", str(tmp_path / "suite.jsonl"), "--seeds", "0"]
    assert main([*run, "--out", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out
    folders = [str(tmp_path / f"r{number}") for number in (1, 2)]
    for number, folder in enumerate(folders, 1):
        assert main([*run, "--shard", f"{number}/2", "--out", folder]) == 0
        assert main(["verify", folder]) == 0
    capsys.readouterr()
    assert main(["merge", *folders, "--out", str(tmp_path / "together")]) == 0
    assert capsys.readouterr().out == told[told.rindex("suite custom") :]
    same(tmp_path / "together", tmp_path / "run")
    for arguments, message in (
        (["merge", str(whole), "--out", "x"], "not a part"),
        (["merge", *folders, "--tasks", "t", "--out", "x"], "--tasks: belongs to parts of nav"),
        ([*run, "--shard", "3/2", "--out", "x"], "--shard: not a shard"),
        (["merge", parts[0], folders[1], "--out", "x"], "not a part; expected suite-part"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err


# -- refusals -----------------------------------------------------------------------------


def test_a_part_that_is_missing_or_there_twice(parts: list[Path], tmp_path: Path) -> None:
    """The shards are named, and so are the folders of one that stands twice."""
    with pytest.raises(InputError, match=r"not every shard once; .*found missing 2, 5"):
        merge_run_parts([parts[0], parts[2], parts[3]], tmp_path / "out")
    twice = Path(shutil.copytree(parts[1], tmp_path / "again"))
    with pytest.raises(InputError, match=f"twice 2; in .*{twice}"):
        merge_run_parts([*parts, twice], tmp_path / "out")
    with pytest.raises(InputError, match="no part given"):
        merge_run_parts([], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["grids.jsonl", "results.jsonl", "suite.jsonl", "traces.jsonl"])
def test_an_edited_part_is_named(name: str, parts: list[Path], tmp_path: Path) -> None:
    """One byte, in any of its files, of the same length."""
    path = parts[2] / name
    data = bytearray(path.read_bytes())
    at = data.index(b"1")
    data[at] = ord("2")
    path.write_bytes(data)
    with pytest.raises(IntegrityError) as caught:
        merge_run_parts(parts, tmp_path / "out")
    assert caught.value.file == str(path)
    assert not (tmp_path / "out").exists()


def other_request(request: RunRequest, name: str, folder: Path) -> RunRequest:
    if name == "suite":
        return request._replace(suite=suite_path("wfrb-v0"))
    if name == "edited suite":
        (folder / "suite.jsonl").write_bytes(b"".join(custom_lines()))
        return request._replace(suite=folder / "suite.jsonl")
    if name == "seeds":
        return request._replace(policy_seeds=(1, 2))
    return request._replace(policies=request.policies[:2])


def custom_lines() -> list[bytes]:
    from wayproof.recovery.generate import Parameters, Recipe, suite_lines

    return list(suite_lines(Recipe("explorer-other", 2, Parameters(grids=12))))


@pytest.mark.parametrize("name", ["suite", "edited suite", "seeds", "policies"])
def test_a_part_of_another_run_is_named(
    name: str, request_: RunRequest, parts: list[Path], tmp_path: Path
) -> None:
    """Another suite, other seeds, other policies."""
    foreign = tmp_path / "foreign"
    run_shard(other_request(request_, name, tmp_path), Shard(3, SHARDS), foreign)
    parts[2] = foreign
    with pytest.raises(InputError, match="parts of different") as caught:
        merge_run_parts(parts, tmp_path / "out")
    assert caught.value.file == str(foreign)


def test_a_part_of_another_count_is_named(
    request_: RunRequest, parts: list[Path], tmp_path: Path
) -> None:
    """Shards of 5 and of 6 overlap."""
    run_shard(request_, Shard(3, 6), tmp_path / "foreign")
    parts[2] = tmp_path / "foreign"
    with pytest.raises(InputError, match="parts of different numbers of shards"):
        merge_run_parts(parts, tmp_path / "out")


def reseal(part: Path, edit: Callable[[Document], object]) -> None:
    import hashlib

    from wayproof.canonical import canonical_bytes

    path = part / "manifest.json"
    manifest = json.loads(path.read_bytes())
    edit(manifest)
    for name in manifest["files"]:
        data = (part / name).read_bytes()
        digest = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        manifest["files"][name] = digest
    path.write_bytes(canonical_bytes(manifest) + b"\n")


def swap_results(part: Path) -> None:
    path = part / "results.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))


def drop_last(part: Path) -> None:
    for name in ("results.jsonl", "traces.jsonl"):
        path = part / name
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


SEALED: dict[str, tuple[Callable[[Path], None], Callable[[Document], object], str]] = {
    "gap": (lambda _: None, lambda m: m["settings"].update(first=5), "gap or overlap"),
    "overlap": (lambda _: None, lambda m: m["settings"].update(end=8), "gap or overlap"),
    "backwards": (lambda _: None, lambda m: m["settings"].update(end=1), "gap or overlap"),
    "sizes": (lambda _: None, lambda m: m["settings"]["sizes"].pop(), "don't make up"),
    "size": (
        lambda _: None,
        lambda m: m["settings"]["sizes"][0].__setitem__(0, 7),
        "don't make up",
    ),
    "order": (swap_results, lambda _: None, "not where it belongs"),
    "dropped": (drop_last, lambda _: None, "don't make up"),
    "shard": (lambda _: None, lambda m: m["settings"].update(shard=[3, "5"]), "not a shard"),
    "unknown": (lambda _: None, lambda m: m["settings"].update(mood=1), "unknown"),
}


@pytest.mark.parametrize("what", SEALED)
def test_a_part_that_says_what_is_not_so(what: str, parts: list[Path], tmp_path: Path) -> None:
    """With every digest mended it is still refused, and named."""
    spoil, edit, match = SEALED[what]
    spoil(parts[2])
    reseal(parts[2], edit)
    with pytest.raises(WayproofError, match=match) as caught:
        merge_run_parts(parts, tmp_path / "out")
    assert "part-3" in str(caught.value) or "part-4" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_grids_differ_across_seams(tmp_path: Path) -> None:
    """What only the whole suite shows is checked when parts meet."""
    lines = custom_lines()
    again = lines[1].replace(b"explorer-other-g000", b"explorer-other-g999")
    suite = tmp_path / "suite.jsonl"
    suite.write_bytes(b"".join([*lines, again]))
    request = RunRequest(suite, policy_seeds=(0,))
    folders = [tmp_path / "one", tmp_path / "two"]
    for number, folder in enumerate(folders, 1):
        run_shard(request, Shard(number, 2), folder)
    with pytest.raises(InputError, match="grids_differ"):
        merge_run_parts(folders, tmp_path / "out")


def test_a_bad_grid_is_refused_by_its_own_shard(tmp_path: Path) -> None:
    """With file and line; the other shards don't read it."""
    lines = custom_lines()
    lines[9] = lines[9].replace(b'"budget":', b'"budget":-', 1)
    suite = tmp_path / "suite.jsonl"
    suite.write_bytes(b"".join(lines))
    request = RunRequest(suite, policy_seeds=(0,))
    run_shard(request, Shard(1, 2), tmp_path / "one")
    with pytest.raises(InputError, match="budget") as caught:
        run_shard(request, Shard(2, 2), tmp_path / "two")
    assert (caught.value.file, caught.value.line) == (str(suite), 10)
    assert not (tmp_path / "two").exists()
