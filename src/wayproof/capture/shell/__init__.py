"""A shell command as typed, taken apart by bash's grammar; nothing is ever run.

The grammar is tree-sitter's. What it can't parse is kept whole: then the whole text is the
first segment, nothing is selected from it, and only a recognised writing command inside the
damaged tree still counts (:attr:`Reading.unparsed` says so).

Values that only a running shell would know (command output, globs, unset variables) stay
unknown and select nothing; loops over literal words and variables set to literals are
followed.

``reading`` parses a text, ``statements`` cuts it into segments, ``collector`` finds the
simple commands in a segment, ``words`` and ``folder`` know what words stand for and where
the script stands, ``commands`` knows which files single commands read, and ``effects``
which ones they write, with ``programs`` (what runs something), ``scripts`` (what inline
scripts write) and ``patches``.
"""

from wayproof.capture.shell.reading import read_command, typed_text
from wayproof.capture.shell.records import FileRead, Reading, Segment
from wayproof.capture.shell.writes import Act, Write

__all__ = ["Act", "FileRead", "Reading", "Segment", "Write", "read_command", "typed_text"]
