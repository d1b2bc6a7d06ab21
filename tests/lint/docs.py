# SPDX-License-Identifier: MIT
"""The README's map names each folder once, links between the documents lead somewhere, decisions have a number each."""
import os
import re
import urllib.parse

from lint.source import SKIPPED, Finding, line_of, read, texts

LINK = re.compile(r"\[[^\]\n]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]\n]+\]:\s*(\S+)", re.M)
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.M | re.S)


def check(top):
    return [*check_map(top), *check_links(top), *check_decisions(top)]


def check_map(top):
    """A line of the map starts (after table, list or quote signs) with the folder's name and a slash; a path goes on after it."""
    if not os.path.exists(os.path.join(top, "README.md")):
        return
    text = read(top, "README.md")
    for name in sorted(os.listdir(top)):
        if not os.path.isdir(os.path.join(top, name)) or name.startswith(".") or name in SKIPPED:
            continue
        lines = re.findall(rf"^[\s|>*+`\[-]*{re.escape(name)}/(?![\w.*])", text, re.M)
        if len(lines) != 1:
            yield Finding("README.md", 1, f"the map has {len(lines)} lines for {name}/; each folder has one")


def anchors(text):
    """The anchors of a document's headings, as forges make them."""
    found = set()
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", text, re.M):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        number = 1
        while (name := slug if number == 1 else f"{slug}-{number - 1}") in found:
            number += 1
        found.add(name)
    return found


def check_links(top):
    for path, text in texts(top, ".md"):
        bare = CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
        for match in LINK.finditer(bare):
            target = urllib.parse.unquote(match.group(1) or match.group(2))
            words = broken(top, path, target)
            if words:
                yield Finding(path, line_of(bare, match.start()), f"link to {target}: {words}")


def broken(top, path, target):
    """What is wrong with a link, or None. Addresses of the web are left alone."""
    if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.I):
        return None
    name, _, anchor = target.partition("#")
    there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if there.startswith(("..", "/")):
        return "leads out of the tree"
    if not os.path.exists(os.path.join(top, there)):
        return "no such file"
    if anchor and there.endswith(".md") and anchor not in anchors(read(top, there)):
        return "no such heading"
    return None


def check_decisions(top):
    """NNN-some-words.md, each number once; the first line is `# NNN: a sentence`."""
    seen = {}
    for path, text in texts(top, ".md", under="docs/decisions"):
        name = os.path.basename(path)
        number = name.split("-")[0]
        if not re.fullmatch(r"\d{3}-[a-z0-9-]+\.md", name) or not text.startswith(f"# {number}: "):
            yield Finding(path, 1, "a decision is NNN-words.md and begins with `# NNN: `")
        if number in seen:
            yield Finding(path, 1, f"{seen[number]} has the number {number} already")
        seen[number] = name
