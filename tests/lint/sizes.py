# SPDX-License-Identifier: MIT
"""How long files and functions may be, how many ways may lead through one, which functions are not called at all.

Functions of C are found by universal-ctags, those of Python by ast, those of Lua by their indentation (a function of a
script ends at the "end" in its first column). Complexity is counted as McCabe did it, a
switch counting once: a table of cases is easy to read. For the same reason the lines of a C table count for the file,
not for the function that it stands in.
"""
import ast
import json
import re
import subprocess

from lint.rules import BANNED, COMPLEXITY_MAX, FILE_LINES_MAX, FUNCTION_LINES_MAX, LINE_COLUMNS_MAX, SIZED
from lint.source import Finding, bare_c, files, is_test, line_of, read, texts

C_BRANCH = re.compile(r"\b(?:if|for|while|switch)\b|&&|\|\||\?")
C_TABLE = re.compile(r"\]\s*=\s*\{[^;]*\};")
LUA_BRANCH = re.compile(r"\b(?:if|elseif|for|while|repeat|and|or)\b")
LUA_FUNCTION = re.compile(r"^(?:local )?function ([\w.:]+).*?^end\b", re.M | re.S)
PY_BRANCH = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension, ast.Match)
BANNED_CALL = re.compile(rf"(?<![\w.>])({'|'.join(BANNED)})\s*\(")


def check(top):
    return [*check_files(top), *check_c(top), *check_python(top), *check_lua(top), *check_banned(top)]


def check_files(top):
    for path, text in texts(top, *SIZED):
        lines = len(text.splitlines())
        if lines >= FILE_LINES_MAX:
            yield Finding(path, lines, f"{lines} lines; a file has fewer than {FILE_LINES_MAX}")
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > LINE_COLUMNS_MAX and path.endswith((".c", ".h", ".py")) and not is_test(path):
                yield Finding(path, number, f"{len(line)} columns; a line has at most {LINE_COLUMNS_MAX}")


def functions(top, paths):
    """(path, name, first line, last line) of each function that ctags finds."""
    if not paths:
        return
    done = subprocess.run(["ctags", "--languages=C", "--langmap=C:.c.h", "--kinds-C=f", "--fields=+ne",
                           "--output-format=json", "-f", "-", "-L", "-"],
                          cwd=top, input="\n".join(paths), capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        if "end" in tag:
            yield tag["path"], tag["name"], tag["line"], tag["end"]


def size(path, name, first, last, complexity, table_lines=0):
    lines = last - first + 1 - table_lines
    if lines >= FUNCTION_LINES_MAX:
        yield Finding(path, first, f"{name}() has {lines} lines; a function has fewer than {FUNCTION_LINES_MAX}")
    if complexity > COMPLEXITY_MAX and not is_test(path):
        yield Finding(path, first, f"{name}() has complexity {complexity}; the most is {COMPLEXITY_MAX}")


def check_c(top):
    bare = {}
    for path, name, first, last in functions(top, files(top, ".c", ".h")):
        if path not in bare:
            bare[path] = bare_c(read(top, path) or "").split("\n")
        body = "\n".join(bare[path][first - 1:last])
        table_lines = sum(match.group(0).count("\n") for match in C_TABLE.finditer(body))
        yield from size(path, name, first, last, 1 + len(C_BRANCH.findall(body)), table_lines)


def check_python(top):
    for path, text in texts(top, ".py"):
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            yield Finding(path, error.lineno or 1, f"not Python: {error.msg}")
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                branches = sum(isinstance(part, PY_BRANCH) for part in ast.walk(node))
                branches += sum(len(part.values) - 1 for part in ast.walk(node) if isinstance(part, ast.BoolOp))
                yield from size(path, node.name, node.lineno, node.end_lineno, branches + 1)


def check_lua(top):
    for path, text in texts(top, ".lua"):
        for match in LUA_FUNCTION.finditer(text):
            body = match.group(0)
            yield from size(path, match.group(1), line_of(text, match.start()), line_of(text, match.end()),
                            1 + len(LUA_BRANCH.findall(re.sub(r"--.*", "", body))))


def check_banned(top):
    for path, text in texts(top, ".c", ".h"):
        bare = bare_c(text)
        for match in BANNED_CALL.finditer(bare):
            name = match.group(1)
            yield Finding(path, line_of(bare, match.start()), f"{name}() is banned; use {BANNED[name]}")
