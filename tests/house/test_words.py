# SPDX-License-Identifier: MIT
"""The rules about words fail on a tree that breaks them."""
import pytest

from lint import words

LICENCE = "/* SPDX-License-Identifier: MIT */\n"


def test_a_good_tree_passes(tree):
    assert words.check(tree.top) == []


@pytest.mark.parametrize("path, text", [
    ("core/a.c", "int a;\n"), ("tests/a.py", "import os\n"), ("ledger/scripts/a.lua", "return 1\n"),
    ("deploy/start", "#!/bin/sh\ntrue\n"), ("core/CMakeLists.txt", "add_library(a)\n"),
])
def test_a_missing_licence_is_found(tree, expect, path, text):
    tree.write(path, text)
    expect(words.check(tree.top), path, 1, "SPDX")


@pytest.mark.parametrize("text", [
    "/* as Birdsite does */", 'strcmp(name, "birdsite")', "birdsite_send();", "BIRDSITE_MAX",
])
def test_a_platform_named_in_c_is_found(tree, expect, text):
    tree.write("worker/a.c", LICENCE + text + "\n")
    expect(words.check(tree.top), "worker/a.c", 2, "names the platform")


@pytest.mark.parametrize("text", ["webhook_sign();", "birdsites();"])
def test_words_that_are_no_platform_pass(tree, text):
    tree.write("worker/a.c", LICENCE + text + "\n")
    assert words.check(tree.top) == []


@pytest.mark.parametrize("text, what", [
    ("see /home/anna/notes", "one machine"), ("cd /work/tree", "one machine"), ("(/root/x)", "one machine"),
    ("https://pypi.example.org/simple", "registry"), ("deb http://deb.example.org/debian", "registry"),
    ("-----BEGIN RSA PRIVATE KEY-----", "private key"), ("AKIA" + "A" * 16, "credential"),
    ("ghp_" + "a" * 36, "credential"),
    ("as issue 12 asks", "issue"), ("TODO: later", "undone"),
])
def test_forbidden_text_is_found_everywhere(tree, expect, text, what):
    tree.append("docs/contract.md", f"{text}\n")
    expect(words.check(tree.top), "docs/contract.md", 6, what)


@pytest.mark.parametrize("text", ["as PLAN.md says", "see docs/missing.md", "see ../neighbour/notes"])
def test_what_nobody_can_open_is_found(tree, expect, text):
    tree.write("core/a.h", LICENCE + f"/* {text} */\n")
    expect(words.check(tree.top), "core/a.h", 2, "the tree")


@pytest.mark.parametrize("text", [
    "contract.md says", "see docs/contract.md", "see ../docs/contract.md", "home/anna", "x/work/y",
])
def test_what_is_there_passes(tree, text):
    tree.write("core/a.h", LICENCE + f"/* {text} */\n")
    assert words.check(tree.top) == []
