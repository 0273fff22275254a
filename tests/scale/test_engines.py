"""Ray and Dask: the bytes of one process, also when workers and machines are lost."""

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scale.engine_agents import fragile_walk
from wayproof.cli import main
from wayproof.errors import InputError, WayproofError
from wayproof.parallel.engines import engine
from wayproof.recovery.generate import Parameters, Recipe, suite_lines
from wayproof.recovery.run import RunRequest, run_suite

pytestmark = pytest.mark.filterwarnings("ignore")  # other packages warn as they like
FILES = ("results.jsonl", "suite.jsonl", "summary.json", "traces.jsonl")
GRIDS = 600
TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six hundred grids: four blocks of a policy with one seed."""
    path = tmp_path_factory.mktemp("suite") / "suite.jsonl"
    path.write_bytes(b"".join(suite_lines(Recipe("engines", 3, Parameters(grids=GRIDS)))))
    return path


def request_for(suite: Path, folder: Path) -> RunRequest:
    folder.mkdir(exist_ok=True)
    return RunRequest(suite, policies=(fragile_walk(folder),), policy_seeds=(0,))


@pytest.fixture(scope="module")
def expected(suite: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What one process writes."""
    folder = tmp_path_factory.mktemp("local")
    run_suite(request_for(suite, folder / "wishes"), folder / "out")
    return contents(folder / "out")


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(autouse=True)
def _workers_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent)]))


def cases(folder: Path, count: int) -> tuple[Path, Path]:
    tasks, packets = folder / "tasks.jsonl", folder / "packets.jsonl"
    with tasks.open("w") as task_file, packets.open("w") as packet_file:
        for number in range(count):
            name = f"t{number:06}"
            task = {
                "task_id": name,
                "family": f"f{number % 7}",
                "expected_artifacts": [f"{name}.py"],
            }
            artifacts = [f"{name}.py"] if number % 3 else ["other.py"]
            packet = {"task_id": name, "selected_artifacts": artifacts, "wall_ms": number % 90}
            task_file.write(json.dumps(task) + "\n")
            packet_file.write(json.dumps(packet) + "\n")
    return tasks, packets


def commands_give_the_same(name: str, suite: Path, folder: Path) -> None:
    """Every command that takes an engine, against one process."""
    tasks, packets = cases(folder, 4000)
    recipe = ["recovery", "generate", "--seed", "3", "--grids", "300", "--out"]
    run = ["recovery", "run", "--suite", str(suite), "--seeds", "0", "--out"]
    score = ["fitness", "score", "--tasks", str(tasks), "--packets", str(packets), "--out"]
    for command, names in (
        (recipe, ("",)),
        (run, FILES),
        (score, ("results.jsonl", "debts.jsonl", "summary.json")),
    ):
        place = folder / command[1]
        status = main([*command, f"{place}-local"])
        assert main([*command, f"{place}-{name}", "--backend", name, "--processes", "2"]) == status
        for file in names:
            mine, theirs = (Path(f"{place}-{where}", file) for where in (name, "local"))
            assert mine.read_bytes() == theirs.read_bytes(), (command, file)
    assert main(["verify", str(folder / f"run-{name}")]) == 0


# -- Ray ------------------------------------------------------------------------------------


@pytest.fixture
def ray_module() -> Iterator[Any]:
    module = pytest.importorskip("ray", reason="the extra [ray] is not installed")
    yield module
    module.shutdown()


def test_ray_gives_the_bytes_of_one_process(ray_module: Any, suite: Path, tmp_path: Path) -> None:
    """Started for the command, and left again."""
    commands_give_the_same("ray", suite, tmp_path)
    assert not ray_module.is_initialized()


def test_two_ray_workers_killed_while_they_work(
    ray_module: Any, suite: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    """Their units are done again; somebody else's Ray is used and left running."""
    ray_module.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    request = request_for(suite, tmp_path / "wishes")
    for number in (1, 2):
        (tmp_path / "wishes" / f"kill-{number}").touch()
    with engine("ray", None) as place:
        assert place.width == 2
        run_suite(request._replace(executor=place.executor, processes=2), tmp_path / "out")
    assert contents(tmp_path / "out") == expected
    assert len(list((tmp_path / "wishes").glob("done-kill-*"))) == 2
    assert ray_module.is_initialized()


def test_a_node_removed_while_a_unit_runs_on_it(
    ray_module: Any, suite: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    """The unit told on which node it runs; that one is taken away, and another does the work."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        nodes = [cluster.add_node(num_cpus=1)]
        ray_module.init(address=cluster.address, log_to_driver=False)
        request = request_for(suite, tmp_path / "wishes")
        (tmp_path / "wishes" / "wait-1").touch()
        told = tmp_path / "wishes" / "waits-on"
        failed: list[BaseException] = []

        def run() -> None:
            try:
                with engine("ray", None) as place:
                    one = request._replace(executor=place.executor, processes=2)
                    run_suite(one, tmp_path / "out")
            except BaseException as error:  # noqa: BLE001 - it is raised below
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        for _ in range(1800):
            if told.exists() or failed:
                break
            time.sleep(0.1)
        assert not failed
        (lost,) = [node for node in nodes if node.node_id == told.read_text()]
        cluster.add_node(num_cpus=1)
        cluster.remove_node(lost, allow_graceful=False)
        thread.join(timeout=180)
        assert not thread.is_alive()
        assert not failed
        for _ in range(600):  # the run may end before Ray's table of nodes says so
            alive = [node["NodeID"] for node in ray_module.nodes() if node["Alive"]]
            if lost.node_id not in alive:
                break
            time.sleep(0.1)
        assert lost.node_id not in alive
        assert contents(tmp_path / "out") == expected
    finally:
        ray_module.shutdown()
        cluster.shutdown()


def _refuses() -> None:
    raise InputError("no", file="here", line=3)


def _dies() -> None:
    os._exit(1)


def test_errors_of_units_come_back_from_ray(ray_module: Any) -> None:
    """A unit's own error is itself; a unit that kills every worker ends the run with status 2."""
    from wayproof.parallel.backend import backend

    ray_module.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    with engine("ray", None) as place:
        with pytest.raises(InputError, match="here:3: no"), backend(2, place.executor) as where:
            list(where.map(_refuses, [()]))
        with (
            pytest.raises(WayproofError, match="killed"),
            backend(2, place.executor) as where,
        ):
            list(where.map(_dies, [()]))


# -- Dask -----------------------------------------------------------------------------------


@pytest.fixture
def dask() -> Any:
    return pytest.importorskip("distributed", reason="the extra [dask] is not installed")


def test_dask_gives_the_bytes_of_one_process(dask: Any, suite: Path, tmp_path: Path) -> None:
    """Started for the command, and left again."""
    commands_give_the_same("dask", suite, tmp_path)
    with pytest.raises(ValueError, match="No global client"):
        dask.get_client()


def test_a_dask_worker_killed_while_it_works(
    dask: Any, suite: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    """Its units are done again; somebody else's client is used and left open."""
    request = request_for(suite, tmp_path / "wishes")
    (tmp_path / "wishes" / "kill-1").touch()
    with dask.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        with engine("dask", None) as place:
            assert place.width == 2
            run_suite(request._replace(executor=place.executor, processes=2), tmp_path / "out")
        assert client.status == "running"
    assert contents(tmp_path / "out") == expected
    assert (tmp_path / "wishes" / "done-kill-1").exists()


# -- without them ---------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "module"), [("ray", "ray"), ("dask", "distributed")])
def test_a_missing_engine_is_told(
    name: str,
    module: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Status 2, with what to install; nothing is written."""
    monkeypatch.setitem(__import__("sys").modules, module, None)
    command = ["recovery", "run", "--backend", name, "--out", str(tmp_path / "out")]
    assert main(command) == 2
    assert f'--backend: {name} is not installed (python -m pip install "wayproof[{name}]")' in (
        capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []
