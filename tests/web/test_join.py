"""Our modules become one classic script; what the joiner doesn't know is refused."""

import pytest

from wayproof.web.join import join_modules


def joined(modules: dict[str, str], entry: str = "room/app.js") -> str:
    return join_modules(entry, modules.__getitem__)


def test_dependencies_come_first_and_once() -> None:
    """A module that two others use stands once, before both."""
    script = joined(
        {
            "room/app.js": 'import { a } from "./a.js";\nimport { b } from "../web/b.js";\na(b);\n',
            "room/a.js": 'import { c } from "../web/c.js";\nexport function a() { return c; }\n',
            "web/b.js": 'import { c } from "./c.js";\nexport const b = c;\n',
            "web/c.js": "export const c = 1;\n",
        }
    )
    order = ["$web_c = ", "$room_a = ", "$web_b = ", "$room_app = "]
    assert [script.count(name) for name in order] == [1, 1, 1, 1]
    assert sorted(order, key=script.index) == order
    assert "import" not in script
    assert "export" not in script


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({"room/app.js": 'import { x } from "./a.js";\n', "room/a.js": "const x = 1;\n"}, "export"),
        ({"room/app.js": "export default 1;\n"}, "unknown form"),
        ({"room/app.js": "import x from './a.js';\n"}, "unknown form"),
        (
            {
                "room/app.js": 'import { a } from "./a.js";\n',
                "room/a.js": 'import { x } from "./app.js";\nexport const a = 1;\n',
            },
            "cycle",
        ),
    ],
)
def test_what_is_not_understood_is_refused(modules: dict[str, str], message: str) -> None:
    """A page with a hole in it is never written."""
    with pytest.raises(ValueError, match=message):
        joined(modules)


def test_comments_on_their_own_lines_are_left_out() -> None:
    """A page carries code; what follows code on its line, or stands in a text, stays."""
    script = joined(
        {
            "room/app.js": "// why\n/** What. */\n/**\n * More.\n */\nconst a = 1; // kept\n"
            'const b = "// kept";\n  // gone\n'
        }
    )
    assert script.count("kept") == 2
    assert not any(word in script for word in ("why", "What", "More", "gone"))
