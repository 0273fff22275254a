"""Each kind of sealed forgery: what was edited, and where verify says that it breaks."""

import hashlib
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from conftest import RunWayproof, write_lines
from wayproof.bundles.manifest import digest_file, read_manifest, verify_digests
from wayproof.errors import IntegrityError
from wayproof.fitness.check_bundle import NOT_DETECTABLE, check_bundle, check_rescored
from wayproof.fitness.score import ScoreRequest, score

TASKS: list[dict[str, Any]] = [
    {
        "task_id": "a",
        "expected_artifacts": ["x", "y"],
        "forbidden_first_routes": ["grep"],
        "scent_terms": ["Alpha", "beta", "gamma"],
        "family": "f",
    },
    {"task_id": "b", "forbidden_first_routes": ["find"], "latency_budget_ms": 700},
    {"task_id": "c", "scent_terms": [f"w{number:03d}" for number in range(300)]},
    {"task_id": "d", "expected_artifacts": ["d*"], "scent_terms": ["zz"]},
    {"task_id": "e", "expected_artifacts": ["x"], "forbidden_first_routes": ["rg"]},
]
PACKETS: list[dict[str, Any]] = [
    {
        "task_id": "a",
        "attempt": 1,
        "first_contact_command": "grep -r alpha",
        "selected_artifacts": ["x"],
        "wall_ms": 12.5,
    },
    {
        "task_id": "a",
        "attempt": 2,
        "first_contact_command": "ls beta",
        "selected_artifacts": ["y", "x"],
        "wall_ms": 99,
        "error": {"code": 5},
    },
    {"task_id": "b", "first_contact_command": "ls", "wall_ms": 730, "timed_out": False},
    {"task_id": "c", "summary": " ".join(f"w{number:03d}" for number in range(297)), "wall_ms": 1},
    {"task_id": "e", "first_contact_command": "ls", "selected_artifacts": ["x"], "wall_ms": 2000},
]
A1, A2, B, C, D, E = range(6)

Edit = Callable[[Path], None]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    request = ScoreRequest(
        tasks=write_lines(tmp_path / "tasks.jsonl", TASKS),
        packets=write_lines(tmp_path / "packets.jsonl", PACKETS),
    )
    score(request, tmp_path / "out")
    return tmp_path / "out"


def reseal(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for name in manifest["files"]:
        data = (folder / name).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        manifest["files"][name] = {"bytes": len(data), "sha256": digest}
    (folder / "manifest.json").write_bytes(rfc8785.dumps(manifest) + b"\n")


def verify(folder: Path) -> None:
    manifest = read_manifest(folder)
    verify_digests(folder, manifest)
    check_bundle(folder, manifest)


def result(at: int, **changes: Any) -> Edit:
    """Change fields of one result."""

    def edit(folder: Path) -> None:
        path = folder / "results.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1]
        lines[at] = rfc8785.dumps({**json.loads(lines[at]), **changes})
        path.write_bytes(b"".join(line + b"\n" for line in lines))

    return edit


def in_bytes(name: str, old: bytes, new: bytes) -> Edit:
    """Replace bytes of a file once."""

    def edit(folder: Path) -> None:
        data = (folder / name).read_bytes()
        assert old in data
        (folder / name).write_bytes(data.replace(old, new, 1))

    return edit


def record(name: str, change: Callable[[dict[str, Any]], Any]) -> Edit:
    """Change the summary or the manifest."""

    def edit(folder: Path) -> None:
        document = json.loads((folder / name).read_bytes())
        change(document)
        (folder / name).write_bytes(rfc8785.dumps(document) + b"\n")

    return edit


def summary(**changes: Any) -> Edit:
    return record("summary.json", lambda document: document["summary"].update(changes))


def manifest(change: Callable[[dict[str, Any]], Any]) -> Edit:
    return record("manifest.json", change)


def sizes(role: str, **changes: Any) -> Edit:
    return manifest(lambda document: document["inputs"][role].update(changes))


def _twice(name: str) -> Edit:
    """Write the last line of a file once more."""

    def edit(folder: Path) -> None:
        lines = (folder / name).read_bytes().splitlines(keepends=True)
        (folder / name).write_bytes(b"".join([*lines, lines[-1]]))

    return edit


EMPTY = hashlib.sha256().hexdigest()

KINDS: dict[str, tuple[Edit, str]] = {
    # a result's own rules
    "a hit without a command": (
        result(D, forbidden_first_route_hits=["grep"], forbidden_status="fail"),
        r'results\.jsonl:5, task "d", forbidden_first_route_hits: a hit without a first command',
    ),
    "a hit that is no part of the command": (
        result(A1, forbidden_first_route_hits=["rg"]),
        r"forbidden_first_route_hits\[0\]: the first command doesn't contain",
    ),
    "a blank hit": (result(A1, forbidden_first_route_hits=[""]), r"hits\[0\]: blank text"),
    "a blank expected id": (result(A1, expected_artifacts=[" ", "x"]), r"artifacts\[0\]: blank"),
    "a blank selected id": (result(A1, selected_artifacts=["", "x"]), r"artifacts\[0\]: blank"),
    "a term that is not folded": (
        result(A1, missing_scent_terms=["Beta", "gamma"]),
        r'missing_scent_terms\[0\]: not a folded scent term; expected "beta"; found "Beta"',
    ),
    "a blank term": (result(A1, missing_scent_terms=[" ", "gamma"]), "not a folded scent term"),
    "a term twice": (result(A1, missing_scent_terms=["beta", "beta"]), "term stands twice"),
    "a missing term that is there": (
        result(A1, missing_scent_terms=["alpha", "gamma"]),
        "term is not missing",
    ),
    "a missing term in a selected id": (
        result(A1, missing_scent_terms=["x", "gamma"]),
        "term is not missing",
    ),
    "a share in other digits": (
        in_bytes("results.jsonl", b'"scent_coverage":0.3333', b'"scent_coverage":0.33330'),
        "canonical form",
    ),
    "0.0 for 0": (
        in_bytes("results.jsonl", b'"recall_at_packet":0,', b'"recall_at_packet":0.0,'),
        "recall_at_packet",
    ),
    "a share of 0.0": (
        in_bytes("results.jsonl", b'"scent_coverage":0,', b'"scent_coverage":0.0,'),
        "scent_coverage doesn't fit the missing terms; .* found 0.0",
    ),
    "a share that no number of terms gives": (
        result(A1, scent_coverage=0.3334),
        "scent_coverage doesn't fit",
    ),
    "a share without missing terms": (
        result(A1, missing_scent_terms=[]),
        "scent_coverage doesn't fit",
    ),
    "a share of nothing": (result(B, scent_coverage=1, scent_status="pass"), "scent_status: field"),
    "a time in four decimals": (result(B, wall_ms=730.0001), "wall_ms: result doesn't agree"),
    "an order that is none": (result(A2, selection_order=[0, 0]), "selection_order"),
    "an id that claims to be literal": (result(D, literal_ids=["z*"]), "literal_ids"),
    "a digest that is none": (result(D, task_sha256="x" * 64), "task_sha256"),
    "a digest that ends in a line feed": (result(D, task_sha256="0" * 64 + "\n"), "task_sha256"),
    # what was defaulted
    "a command that was defaulted": (
        result(A1, defaulted_fields=["packet.first_contact_command", "packet.command_used"]),
        r"task_prompt|first_contact_command: field doesn't fit what was defaulted",
    ),
    "no command, and not said": (
        result(
            B,
            first_contact_command=None,
            command_used=None,
            forbidden_status="unscored",
            vacuous=True,
        ),
        "first_contact_command: field doesn't fit what was defaulted",
    ),
    "a time that was defaulted": (
        in_bytes("results.jsonl", b'"packet.timed_out"', b'"packet.wall_ms","packet.timed_out"'),
        "wall_ms: field doesn't fit what was defaulted",
    ),
    "a family that was defaulted": (
        result(B, family="mine"),
        "family: field doesn't fit what was defaulted",
    ),
    "a task without id": (
        in_bytes("results.jsonl", b'"defaulted_fields":[', b'"defaulted_fields":["task_id",'),
        "task_id: field doesn't fit",
    ),
    "a field defaulted twice": (
        in_bytes("results.jsonl", b'"packet.timed_out"', b'"packet.timed_out","packet.timed_out"'),
        "defaulted_fields",
    ),
    # several results of one task
    "attempts of two prompts": (
        result(A2, task_prompt="another"),
        "task_prompt: results of one task tell of different tasks|what was defaulted",
    ),
    "attempts of two families": (
        result(A2, family="g"),
        "family: results of one task tell of different tasks",
    ),
    "attempts of two digests": (
        result(A2, task_sha256="0" * 64),
        "task_sha256: results of one task tell of different tasks",
    ),
    "attempts with and without a ban": (
        result(A2, forbidden_status="unscored"),
        "forbidden_status: results of one task tell of different tasks",
    ),
    # the summary
    "a mean set": (
        summary(mean_recall_at_packet=0.99),
        "summary.mean_recall_at_packet: summary doesn't follow from the results; expected 0.583333",
    ),
    "a mean of text": (summary(mean_scent_coverage="good"), "mean_scent_coverage: not a summary"),
    "a mean just beside": (summary(mean_scent_coverage=0.6), "mean_scent_coverage: summary does"),
    "a mean in more digits": (
        summary(mean_scent_coverage=0.5833334),
        "mean_scent_coverage: summary doesn't",
    ),
    "a mean that is gone": (
        record("summary.json", lambda document: document["summary"].pop("mean_scent_coverage")),
        "summary.mean_scent_coverage: not a summary: required field is missing",
    ),
    "a key that is gone": (
        record("summary.json", lambda document: document.pop("suite")),
        "suite: not a summary: required field is missing",
    ),
    "a key that says it is absent": (
        record("summary.json", lambda document: document.update(release_authority="(absent)")),
        "release_authority: not a summary: unknown field",
    ),
    "a route type that isn't there": (
        record(
            "summary.json",
            lambda document: document["route_type_metrics"].update(
                {"no such field": document["route_type_metrics"]["context_pack"]}
            ),
        ),
        "route_type_metrics.no such field: .* expected no such field; found an object",
    ),
    "true for 1": (summary(first_contact_unknown_count=True), "first_contact_unknown_count"),
    "another suite": (
        record("summary.json", lambda document: document.update(suite="s")),
        "suite: summary doesn't fit the settings",
    ),
    "vacuous results hidden": (summary(vacuous_count=1), "vacuous_count"),
    "ignored packets where none could be": (
        record("summary.json", lambda document: document.update(ignored_packet_count=500)),
        "ignored_packet_count: summary doesn't fit the settings",
    ),
    "packets of drafts without a draft": (
        record("summary.json", lambda document: document.update(draft_packet_count=1)),
        "draft_packet_count: summary contradicts itself",
    ),
    # the manifest
    "an input too small": (sizes("tasks", bytes=1), r"inputs\.tasks\.bytes: input can't have"),
    "packets too small": (sizes("packets", bytes=3), r"inputs\.packets\.bytes: input can't"),
    "an empty input with bytes": (sizes("tasks", sha256=EMPTY), "input can't have this size"),
    "one digest, two sizes": (
        manifest(
            lambda document: document["inputs"].update(
                packets={**document["inputs"]["tasks"], "bytes": 10**6}
            )
        ),
        "one digest and two sizes",
    ),
    "an input's digest with a line feed": (
        sizes("tasks", sha256="0" * 64 + "\n"),
        r"inputs\.tasks\.sha256: value out of range",
    ),
    "a result twice": (_twice("results.jsonl"), "not ordered by task_id, then attempt"),
    "a debt twice": (_twice("debts.jsonl"), "debts that no result owes"),
    "more drafts than the tasks can have held": (
        record("summary.json", lambda document: document.update(draft_task_count=10**6)),
        r"inputs\.tasks\.bytes: input can't have this size",
    ),
    "more packets of drafts than the packets can have held": (
        record(
            "summary.json",
            lambda document: document.update(draft_packet_count=10**6, draft_task_count=1),
        ),
        r"inputs\.packets\.bytes: input can't have this size",
    ),
    "a third input": (
        manifest(lambda document: document["inputs"].update(more=document["inputs"]["tasks"])),
        "not the inputs",
    ),
    "a setting of one's own": (
        manifest(lambda document: document["settings"].update(strict=True)),
        "settings.strict: unknown field",
    ),
    "limits of one's own": (
        manifest(lambda document: document.update(limits=["verified"])),
        "limits: limits were changed",
    ),
}

VARIES: dict[str, Any] = {
    "started_at": ("yesterday", 5, None, "2026-01-01T00:00:00.000+00:00\n", "2026-01-01"),
    "finished_at": (["2026-01-01T00:00:00.000+00:00"], "\u0662026-01-01T00:00:00.000+00:00"),
    "duration_ms": ("9", -1, 0.5, True, None),
    "processes": (0, "1", [], 1.5),
    "argv": ("wayproof", [1], {"0": "wayproof"}),
    **dict.fromkeys(("wayproof", "python", "platform", "host"), (None, 3, ["3.11"], {})),
}


def _vary(name: str, value: Any, document: dict[str, Any]) -> None:
    document["varies"][name] = value


@pytest.mark.parametrize("name", VARIES)
def test_what_varies_has_its_types(name: str, bundle: Path) -> None:
    """No digest covers it and its values can't be checked, but nobody has to guess its types."""
    whole = (bundle / "manifest.json").read_bytes()
    for value in VARIES[name]:
        record("manifest.json", partial(_vary, name, value))(bundle)
        with pytest.raises(IntegrityError, match=rf"manifest\.json, varies\.{name}"):
            verify(bundle)
        (bundle / "manifest.json").write_bytes(whole)
    manifest(lambda document: document["varies"].update(of_my_own=[1]))(bundle)
    verify(bundle)


@pytest.mark.parametrize(
    ("name", "version", "status", "words"),
    [
        ("manifest.json", "wayproof.bundle/2", 2, "schema_version: manifest of another version"),
        ("manifest.json", None, 2, "not a manifest"),
        ("summary.json", "wayproof.fitness/3", 3, "schema_version: not a summary"),
        ("summary.json", "wayproof.fitness/1", 3, "field that this form doesn't have"),
        ("summary.json", None, 3, "schema_version: not a summary"),
    ],
)
def test_another_version_has_its_exit_status(
    name: str, version: str | None, status: int, words: str, bundle: Path, wayproof: RunWayproof
) -> None:
    """A bundle of a form that nobody knows can't be used; one file of another form is a break."""
    record(name, lambda document: document.update(schema_version=version))(bundle)
    if name != "manifest.json":
        reseal(bundle)
    ran = wayproof("verify", bundle)
    assert (ran.status, ran.out) == (status, "")
    assert words in ran.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_sealed_forgery_is_named(kind: str, bundle: Path) -> None:
    """File, field and what follows instead; whatever digest was repaired."""
    edit, message = KINDS[kind]
    verify(bundle)
    edit(bundle)
    reseal(bundle)
    with pytest.raises(IntegrityError, match=message):
        verify(bundle)


def test_an_error_object_is_canonical_to_its_depth(bundle: Path) -> None:
    """Its keys are its own; spaces, order, duplicates and long numbers are refused all the same."""
    for new in (b'{"code":5,"code":5}', b'{"code":5.0}', b'{"code":9007199254740993}', b"{ }"):
        before = (bundle / "results.jsonl").read_bytes()
        in_bytes("results.jsonl", b'{"code":5}', new)(bundle)
        reseal(bundle)
        with pytest.raises(IntegrityError, match=r"results\.jsonl:2"):
            verify(bundle)
        (bundle / "results.jsonl").write_bytes(before)


def test_a_line_over_the_limit_is_refused(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence keeps to the limit of its inputs, and fills no memory."""
    monkeypatch.setattr("wayproof.lines.MAX_LINE_BYTES", 500)
    with pytest.raises(IntegrityError, match=r"results\.jsonl:\d: line is too long"):
        verify(bundle)


def test_the_possible_range_of_a_mean_is_tiny(bundle: Path) -> None:
    """300 terms: four decimals don't tell them from 299 or 301; the mean may move that far only."""
    stored = json.loads((bundle / "summary.json").read_bytes())["summary"]["mean_scent_coverage"]
    accepted = []
    for step in range(-40, 41):
        value = round(stored + step * 1e-6, 6)
        summary(mean_scent_coverage=value)(bundle)
        reseal(bundle)
        try:
            verify(bundle)
        except IntegrityError:
            continue
        accepted.append(step)
    assert 0 in accepted
    assert accepted == list(range(accepted[0], accepted[-1] + 1))
    assert accepted[0] < -10
    assert accepted[-1] > 10
    assert accepted[-1] - accepted[0] < 40
    summary(mean_scent_coverage=stored + 5e-7)(bundle)
    reseal(bundle)
    with pytest.raises(IntegrityError, match="mean_scent_coverage"):
        verify(bundle)


def test_a_suite_that_states_nothing_is_no_result_of_scoring(tmp_path: Path) -> None:
    """Scoring refuses it, so a bundle of it was made up."""
    request = ScoreRequest(
        tasks=write_lines(tmp_path / "t.jsonl", [{"task_id": "a", "scent_terms": ["x"]}]),
        packets=write_lines(tmp_path / "p.jsonl", [{"task_id": "a", "summary": "x"}]),
    )
    score(request, tmp_path / "out")
    result(
        0,
        scent_coverage=None,
        scent_status="unscored",
        vacuous=True,
        defaulted_fields=[
            *json.loads((tmp_path / "out/results.jsonl").read_bytes())["defaulted_fields"][:7],
            "scent_terms",
            *json.loads((tmp_path / "out/results.jsonl").read_bytes())["defaulted_fields"][7:],
        ],
    )(tmp_path / "out")
    reseal(tmp_path / "out")
    with pytest.raises(IntegrityError, match="no task states anything"):
        verify(tmp_path / "out")


# -- only the summary -----------------------------------------------------------------


def _part_a_route_type(rows: dict[str, dict[str, int]]) -> None:
    """Take one passing result out of a route type, and all that were late with it."""
    whole = rows["context_pack"]
    taken = {"task_count": 1, "sufficiency_pass_count": 1, "latency_fail_count": 2}
    rows["other"] = {name: taken.get(name, 0) for name in whole}
    for name in whole:
        whole[name] -= rows["other"][name]


BRIEF: dict[str, tuple[Edit, str]] = {
    "not JSON": (
        in_bytes("summary.json", b"{", b"not json"),
        "summary.json: not a summary",
    ),
    "a key that is gone": (
        record("summary.json", lambda document: document.pop("status")),
        "not a summary",
    ),
    "a pass too many": (summary(sufficiency_pass_count=4), "sufficiency_pass_count"),
    "a debt forgotten": (summary(debt_candidate_count=1), "debt_candidate_count"),
    "more tasks than results": (summary(distinct_task_count=9), "distinct_task_count"),
    "more unknown than results": (summary(first_contact_unknown_count=9), "first_contact_unkn"),
    "a mean over nothing": (summary(mean_recall_at_packet_denominator=0), "mean_recall"),
    "a mean over too many": (summary(mean_recall_at_packet_denominator=9), "mean_recall"),
    "a mean above 1": (summary(mean_recall_at_packet=1.5), "mean_recall"),
    "a mean in seven digits": (summary(mean_recall_at_packet=0.1234567), "six decimals"),
    "no time, though some were measured": (summary(p50_wall_ms=None), "p50_wall_ms"),
    "p95 below p50": (summary(p95_wall_ms=1), "p95_wall_ms"),
    "a share beyond the counts": (summary(vacuous_count=4), "vacuous_count"),
    "another kind of failure": (
        record(
            "summary.json",
            lambda document: document["summary"]["failure_kind_counts"].update(other=0),
        ),
        "failure_kind_counts",
    ),
    "late, yet cut off": (
        record(
            "summary.json",
            lambda document: document["sufficiency_latency_matrix"]["sufficient"].update(timeout=1),
        ),
        "sufficiency_latency_matrix.sufficient",
    ),
    "route types that don't add up": (
        record(
            "summary.json",
            lambda document: document["route_type_metrics"]["context_pack"].update(
                sufficiency_pass_count=0
            ),
        ),
        "route_type_metrics",
    ),
    "a route type too many": (
        record(
            "summary.json",
            lambda document: document["route_type_metrics"].update(
                other=dict(document["route_type_metrics"]["context_pack"])
            ),
        ),
        "summary.task_count: summary contradicts itself",
    ),
    "a failure of what was expected of nobody": (
        summary(mean_recall_at_packet=None, mean_recall_at_packet_denominator=0),
        "mean_recall_at_packet_denominator: summary contradicts itself; expected at least 1",
    ),
    "a route type without results": (
        record(
            "summary.json",
            lambda document: document["route_type_metrics"].update(
                other=dict.fromkeys(document["route_type_metrics"]["context_pack"], 0)
            ),
        ),
        "other.*task_count: summary contradicts itself; expected at least 1",
    ),
    "more late results of a route type than results": (
        record("summary.json", lambda document: _part_a_route_type(document["route_type_metrics"])),
        "other.*latency_fail_count: summary contradicts itself; expected at most 1",
    ),
    "a status of one's own": (
        record("summary.json", lambda document: document.update(status="fail")),
        "status: summary contradicts itself",
    ),
}


@pytest.fixture
def brief(tmp_path: Path) -> Path:
    """A bundle of several tasks that keeps its summary only."""
    request = ScoreRequest(
        tasks=write_lines(tmp_path / "tasks.jsonl", TASKS),
        packets=write_lines(tmp_path / "packets.jsonl", PACKETS),
        summary_only=True,
    )
    score(request, tmp_path / "brief")
    return tmp_path / "brief"


@pytest.mark.parametrize("kind", BRIEF)
def test_a_summary_alone_must_fit_itself(kind: str, brief: Path) -> None:
    """Nothing shows where its figures come from, but they can't contradict each other."""
    edit, message = BRIEF[kind]
    verify(brief)
    edit(brief)
    reseal(brief)
    with pytest.raises(IntegrityError, match=message):
        verify(brief)


def test_only_failures_lower_a_mean(tmp_path: Path) -> None:
    """Two of three passed, so that two thirds of what was expected was found at least."""
    wanted = {"expected_artifacts": ["x"], "scent_terms": ["term"]}
    request = ScoreRequest(
        tasks=write_lines(tmp_path / "tasks.jsonl", [{"task_id": n, **wanted} for n in "abc"]),
        packets=write_lines(
            tmp_path / "packets.jsonl",
            [{"task_id": n, "selected_artifacts": ["x"], "summary": "term"} for n in "ab"],
        ),
        summary_only=True,
    )
    score(request, tmp_path / "brief")
    whole = (tmp_path / "brief" / "summary.json").read_bytes()
    for name in ("mean_recall_at_packet", "mean_scent_coverage"):
        for mean, holds in ((0.666665, False), (0, False), (0.666666, True), (1, True)):
            summary(**{name: mean})(tmp_path / "brief")
            reseal(tmp_path / "brief")
            if holds:
                verify(tmp_path / "brief")
            else:
                with pytest.raises(IntegrityError, match=rf"{name}.*at least 0\.666666"):
                    verify(tmp_path / "brief")
            (tmp_path / "brief" / "summary.json").write_bytes(whole)


# -- what stays undetectable ----------------------------------------------------------


def invent_prompt(folder: Path) -> None:
    """Invent a prompt, and repair what follows from one: that it wasn't defaulted."""
    for at in (A1, A2):
        lines = (folder / "results.jsonl").read_bytes().split(b"\n")
        fields = json.loads(lines[at])["defaulted_fields"]
        given = [name for name in fields if name != "task_prompt"]
        result(at, task_prompt="invented", defaulted_fields=given)(folder)


UNDETECTABLE: dict[str, tuple[Edit, str]] = {
    "an invented prompt": (invent_prompt, "results invented as a whole that agree with themselves"),
    "a check that was not made": (
        result(E, forbidden_status="unscored"),
        "whether a first command without a hit was checked at all",
    ),
    "another task's digest": (result(D, task_sha256="0" * 64), "what a task's digest stands for"),
    "another size": (sizes("tasks", bytes=10**6), "the inputs' digests and exact sizes"),
    "another digest": (sizes("packets", sha256="0" * 64), "the inputs' digests and exact sizes"),
    "another number of packets set aside": (
        record(
            "summary.json",
            lambda document: document.update(draft_packet_count=2, draft_task_count=1),
        ),
        "how many packets and drafts were set aside",
    ),
    "another number of drafts": (
        record("summary.json", lambda document: document.update(draft_task_count=2)),
        "how many packets and drafts were set aside",
    ),
    "another host": (
        manifest(lambda document: document["varies"].update(host="elsewhere")),
        "times, host and versions in the manifest",
    ),
}


@pytest.mark.parametrize("kind", UNDETECTABLE)
def test_what_is_listed_as_undetectable_is_so(kind: str, bundle: Path, tmp_path: Path) -> None:
    """The list claims no weakness that isn't there; with the inputs only the last one is left."""
    edit, words = UNDETECTABLE[kind]
    assert words in NOT_DETECTABLE
    edit(bundle)
    reseal(bundle)
    verify(bundle)
    if kind == "another host":
        return
    with pytest.raises(IntegrityError, match=r"other bytes|not the (tasks|packets)"):
        check_rescored(
            bundle, read_manifest(bundle), tmp_path / "tasks.jsonl", tmp_path / "packets.jsonl"
        )


def test_sizes_of_inputs_are_compared_when_they_are_given(bundle: Path, tmp_path: Path) -> None:
    """The digest alone would do; a size beside it that lies is no small matter."""
    tasks = tmp_path / "tasks.jsonl"
    sizes("tasks", bytes=digest_file(tasks).bytes + 1)(bundle)
    with pytest.raises(IntegrityError, match="not the tasks that the bundle was made from"):
        check_rescored(bundle, read_manifest(bundle), tasks, tmp_path / "packets.jsonl")


@pytest.mark.timeout(60)
def test_an_input_that_is_no_file_is_refused(bundle: Path, wayproof: RunWayproof) -> None:
    """A device never ends and a pipe may never begin: neither is opened."""
    os.mkfifo(bundle.parent / "pipe")
    for tasks in ("/dev/zero", bundle.parent / "pipe", bundle, "nowhere"):
        ran = wayproof("verify", bundle, "--tasks", tasks, "--packets", tasks)
        assert (ran.status, ran.out) == (2, "")
        assert "--tasks: can't be read; expected a regular file" in ran.err


def test_verify_says_what_it_could_not_see(bundle: Path, wayproof: RunWayproof) -> None:
    """The list is printed with every verdict that rests on the bundle alone."""
    ran = wayproof("verify", bundle)
    assert (ran.status, ran.err) == (0, "")
    assert f"inputs: not given. {NOT_DETECTABLE}" in ran.out.splitlines()
    assert ran.out.splitlines()[-1] == "verified"
