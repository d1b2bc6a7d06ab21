# SPDX-License-Identifier: MIT
"""What files must say (their licence) and must not say: names of platforms in C, paths of a machine, registries,
secrets, documents that nobody can open."""
import os
import re

from lint.rules import FORBIDDEN_TEXT, PLATFORM_NAMES_ALLOWED, SPDX_FILES
from lint.source import Finding, files, is_test, line_of, texts

SPDX = "SPDX-License-Identifier: MIT"
OWN_FOLDER = "tests/lint/"
DOCUMENT = re.compile(r"(?<![\w/.*<-])(?:\.\./)*[A-Za-z][\w/-]*\.md\b")

UPWARDS = re.compile(r"(?<![\w.*<-])(?:\.\./)+\w[\w./-]*")


def check(top):
    rules = (check_licence, check_platform_names, check_forbidden, check_documents, check_upwards)
    return [finding for rule in rules for finding in rule(top)]


def check_licence(top):
    for path, text in texts(top):
        if (path.endswith(SPDX_FILES) or text.startswith("#!")) and SPDX not in "".join(text.splitlines(True)[:3]):
            yield Finding(path, 1, f'no line "{SPDX}" at its top')


def check_platform_names(top):
    """A platform is a descriptor; C that knows one by name would be a second place that describes it."""
    folder = "platforms/descriptors"
    names = [os.path.basename(path)[:-len(".json")] for path in files(top, ".json", under=folder)
             if os.path.dirname(path) == folder]
    names = [name for name in names if name not in PLATFORM_NAMES_ALLOWED]
    if not names:
        return
    pattern = re.compile(rf"(?<![a-z])({'|'.join(map(re.escape, names))})(?![a-z])", re.I)
    for path, text in texts(top, ".c", ".h"):
        if not is_test(path):
            for match in pattern.finditer(text):
                words = f"names the platform {match.group(1)}; only descriptors do"
                yield Finding(path, line_of(text, match.start()), words)


def check_forbidden(top):
    for path, text in texts(top):
        if path.startswith(OWN_FOLDER) or path == "tests/house/test_words.py":
            continue
        for pattern, what in FORBIDDEN_TEXT:
            for match in re.finditer(pattern, text):
                yield Finding(path, line_of(text, match.start()), what)


def prose(top):
    """Files that people read; tests may name what does not exist."""
    return ((path, text) for path, text in texts(top, ".c", ".h", ".md", ".lua", ".cmake", ".txt", ".sh", ".json")
            if not is_test(path))


def check_documents(top):
    """A document that is named exists: written from the top, from its folder, or by its name alone."""
    names = {os.path.basename(path) for path in files(top, ".md")}
    for path, text in prose(top):
        for match in DOCUMENT.finditer(text):
            name = match.group(0)
            there = any(os.path.exists(os.path.join(top, base, name)) for base in ("", os.path.dirname(path)))
            if not there and ("/" in name or name not in names):
                yield Finding(path, line_of(text, match.start()), f"{name} is not in the tree")


def check_upwards(top):
    """A path that goes up ends at something in the tree."""
    for path, text in prose(top):
        for match in UPWARDS.finditer(text):
            there = os.path.normpath(os.path.join(os.path.dirname(path), match.group(0).rstrip(".")))
            if there.startswith("..") or not os.path.exists(os.path.join(top, there)):
                yield Finding(path, line_of(text, match.start()), f"{match.group(0)} leads to nothing in the tree")
