# SPDX-License-Identifier: MIT
"""Who may include what, and say what. Tests may do everything; the rules are about the programs and their libraries."""
import os
import re

from lint.rules import MAY_INCLUDE, ONLY_IN, ONLY_SAID_IN, PURE_FOLDERS, PURE_MAY_NOT_INCLUDE
from lint.source import Finding, bare_c, line_of, texts

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)


def check(top):
    findings = []
    for folder in MAY_INCLUDE:
        if os.path.isdir(os.path.join(top, folder)):
            for path, text in texts(top, ".c", ".h", under=folder):
                for match in INCLUDE.finditer(text):
                    quoted = match.group(1) is not None
                    line = line_of(text, match.start(1 if quoted else 2))
                    findings += [Finding(path, line, words)
                                 for words in problems(path, folder, match.group(1) or match.group(2), quoted)]
                findings += said(path, bare_c(text))
    return findings


def said(path, bare):
    for pattern, allowed, why in ONLY_SAID_IN:
        for match in re.finditer(pattern, bare) if not re.fullmatch(allowed, path) else ():
            yield Finding(path, line_of(bare, match.start()), f"only {allowed} may say {match.group(0).strip()}: {why}")


def problems(path, folder, header, quoted):
    """What is wrong with one include, as texts."""
    owner = header.split("/")[0] if "/" in header else None
    if quoted and owner not in MAY_INCLUDE:
        yield f'"{header}": includes of ours are written from the top of the tree'
    if owner in MAY_INCLUDE and owner not in MAY_INCLUDE[folder]:
        yield f"{folder}/ may not include {header}: of ours only {', '.join(sorted(MAY_INCLUDE[folder]))}"
    for pattern, allowed, why in ONLY_IN:
        if re.fullmatch(pattern, header) and not re.fullmatch(allowed, path):
            yield f"only {allowed} may include {header}: {why}"
    if folder in PURE_FOLDERS and re.fullmatch(PURE_MAY_NOT_INCLUDE, header):
        yield f"{folder}/ may not include {header}: it has no network, no clock and no files"
