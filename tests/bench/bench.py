# SPDX-License-Identifier: MIT
"""tests/run bench [--quick] [--json FILE] [--only WORD] [--pairs N]: what certainty costs, beside a loop that records
nothing and beside BullMQ.

Runs alternate, so that whatever else the machine does falls on all alike. A figure is the median of its runs with their
range; a ratio is the median of the ratios within each round. docs/performance.md says how to read them.
"""
import argparse
import dataclasses
import json
import os
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bench import pace, report  # noqa: E402
from bench.rig import Case, NoFigure, run_once  # noqa: E402
from bench.subjects import Bare, Bullmq, Product, install_peers  # noqa: E402
from lib.procs import WaitTimeout  # noqa: E402
from lib.tree import BUILD, PRESET, TOP  # noqa: E402

QUICK_PAIRS, PAIRS = 3, 7
CONCURRENCIES = (32, 128, 512)
MAIN = Case("256 in flight, 0 ms, 1 KB", subjects=("product", "bare", "bullmq"))
CASES = [
    MAIN,
    Case("64 in flight, 0 ms, 1 KB", slots=64),
    Case("1,000 in flight, 0 ms, 1 KB", slots=1000),
    Case("64 in flight, 20 ms, 1 KB", slots=64, wait_ms=20),
    Case("1,000 in flight, 20 ms, 1 KB", slots=1000, wait_ms=20, deliveries=12000),
    Case("256 in flight, 0 ms, 64 KB", body_bytes=65536, deliveries=1500),
    Case("fsync always, 256 in flight", fsync="always"),
    Case("2 workers, 256 in flight each", workers=2, deliveries=12000),
    Case("100 channels", channels=100),
    Case("10,000 channels", channels=10000, deliveries=12000),
    Case("1,000 settled rows", rows=1000, subjects=("product",)),
    Case("100,000 settled rows", rows=100000, subjects=("product",)),
]


def arguments(argv):
    parser = argparse.ArgumentParser(prog="tests/run bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"the main case only, {QUICK_PAIRS} rounds")
    parser.add_argument("--json", metavar="FILE", help="the figures of every run, for programs")
    parser.add_argument("--only", metavar="WORD", help="only cases whose name holds WORD")
    parser.add_argument("--pairs", type=int, metavar="N", help=f"rounds of each case ({PAIRS})")
    return parser.parse_args(argv)


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
    tried = {number: attempt(MAIN, Bullmq(folder, number), 1000) for number in CONCURRENCIES}
    for number, figures in tried.items():
        report.say(f"  BullMQ, concurrency {number}: " +
                   (f"{figures['rate']:,.0f}/s" if "rate" in figures else figures["none"]))
    return max(tried, key=lambda number: rate(tried[number])), {number: rate(one) for number, one in tried.items()}


def run_case(case, subjects, pairs):
    """case -> name of the subject -> list of figures, one of each round."""
    runs = {name: [] for name in case.subjects if name in subjects}
    for number in range(pairs):
        names = list(runs)
        for name in names if number % 2 == 0 else reversed(names):
            figures = attempt(case, subjects[name])
            runs[name].append(figures)
            if "none" in figures:
                report.say(f"  {case.name}: {name}: no figure: {figures['none'].splitlines()[0]}")
    return runs


def ratio(runs, over, under, figure):
    """The median of the ratios of each round, and their range; None where no round has both."""
    pairs = [(one[figure], two[figure]) for one, two in zip(runs.get(over, ()), runs.get(under, ()))
             if figure in one and figure in two]
    ratios = [one / two for one, two in pairs if two]
    return (statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


def median(runs, name, figure):
    values = [one[figure] for one in runs.get(name, ()) if figure in one]
    return statistics.median(values) if values else None


def across(results, over, under, figure):
    """The ratio of the product's medians of two cases."""
    values = [median(results.get(name, {}), "product", figure) for name in (over, under)]
    return (values[0] / values[1],) * 3 if all(values) else None


def goals(results):
    """(words, figure or (median, least, most) or None, sign, goal)."""
    main, many = results.get(MAIN.name, {}), results.get("1,000 in flight, 0 ms, 1 KB", {})
    return [
        ("rate, product / bare loop", ratio(main, "product", "bare", "rate"), ">=", 0.8),
        ("worker CPU per delivery, product / bare loop", ratio(main, "product", "bare", "worker_us"), "<=", 1.4),
        ("rate, product / BullMQ", ratio(main, "product", "bullmq", "rate"), ">=", 3),
        ("worker CPU per delivery, product / BullMQ", ratio(main, "product", "bullmq", "worker_us"), "<=", 0.33),
        ("Redis CPU us per delivery", median(main, "product", "redis_us"), "<=", 30),
        ("rate, fsync always / everysec", across(results, "fsync always, 256 in flight", MAIN.name, "rate"), ">=", 0.6),
        ("peak RSS MiB with 1,000 in flight, 1 KB", median(many, "product", "rss_mib"), "<=", 64),
        ("worker CPU, 100,000 settled rows / 1,000",
         across(results, "100,000 settled rows", "1,000 settled rows", "worker_us"), "<=", 1.1),
        ("worker CPU, 10,000 channels / 1", across(results, "10,000 channels", MAIN.name, "worker_us"), "<=", 1.2),
    ]


def build():
    for argv in (["cmake", "--preset", PRESET], ["cmake", "--build", "--preset", PRESET]):
        done = subprocess.run(argv, cwd=TOP, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}{done.stderr}\n{' '.join(argv)}: exit {done.returncode}")


def wanted_cases(options):
    cases = [dataclasses.replace(MAIN, deliveries=3000)] if options.quick else CASES
    return [case for case in cases if not options.only or options.only in case.name]


def main(argv):
    options = arguments(argv)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that what was started is ended
    build()
    started = time.monotonic()
    subjects = {"product": Product(), "bare": Bare()}
    out = {"machine": {"cores": os.cpu_count(), "load": os.getloadavg()}, "cases": {}, "goals": [], "peers": None}
    cases = wanted_cases(options)
    if any("bullmq" in case.subjects for case in cases):
        folder, why = install_peers(BUILD)
        if folder:
            chosen, out["peers"] = choose_concurrency(folder)
            subjects["bullmq"] = Bullmq(folder, chosen)
        else:
            report.say(f"  no BullMQ beside us: {why}")
    results = out["cases"]
    for case in cases:
        results[case.name] = run_case(case, subjects, options.pairs or (QUICK_PAIRS if options.quick else PAIRS))
        report.case(case.name, results[case.name])
    out["goals"] = goals(results)
    if not options.only:
        paced = pace.measure(seconds=3 if options.quick else 10)
        report.paced(paced)
        out.update(paced)
        out["goals"] += pace.goals(paced)
    report.goals(out["goals"])
    report.say(f"{time.monotonic() - started:.0f} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump(out, stream, indent=1)
    return 0 if any("rate" in one for runs in results.values() for one in runs.get("product", ())) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
