"""An agreed evaluation, made once: keys, agreement, signatures, start, run, one disclosed trial."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from wayproof.canonical import canonical_bytes, sha256_hex
from wayproof.evidence.private_names import ROLES, signature_name, start_name
from wayproof.evidence.private_records import Barrier, Limit, Limits, Receives
from wayproof.evidence.recovery_names import CHECKS
from wayproof.private.agreement import read_agreement
from wayproof.private.disclose import disclose
from wayproof.private.evidence_folder import read_signed
from wayproof.private.keys import SigningKey, new_key
from wayproof.private.plan import PlanRequest, plan
from wayproof.private.run import PrivateRunReport, PrivateRunRequest, run_private
from wayproof.private.signing import Trust, sign_agreement, sign_start
from wayproof.private.starts import next_start, read_chain, start_line
from wayproof.recovery.generate import Parameters

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def limits_of(enforce: str, **bounds: int) -> Limits:
    """Return limits, each enforced alike."""
    said: dict[str, Any] = {
        "moves": 1,
        "seconds": 20,
        "memory_bytes": 256 << 20,
        "processes": 8,
        "file_bytes": 1 << 20,
    }
    rows = {name: Limit(at_most=at, enforce=enforce) for name, at in (said | bounds).items()}  # type: ignore[arg-type]
    barrier = Barrier(enforce=enforce)  # type: ignore[arg-type]
    return Limits(**rows, network=barrier, isolation=barrier)


class Setting(NamedTuple):
    """Everything that both sides have, in one folder."""

    folder: Path
    client: SigningKey
    evaluator: SigningKey

    @property
    def agreement(self) -> Path:
        return self.folder / "agreement.toml"

    @property
    def agent(self) -> Path:
        return self.folder / "agent"

    @property
    def hidden(self) -> Path:
        return self.folder / "hidden"

    @property
    def trust(self) -> Trust:
        return Trust(self.client.public, self.evaluator.public)

    @property
    def trust_words(self) -> dict[str, str]:
        return {"client": self.client.public.hex, "evaluator": self.evaluator.public.hex}

    def plan(self, **changes: Any) -> None:
        request = PlanRequest(
            authorised_by="Jane Doe, Example Ltd",
            client=self.client.public,
            evaluator=self.evaluator.public,
            agent=self.agent,
            agent_name="acme",
            command=("python3", "agent.py", "walk"),
            runtime=("/usr",),
            runs=3,
            seeds=1,
            checks=tuple(check.name for check in CHECKS),
            keep="traces",
            not_before=NOW - timedelta(days=1),
            not_after=NOW + timedelta(days=30),
            limits=limits_of("best_effort"),
            receives=Receives(results=ROLES, stderr=(), traces=ROLES),
            parameters=Parameters(grids=2, side_min=5, side_max=6),
        )
        plan(request._replace(**changes), self.agreement, self.hidden)

    def sign(self) -> None:
        data = self.agreement.read_bytes()
        for role, key in (("client", self.client), ("evaluator", self.evaluator)):
            place = self.agreement.with_name(signature_name("agreement.toml", role))  # type: ignore[arg-type]
            place.write_bytes(sign_agreement(data, role, key))  # type: ignore[arg-type]

    def start(self, result: Path | None = None, *, last: int = 0) -> Path:
        """Write the start after ``last`` ones."""
        data = self.agreement.read_bytes()
        agreement = read_agreement(data)
        chain = read_chain(self.folder, last, agreement, sha256_hex(data), Trust()) if last else ()
        before = None if result is None else read_signed(result, Trust()).result_sha256
        nonce = sha256_hex(f"nonce {last}".encode())
        record = next_start(sha256_hex(data), chain, before, nonce, NOW + timedelta(hours=2))
        line, path = start_line(record), self.folder / start_name(record.run)
        path.write_bytes(line)
        signature = self.folder / signature_name(path.name, "client")
        signature.write_bytes(sign_start(path.name, line, self.client))
        return path

    def request(self, run: int = 1, **changes: Any) -> PrivateRunRequest:
        return PrivateRunRequest(
            agreement=self.agreement,
            start=self.folder / start_name(run),
            agent=self.agent,
            hidden=self.hidden,
            key=self.evaluator,
            trust=self.trust,
            moment=NOW,
        )._replace(**changes)

    def run(self, name: str = "result", run: int = 1, **changes: Any) -> PrivateRunReport:
        return run_private(self.request(run, **changes), self.folder / name)


def _setting(folder: Path) -> Setting:
    (folder / "agent").mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "stdio_agent.py", folder / "agent" / "agent.py")
    return Setting(folder, new_key(), new_key())


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    """Keys and an agent, and nothing agreed yet."""
    return _setting(tmp_path / "setting")


@pytest.fixture(scope="session")
def _agreed(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    setting = _setting(tmp_path_factory.mktemp("private") / "agreed")
    setting.plan()
    setting.sign()
    setting.start()
    return setting


@pytest.fixture(scope="session")
def _finished(_agreed: Setting, tmp_path_factory: pytest.TempPathFactory) -> Setting:
    folder = tmp_path_factory.mktemp("private") / "finished"
    shutil.copytree(_agreed.folder, folder)
    setting = _agreed._replace(folder=folder)
    setting.run()
    disclose(folder / "result", trial_of(folder / "result"), setting.hidden, folder / "trial")
    return setting


def _copy_of(setting: Setting, folder: Path) -> Setting:
    shutil.copytree(setting.folder, folder)
    return setting._replace(folder=folder)


@pytest.fixture
def agreed(_agreed: Setting, tmp_path: Path) -> Setting:
    """A copy of what is signed by both, with the first start."""
    return _copy_of(_agreed, tmp_path / "agreed")


@pytest.fixture
def finished(_finished: Setting, tmp_path: Path) -> Setting:
    """A copy of all that is there after a run and the disclosure of one trial."""
    return _copy_of(_finished, tmp_path / "finished")


def trial_of(bundle: Path, line: int = 1) -> str:
    """Name the trial of one line of a bundle's results."""
    record = json.loads((bundle / "results.jsonl").read_text().splitlines()[line])
    return f"{record['policy']}/{record['scenario_id']}/{record['policy_seed']}"


@pytest.fixture
def named_trial() -> Callable[..., str]:
    return trial_of


@pytest.fixture
def make_limits() -> Callable[..., Limits]:
    return limits_of


def repaired(folder: Path) -> None:
    """Make the manifest name the files as they are: a forger would."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for name in manifest["files"]:
        data = (folder / name).read_bytes()
        manifest["files"][name] = {"bytes": len(data), "sha256": sha256_hex(data)}
    (folder / "manifest.json").write_bytes(canonical_bytes(manifest) + b"\n")


@pytest.fixture
def repair() -> Callable[[Path], None]:
    return repaired
