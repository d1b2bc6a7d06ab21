# SPDX-License-Identifier: MIT
"""docs/adding-a-platform.md is true: its example loads and passes its own fixtures, those fixtures can fail, and it
explains every word that a descriptor may use."""
import json
import os
import re
import subprocess

import pytest

from lib.tree import TOP, program

PAGE = os.path.join(TOP, "docs", "adding-a-platform.md")
BLOCK = re.compile(r"^`([\w./-]+)`:\n\n```json\n(.*?)^```$", re.M | re.S)
RUNNERS = ("platforms_shipped", "platforms_shipped_verdict")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@pytest.fixture
def folder(tmp_path):
    """The example's files as the page has them."""
    for name, text in BLOCK.findall(read(PAGE)):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return tmp_path


def run(runner, folder):
    return subprocess.run([program(runner), str(folder)], capture_output=True, text=True, timeout=60, check=False)


def change(path, edit):
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))


def test_the_page_has_a_descriptor_and_fixtures(folder):
    assert (folder / "notebarn.json").exists()
    names = os.listdir(folder / "fixtures" / "notebarn")
    assert sorted(names) == ["accept.json", "channel.json", "reads.json", "requests.json"]


@pytest.mark.parametrize("runner", RUNNERS)
def test_the_example_passes_its_fixtures(folder, runner):
    result = run(runner, folder)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_case_that_expects_something_else_fails(folder):
    change(folder / "fixtures/notebarn/accept.json", lambda cases: cases[0]["expect"].update(id="72"))
    for runner in RUNNERS:
        assert run(runner, folder).returncode != 0, runner


def test_a_wait_that_is_another_fails(folder):
    change(folder / "fixtures/notebarn/accept.json", lambda cases: cases[-2]["verdict"].update(wait_ms=1))
    assert run("platforms_shipped_verdict", folder).returncode != 0


def test_a_rule_without_a_case_fails(folder):
    rule = {"status": [418], "outcome": "refused"}
    change(folder / "notebarn.json", lambda descriptor: descriptor["accept"].append(rule))
    result = run("platforms_shipped", folder)
    assert result.returncode != 0 and "no fixture is decided by $.accept[3]" in result.stdout + result.stderr


def test_a_mistake_is_told_with_its_place(folder):
    change(folder / "notebarn.json", lambda descriptor: descriptor["reads"]["listing"].pop("end"))
    result = run("platforms_shipped", folder)
    assert result.returncode != 0 and "$.reads.listing.end: missing" in result.stdout + result.stderr


def words(value, found):
    """Member names and enumerated words of a schema."""
    if isinstance(value, dict):
        found.update(name for name in value.get("properties", {}) if not name.startswith("$"))
        found.update(word for word in value.get("enum", []) if isinstance(word, str))
        for inner in value.values():
            words(inner, found)
    elif isinstance(value, list):
        for inner in value:
            words(inner, found)
    return found


def test_every_word_of_a_descriptor_is_on_the_page():
    text = read(PAGE)
    schema = json.loads(read(os.path.join(TOP, "docs", "descriptor.schema.json")))
    missing = [word for word in sorted(words(schema, set())) if not re.search(rf"(?<![\w-]){word}(?![\w-])", text)]
    assert missing == []
