#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
What do we do now? Compares what_now.txt, which people wrote, with what the program derives from the descriptors:

    whatnow_print | what_now.py [--docs]

It fails where they differ, where two channels have the same row and nobody says why, where a descriptor's fixtures
lack a kind of answer that it must have, and where docs/what-now.md is not what the table says. --docs prints that page
instead.
"""
import json
import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[2]
DESCRIPTORS = TREE / "platforms" / "descriptors"
PAGE = TREE / "docs" / "what-now.md"
KINDS = ("success", "duplicate", "refusal", "limit", "expired")  # what every descriptor has a fixture for
PAGES_MIN = 3  # the first, one in the middle, the last
NOTHING = "–"
COLUMNS_MAX = 14  # of a part of the table; one with more is cut in two


class Channel:
    """One row of the table: what people expect of it."""

    def __init__(self, name):
        self.name, self.platform = name, name.split(",")[0]
        self.row, self.facts, self.none = {}, "", {}
        self.pages = self.same_as = self.why = ""
        self.notes = []


class Table:
    """what_now.txt"""

    def __init__(self, lines):
        self.does, self.points, self.classes, self.channels = {}, {}, {}, {}
        self.faults = []
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                self.read(number, line.rstrip())

    def read(self, number, line):
        first, _, rest = line.strip().partition(" ")
        if line[0] != " ":
            fields = [field.strip() for field in rest.split(" | ")]
            self.last = None
            if first == "do":
                self.does[fields[0]] = (re.compile(fields[1] + r"(?![a-z])"), fields[2])
            elif first == "point":
                self.points[fields[0]] = (fields[1], fields[2], fields[3])
            elif first == "class":
                self.last = self.classes[fields[0]] = {}
            else:
                self.last = self.channels[rest] = Channel(rest)
        elif isinstance(self.last, Channel):
            self.read_channel(number, first, rest)
        else:
            self.put(number, self.last, first, rest)

    def read_channel(self, number, first, rest):
        channel, (what, _, why) = self.last, rest.partition(" because ")
        if first == "is":
            for name in rest.split():
                channel.row.update(self.classes[name])
        elif first == "window":
            channel.facts = "window " + rest
        elif first == "none":
            channel.none[what] = why
        elif first == "pages":
            channel.pages = rest.removeprefix("because ")
        elif first == "as":
            channel.same_as, channel.why = what, why
        elif first == "note":
            channel.notes.append(rest)
        elif channel.row.get(first) == rest:
            self.faults.append(f"line {number}: {first} {rest} is so already")
        else:
            self.put(number, channel.row, first, rest)

    def words_for(self, decision):
        """The words that a decision of the program is called by: one, or the words are not good."""
        return [word for word, (pattern, _) in self.does.items() if pattern.search(decision)]

    def put(self, number, row, point, do):
        if point not in self.points or do not in self.does:
            self.faults.append(f"line {number}: no such point or word: {point} {do}")
        row[point] = do


def derived(text):
    """What whatnow_print prints: {channel: ({(section, name): [decisions]}, its facts)}."""
    channels = {}
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        if line.startswith("== "):
            name = re.sub(r" \(not all of it seen on a server\)$", "", line[3:])
            cells, facts = channels[name] = ({}, [])
        elif depth == 2 and line.endswith(":"):
            section = line.strip()[:-1]
        elif depth == 2:
            facts.append(line.strip())
        elif depth == 4:
            names, decision = split_line(line.strip())
            for name in names:
                cells.setdefault((section, name), []).append(decision)
    return channels


def split_line(line):
    """`a | b: decision` or `400 words [kind, kind]: decision`"""
    kinds = re.match(r"\d+ .* \[([a-z, -]+)\]: (.*)", line)
    if kinds:
        return [f"[{kind}]" for kind in kinds[1].split(", ")], kinds[2]
    names, _, decision = line.partition(": ")
    return names.split(" | "), decision


def facts_of(lines):
    """The window, lag and misses that the program prints, in the words of the table."""
    text = " ".join(lines)
    window = re.search(r"key window (for ever|\d+)", text)[1].replace("for ever", "ever")
    if "can_read no" in text:
        return f"window {window}"
    lag, misses = re.search(r"lag (\d+) s, clean misses (\d+)", text).groups()
    return f"window {window} lag {lag} misses {misses}"


def compare(table, channel, cells, facts):
    """The cells in which the two differ, as lines."""
    if channel.facts != facts_of(facts):
        yield f"{channel.facts}; the program: {facts_of(facts)}"
    for point, (section, name, _) in table.points.items():
        wanted, decisions = channel.row.get(point), cells.get((section, name), [])
        if wanted and not decisions:
            yield f"{point} is {wanted}; the program has no such point"
        for decision in decisions:
            if wanted is None:
                yield f"{point} is not said; the program: {decision}"
            elif table.words_for(decision) != [wanted]:
                yield f"{point} is {wanted}; the program: {decision}"


def equal_rows(table):
    """Two rows that are the same need a reason, and a reason needs two rows that are the same."""
    groups = {}
    for channel in table.channels.values():
        groups.setdefault(tuple(sorted(channel.row.items())), []).append(channel)
        other = table.channels.get(channel.same_as)
        if channel.same_as and (other is None or other.row != channel.row or not channel.why):
            differ = [p for p in table.points if other and other.row.get(p) != channel.row.get(p)]
            yield f"{channel.name}: as {channel.same_as}, which is another row: {' '.join(differ)}"
    for group in groups.values():
        if sum(not channel.same_as for channel in group) > 1:
            names = ", ".join(channel.name for channel in group if not channel.same_as)
            yield f"the same row, and no reason (`as .. because ..`): {names}"


def fixtures(channel):
    """Each kind of answer has a fixture, or the table says why the platform has none."""
    folder = DESCRIPTORS / "fixtures" / channel.platform
    cases = json.loads((folder / "accept.json").read_text())
    there = {kind for case in cases for kind in case.get("kinds", ())}
    for kind in KINDS:
        if (kind in there) == (kind in channel.none):
            yield f"{kind}: " + ("has a fixture, and `none` says that there is none" if kind in there else "no fixture")
    listing = json.loads((DESCRIPTORS / f"{channel.platform}.json").read_text()).get("reads", {}).get("listing")
    if bool(listing) == bool(channel.pages):
        yield "pages: " + ("there is a list, and `pages` says why not" if listing else "no list, and no reason")
    if listing and not walks_to_the_end(channel.platform):
        yield f"pages: no walk of {PAGES_MIN} pages that comes to the end"


def walks_to_the_end(platform):
    """Whether a walk of its fixtures has a first, a middle and a last page, behind the steps before it."""
    path = DESCRIPTORS / "fixtures" / platform / "walks.json"
    reads = json.loads((DESCRIPTORS / f"{platform}.json").read_text())["reads"]
    rounds = 2 if reads["listing"].get("drift") else 1
    for walk in json.loads(path.read_text()) if path.exists() else ():
        pages = (len(walk["pages"]) - len(reads.get("prepare", ()))) // rounds
        if walk["expect"]["end"] == "complete" and pages >= PAGES_MIN:
            return True
    return False


def faults_of(table, program):
    yield from table.faults
    for name in sorted(set(program) ^ set(table.channels)):
        yield f"{name}: " + ("not in the table" if name in program else "no such channel")
    for name in sorted(set(program) & set(table.channels)):
        channel = table.channels[name]
        for fault in (*compare(table, channel, *program[name]), *fixtures(channel)):
            yield f"{name}: {fault}"
    yield from equal_rows(table)


# ---- the page


def title_of(channel):
    title = json.loads((DESCRIPTORS / f"{channel.platform}.json").read_text())["title"]
    return title + channel.name[len(channel.platform):]


def point_head(point):
    return point.removeprefix("again-")


def matrix(table, head, points):
    """One part of the table: a line for each channel, a column for each point in time."""
    yield f"### {head}"
    yield ""
    for point in points:
        yield f"- **{point_head(point)}**: {table.points[point][2]}"
    yield ""
    yield "| | " + " | ".join(map(point_head, points)) + " |"
    yield "|---|" + "---|" * len(points)
    for channel in table.channels.values():
        cells = [channel.row.get(point, NOTHING) for point in points]
        if any(cell != NOTHING for cell in cells):
            yield f"| {channel.name} | " + " | ".join(cells) + " |"
    yield ""


PARTS = {  # the section that the program prints -> what the page calls it
    "before there is an answer": "Before there is an answer",
    "its own answers": "The first attempt is answered in the platform's own words",
    "answers to the first attempt": "The first attempt is answered with a status, or not at all",
    "its own answers to a repeat, an earlier attempt in doubt":
        "A repeat, an earlier attempt in doubt, is answered in the platform's own words",
    "answers to a repeat, an earlier attempt in doubt": "A repeat is answered with a status, or not at all",
    "nobody knows, and reading back says": "Nobody knows: it is read back",
}


def parts(table):
    for section, head in PARTS.items():
        points = [point for point, (where, _, _) in table.points.items() if where == section]
        half = (len(points) + 1) // 2 if len(points) > COLUMNS_MAX else len(points)
        yield head, points[:half]
        if points[half:]:
            yield head + " (more)", points[half:]


def seconds(text):
    number = int(text)
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if number >= length and number % length == 0:
            return f"{number // length} {unit}" + ("s" if number != length else "")
    return "0 seconds"


def facts_words(facts):
    window, *read = facts.split()[1::2]
    words = {"0": "no key is honoured", "ever": "a key holds for ever"}.get(window)
    words = words or "a key holds for " + seconds(window)
    if read:
        lag, misses = read
        words += f"; a post may be unseen for {seconds(lag)}; "
        words += "1 search must miss it" if misses == "1" else f"{misses} searches must miss it"
    return words


def notes(table):
    for channel in table.channels.values():
        words = [f"**{title_of(channel)}** (`{channel.name}`): {facts_words(channel.facts)}.", *channel.notes]
        words += [f"No answer of the kind *{kind}*: {why}." for kind, why in channel.none.items()]
        if channel.pages:
            words.append(f"No list: {channel.pages}.")
        if channel.same_as:
            words.append(f"The same row as `{channel.same_as}`: {channel.why}.")
        yield from (*textwrap.wrap(" ".join(words), 120, break_long_words=False, break_on_hyphens=False), "")


def page(table):
    yield "# What do we do now?"
    yield ""
    yield "For every platform and every point in time. Written by hand in `tests/unit/platforms/what_now.txt`, compared"
    yield "with what the program derives from the descriptors by a test, and printed from there:"
    yield "`build/dev/bin/whatnow_print | tests/unit/platforms/what_now.py --docs > docs/what-now.md`."
    yield ""
    yield "## The words"
    yield ""
    yield "| word | what happens |"
    yield "|---|---|"
    for word, (_, meaning) in table.does.items():
        yield f"| {word} | {meaning} |"
    yield f"| {NOTHING} | The platform has no such point. |"
    yield ""
    yield "A delivery whose budget of attempts is spent, or whose time is over, is held instead of sent again."
    yield ""
    yield "## The table"
    yield ""
    for head, points in parts(table):
        yield from matrix(table, head, points)
    yield "## What stands behind it"
    yield ""
    yield from notes(table)


def main():
    table = Table((HERE / "what_now.txt").read_text().splitlines())
    text = "\n".join(page(table)).rstrip() + "\n"
    if "--docs" in sys.argv:
        sys.stdout.write(text)
        return 0
    faults = list(faults_of(table, derived(sys.stdin.read())))
    if not PAGE.exists() or PAGE.read_text() != text:
        faults.append(f"docs/{PAGE.name} is not the table: print it again (--docs)")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
