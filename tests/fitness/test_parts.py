"""Parts: scored anywhere, merged into the very bytes that one process writes."""

import gzip
import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import write_lines
from wayproof.bundles.manifest import read_manifest
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.fitness_names import DEBTS_NAME, RESULTS_NAME, SUMMARY_NAME
from wayproof.fitness.check_bundle import check_rescored
from wayproof.fitness.chunks import shard_range
from wayproof.fitness.parts import MAX_SHARDS, Shard, merge_parts, score_shard
from wayproof.fitness.score import ScoreRequest, score


def _inputs(folder: Path, count: int = 120) -> ScoreRequest:
    tasks: list[dict[str, Any]] = [
        {"task_id": f"t{n * 37 % count:03d}", "expected_artifacts": [f"a{n}"], "scent_terms": ["é"]}
        for n in range(count)
    ]
    packets = [
        {
            "task_id": task["task_id"],
            "attempt": attempt,
            "wall_ms": n * 731 % 3000,
            "selected_artifacts": [f"a{n}"] * (attempt % 2),
            "summary": "É" * (n % 60),
        }
        for attempt in (2, 1, 3)
        for n, task in enumerate(tasks)
        if n % 7
    ]
    tasks.append({"task_id": "draft", "draft": True})
    packets += [{"task_id": "draft"}, {"task_id": "unknown"}]
    return ScoreRequest(
        tasks=write_lines(folder / "tasks.jsonl", tasks),
        packets=write_lines(folder / "packets.jsonl", packets),
        ignore_unknown=True,
    )


def _parts(request: ScoreRequest, folder: Path, count: int) -> list[Path]:
    places = [folder / f"part-{number}" for number in range(1, count + 1)]
    for number, place in enumerate(places, 1):
        score_shard(request, Shard(number, count), place)
    return places


def _same_files(one: Path, other: Path, names: tuple[str, ...]) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.mark.parametrize("count", [1, 2, 5, MAX_SHARDS])
def test_merged_parts_are_the_single_process_bundle(tmp_path: Path, count: int) -> None:
    """Byte for byte, whatever the number of shards and the order of parts; it verifies."""
    request = _inputs(tmp_path)
    whole = score(request, tmp_path / "whole")
    parts = _parts(request, tmp_path, count)
    record = merge_parts(parts[::-1], request.tasks, request.packets, tmp_path / "merged")
    assert record == whole
    assert (record["draft_packet_count"], record["ignored_packet_count"]) == (1, 1)
    names = (RESULTS_NAME, DEBTS_NAME, SUMMARY_NAME)
    assert _same_files(tmp_path / "whole", tmp_path / "merged", names)
    manifest, expected = (read_manifest(tmp_path / name) for name in ("merged", "whole"))
    assert (manifest.files, manifest.inputs, manifest.settings) == (
        expected.files,
        expected.inputs,
        expected.settings,
    )
    check_rescored(tmp_path / "merged", manifest, request.tasks, request.packets)


def test_a_part_depends_on_its_shard_alone(tmp_path: Path) -> None:
    """Made again, elsewhere, later: the same bytes; a failed try is replaced."""
    request = _inputs(tmp_path)
    (tmp_path / "b").mkdir()
    one, again = tmp_path / "one", tmp_path / "b" / "again"
    for place in (one, again):
        score_shard(request, Shard(2, 3), place)
    assert _same_files(one, again, ("lines.bin", "records.bin"))
    assert read_manifest(one).settings == read_manifest(again).settings
    score_shard(request, Shard(2, 3), one, overwrite=True)


def test_summary_only_merges_too(tmp_path: Path) -> None:
    """Nothing but the summary is kept, and it is the same."""
    full = _inputs(tmp_path)
    request = ScoreRequest(
        tasks=full.tasks, packets=full.packets, ignore_unknown=True, summary_only=True
    )
    whole = score(request, None)
    parts = _parts(request, tmp_path, 3)
    assert merge_parts(parts, full.tasks, full.packets, tmp_path / "merged") == whole
    assert sorted(path.name for path in (tmp_path / "merged").iterdir()) == [
        "manifest.json",
        SUMMARY_NAME,
    ]


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b"x")), max_size=9), st.data())
def test_every_line_is_in_one_shard(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], data: st.DataObject
) -> None:
    """The shard that its first byte lies in; shards leave no gap."""
    path = tmp_path_factory.mktemp("lines") / "packets"
    text = b"\n".join(lines)
    path.write_bytes(text)
    count = data.draw(st.integers(1, 6))
    ranges = [shard_range(path, number, count) for number in range(1, count + 1)]
    assert ranges[0][0] == 0
    assert ranges[-1][1] == len(text)
    assert all(one[1] == other[0] for one, other in pairwise(ranges))
    for number, (start, end) in enumerate(ranges, 1):
        assert start == 0 or start == len(text) or text[start - 1 : start] == b"\n"
        if start < end:
            assert len(text) * (number - 1) // count <= start < len(text) * number // count


def test_two_packets_for_one_attempt_are_named_by_their_lines(tmp_path: Path) -> None:
    """Also when two parts have them, which neither can see."""
    tasks = write_lines(tmp_path / "tasks.jsonl", [{"task_id": "a", "scent_terms": ["x"]}])
    packets = write_lines(tmp_path / "packets.jsonl", [{"task_id": "a"}, {"task_id": "a"}])
    request = ScoreRequest(tasks=tasks, packets=packets)
    parts = _parts(request, tmp_path, 2)
    with pytest.raises(InputError, match="two packets for one task and attempt") as caught:
        merge_parts(parts, tasks, packets, tmp_path / "merged")
    assert (caught.value.line, caught.value.expected) == (2, "another attempt than on line 1")
    assert not (tmp_path / "merged").exists()


def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    """A gap, a shard twice, other settings, other inputs, a part cut short."""
    request = _inputs(tmp_path)
    parts = _parts(request, tmp_path, 3)

    def refused(match: str, *folders: Path, tasks: Path | None = None) -> None:
        with pytest.raises(InputError, match=match):
            merge_parts(folders, tasks or request.tasks, request.packets, tmp_path / "merged")
        assert not (tmp_path / "merged").exists()

    refused("missing 2", parts[0], parts[2])
    refused("missing 2, 3", parts[0])
    refused("twice 2", *parts, parts[1])
    other = ScoreRequest(
        tasks=request.tasks, packets=request.packets, suite="x", ignore_unknown=True
    )
    score_shard(other, Shard(2, 3), tmp_path / "other")
    refused("settings.suite: parts of different settings", parts[0], tmp_path / "other", parts[2])
    score_shard(request, Shard(4, 4), tmp_path / "fourth")
    refused("different numbers of shards", *parts, tmp_path / "fourth")
    score(request, tmp_path / "bundle")
    refused("not a part", *parts[:2], tmp_path / "bundle")
    tasks = write_lines(tmp_path / "more.jsonl", [{"task_id": "z", "scent_terms": ["x"]}])
    refused("not the tasks", *parts, tasks=tasks)
    for name in ("lines.bin", "records.bin"):
        cut = Path(shutil.copytree(parts[1], tmp_path / "cut" / name))
        data = bytearray((cut / name).read_bytes())
        data[-2] ^= 1
        for spoilt in (b"", bytes(data)):
            (cut / name).write_bytes(spoilt)
            with pytest.raises(IntegrityError, match="digest doesn't match") as caught:
                merge_parts(
                    [parts[0], cut, parts[2]], request.tasks, request.packets, tmp_path / "m"
                )
            assert caught.value.file == str(cut / name)
    for name, value in (("end", 1), ("start", 1)):
        shutil.copytree(parts[1], tmp_path / name)
        manifest = json.loads((tmp_path / name / "manifest.json").read_bytes())
        manifest["settings"][name] += value
        (tmp_path / name / "manifest.json").write_bytes(rfc8785.dumps(manifest) + b"\n")
        refused("parts leave a gap or overlap", parts[0], tmp_path / name, parts[2])
    text = request.packets.read_bytes()
    request.packets.write_bytes(text.replace(b'"attempt": 3', b'"attempt": 4', 1))
    refused("not the packets that a part was made from", *parts)
    request.packets.write_bytes(text + b"{}\n")
    refused("packets have grown", *parts)


def test_only_plain_files_are_cut(tmp_path: Path) -> None:
    """A range of a gzip file or of a pipe is none."""
    request = _inputs(tmp_path)
    packed = tmp_path / "packets.jsonl.gz"
    packed.write_bytes(gzip.compress(request.packets.read_bytes()))
    for packets in (packed, Path("-"), tmp_path):
        with pytest.raises(InputError, match="plain file"):
            score_shard(
                ScoreRequest(tasks=request.tasks, packets=packets), Shard(1, 2), tmp_path / "part"
            )
    with pytest.raises(InputError, match="No such file"):
        score_shard(
            ScoreRequest(tasks=request.tasks, packets=tmp_path / "none"),
            Shard(1, 2),
            tmp_path / "p",
        )


@pytest.mark.parametrize(
    "text", ["", "1", "0/2", "3/2", "1/0", "a/b", "1/257", "-1/2", "1/2/3", "²/3"]
)
def test_what_is_no_shard_is_refused(text: str) -> None:
    """i/N, from 1."""
    with pytest.raises(InputError, match="not a shard"):
        Shard.parse(text)
    assert Shard.parse("2/3") == Shard(2, 3)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parts are written by `score --shard`, merged by `merge`, and `verify` knows a part."""
    from wayproof.cli import main

    request = _inputs(tmp_path)
    inputs = ["--tasks", str(request.tasks), "--packets", str(request.packets)]
    for number in (1, 2):
        place = str(tmp_path / f"p{number}")
        command = ["fitness", "score", *inputs, "--ignore-unknown", "--shard", f"{number}/2"]
        assert main([*command, "--out", place]) == 0
        assert f"part {number} of 2" in capsys.readouterr().out
        assert main(["verify", place]) == 0
        assert "verified: digests only" in capsys.readouterr().out
    parts = [str(tmp_path / name) for name in ("p2", "p1")]
    assert main(["merge", *parts, *inputs, "--out", str(tmp_path / "merged"), "--json"]) == 0
    whole = score(request, tmp_path / "whole")
    assert json.loads(capsys.readouterr().out) == whole
    assert main(["verify", str(tmp_path / "merged"), *inputs]) == 0
    for options in (["--processes", "2"], ["--min-sufficient", "1"], ["--json"], []):
        place_options = ["--out", str(tmp_path / "p3")] if options else []
        command = ["fitness", "score", *inputs, "--shard", "1/2", *options, *place_options]
        assert main(command) == 2
