# SPDX-License-Identifier: MIT
"""docs/runbook.md: every command of it runs in a fleet that is in the section's situation, ends as the page says, and
prints what stands there, but for values that differ from run to run.

LANDFALL_RUNBOOK_WRITE=1 puts what was printed into the page instead of comparing it.
"""
import os
import re
import subprocess

import pytest

from lib.tree import TOP
from runbook_kit import SITUATIONS, masked, without_this_machine

PAGE = os.path.join(TOP, "docs", "runbook.md")
WRITE = os.environ.get("LANDFALL_RUNBOOK_WRITE")
SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.M)
STEP = re.compile(r"<!-- then: (?P<words>[^\n]+) -->|```console\n(?P<block>.*?)```", re.S)
ENDS = re.compile(r"\s+# ends with (\d)$")


def page():
    with open(PAGE, encoding="utf-8") as stream:
        return stream.read()


def sections():
    return dict(SECTION.findall(page()))


def commands(block):
    """(line as it stands, what is printed below it) of each command."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)


def run(fleet, line):
    """What a shell prints, both streams as a terminal shows them; insists on the code that the line names."""
    code = ENDS.search(line)
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=fleet.dir, env=fleet.shell_env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=60)
    assert done.returncode == (int(code.group(1)) if code else 0), (line, done.returncode, done.stdout)
    return without_this_machine(done.stdout)


def compare(line, expected, printed):
    assert [masked(text) for text in printed.splitlines()] == [masked(text) for text in expected.splitlines()], \
        f"{line}\n--- the page says\n{expected}\n--- it printed\n{printed}"


def write_block(title, before, after):
    text = page()
    start = text.index(f"\n## {title}\n")
    at = text.index(before, start)
    with open(PAGE, "w", encoding="utf-8") as out:
        out.write(text[:at] + after + text[at + len(before):])


def walk(fleet, situation, title, text):
    for step in STEP.finditer(text):
        if step["words"]:
            assert next(situation) == step["words"]
            continue
        new = ""
        for line, expected in commands(step["block"]):
            printed = run(fleet, line)
            if not WRITE:
                compare(line, expected, printed)
            new += f"$ {line}\n{printed}"
        if WRITE:
            write_block(title, step["block"], new)
    with pytest.raises(StopIteration):
        next(situation)


@pytest.mark.parametrize("title", SITUATIONS)
def test_a_section(title):
    situation = SITUATIONS[title]()
    try:
        walk(next(situation), situation, title, sections()[title])
    finally:
        situation.close()


def test_every_section_has_its_situation():
    assert list(sections()) == list(SITUATIONS)


def test_every_block_is_run():
    """No command hides in a block of another kind, and each landfall command has its redis-cli beside it."""
    for title, text in sections().items():
        blocks = re.findall(r"^```(.*)$", text, re.M)
        assert set(blocks) <= {"console", ""}, title
        lines = [line for block in re.findall(r"```console\n(.*?)```", text, re.S) for line, _ in commands(block)]
        assert any("redis-cli" in line for line in lines) and any("landfall" in line for line in lines), title
        for part in ("**What you see.**", "**What happens by itself.**", "**What a person decides.**"):
            assert part in text, (title, part)


def test_the_masks_hide_values_and_nothing_else():
    assert masked("since 3 min ago (2026-09-01T07:00:00.000Z) 1:9f2c01d4") == masked("since 1 h ago (2027-01-01T00:00:00.000Z) 1:aaaaaaaa")
    assert masked("1 uncertain") != masked("2 uncertain") and masked("done: a/b/c") != masked("busy: a/b/c")
