"""The Explorer, as a person uses it."""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from wayproof.canonical import canonical_bytes

if TYPE_CHECKING:
    from playwright.sync_api import Page

KINDS = ("collision", "invalid_path", "premature_end")
POLICIES = ("planner", "random-walk", "blind-repeat")
SAMPLE = Path(__file__).parents[2] / "src" / "wayproof" / "explorer" / "static" / "sample.json"


def choose(page: "Page", name: str, value: str) -> None:
    page.check(f'input[name="{name}"][value="{value}"]')


def verdict(page: "Page") -> dict[str, str]:
    marks = page.locator("#verdict [data-verdict]")
    return {
        str(mark.get_attribute("data-verdict")): str(mark.get_attribute("data-value"))
        for mark in marks.all()
    }


def sample_grids() -> list[dict[str, Any]]:
    grids: list[dict[str, Any]] = json.loads(SAMPLE.read_text("utf-8"))["grids"]
    return grids


def first_grid() -> dict[str, Any]:
    return sample_grids()[0]


@pytest.mark.parametrize("policy", POLICIES)
def test_each_control_plays_to_its_verdict(
    explorer: Path, visit: Callable[..., "Page"], policy: str
) -> None:
    """Play runs by itself to the end, and only there the judge speaks; for every kind.

    Long trials are played once, and jumped to their end otherwise.
    """
    page = visit(explorer)
    page.select_option("#speed", "16")
    choose(page, "policy", policy)
    for kind in KINDS:
        choose(page, "kind", kind)
        assert verdict(page) == {}
        page.click("#play" if policy == "planner" or kind == KINDS[0] else "#jump-last")
        page.wait_for_selector("#verdict [data-verdict]")
        found = verdict(page)
        if policy == "planner":
            assert found == {"completed": "true", "verified": "true"}
        if policy == "blind-repeat":
            assert found == {"completed": "false", "verified": "false"}
        length = int(str(page.get_attribute("#scrub", "max")))
        assert page.locator("#ledger tbody tr").count() == length


def test_keyboard_alone_plays_steps_and_jumps(explorer: Path, visit: Callable[..., "Page"]) -> None:
    """Nothing needs a mouse: arrows step, Home and End jump, space plays and pauses."""
    page = visit(explorer)
    choose(page, "policy", "planner")
    page.focus("#stage")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.input_value("#scrub") == "2"
    page.keyboard.press("ArrowLeft")
    assert page.input_value("#scrub") == "1"
    page.keyboard.press("End")
    assert verdict(page)["verified"] == "true"
    page.keyboard.press("Home")
    assert page.input_value("#scrub") == "0"
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "aria-label") == "Pause"
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "aria-label") == "Play"


def click_cell(page: "Page", cell: list[int]) -> None:
    place: dict[str, float] = page.evaluate(
        """([row, column]) => {
             const found = document.querySelector(
               `#board rect[data-row="${row}"][data-column="${column}"]`);
             const box = found.getBoundingClientRect();
             return {x: box.x + box.width / 2, y: box.y + box.height / 2};
           }""",
        cell,
    )
    page.mouse.click(place["x"], place["y"])


def take_over(page: "Page") -> dict[str, Any]:
    page.select_option("#grid", "0")
    choose(page, "kind", "collision")
    choose(page, "policy", "~you")
    page.locator("#board").scroll_into_view_if_needed()
    return first_grid()


def scenario(grid: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(each for each in grid["scenarios"] if each["failure_kind"] == kind)


def test_an_optimal_click_path_is_verified(explorer: Path, visit: Callable[..., "Page"]) -> None:
    """Clicking the rest of the reference path and finishing is a verified recovery."""
    page = visit(explorer)
    grid = take_over(page)
    for cell in grid["reference_path"][scenario(grid, "collision")["prefix_length"] + 1 :]:
        click_cell(page, cell)
    page.click("#own-finish")
    assert verdict(page) == {"completed": "true", "verified": "true"}
    assert page.locator("#checks .good").count() == 9


def test_a_detour_completes_but_is_not_verified(
    explorer: Path, visit: Callable[..., "Page"]
) -> None:
    """One step back and forth costs more than the optimum: completed, cost not exact."""
    page = visit(explorer)
    grid = take_over(page)
    start = scenario(grid, "collision")["prefix_length"]
    path = grid["reference_path"]
    for cell in [path[start - 1], path[start], *path[start + 1 :]]:
        click_cell(page, cell)
    page.click("#own-finish")
    assert verdict(page) == {"completed": "true", "verified": "false"}
    assert "Cost exact" in page.inner_text("#verdict")


def test_the_same_rules_reject_a_person(explorer: Path, visit: Callable[..., "Page"]) -> None:
    """A far cell is an invalid path, a wall a collision, an early finish a premature end."""
    page = visit(explorer)
    grid = take_over(page)
    click_cell(page, grid["target"])
    click_cell(page, scenario(grid, "collision")["injected_action"]["move"])
    page.click("#own-finish")
    said = page.locator("#ledger tbody tr .bad").all_inner_texts()
    assert said[-3:] == ["invalid path", "collision", "premature end"]
    spent = page.locator("#ledger tbody tr td:last-child").all_inner_texts()
    assert len(set(spent[-4:])) == 1


def test_a_person_can_play_by_keyboard_until_the_budget_is_spent(
    explorer: Path, visit: Callable[..., "Page"]
) -> None:
    """Arrows propose, F finishes; a spent budget ends the trial with a verdict."""
    page = visit(explorer)
    grid = take_over(page)
    page.focus("#board")
    for _ in range(scenario(grid, "collision")["budget"]):
        page.keyboard.press("f")
    assert verdict(page) == {"completed": "false", "verified": "false"}
    assert "Finished at the target" in page.inner_text("#verdict")


def checked(page: "Page", files: "list[Path] | Path", picker: str = "#pick-files") -> str:
    chosen = [str(file) for file in files] if isinstance(files, list) else str(files)
    page.set_input_files(picker, chosen)
    page.wait_for_selector("#outcome, #faults")
    return page.inner_text("#check-report")


def bundle_files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def zipped(folder: Path, out: Path, method: int) -> Path:
    with zipfile.ZipFile(out, "w", method) as archive:
        for file in bundle_files(folder):
            archive.write(file, f"{folder.name}/{file.name}")
    return out


@pytest.mark.parametrize(
    "form",
    [
        "files",
        "deflated",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("folder", "stored")),
    ],
)
def test_an_untouched_bundle_shows_pythons_digest(
    explorer: Path, visit: Callable[..., "Page"], recovery: Path, work: Path, form: str
) -> None:
    """900 trials verified again in the page, however the bundle is given."""
    page = visit(explorer)
    if form == "files":
        said = checked(page, bundle_files(recovery))
    elif form == "folder":
        said = checked(page, recovery, "#pick-folder")
    else:
        method = zipfile.ZIP_DEFLATED if form == "deflated" else zipfile.ZIP_STORED
        said = checked(page, zipped(recovery, work / f"{form}.zip", method))
    assert "Everything that was checked holds." in said
    assert "the controls run again and the intervals worked out again" in said
    assert "The official suite" in said
    assert "Trials: 900." in said
    assert page.inner_text("#results-sha256") == sha256(recovery / "results.jsonl")


def test_a_given_bundle_can_be_watched(
    explorer: Path, visit: Callable[..., "Page"], recovery: Path
) -> None:
    """Its recorded trials go on the stage, without the sample's banner, and back again."""
    page = visit(explorer)
    checked(page, bundle_files(recovery))
    page.click("#watch-given")
    assert not page.is_visible("#banner")
    assert "wfrb-v0" in page.inner_text("#given")
    assert page.locator("#grid option").count() == 50
    page.select_option("#grid", "0")
    page.select_option("#seed", "0")
    choose(page, "kind", "collision")
    choose(page, "policy", "random-walk")
    page.click("#jump-last")
    lines = (recovery / "traces.jsonl").read_text("utf-8").splitlines()
    trace = find([json.loads(line) for line in lines], "random-walk")
    spent = page.locator("#ledger tbody tr td:last-child").all_inner_texts()
    assert [int(text.split(" / ")[0]) for text in spent] == [
        step["spent"] for step in trace["steps"]
    ]
    page.click("#given-back")
    assert page.is_visible("#banner")
    assert page.locator("#grid option").count() == len(sample_grids())


def edited(recovery: Path, out: Path, name: str, edit: Callable[[list[Any]], None]) -> Path:
    """Copy a bundle and edit one file, leaving canonical lines."""
    shutil.copytree(recovery, out)
    path = out / name
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    edit(records)
    path.write_bytes(b"".join(canonical_bytes(record) + b"\n" for record in records))
    return out


def mended_manifest(bundle: Path) -> Path:
    """Make the manifest agree with edited files, as a careful forger would."""
    path = bundle / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    for name in manifest["files"]:
        data = (bundle / name).read_bytes()
        manifest["files"][name] = {"bytes": len(data), "sha256": sha256(bundle / name)}
    path.write_bytes(canonical_bytes(manifest) + b"\n")
    return bundle


@pytest.fixture(scope="module")
def custom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle over a suite of one's own, as the generator makes it."""
    from wayproof.cli import main

    folder = tmp_path_factory.mktemp("custom")
    suite, out = str(folder / "suite.jsonl"), folder / "run"
    made = ["--suite", "wfrb-v0", "--grids", "8", "--seed", "5", "--out", suite]
    assert main(["recovery", "generate", *made]) == 0
    assert main(["recovery", "run", "--suite", suite, "--seeds", "0", "--out", str(out)]) == 0
    return out


def find(records: list[Any], policy: str, **wanted: Any) -> Any:
    return next(
        each
        for each in records
        if each.get("policy") == policy and all(each.get(k) == v for k, v in wanted.items())
    )


def cheaper(records: list[Any]) -> None:
    trace = find(records, "planner", policy_seed=1)
    trace["steps"][-2]["spent"] -= 1
    trace["steps"][-1]["spent"] -= 1


def flattered(records: list[Any]) -> None:
    result = find(records, "random-walk", completed=True, verified_recovery=False)
    result["verified_recovery"] = True
    result["first_failed_check"] = None
    result["checks"] = dict.fromkeys(result["checks"], True)


def wrong_potential(records: list[Any]) -> None:
    row, column = records[1]["start"]
    records[1]["potentials"][row][column] -= 1


def praised(records: list[Any]) -> None:
    records[0]["policies"][-1]["total"]["verified"] += 1


def harmless_injection(records: list[Any]) -> None:
    scenario = records[1]["scenarios"][0]
    scenario["injected_action"] = {
        "move": records[1]["reference_path"][scenario["prefix_length"] + 1]
    }


EDITS: dict[str, tuple[str, Callable[[list[Any]], None], str]] = {
    "a cheaper step": ("traces.jsonl", cheaper, "transitions_valid"),
    "a flattered result": ("results.jsonl", flattered, "cost_exact"),
    "a praising summary": ("summary.json", praised, "policies[2]"),
    "an injection that is accepted": ("suite.jsonl", harmless_injection, "isn’t rejected as"),
    "a false certificate": ("suite.jsonl", wrong_potential, "certificate"),
}


@pytest.mark.parametrize("name", sorted(EDITS))
@pytest.mark.parametrize("careful", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_edited_bundle_is_caught_by_trial_and_check(
    explorer: Path,
    visit: Callable[..., "Page"],
    recovery: Path,
    tmp_path: Path,
    name: str,
    careful: bool,
) -> None:
    """Named by trial and check, even when the forger mended the manifest's digests."""
    file, edit, check = EDITS[name]
    forged = edited(recovery, tmp_path / "forged", file, edit)
    if careful:
        mended_manifest(forged)
    said = checked(visit(explorer), bundle_files(forged))
    assert "This bundle doesn’t hold." in said
    assert check in said
    assert ("The digest differs from the manifest’s" in said) is not careful
    if file in {"traces.jsonl", "results.jsonl"}:
        assert "Trial" in said
        assert "wfrb-v0-g" in said


def off_the_grid(records: list[Any]) -> None:
    """Let a collision name a neighbour that no grid has."""
    for grid in records[1:]:
        collision, invalid = grid["scenarios"][:2]
        for length in range(1, len(grid["reference_path"]) - 2):
            row, column = grid["reference_path"][length]
            for move in ([row - 1, column], [row, column - 1]):
                if min(move) < 0:
                    collision["injected_action"] = {"move": move}
                    collision["prefix_length"] = invalid["prefix_length"] = length
                    return
    raise AssertionError("no reference path touches the border")


def to_a_wall(records: list[Any]) -> None:
    """Let an invalid path name a blocked cell far away."""
    for grid in records[1:]:
        scenario = grid["scenarios"][1]
        row, column = grid["reference_path"][scenario["prefix_length"]]
        for at, line in enumerate(grid["rows"]):
            wall = line.find("#")
            if wall >= 0 and abs(at - row) + abs(wall - column) > 1:
                scenario["injected_action"] = {"move": [at, wall]}
                return
    raise AssertionError("no wall far away")


def to_its_own_cell(records: list[Any]) -> None:
    scenario = records[1]["scenarios"][1]
    own = records[1]["reference_path"][scenario["prefix_length"]]
    scenario["injected_action"] = {"move": own}


def one_kind_only(records: list[Any]) -> None:
    del records[1]["scenarios"][1:]


def other_prefix(records: list[Any]) -> None:
    """Shorten the prefix of an invalid path that stays one."""
    for grid in records[1:]:
        scenario = grid["scenarios"][1]
        row, column = scenario["injected_action"]["move"]
        for length in range(1, scenario["prefix_length"]):
            here = grid["reference_path"][length]
            if abs(here[0] - row) + abs(here[1] - column) > 1:
                scenario["prefix_length"] = length
                return
    raise AssertionError("no shorter prefix")


def twice_the_same(records: list[Any]) -> None:
    first, second = records[1:3]
    for name in ("rows", "start", "target", "potentials", "reference_path"):
        second[name] = first[name]
    for mine, theirs in zip(second["scenarios"], first["scenarios"], strict=True):
        mine.update({**theirs, "scenario_id": mine["scenario_id"]})


def under_another_name(records: list[Any]) -> None:
    """Keep the official ids under a suite id of one's own."""
    records[0]["suite_id"] = "mine"


BROKEN_RULES: dict[str, Callable[[list[Any]], None]] = {
    "must name a blocked neighbour on the grid": off_the_grid,
    "must name a free cell that is neither adjacent": to_a_wall,
    "neither adjacent nor its own": to_its_own_cell,
    "each of the three failure kinds once": one_kind_only,
    "must share their prefix": other_prefix,
    "Two grids are the same": twice_the_same,
    "An id that belongs to an official suite": under_another_name,
}


@pytest.mark.parametrize("said", sorted(BROKEN_RULES))
def test_a_suite_that_breaks_the_taxonomy_is_refused(
    explorer: Path, visit: Callable[..., "Page"], custom: Path, tmp_path: Path, said: str
) -> None:
    """The page names the rule and the line, however well the manifest was mended."""
    edit = BROKEN_RULES[said]
    source = custom
    if edit is under_another_name:
        from tools import samples

        source = samples.recovery_bundle(tmp_path, "explorer-sample")
    forged = mended_manifest(edited(source, tmp_path / "forged", "suite.jsonl", edit))
    shown = checked(visit(explorer), bundle_files(forged))
    assert said in shown
    assert "suite.jsonl:" in shown


def test_a_click_beside_the_board_spends_nothing(
    explorer: Path, visit: Callable[..., "Page"]
) -> None:
    """Only the grid and the one-cell border around it name cells."""
    page = visit(explorer)
    take_over(page)
    before = page.inner_text("#verdict")
    page.set_viewport_size({"width": 1280, "height": 300})  # the board keeps its shape: margins
    for side in ("left + 2", "right - 2"):
        page.evaluate(
            f"""() => {{
                 const board = document.getElementById("board");
                 const box = board.getBoundingClientRect();
                 const {{ left, right }} = box;
                 board.dispatchEvent(new MouseEvent("click", {{
                   clientX: {side}, clientY: (box.top + box.bottom) / 2 }}));
               }}"""
        )
    assert page.inner_text("#verdict") == before


def test_what_is_no_bundle_is_refused_in_words(
    explorer: Path, visit: Callable[..., "Page"], tmp_path: Path
) -> None:
    """Broken zips, foreign files and missing parts end in a message, never in silence."""
    page = visit(explorer)
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 not really")
    assert "not a zip file" in checked(page, broken)
    page.reload()
    foreign = tmp_path / "notes.txt"
    foreign.write_text("hello")
    assert "manifest.json" in checked(page, [foreign])


def test_a_fitness_bundle_is_counted_again(
    explorer: Path, visit: Callable[..., "Page"], fitness: Path, tmp_path: Path
) -> None:
    """The page recounts a fitness summary, and catches one that was changed."""
    said = checked(visit(explorer), bundle_files(fitness))
    assert "Everything that was checked holds." in said
    forged = shutil.copytree(fitness, tmp_path / "forged")
    path = forged / "summary.json"
    record = json.loads(path.read_text("utf-8"))
    record["summary"]["sufficiency_pass_count"] += 1
    path.write_bytes(canonical_bytes(record) + b"\n")
    said = checked(visit(explorer), bundle_files(mended_manifest(forged)))
    assert "The summary doesn’t follow from the results" in said
    assert "sufficiency_pass_count" in said


def with_field(place: str, value: Any) -> Callable[[list[Any]], None]:
    """Return an edit that sets one field of the first record; None removes it."""

    def edit(records: list[Any]) -> None:
        *parents, last = place.split(".")
        record = records[0]
        for name in parents:
            record = record[int(name) if isinstance(record, list) else name]
        if value is None:
            del record[last]
        else:
            record[last] = value

    return edit


def swapped(records: list[Any]) -> None:
    records[:2] = records[1::-1]


def invented_policy(records: list[Any]) -> None:
    policies = records[0]["policies"]
    policies.append({**policies[0], "policy": "zebra"})


FORGERIES: dict[str, tuple[str, Callable[[list[Any]], None]]] = {
    "agent_outcome": ("results.jsonl", with_field("agent_outcome", "crash")),
    "trials": ("summary.json", with_field("trials", 901)),
    "grids": ("summary.json", with_field("grids", 51)),
    "scenarios": ("summary.json", with_field("scenarios", 3)),
    "suite_id": ("summary.json", with_field("suite_id", "mine")),
    "agent_outcomes": ("summary.json", with_field("policies.0.agent_outcomes", {"ok": 299})),
    "evidence_class": ("summary.json", with_field("policies.0.evidence_class", "client_agent")),
    "policy_seeds": ("summary.json", with_field("policy_seeds", [0])),
    "published": ("summary.json", with_field("published.0.completed", 1)),
    "limits": ("summary.json", with_field("limits", [])),
    "schema_version": ("summary.json", with_field("schema_version", "x")),
    "policies[3]": ("summary.json", invented_policy),
    "interval": ("summary.json", with_field("policies.0.total.verified_interval.method", "guess")),
    "traces.jsonl:1": ("traces.jsonl", swapped),
}
FITNESS_FORGERIES: dict[str, tuple[str, Callable[[list[Any]], None]]] = {
    "sufficiency_latency_matrix": (
        "summary.json",
        with_field("sufficiency_latency_matrix.sufficient.pass", 0),
    ),
    "route_type_metrics": ("summary.json", with_field("route_type_metrics", {})),
    "first_contact_unknown_count": (
        "summary.json",
        with_field("summary.first_contact_unknown_count", 7),
    ),
    "mean_recall_at_packet_denominator": (
        "summary.json",
        with_field("summary.mean_recall_at_packet_denominator", 1),
    ),
    "mean_recall_at_packet": ("summary.json", with_field("summary.mean_recall_at_packet", 0.5)),
    "suite": ("summary.json", with_field("suite", "other")),
    "status": ("summary.json", with_field("status", "fail")),
    "limits": ("summary.json", with_field("limits", [])),
    "results.jsonl:2": ("results.jsonl", swapped),
    "latency_status": ("results.jsonl", with_field("latency_status", "timeout")),
    "found_expected_artifacts": (
        "results.jsonl",
        with_field("found_expected_artifacts", ["invented"]),
    ),
    "recall_at_packet": ("results.jsonl", with_field("recall_at_packet", 0.1234)),
    "failed_checks": ("results.jsonl", with_field("failed_checks", ["weak_scent"])),
    "sufficiency_status": ("results.jsonl", with_field("sufficiency_status", "fail")),
    "fields command_used": ("results.jsonl", with_field("family", None)),
    "from 0": ("results.jsonl", with_field("wall_ms", -1)),
    "debts.jsonl:1": ("debts.jsonl", swapped),
}


def python_refuses(bundle: Path) -> bool:
    from wayproof.cli import main

    return main(["verify", str(bundle)]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["recovery", "fitness"])
def test_whatever_python_refuses_the_page_refuses(
    explorer: Path,
    visit: Callable[..., "Page"],
    recovery: Path,
    fitness: Path,
    tmp_path: Path,
    kind: str,
) -> None:
    """Edits whose digests were mended: each is refused by both, the page naming the place."""
    forgeries = FORGERIES if kind == "recovery" else FITNESS_FORGERIES
    page = visit(explorer)
    for number, (said, (file, edit)) in enumerate(forgeries.items()):
        source = recovery if kind == "recovery" else fitness
        forged = mended_manifest(edited(source, tmp_path / str(number), file, edit))
        assert python_refuses(forged), said
        page.reload()
        assert said in checked(page, bundle_files(forged))
        assert page.locator("#faults > li").count() >= 1, said


MANIFEST_EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "limits": lambda manifest: manifest.pop("limits"),
    "settings": lambda manifest: manifest.pop("settings"),
    "inputs": lambda manifest: manifest.pop("inputs"),
    "varies": lambda manifest: manifest.pop("varies"),
    "fields": lambda manifest: manifest.update(more=1),
    "limits[0]": lambda manifest: manifest.update(limits=["All is well."]),
    "settings.policy_seeds": lambda manifest: manifest["settings"].update(policy_seeds=[1, 0]),
}


@pytest.mark.slow
def test_a_manifest_must_say_all_and_nothing_else(
    explorer: Path, visit: Callable[..., "Page"], recovery: Path, tmp_path: Path
) -> None:
    """Missing, unknown and repeated keys, other bytes, other files: refused."""
    page = visit(explorer)
    forged = shutil.copytree(recovery, tmp_path / "forged")
    path = forged / "manifest.json"
    whole = path.read_text("utf-8")

    def refused(text: str) -> str:
        path.write_text(text, "utf-8")
        page.reload()
        said = checked(page, bundle_files(forged))
        assert page.locator("#faults > li").count() >= 1, text[:80]
        return said

    for place, edit in MANIFEST_EDITS.items():
        manifest = json.loads(whole)
        edit(manifest)
        assert place in refused(canonical_bytes(manifest).decode() + "\n")
    assert "canonical form" in refused(whole.replace("{", '{"kind":"recovery",', 1))
    assert "canonical form" in refused(json.dumps(json.loads(whole)) + "\n")
    (forged / "more.txt").write_text("hello")
    manifest = json.loads(whole)
    manifest["files"]["more.txt"] = {"bytes": 0, "sha256": "0" * 64}
    path.write_bytes(canonical_bytes(manifest) + b"\n")
    assert "more.txt" in refused(mended_manifest(forged).joinpath("manifest.json").read_text())


@pytest.mark.parametrize("name", ["results.jsonl", "debts.jsonl"])
def test_a_fitness_bundle_without_its_evidence_is_refused(
    explorer: Path, visit: Callable[..., "Page"], fitness: Path, tmp_path: Path, name: str
) -> None:
    """Only a run that was asked for a summary only may come without results."""
    forged = shutil.copytree(fitness, tmp_path / "forged")
    (forged / name).unlink()
    manifest = json.loads((forged / "manifest.json").read_text("utf-8"))
    del manifest["files"][name]
    (forged / "manifest.json").write_bytes(canonical_bytes(manifest) + b"\n")
    said = checked(visit(explorer), bundle_files(forged))
    assert "This bundle doesn’t hold." in said
    assert name in said


def test_what_systems_add_to_archives_is_no_part_of_a_bundle(
    explorer: Path, visit: Callable[..., "Page"], fitness: Path, tmp_path: Path
) -> None:
    """macOS's own entries, backslashes, and files beside the bundle's folder."""
    out = tmp_path / "b.zip"
    with zipfile.ZipFile(out, "w") as archive:
        for file in bundle_files(fitness):
            archive.writestr(f"b\\{file.name}", file.read_bytes())
        for name in ("__MACOSX/b/._manifest.json", "b/.DS_Store", "b/._x", "results.jsonl"):
            archive.writestr(name, b"junk")
    page = visit(explorer)
    assert "Everything that was checked holds." in checked(page, out)
    with zipfile.ZipFile(out, "w") as archive:
        for file in bundle_files(fitness):
            place = file.name if file.name == "results.jsonl" else f"b/{file.name}"
            archive.writestr(place, file.read_bytes())
    page.reload()
    assert "A file is missing" in checked(page, out)
    with zipfile.ZipFile(out, "w") as archive:
        for folder in ("a", "b"):
            archive.write(fitness / "manifest.json", f"{folder}/manifest.json")
    page.reload()
    assert "More than one bundle" in checked(page, out)


def test_a_digest_is_readable_on_a_phone(
    explorer: Path, visit: Callable[..., "Page"], fitness: Path
) -> None:
    """At 360 px a SHA-256 takes a few lines of the whole width, in no frame that cuts it."""
    page = visit(explorer)
    page.set_viewport_size({"width": 360, "height": 800})
    checked(page, bundle_files(fitness))
    box = page.locator(".files td.digest").first.bounding_box()
    assert box is not None
    assert box["width"] > 250
    frame = page.locator(".scroll:has(.files)")
    assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")


def test_what_python_accepts_the_page_accepts(
    explorer: Path, visit: Callable[..., "Page"], tmp_path: Path
) -> None:
    """Hostile texts, several attempts, vacuous shares, blank commands, a summary only."""
    from tools import samples

    from wayproof.cli import main

    (tmp_path / "hostile").mkdir()
    bundles = [samples.hostile_bundle(tmp_path / "hostile")]
    tasks = [
        {
            "task_id": "\U0001f600",
            "expected_artifacts": ["a*", "b"],
            "scent_terms": ["x", "y", "z"],
        },
        {"task_id": "\uffee", "forbidden_first_routes": ["rm"], "latency_budget_ms": 100},
        {"task_id": "lost", "expected_artifacts": ["c"]},
    ]
    packets = [
        {"task_id": "\U0001f600", "attempt": number, "selected_artifacts": picked, "summary": "x"}
        for number, picked in enumerate((["a1", "a2", "q"], ["b"], []), start=1)
    ]
    packets.append({"task_id": "\uffee", "first_contact_command": "rm \u3000", "wall_ms": 100.0625})
    for name, rows in (("tasks", tasks), ("packets", packets)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    inputs = [f"--{name}={tmp_path / name}.jsonl" for name in ("tasks", "packets")]
    for name, more in (("whole", []), ("brief", ["--summary-only"])):
        assert main(["fitness", "score", *inputs, "--out", str(tmp_path / name), *more]) == 0
        bundles.append(tmp_path / name)
    page = visit(explorer)
    for bundle in bundles:
        assert main(["verify", str(bundle)]) == 0
        page.reload()
        assert "Everything that was checked holds." in checked(page, bundle_files(bundle))


def test_french_reasons_are_french(
    explorer: Path, visit: Callable[..., "Page"], tmp_path: Path
) -> None:
    """A broken zip is explained in French, and no line may begin with a semicolon."""
    page = visit(explorer, query="?lang=fr")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK")
    assert "ce n’est pas un fichier zip" in checked(page, broken)
    assert not {" ;", " :", " ?"} & {
        text[at : at + 2] for text in [page.inner_text("main")] for at in range(len(text))
    }


def test_the_page_speaks_french(explorer: Path, visit: Callable[..., "Page"]) -> None:
    """The switch changes every text of the page, and its language."""
    page = visit(explorer)
    page.click('[data-language="fr"]')
    assert page.get_attribute("html", "lang") == "fr"
    assert "La récupération après une action rejetée" in page.inner_text("h1")
    assert "Un échantillon public distinct." in page.inner_text("#banner")
    page.click("#jump-last")
    assert "récupération vérifiée" in page.inner_text("#verdict")


def test_a_faulty_trial_can_be_watched_at_its_fault(
    explorer: Path, visit: Callable[..., "Page"], recovery: Path, tmp_path: Path
) -> None:
    """Recorded on one board, re-derived on the other, and marked as not verified."""
    forged = mended_manifest(edited(recovery, tmp_path / "forged", "traces.jsonl", cheaper))
    page = visit(explorer)
    checked(page, bundle_files(forged))
    page.click("#watch-given")
    assert page.is_visible("#given-faulty")
    assert page.is_visible("#other-board")
    shown = int(page.input_value("#scrub"))
    assert 0 < shown < int(str(page.get_attribute("#scrub", "max"))) + 1
    recorded = page.locator("#ledger tbody tr td:last-child").last.inner_text().split(" / ")[0]
    derived = page.inner_text("#other-moment")
    assert f"Spent {int(recorded) + 1};" in derived
    page.click("#given-back")
    assert not page.is_visible("#given-faulty")


def test_the_verdict_names_what_was_given(
    explorer: Path, visit: Callable[..., "Page"], recovery: Path, fitness: Path, work: Path
) -> None:
    """A packed file by its name, a folder by its own, and whether the digest is the published."""
    page = visit(explorer)
    checked(page, zipped(recovery, work / "named.zip", zipfile.ZIP_STORED))
    assert page.inner_text("#checked-name") == "named.zip"
    assert page.get_attribute("#published-digest", "data-published") == "true"
    page.reload()
    checked(page, fitness, "#pick-folder")
    assert page.inner_text("#checked-name") == fitness.name
    assert page.locator("#published-digest").count() == 0


def test_the_whole_page_takes_a_drop(
    explorer: Path, visit: Callable[..., "Page"], fitness: Path
) -> None:
    """Files dropped anywhere are checked, as if they had been picked."""
    page = visit(explorer)
    files = {path.name: path.read_text("utf-8") for path in bundle_files(fitness)}
    page.evaluate(
        """files => {
             const data = new DataTransfer();
             for (const [name, text] of Object.entries(files)) {
               data.items.add(new File([text], name));
             }
             document.body.dispatchEvent(
               new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
           }""",
        files,
    )
    page.wait_for_selector("#outcome")
    assert page.get_attribute("#outcome", "data-sound") == "true"
