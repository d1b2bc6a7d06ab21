# SPDX-License-Identifier: MIT
"""The rules about the README's map and about links fail on a tree that breaks them."""
import pytest

from lint import docs


def test_a_good_tree_passes(tree):
    assert docs.check(tree.top) == []


def test_a_folder_that_the_map_lacks_is_found(tree, expect):
    tree.write("extra/a.txt", "")
    expect(docs.check(tree.top), "README.md", 1, "0 lines for extra/")


def test_a_folder_that_the_map_names_twice_is_found(tree, expect):
    tree.append("README.md", "| `core/` | again |\n")
    expect(docs.check(tree.top), "README.md", 1, "2 lines for core/")


def test_build_and_hidden_folders_need_no_line(tree):
    tree.write("build/release/a.txt", "")
    tree.write(".ci/run", "")
    assert docs.check(tree.top) == []


def test_no_readme_is_no_finding_yet(tree):
    (tree.top / "README.md").unlink()
    assert list(docs.check_map(tree.top)) == []


@pytest.mark.parametrize("link, words", [
    ("[a](missing.md)", "no such file"), ("[a](../contract.md)", "no such file"),
    ("[a](../../outside.md)", "out of the tree"), ("[a](/docs/contract.md)", "out of the tree"),
    ("[a](contract.md#another-thing)", "no such heading"),
    ("[a](#nowhere)", "no such heading"), ("[a]: missing.md", "no such file"), ("![a](picture.png)", "no such file"),
])
def test_a_link_that_leads_nowhere_is_found(tree, expect, link, words):
    tree.append("docs/contract.md", f"{link}\n")
    expect(docs.check(tree.top), "docs/contract.md", 6, words)


@pytest.mark.parametrize("link", [
    "[a](#one-thing)", "[a](../README.md#small)", "[a](https://example.org/x.md)", "[a](mailto:a@example.org)",
    "[a](../core/core.c)", "`[a](missing.md)`", "```\n[a](missing.md)\n```",
])
def test_good_links_pass(tree, link):
    tree.append("docs/contract.md", f"{link}\n")
    assert docs.check(tree.top) == []


def test_decisions_with_numbers_of_their_own_pass(tree):
    tree.write("docs/decisions/001-one-thing.md", "# 001: one thing\n")
    tree.write("docs/decisions/002-another.md", "# 002: another\n")
    assert docs.check(tree.top) == []


@pytest.mark.parametrize("name, head, words", [
    ("001-another.md", "# 001: another", "has the number 001 already"),
    ("002-another.md", "# Another", "begins with"), ("002-another.md", "# 003: another", "begins with"),
    ("another.md", "# 002: another", "NNN-words.md"),
])
def test_a_decision_without_a_number_of_its_own_is_found(tree, expect, name, head, words):
    tree.write("docs/decisions/001-a-thing.md", "# 001: a thing\n")
    tree.write(f"docs/decisions/{name}", f"{head}\n")
    expect(docs.check(tree.top), f"docs/decisions/{name}", 1, words)
