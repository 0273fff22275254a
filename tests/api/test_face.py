"""What ``import wayproof`` offers: lazily, documented, typed, and under names of its own."""

import inspect
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wayproof

SOURCE = Path(wayproof.__file__).parent
TYPED = Path(__file__).parent / "typed"
FUNCTIONS = [name for name in wayproof.__all__ if inspect.isfunction(getattr(wayproof, name))]


def test_importing_costs_next_to_nothing() -> None:
    """Nothing but the table of names is imported: no msgspec, no room."""
    script = (
        "import sys; before = set(sys.modules); import wayproof; "
        "print(sorted(name for name in set(sys.modules) - before))"
    )
    said = _printed(script)
    assert "msgspec" not in said
    assert "wayproof.api" not in said


def test_importing_takes_less_than_50_ms() -> None:
    """The best of five, in fresh processes, in processor time: other work may not count."""
    script = (
        "import time; start = time.process_time(); import wayproof; "
        "print((time.process_time() - start) * 1000)"
    )
    assert min(float(_printed(script)) for _ in range(5)) < 50


def _printed(script: str) -> str:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_public_name_is_there_and_nothing_else_is() -> None:
    """``dir`` lists what ``__all__`` promises; an unknown name is an ``AttributeError``."""
    assert set(wayproof.__all__) <= set(dir(wayproof))
    assert len(set(wayproof.__all__)) == len(wayproof.__all__)
    for name in wayproof.__all__:
        assert getattr(wayproof, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'scroe'"):
        getattr(wayproof, "scroe")  # noqa: B009


def test_no_function_bears_a_packages_name() -> None:
    """Importing ``wayproof.x`` would replace a function ``x``, whatever came before."""
    modules = {path.stem for path in SOURCE.glob("*.py")} | {
        path.name for path in SOURCE.iterdir() if path.is_dir()
    }
    assert modules.isdisjoint(wayproof.__all__)


@pytest.mark.parametrize("name", [name for name in wayproof.__all__ if name[0].isalpha()])
def test_no_public_name_is_undocumented(name: str) -> None:
    """Functions, records, their public methods: each says what it means."""
    thing = getattr(wayproof, name)
    if not callable(thing):
        return  # a constant; its meaning stands in the reference
    assert inspect.getdoc(thing)
    for own in vars(thing) if inspect.isclass(thing) else ():
        member = inspect.getattr_static(thing, own)
        is_public = not own.startswith("_") and (
            inspect.isfunction(member) or isinstance(member, classmethod | property)
        )
        assert not is_public or inspect.getdoc(member), f"{name}.{own}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_document_every_parameter_and_what_they_raise(name: str) -> None:
    """Numpy's convention: each parameter by name, the result, the errors."""
    function = getattr(wayproof, name)
    text = inspect.getdoc(function) or ""
    for section in ("Parameters\n---", "Returns\n---", "Raises\n---"):
        assert section in text
    for parameter in inspect.signature(function).parameters:
        lines = [line for line in text.splitlines() if not line.startswith(" ")]
        assert any(parameter in line.replace(",", " ").split() for line in lines), parameter


def test_everything_raised_on_purpose_has_one_root() -> None:
    """One ``except`` catches it all."""
    for kind in (wayproof.InputError, wayproof.IntegrityError, wayproof.OutputError):
        assert issubclass(kind, wayproof.WayproofError)


# -- types ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_users_script_type_checks_and_its_mistakes_do_not(tmp_path: Path) -> None:
    """Under ``mypy --strict``: no error in the script, one in each line that must fail.

    A line that must fail bears ``# fails: CODE``; mypy must complain there, with that code, and
    nowhere else.
    """
    started_s = time.monotonic()
    for script in sorted(TYPED.glob("*.py")):
        wanted = {
            (number, line.rpartition("# fails: ")[2].strip())
            for number, line in enumerate(script.read_text("utf-8").splitlines(), 1)
            if "# fails: " in line
        }
        done = subprocess.run(
            [
                *(sys.executable, "-m", "mypy", "--strict", "--config-file="),
                *("--show-error-codes", "--no-error-summary", "--hide-error-context"),
                *("--cache-dir", str(tmp_path), str(script)),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        found = {
            (int(line.split(":")[1]), line.rpartition("[")[2].rstrip("]"))
            for line in done.stdout.splitlines()
            if ": error: " in line
        }
        assert found == wanted, done.stdout
    assert time.monotonic() - started_s < 300


def test_the_typed_scripts_hold_lines_that_must_fail() -> None:
    """Were there none, the test above would show nothing."""
    texts = [path.read_text("utf-8") for path in TYPED.glob("*.py")]
    assert sum(text.count("# fails: ") for text in texts) >= 8
