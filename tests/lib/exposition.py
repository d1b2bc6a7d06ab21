# SPDX-License-Identifier: MIT
"""Metrics text (Prometheus exposition format 0.0.4), read strictly: whatever a scraper or `promtool check metrics` would object to
is an error here, with the line.

    families = read(text)               # name -> Family
    families["landfall_deliveries"].labels   # {"channel", "state"}
"""
import re
import shutil
import subprocess
from typing import NamedTuple

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (NaN|[+-]Inf|[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
KINDS = ("counter", "gauge", "histogram")
# What promtool calls an error of style: abbreviated or non-base units, kinds in names.
UNITS = re.compile(r"_(ms|us|ns|s|milliseconds|microseconds|minutes?|hours?|days?|mins?|hrs?|kb|mb|kilobytes|percent|"
                   r"counter|gauge|histogram)(_|$)")


class Sample(NamedTuple):
    name: str
    labels: dict
    value: float


class Family(NamedTuple):
    name: str
    kind: str
    help: str
    samples: list

    @property
    def labels(self):
        """Names of the labels, `le` of a histogram left out."""
        return {name for sample in self.samples for name in sample.labels} - {"le"}


def _labels(text, line):
    labels, at = {}, 0
    while text and at < len(text):
        pair = LABEL.match(text, at)
        assert pair, f"labels cannot be read: {line!r}"
        assert pair[1] not in labels, f"the same label twice: {line!r}"
        assert not pair[1].startswith("__"), f"a reserved label: {line!r}"
        labels[pair[1]] = pair[2]
        at = pair.end()
        assert at == len(text) or text[at] == ",", f"no comma between labels: {line!r}"
        at += 1
    return labels


def _sample(line, family):
    found = SAMPLE.fullmatch(line)
    assert found, f"no sample: {line!r}"
    suffixes = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
    assert found[1] in {family.name + suffix for suffix in suffixes}, f"{line!r} is not of the family {family.name}"
    return Sample(found[1], _labels(found[2], line), float(found[3]))


def _check_histogram(family):
    series = {}
    for sample in family.samples:
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
        one = series.setdefault(labels, {"le": []})
        if sample.name.endswith("_bucket"):
            assert "le" in sample.labels, f"{family.name}: a bucket without a bound"
            one["le"].append((float(sample.labels["le"]), sample.value))
        else:
            one[sample.name.rsplit("_", 1)[1]] = sample.value
    for labels, one in series.items():
        bounds, counts = zip(*one["le"])
        assert list(bounds) == sorted(set(bounds)) and bounds[-1] == float("inf"), (family.name, labels, bounds)
        assert list(counts) == sorted(counts) and counts[-1] == one["count"], (family.name, labels, counts)
        assert one["count"] == 0 or one["sum"] >= 0, (family.name, labels)


def _check_family(family):
    assert family.help, f"{family.name}: no help text"
    assert family.name.endswith("_total") == (family.kind == "counter"), f"{family.name}: counters, and only they, end with _total"
    assert not UNITS.search(family.name.removesuffix("_total")), f"{family.name}: base units, and no kinds, in names"
    seen = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
    assert len(seen) == len(set(seen)), f"{family.name}: the same series twice"
    assert all(sample.value >= 0 for sample in family.samples if family.kind == "counter"), family.name
    if family.kind == "histogram":
        _check_histogram(family)


def read(text):
    """Name -> Family; AssertionError where the text is not as it must be."""
    assert text.endswith("\n") and "\r" not in text and "\n\n" not in text
    families, family = {}, None
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("#"):
            assert family, f"a sample before its family: {line!r}"
            family.samples.append(_sample(line, family))
            continue
        help_line = re.fullmatch(rf"# HELP ({NAME}) (.+)", line)
        type_line = re.fullmatch(rf"# TYPE ({NAME}) (\w+)", next(lines, ""))
        assert help_line and type_line and help_line[1] == type_line[1], f"not HELP, then TYPE of the same name: {line!r}"
        assert type_line[2] in KINDS and help_line[1] not in families, line
        family = families[help_line[1]] = Family(help_line[1], type_line[2], help_line[2], [])
    for family in families.values():
        _check_family(family)
    return families


def promtool(text):
    """What `promtool check metrics` says of it: "" where it is content; None where promtool is not installed."""
    if not shutil.which("promtool"):
        return None
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr + ("" if done.returncode == 0 else f"exit {done.returncode}")
