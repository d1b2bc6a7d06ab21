# SPDX-License-Identifier: MIT
"""The words that scripts write are the words of core/reason.h: one table, two languages."""
import os
import re
import subprocess

import pytest

from ledger_calls import FOLDER, NAMES, STATES, TOP, source


def table(name):
    with open(os.path.join(TOP, "core", "reason.h"), encoding="utf-8") as stream:
        body = re.search(rf"#define {name}\(X\)(.*?)\n\n", stream.read(), re.S).group(1)
    return set(re.findall(r'X\(\w+, "(\w*)"\)', body))


def scripts():
    for file in sorted(os.listdir(FOLDER)):
        if file.endswith(".lua"):
            with open(os.path.join(FOLDER, file), encoding="utf-8") as stream:
                yield file, re.sub(r"--.*", "", stream.read())


def test_states_and_reasons_that_scripts_set_stand_in_the_table():
    states, reasons, seen = table("DELIVERY_STATES"), table("DELIVERY_REASONS"), set()
    assert states == {"none", *STATES}
    for file, text in scripts():
        for state in re.findall(r"state\s*[=~]=?\s*'(\w+)'", text):
            assert state in states, (file, state)
        found = re.findall(r"reason = (?:[\w. ]+ (?:and|or) )?'(\w+)'", text)
        found += re.findall(r"(?:wait_for_channel|wait|uncertain)\(d, c, '(\w+)'", text)
        found += [word for both in re.findall(r"hold\(d, c, '(\w+)', '(\w+)'", text) for word in both]
        for word in found:
            seen.add(word)
            assert word in reasons, (file, word)
    assert {"sending", "lease_lost", "poison", "window_closed", "expired_in_doubt", "paced", "new"} <= seen


ALONE = ("leave", "tidy", "place", "session")  # without row.lua
ALLOWED = {"redis", "KEYS", "ARGV", "string", "table", "math", "tonumber", "tostring", "pcall", "error", "type", "pairs", "ipairs",
           "next", "unpack", "setmetatable"}


@pytest.mark.parametrize("name", [*NAMES, *ALONE])
def test_scripts_need_nothing_but_plain_lua(name, tmp_path):
    """They also run in a bare Lua 5.1 with redis.call and redis.pcall: no cjson, no bit, no global of their own."""
    text = open(os.path.join(FOLDER, name + ".lua"), encoding="utf-8").read() if name in ALONE else source(name)
    (tmp_path / "script.lua").write_text(text)
    listing = subprocess.run(["luac5.1", "-l", "-p", tmp_path / "script.lua"], capture_output=True, text=True, check=True).stdout
    used = set(re.findall(r"[GS]ETGLOBAL\s+-?\d+ -?\d+\s*; (\w+)", listing))
    assert used and used <= ALLOWED, used - ALLOWED
    assert "SETGLOBAL" not in listing
    functions = set(re.findall(r"redis\.(\w+)", text))
    assert functions <= {"call", "pcall"}, functions
