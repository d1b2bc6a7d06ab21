# SPDX-License-Identifier: MIT
"""What all rules need: the files of a tree, their text, C without its comments and strings, and findings."""
import os
import re
from typing import NamedTuple

SKIPPED = {"build", "__pycache__", ".git", ".cache", ".pytest_cache"}


class Finding(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def files(top, *endings, under=""):
    """Paths below `top` (relative to it, sorted) that end in one of `endings`; all files if there are none."""
    found = []
    for folder, names, file_names in os.walk(os.path.join(top, under)):
        names[:] = sorted(name for name in names if name not in SKIPPED)
        found += [os.path.relpath(os.path.join(folder, name), top) for name in file_names if name not in SKIPPED]
    return sorted(path for path in found if not endings or path.endswith(endings))


def read(top, path):
    """The text of a file, or None if it is not text."""
    with open(os.path.join(top, path), "rb") as stream:
        data = stream.read()
    return None if b"\0" in data[:4096] else data.decode("utf-8", "replace")


def texts(top, *endings, under=""):
    """Pairs of path and text of the files that are text."""
    for path in files(top, *endings, under=under):
        text = read(top, path) if os.path.isfile(os.path.join(top, path)) else None
        if text is not None:
            yield path, text


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def bare_c(text):
    """C with comments and the insides of strings and characters blanked; every line and column stays where it was."""
    def blank(match):
        words = match.group(0)
        inner = re.sub(r"[^\n]", " ", words)
        return words[0] + inner[1:-1] + words[-1] if words[0] in "\"'" else inner
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def is_test(path):
    return path.startswith("tests/")
