# SPDX-License-Identifier: MIT
"""tests/run bench [--quick] [--json FILE] [--page FILE] [--only WORD]... [--pairs N]: what certainty costs, beside a loop
that records nothing and beside BullMQ.

Runs alternate, so that whatever else the machine does falls on all alike. A figure is the median of its runs with their
range; a ratio is the median of the ratios within each round. docs/performance.md says how to read them.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bench import cases, goals, growth, pace, reading, report  # noqa: E402
from bench.subjects import Bare, Bullmq, Product, install_peers  # noqa: E402
from lib.tree import BUILD, PRESET, TOP  # noqa: E402

QUICK_PAIRS, PAIRS = 3, 7
SECONDS, QUICK_SECONDS = 10, 2  # of what is measured at a pace
IN_QUICK = ("latency", "idle", "start")
PARTS = {  # what is not a case: name -> what --only finds it by, what measures it (so many rounds, so many seconds)
    "latency": ("latency at 500/s", lambda pairs, seconds: pace.measure_latency(seconds)),
    "idle": ("idle workers", lambda pairs, seconds: pace.measure_idle(2 * seconds, (1,) if seconds < SECONDS else (1, 100))),
    "start": ("start to first delivery", lambda pairs, seconds: pace.measure_start(1 if seconds < SECONDS else 3)),
    "growth": ("growth with settled rows", lambda pairs, seconds: growth.measure(pairs)),
    "memory": ("memory of a settled row", lambda pairs, seconds: growth.memory()),
    "doubt": ("reconciler", lambda pairs, seconds: reading.measure(min(pairs, 3))),
}


def arguments(argv):
    names = "; ".join([*(case.name for case in cases.CASES), *(words for words, _ in PARTS.values())])
    parser = argparse.ArgumentParser(prog="tests/run bench", description=__doc__.split("\n\n")[0], epilog=f"There is: {names}.")
    parser.add_argument("--quick", action="store_true", help=f"the main case, latency, idle, start; {QUICK_PAIRS} rounds")
    parser.add_argument("--json", metavar="FILE", help="the figures of every run, for programs")
    parser.add_argument("--page", metavar="FILE", help="puts the tables in place of those in FILE with the same heads, as in "
                        "docs/performance.md; those of all cases and of the goals only if everything was measured")
    parser.add_argument("--only", metavar="WORD", action="append", default=[], help="only what has WORD in its name; may be repeated")
    parser.add_argument("--pairs", type=int, metavar="N", help=f"rounds of each case ({PAIRS})")
    return parser.parse_args(argv)


def build():
    for argv in (["cmake", "--preset", PRESET], ["cmake", "--build", "--preset", PRESET]):
        done = subprocess.run(argv, cwd=TOP, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}{done.stderr}\n{' '.join(argv)}: exit {done.returncode}")


def chosen(options):
    """The cases and the names of the parts that are asked for."""
    def asked(name):
        return not options.only or any(word in name for word in options.only)
    wanted = [case for case in ([cases.QUICK] if options.quick else cases.CASES) if asked(case.name)]
    parts = [key for key, (words, _) in PARTS.items() if asked(words) and (key in IN_QUICK or not options.quick)]
    if not wanted and not parts:
        sys.exit(f"tests/run bench: nothing has {' or '.join(options.only)} in its name; see --help")
    return wanted, parts


def peers(subjects):
    """Adds BullMQ to them; gives the rate of each setting that was tried, None where there is no BullMQ."""
    folder, why = install_peers(BUILD)
    if not folder:
        report.say(f"  no BullMQ beside us: {why}")
        return None
    concurrency, tried = cases.choose_concurrency(folder)
    subjects["bullmq"] = Bullmq(folder, concurrency)
    return tried


def run_cases(wanted, pairs, whole, out):
    subjects = {"product": Product(), "bare": Bare()}
    if any("bullmq" in case.subjects for case in wanted):
        out["peers"] = peers(subjects)
    for case in wanted:
        out["cases"][case.name] = cases.run(case, subjects, pairs)
        report.case(case.name, out["cases"][case.name], kept=case == cases.MAIN)
    if len(wanted) > 1:
        report.cases(out["cases"], cases.ratio, whole)


def run_parts(wanted, pairs, seconds, out):
    for key in wanted:
        try:
            out["parts"][key] = PARTS[key][1](pairs, seconds)
            getattr(report, key)(out["parts"][key])
        except Exception as error:  # whatever it is, half an hour of other figures is not lost by it
            report.say(f"\n{PARTS[key][0]}: no figure: {type(error).__name__}: {error}")


def main(argv):
    options = arguments(argv)
    wanted, parts = chosen(options)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that what was started is ended
    build()
    started, pairs = time.monotonic(), options.pairs or (QUICK_PAIRS if options.quick else PAIRS)
    out = {"machine": {"cores": os.cpu_count(), "load": os.getloadavg()}, "peers": None, "cases": {}, "parts": {}}
    whole = not options.only and not options.quick
    run_cases(wanted, pairs, whole, out)
    run_parts(parts, pairs, QUICK_SECONDS if options.quick else SECONDS, out)
    out["goals"] = goals.judged(goals.of_cases(out["cases"]) + goals.of_parts(out["parts"]))
    report.goals(out["goals"], whole)
    report.say(f"\n{pairs} rounds, {time.monotonic() - started:.0f} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.page:
        with open(options.page, encoding="utf-8") as page:
            text = report.put_into(page.read())
        with open(options.page, "w", encoding="utf-8") as page:
            page.write(text)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump(out, stream, indent=1)
    measured = any("rate" in one for runs in out["cases"].values() for one in runs.get("product", ()))
    return 0 if measured or out["parts"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
