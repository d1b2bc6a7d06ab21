# SPDX-License-Identifier: MIT
"""The rules about sizes and banned functions fail on a tree that breaks them."""
import pytest

from lint import sizes


def c_function(lines, body="    x++;\n"):
    return "int long_one(int x)\n{\n" + body * (lines - 4) + "    return x;\n}\n"


def test_a_good_tree_passes(tree):
    tree.append("core/core.c", c_function(69))
    tree.write("tests/test_a.py", "def test_a():\n" + "    pass\n" * 68)
    tree.write("ledger/scripts/claim.lua", "local function row(x)\n" + "    x = x\n" * 60 + "end\n")
    assert sizes.check(tree.top) == []


def test_the_lines_of_a_table_are_the_files(tree):
    table = "    static const struct { int a, b; } cases[] = {\n" + "        {1, 2},\n" * 80 + "    };\n"
    body = table + "    x++;\n" * 60 + "    return x;\n"
    tree.write("tests/unit/core/test_a.c", f"int long_one(int x)\n{{\n{body}}}\n")
    assert sizes.check(tree.top) == []


@pytest.mark.parametrize("path", ["core/table.c", "core/table.h", "tests/test_table.py", "ledger/scripts/claim.lua"])
def test_a_long_file_is_found(tree, expect, path):
    tree.write(path, "\n" * 499)
    assert sizes.check(tree.top) == []
    tree.write(path, "\n" * 500)
    expect(sizes.check(tree.top), path, 500, "fewer than 500")


@pytest.mark.parametrize("path, text", [
    ("core/a.c", "/*{}*/\n"), ("deploy/a.py", "#   {}\n"),
])
def test_a_wide_line_is_found(tree, expect, path, text):
    tree.write(path, "\n" + text.format("x" * 116))
    assert sizes.check(tree.top) == []
    tree.write(path, "\n" + text.format("x" * 118))
    expect(sizes.check(tree.top), path, 2, "at most 120")


@pytest.mark.parametrize("path, text", [
    ("worker/round.c", c_function(70)),
    ("tests/test_a.py", "def long_one(x):\n" + "    x += 1\n" * 69),
    ("ledger/scripts/claim.lua", "local function long_one(x)\n" + "    x = x\n" * 68 + "end\n"),
], ids=["C", "Python", "Lua"])
def test_a_long_function_is_found(tree, expect, path, text):
    tree.write(path, text)
    expect(sizes.check(tree.top), path, 1, "long_one() has 70 lines")


@pytest.mark.parametrize("path, text, allowed", [
    ("worker/round.c", c_function(20, "    x = x && 1 ? 1 : 0;\n"), c_function(11, "    x = x && 1 ? 1 : 0;\n")),
    ("deploy/demo.py", "def long_one(x):\n" + "    x = x and 1 if x else 0\n" * 8,
     "def long_one(x):\n" + "    x = x and 1 if x else 0\n" * 7),
    ("ledger/scripts/claim.lua", "local function long_one(x)\n" + "    if x and x then x = x end\n" * 8 + "end\n",
     "local function long_one(x)\n" + "    if x and x then x = x end\n" * 7 + "end\n"),
], ids=["C", "Python", "Lua"])
def test_a_tangled_function_is_found(tree, expect, path, text, allowed):
    tree.write(path, allowed)
    assert sizes.check(tree.top) == []
    tree.write(path, text)
    expect(sizes.check(tree.top), path, 1, "complexity")


def test_a_test_may_be_a_long_list_of_checks(tree):
    tree.write("tests/unit/worker/test_a.c", c_function(60, "    if (x && 1) return 1;\n"))
    assert sizes.check(tree.top) == []


def test_branches_in_comments_and_strings_do_not_count(tree):
    tree.write("worker/round.c", c_function(60, '    x += "if (a && b)"[0]; /* if while for */\n'))
    assert sizes.check(tree.top) == []


@pytest.mark.parametrize("call", ["sprintf(a, \"%d\", 1)", "strcpy(a, b)", "strcat(a, b)", "strtok(a, b)", "atoi(a)",
                                  "gets(a)", "localtime(&t)", "system (a)"])
def test_a_banned_function_is_found(tree, expect, call):
    tree.write("cli/main.c", f"int f(void)\n{{\n    {call};\n}}\n")
    expect(sizes.check(tree.top), "cli/main.c", 3, "is banned")


def test_what_only_looks_banned_is_not(tree):
    tree.write("cli/main.c", 'int f(void)\n{\n    snprintf(a, 1, "system()");\n    my_gets(a);\n    a->gets(b);\n}\n')
    assert sizes.check(tree.top) == []
