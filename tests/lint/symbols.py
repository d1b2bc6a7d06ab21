# SPDX-License-Identifier: MIT
"""Who is linked with what, read from a build with nm. An include rule can be walked around; a symbol cannot.

A library or program that is not there (yet) has nothing to check; a build folder that is not there is a finding.
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import tempfile

from lint.rules import CALLED_ONLY_BY, NEEDED, NOT_LINKED, PURE_LIBRARIES, PURE_MAY_NOT_CALL
from lint.source import Finding


def nm(path, *options):
    done = subprocess.run(["nm", *options, path], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines() if line.strip() and not line.endswith(":")]


def defined(path):
    """Names of the global symbols that a library or program defines (a common name of compiler support is not ours)."""
    return {words[-1] for words in nm(path, "--defined-only", "--extern-only")
            if len(words) == 3 and words[1] in "TDBRVWC"}


def undefined(path):
    """Names that a library needs from outside: undefined in one member and defined in none."""
    return {words[-1].split("@")[0] for words in nm(path, "--undefined-only")} - defined(path)


def library(build, name):
    return next(iter(glob.glob(os.path.join(build, "**", f"lib{name}.a"), recursive=True)), None)


def program(build, name):
    path = os.path.join(build, "bin", name)
    return path if os.path.exists(path) else None


def check_not_linked(build):
    for name, target, allowed, why in NOT_LINKED:
        archive, path = library(build, name), program(build, target)
        for symbol in sorted(defined(archive) & defined(path)) if archive and path else ():
            if not re.fullmatch(allowed, symbol):
                yield Finding(path, 1, f"holds {symbol} of {name}: {why}")


def check_called(build):
    for folder, function, allowed, why in CALLED_ONLY_BY:
        for path in glob.glob(os.path.join(build, folder, "**", "*.o"), recursive=True):
            if os.path.basename(path) != allowed and function in undefined(path):
                yield Finding(path, 1, f"calls {function}(), which only {allowed} may: {why}")


def check_pure(build):
    for name in PURE_LIBRARIES:
        archive = library(build, name)
        for symbol in sorted(undefined(archive)) if archive else ():
            if re.fullmatch(PURE_MAY_NOT_CALL, symbol):
                yield Finding(archive, 1, f"calls {symbol}(): {name} is pure")


def link_command(build, target):
    """The command that links a program, as the build itself would run it."""
    done = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", target],
                          capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("ninja:")]
    return next(part.strip() for part in lines[-1].split("&&") if f" -o {target} " in f"{part} ")


def links(build, target, archive, without=None):
    """Links a program again, elsewhere, with a copy of a library that may lack an object; returns (done, errors)."""
    with tempfile.TemporaryDirectory(prefix="landfall-link-") as scratch:
        copy = os.path.join(scratch, os.path.basename(archive))
        shutil.copy(archive, copy)
        if without:
            subprocess.run(["ar", "d", copy, without], check=True)
        relative = os.path.relpath(archive, build)
        words = [copy if word in (relative, archive) else word for word in shlex.split(link_command(build, target))]
        words[words.index("-o") + 1] = os.path.join(scratch, "program")
        assert copy in words, f"{target} does not link {relative}"
        done = subprocess.run(words, cwd=build, capture_output=True, text=True)
        return done.returncode == 0, done.stderr


def check_needed(build):
    for name, member, target, why in NEEDED:
        archive, path = library(build, name), program(build, target)
        if not archive or not path:
            continue
        where = os.path.relpath(path, build)
        whole, errors = links(build, where, archive)
        if not whole:
            yield Finding(path, 1, f"cannot be linked again: {errors.strip()[-300:]}")
        elif links(build, where, archive, without=member)[0]:
            yield Finding(path, 1, f"links without {member} of {name}: {why}")


def check(build):
    if not os.path.isdir(build):
        return [Finding(build, 1, "no build to check the symbols of; tests/run builds it")]
    return [finding for rule in (check_not_linked, check_called, check_pure, check_needed) for finding in rule(build)]
