# SPDX-License-Identifier: MIT
"""The cases at full speed, and how their runs are compared: medians, and ratios of what ran in the same round."""
import dataclasses
import statistics
import subprocess

from bench import report
from bench.rig import Case, NoFigure, run_once
from bench.subjects import Bullmq
from lib.procs import WaitTimeout

CONCURRENCIES = (32, 128, 512)
TRIAL = 600  # deliveries by which one of them is chosen
BASELINE = "product, main case"  # a ratio of two cases is one of runs that followed each other
BOTH, WITH_BASELINE = ("product", "bare"), ("product", "bare", BASELINE)
MAIN = Case("main: 256 in flight, 0 ms, 1 KB", subjects=("product", "bare", "bullmq"))
THOUSAND = Case("1,000 in flight, 0 ms, 1 KB", slots=1000)
TLS = Case("TLS, HTTP/1.1", tls="http/1.1")
TLS_2 = Case("TLS, HTTP/2 offered", tls="h2")
FSYNC = Case("fsync always, 256 in flight", fsync="always", subjects=WITH_BASELINE)
CHANNELS = Case("10,000 channels", channels=10000, deliveries=12000, subjects=WITH_BASELINE)
CASES = [
    MAIN,
    Case("64 in flight, 0 ms, 1 KB", slots=64),
    THOUSAND,
    Case("64 in flight, 20 ms, 1 KB", slots=64, wait_ms=20),
    Case("256 in flight, 20 ms, 1 KB", wait_ms=20),
    Case("1,000 in flight, 20 ms, 1 KB", slots=1000, wait_ms=20, deliveries=12000),
    Case("256 in flight, 0 ms, 64 KB", body_bytes=65536, deliveries=1500),
    TLS,
    TLS_2,
    FSYNC,
    Case("2 workers, 256 in flight each", workers=2, deliveries=12000),
    Case("100 channels", channels=100),
    CHANNELS,
]
QUICK = dataclasses.replace(MAIN, deliveries=2000)


def attempt(case, subject, deliveries=None):
    """Figures of one run, or why there are none."""
    try:
        return run_once(case, subject, deliveries)
    except (NoFigure, WaitTimeout, subprocess.SubprocessError) as error:
        return {"none": str(error)}


def rate(figures):
    return figures.get("rate", 0)


def choose_concurrency(folder):
    """Each setting once, short; the fastest is the one that the peer is measured with."""
    tried = {number: attempt(MAIN, Bullmq(folder, number), TRIAL) for number in CONCURRENCIES}
    for number, figures in tried.items():
        report.say(f"  BullMQ, concurrency {number}: " +
                   (f"{figures['rate']:,.0f}/s" if "rate" in figures else figures["none"]))
    return max(tried, key=lambda number: rate(tried[number])), {number: rate(one) for number, one in tried.items()}


def run(case, subjects, pairs):
    """name of the subject -> list of figures, one of each round."""
    runs = {name: [] for name in case.subjects if name in subjects or name == BASELINE}
    for number in range(pairs):
        names = list(runs)
        for name in names if number % 2 == 0 else reversed(names):
            figures = attempt(MAIN, subjects["product"]) if name == BASELINE else attempt(case, subjects[name])
            runs[name].append(figures)
            if "none" in figures:
                report.say(f"  {case.name}: {name}: no figure: {figures['none'].splitlines()[0]}")
    return runs


def cost_us(figures):
    return figures["worker_us"] + figures["redis_us"]


def ratio(over, under, figure):
    """(median, least, most) of the ratios of two lists of figures, round by round; None where no round has both.
    figure: a name, or a function of the figures."""
    value = figure if callable(figure) else lambda one: one[figure]
    ratios = [value(one) / value(two) for one, two in zip(over, under) if "rate" in one and "rate" in two]
    return (statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


def between(runs, over, under, figure):
    return ratio(runs.get(over, ()), runs.get(under, ()), figure)


def median(runs, figure):
    """(median, least, most); None where there is none."""
    values = [one[figure] for one in runs if figure in one]
    return (statistics.median(values), min(values), max(values)) if values else None
