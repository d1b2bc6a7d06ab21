# SPDX-License-Identifier: MIT
"""The comparison of what people say that is done with what the program does: it finds what it is there to find."""
import importlib.util
import os

from lib.tree import TOP

_PATH = os.path.join(TOP, "tests", "unit", "platforms", "what_now.py")
_SPEC = importlib.util.spec_from_file_location("what_now", _PATH)
what_now = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(what_now)

WORDS = """\
do done | published confirmed$ | It is published.
do twice | published confirmed, DUPLICATE | Twice.
do look | uncertain \\w+, at once | It is looked up.
point 500 | answers | 500 | An error.
point ok | own | [success] | A success.
class usual | What is usual.
    500 look
    ok done
"""
PROGRAM = """\
== one (not all of it seen on a server)
  tier read, key window 0 s
  can_read yes, lag 60 s, clean misses 2
  answers:
    200 | 500: unknown -> uncertain no_answer, at once
  own:
    201 published: it is [success]: committed -> published confirmed
"""


def table(*channels):
    return what_now.Table((WORDS + "".join(channels)).splitlines())


def channel(name, *lines, facts="window 0 lag 60 misses 2"):
    return "".join([f"channel {name}\n    is usual\n    {facts}\n", *(f"    {line}\n" for line in lines)])


def differences(text, program=PROGRAM):
    made = table(text)
    cells, facts = what_now.derived(program)["one"]
    return [*made.faults, *what_now.compare(made, made.channels["one"], cells, facts)]


def test_what_agrees_is_no_fault():
    assert differences(channel("one")) == []


def test_another_word_is_a_fault():
    fault, = differences(channel("one", "500 done"))
    assert fault == "500 is done; the program: unknown -> uncertain no_answer, at once"
    fault, = differences(channel("one"), PROGRAM.replace("published confirmed", "published confirmed, DUPLICATE"))
    assert fault.startswith("ok is done; the program:"), "a word is not the beginning of another"


def test_other_facts_are_a_fault():
    fault, = differences(channel("one", facts="window 0 lag 30 misses 2"))
    assert fault == "window 0 lag 30 misses 2; the program: window 0 lag 60 misses 2"


def test_points_that_one_of_the_two_does_not_have():
    fault, = differences(channel("one"), PROGRAM.split("  own:")[0])
    assert fault == "ok is done; the program has no such point"
    silent = channel("one").replace("is usual", "is nothing").replace("channel", "class nothing | Nothing.\nchannel")
    assert len([fault for fault in differences(silent) if "is not said" in fault]) == 2


def test_unknown_words_and_what_is_said_twice():
    assert table(channel("one", "501 look")).faults == ["line 12: no such point or word: 501 look"]
    assert table(channel("one", "500 look")).faults == ["line 12: 500 look is so already"]


def test_equal_rows_need_a_reason_and_a_reason_equal_rows():
    fault, = what_now.equal_rows(table(channel("one"), channel("two")))
    assert fault == "the same row, and no reason (`as .. because ..`): one, two"
    assert list(what_now.equal_rows(table(channel("one"), channel("two", "as one because they are")))) == []
    fault, = what_now.equal_rows(table(channel("one"), channel("two", "as one because they are", "500 done")))
    assert fault == "two: as one, which is another row: 500"
    assert list(what_now.equal_rows(table(channel("one"), channel("two", "as three because they are"))))
    assert list(what_now.equal_rows(table(channel("one"), channel("two", "as one"))))


def test_a_channel_that_only_one_of_the_two_knows():
    faults = list(what_now.faults_of(table(channel("two")), what_now.derived(PROGRAM)))
    assert faults[:2] == ["one: not in the table", "two: no such channel"]
