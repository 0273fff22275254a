"""The drawing of the rooms says what the imports say."""

import shutil
from pathlib import Path

from tools import docs
from tools.pages.rooms import Rooms, body, drawing, read_rooms

ROOT = Path(__file__).parents[2]
TOY = Rooms(
    layers=(("top",), ("left", "right"), ("low",), ("text",)),
    imports={
        "top": frozenset({"left", "low"}),
        "left": frozenset({"low", "text"}),
        "right": frozenset({"text"}),
        "low": frozenset({"text"}),
        "text": frozenset(),
    },
    exceptions=frozenset({("left", "top")}),
    meanings=dict.fromkeys(("top", "left", "right", "low", "text"), "A room."),
)


def test_the_drawing_has_every_line_that_others_do_not_imply() -> None:
    """top → low follows from top → left → low, and lines to the ground are left out."""
    picture = drawing(TOY)
    assert picture.count('class="import"') == 2
    assert picture.count('class="exception"') == 1
    assert all(f">{room}</text>" in picture for room in ("top", "left", "right", "low"))


def test_the_table_has_every_import() -> None:
    """What the drawing leaves out stands in the table."""
    page = body(TOY)
    assert "| `top` | A room. | left, low |" in page
    assert "| `text` | A room. | nothing |" in page


def test_the_contracts_circle_is_drawn_as_an_exception() -> None:
    """The rooms are read without the imports that the contract excepts."""
    rooms = read_rooms(ROOT)
    assert rooms.exceptions == {("fitness", "cli")}
    assert "cli" not in rooms.imports["fitness"]
    assert {room for layer in rooms.layers for room in layer} == rooms.imports.keys()


def test_a_stale_drawing_is_found(tmp_path: Path) -> None:
    """`make test` refuses a drawing that shows other imports than the source has."""
    for folder in ("docs", "packaging"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    picture = tmp_path / "docs/images/rooms.svg"
    picture.write_text(picture.read_text("utf-8").replace("fitness", "fitnes"), "utf-8")
    assert docs.faults(tmp_path) == ["stale: docs/images/rooms.svg"]
