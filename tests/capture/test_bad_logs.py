"""Damage never stops the reading and never goes unseen."""

import codecs
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capture.capture_logs import (
    FIXTURES,
    WriteLog,
    claude_call,
    claude_line,
    claude_result,
    packet_of,
    packets_of,
)
from wayproof.capture import Problems
from wayproof.capture.lines import clean_json
from wayproof.cli import main

GOOD: list[Any] = [
    claude_line("user", "find it", 1),
    claude_call(2, "Read", {"file_path": "/repo/a.py"}),
    claude_result(3, 2),
    claude_line("assistant", [{"type": "text", "text": "found"}], 4),
]
WANTED = ["a.py"]


def _lines() -> list[str]:
    return [json.dumps(one, ensure_ascii=False) for one in GOOD]


def _read(path: Path, *, bad: int) -> dict[str, Any]:
    problems = Problems()
    (packet,) = packets_of(path, problems=problems)
    assert problems.count == bad, [str(one) for one in problems.named]
    assert packet["selected_artifacts"] == WANTED
    return packet


BAD_LINES = [
    ('{"type": "user", "mess', "not JSON"),
    ("not json at all", "not JSON"),
    ("42", "not an object"),
    ("[1]", "not an object"),
    ('"text"', "not an object"),
    ("null", "not an object"),
    ('{"silly": "this"}', "without a type"),
    ('{"type": "user", "uuid": "x", "message": "error"}', "not an object of this format"),
    ('{"type": "user", "uuid": "x", "message": {"contenst": []}}', "without content"),
    ('{"type":"user","uuid":"x","sessionId":"s-1","message":{"content":["wow"]}}', "got `str`"),
    ("\x00\x00\x00\x00", "NUL"),
    ('{"type": ' + "[" * 100_000, "not"),
    ('{"type": ' + "9" * 10_000 + "}", "not"),
]


@pytest.mark.parametrize(("line", "what"), BAD_LINES)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_bad_line_is_named_and_the_rest_is_read(
    write_log: WriteLog, capsys: pytest.CaptureFixture[str], line: str, what: str, place: int
) -> None:
    """First, middle or last: the others are read, the place is named, the status is 0."""
    lines = _lines()
    lines.insert(place, line)
    path = write_log(*lines)
    _read(path, bad=1)
    assert main(["capture", str(path)]) == 0
    said = capsys.readouterr().err
    assert f"log.jsonl:{place + 1}: " in said
    assert what in said


def test_strict_makes_bad_lines_an_error(
    write_log: WriteLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --strict the status is 2 and nothing is written."""
    path = write_log(*_lines(), "42")
    out = tmp_path / "packets.jsonl"
    assert main(["capture", str(path), "--strict", "--out", str(out)]) == 2
    assert not out.exists()
    assert main(["capture", str(path), "--strict"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "log.jsonl:5: not an object" in captured.err
    assert main(["capture", str(path), "--out", str(out)]) == 0
    assert out.exists()


def test_a_truncated_last_line(write_log: WriteLog) -> None:
    """A killed writer leaves half a line; what stands before it counts."""
    lines = _lines()
    path = write_log(*lines)
    path.write_text("\n".join(lines) + "\n" + lines[0][:40], encoding="utf-8")
    _read(path, bad=1)


def test_no_newline_at_the_end(write_log: WriteLog) -> None:
    """A missing last newline is no damage."""
    path = write_log("x")
    path.write_text("\n".join(_lines()), encoding="utf-8")
    _read(path, bad=0)


def test_two_records_run_together_are_both_read(write_log: WriteLog) -> None:
    """Both are read, and the line is named as mended."""
    lines = _lines()
    path = write_log(lines[0] + lines[1], lines[2], lines[3])
    problems = Problems()
    (packet,) = packets_of(path, problems=problems)
    assert packet["selected_artifacts"] == WANTED
    assert [(one.line, one.mended) for one in problems.named] == [(1, True)]
    assert "2 records run together" in problems.named[0].text


def test_a_record_run_together_with_half_a_one(write_log: WriteLog) -> None:
    """What is whole is read; the rest is named."""
    lines = _lines()
    path = write_log(lines[0], lines[1] + lines[2][:30], lines[2], lines[3])
    _read(path, bad=1)


@pytest.mark.parametrize("size", [20, 90, 150, 200])
def test_half_a_record_run_together_with_a_whole_one(write_log: WriteLog, size: int) -> None:
    """Reading goes on at the next record's start; the broken one is named."""
    lines = _lines()
    path = write_log(lines[0], lines[1][:size] + lines[1], lines[2], lines[3])
    _read(path, bad=1)


def test_invalid_utf8_inside_a_tools_input(write_log: WriteLog) -> None:
    """What is decoded late is mended like the rest of a line, and named like it."""
    call = json.dumps(claude_call(2, "Read", {"file_path": "/repo/a.py", "note": "NOTE"}))
    path = write_log(_lines()[0], call, *_lines()[2:])
    path.write_bytes(path.read_bytes().replace(b"NOTE", b"\xff\xfe"))
    _read(path, bad=1)
    assert main(["capture", str(path), "--strict"]) == 2


ODD_VALUES = [
    '"\\ud800"', '"\\udfff \\ud800x"', "NaN", "Infinity", "-Infinity", "1e999",
    '"tab\there"', '"nul\x00here"', '"\\u0000"', '"\\ud83d\\ude00"',
]  # fmt: skip


@pytest.mark.parametrize("value", ODD_VALUES)
def test_odd_values_are_read(write_log: WriteLog, value: str) -> None:
    """Lone surrogates, NaN, infinities, raw control characters: the record is read."""
    lines = _lines()
    lines[1] = lines[1][:-1] + f', "odd": {value}}}'
    lines[1] = lines[1].replace('"input": {', f'"input": {{"odd": {value}, ')
    path = write_log(*lines)
    problems = Problems()
    (packet,) = packets_of(path, problems=problems)
    assert packet["selected_artifacts"] == WANTED
    assert all(one.mended for one in problems.named)
    json.dumps(packet, allow_nan=False).encode()


def test_invalid_utf8_is_read(write_log: WriteLog) -> None:
    """Bytes that are no text become replacement characters."""
    path = write_log(*_lines())
    path.write_bytes(path.read_bytes().replace(b"find it", b"find \xff\xfe it"))
    problems = Problems()
    (packet,) = packets_of(path, problems=problems)
    assert packet["selected_artifacts"] == WANTED


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\r\n \r\n"])
def test_encodings_and_line_ends(tmp_path: Path, encoding: str, end: str) -> None:
    """Byte order marks, UTF-16 in either order, CRLF, blank lines: the same packet."""
    path = tmp_path / "log.jsonl"
    lines = [line.replace("find it", "fïnd 数 it") for line in _lines()]
    path.write_bytes(end.join(lines).encode(encoding))
    _read(path, bad=0)


def test_a_byte_order_mark_inside_a_file(write_log: WriteLog) -> None:
    """Files that were put together carry marks in the middle."""
    lines = _lines()
    lines[2] = codecs.BOM_UTF8.decode("utf-8") + lines[2]
    _read(write_log(*lines), bad=1)


def test_gzip(tmp_path: Path) -> None:
    """A compressed log is read as it is."""
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(_lines()).encode()))
    _read(path, bad=0)


def test_truncated_gzip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a gzip is one clear error."""
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(_lines() * 500).encode())[:200])
    assert main(["capture", str(path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_empty_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to read: named, status 0, and 2 with --strict."""
    for content in (b"", b"\n \n", codecs.BOM_UTF8):
        path = tmp_path / "empty.jsonl"
        path.write_bytes(content)
        assert main(["capture", str(path)]) == 0
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "empty.jsonl: empty log" in captured.err
        assert main(["capture", str(path), "--strict"]) == 2
        capsys.readouterr()


@pytest.mark.parametrize(
    "content", [b"hello world\n", b"\x00\x01\x02\x03", b"{}", b"[]", b"[1, 2]", b"PK\x03\x04junk",
                b'{"a": 1}\n{"b": 2}\n', b"%PDF-1.7\n", b"{\n"]
)  # fmt: skip
def test_a_file_of_no_known_format(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused with one line that says what was looked for, or named as damaged."""
    path = tmp_path / "what.bin"
    path.write_bytes(content)
    status = main(["capture", str(path)])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "what.bin" in captured.err
    assert status == (0 if content.startswith(b"PK") else 2)


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One clear line, status 2."""
    assert main(["capture", str(tmp_path / "gone.jsonl")]) == 2
    assert "can't be read" in capsys.readouterr().err


DOCUMENTS = [
    "swe_agent/state_object.traj", "mini_swe_agent/version_2.traj.json", "atif/trajectory.json",
    "inspect/events_and_messages.json", "openhands/v0.json", "gemini/session.json",
    "codex/oldest_document.json", "otlp/one_document.json",
]  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_a_truncated_document(
    tmp_path: Path, name: str, keep: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """A document is whole or it isn't: half of one is a clear error and no packet."""
    data = (FIXTURES / name).read_bytes()
    path = tmp_path / Path(name).name
    path.write_bytes(data[: int(len(data) * keep) - 2])
    assert main(["capture", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert path.name in captured.err


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_with_odd_values_and_encodings(tmp_path: Path, name: str) -> None:
    """NaN, a byte order mark and UTF-16 don't keep a document from being read."""
    text = (FIXTURES / name).read_text(encoding="utf-8")
    expected = packets_of(FIXTURES / name)
    odd = text.replace("{", '{"odd": [NaN, "\\ud800"], ', 1)
    for number, data in enumerate((odd.encode("utf-8-sig"), text.encode("utf-16"))):
        path = tmp_path / f"{number}-{Path(name).name}"
        path.write_bytes(data)
        found = packets_of(path, problems=Problems())
        assert [one["selected_artifacts"] for one in found] == [
            one["selected_artifacts"] for one in expected
        ]


def test_a_hundred_megabyte_line(write_log: WriteLog) -> None:
    """A line of 100 MB is read like any other."""
    huge = claude_result(3, 2, "x" * 100_000_000)
    path = write_log(GOOD[0], GOOD[1], huge, GOOD[3])
    _read(path, bad=0)


def test_a_line_beyond_the_limit_is_skipped(
    write_log: WriteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a line is never held; it is named, and the next one is read."""
    monkeypatch.setattr("wayproof.capture.lines.MAX_LOG_LINE_BYTES", 5000)
    _read(write_log(*_lines()[:2], "x" * 20_000, *_lines()[2:]), bad=1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_long_log_needs_little_memory(tmp_path: Path) -> None:
    """300 MB of one session that never edits are read within 150 MB."""
    path = tmp_path / "long.jsonl"
    output = "line of output\n" * 2000
    with path.open("w") as file:
        file.write(json.dumps(GOOD[0]) + "\n")
        for number in range(5_000):
            call = claude_call(number, "Read", {"file_path": f"/repo/{number % 50}.py"})
            result = claude_result(number, number, output)
            result["uuid"] = f"r-{number}"
            result["toolUseResult"] = {"type": "text", "file": {"content": output}}
            file.write(json.dumps(call) + "\n" + json.dumps(result) + "\n")
    assert path.stat().st_size > 300 << 20
    # Not getrusage(): its peak is inherited from whoever started the process.
    script = (
        "from pathlib import Path\n"
        "from wayproof.cli import main\n"
        f"assert main(['capture', {str(path)!r}, '--out', {str(tmp_path / 'out')!r}]) == 0\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert int(done.stdout) / 1024 < 150
    assert len(json.loads((tmp_path / "out").read_text())["selected_artifacts"]) == 50


def test_clean_json_says_what_it_did() -> None:
    """Documents in order, whether all was read, and what was wrong."""
    assert clean_json(b'{"a":1} {"b":NaN}')[:2] == ([b'{"a": 1}', b'{"b": null}'], True)
    assert clean_json(b'{"a":1} {"b"')[:2] == ([b'{"a": 1}'], False)
    assert clean_json(b"\x00")[:2] == ([], True)
    assert clean_json(b'"\\ud800"')[0] == [b'"?"']


def test_hostile_text_reaches_no_terminal(
    write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escape codes and direction marks in a log are spelled out where people read."""
    hostile = "\x1b[31mred\x07\u202egnp.exe"
    path = write_log(
        claude_line("user", hostile, 1),
        claude_call(2, "Bash", {"command": f"cat '{hostile}'"}),
        claude_result(3, 2, hostile, is_error=True),
        claude_line("assistant", hostile, 4, sessionId="s-1"),
    )
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[31m" in shown
    assert packet_of(path)["first_contact_command"].startswith("cat '")
