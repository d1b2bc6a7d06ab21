# SPDX-License-Identifier: MIT
"""tests/run budget [--set REASON] [--redis]: instructions that landfall-worker executes per delivery, against budget.json.

callgrind counts the instructions of user space, which hardly wobble, whatever else the machine does. Two runs, with 256
and with 1,024 deliveries that wait in the queue; what one delivery takes is the difference by 768, so that the
start falls out. Over 5 % more than the budget fails, for the process as a whole ("total") and for our own code without
libraries ("own"). --set writes what was counted into budget.json, together with the reason that is given. --redis counts
redis-server instead, in the same way; there is no budget for it.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bench.bench import build  # noqa: E402
from bench.rig import Case, Rig  # noqa: E402
from bench.subjects import Product  # noqa: E402

BUDGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "budget.json")
FEW, MANY = 256, 1024  # whole rounds of the 256 that are in flight
TOLERANCE = 0.05
RUN_LIMIT_S = 240
OBJECT = re.compile(r"^ob=\((\d+)\)(?: (.*))?$")
COST = re.compile(r"^(?:[+-]?\d+|\*) (\d+)$")


def self_cost(path):
    """Instructions of each object (program, library), what it calls not counted."""
    names, total, current, skip = {}, {}, None, False
    with open(path, encoding="utf-8", errors="replace") as dump:
        for line in dump:
            found = OBJECT.match(line)
            if found:
                current = names.setdefault(found.group(1), os.path.basename(found.group(2) or ""))
            elif line.startswith("cob=("):
                number, _, name = line[5:].rstrip("\n").partition(")")
                names.setdefault(number, os.path.basename(name.strip()))
            elif line.startswith("calls="):
                skip = True  # the next line is the cost of what was called
            elif (cost := COST.match(line)):
                if not skip:
                    total[current] = total.get(current, 0) + int(cost.group(1))
                skip = False
    return total


def callgrind(dump):
    return ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={dump}"]


def run_worker(rig, deliveries, *under):
    """A worker that finds so many deliveries in its queue."""
    rig.fill_stream(0, deliveries)
    done = subprocess.run([*under, *Product().command(rig), "--until-idle"], capture_output=True, text=True,
                          timeout=RUN_LIMIT_S, check=False, cwd=rig.dir, env={**os.environ, "LANDFALL_METRICS_LISTEN": "off"})
    seen = rig.sink.report()
    if done.returncode != 0 or seen["keys"] != deliveries or seen["posts"] != deliveries:
        sys.exit(f"budget: the worker ended with {done.returncode}, the sink saw {seen}\n{done.stderr[-2000:]}")


def count(deliveries):
    """Instructions of the worker, by object."""
    with Rig(Case("budget", slots=256)) as rig:
        dump = os.path.join(rig.dir, "callgrind.out")
        run_worker(rig, deliveries, *callgrind(dump))
        return self_cost(dump)


def count_redis(deliveries):
    """Instructions of the server, by object; what fills the queue is included."""
    rig = Rig(Case("budget", slots=256))
    dump, program = (os.path.join(rig.dir, name) for name in ("callgrind.out", "redis-under-callgrind"))
    with open(program, "w", encoding="utf-8") as script:
        script.write(f'#!/bin/sh\nexec {shlex.join([*callgrind(dump), rig.redis.program])} "$@"\n')
    os.chmod(program, 0o700)
    rig.redis.program = program
    with rig:
        run_worker(rig, deliveries)
        rig.redis.stop()
        return self_cost(dump)


def per_delivery(count):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        few, many = pool.map(count, (FEW, MANY))
    objects = {name: (many.get(name, 0) - few.get(name, 0)) // (MANY - FEW) for name in many}
    return {"total": sum(objects.values()), "own": objects.get("landfall-worker", 0)}, objects


def judge(budget, counted):
    """Lines to print, and whether all is within the budget."""
    lines, good = [], True
    for name, now in counted.items():
        more = now / budget[name] - 1
        within = now <= budget[name] * (1 + TOLERANCE)
        good &= within
        lines.append(f"{name}: {now:,} instructions per delivery, budget {budget[name]:,} ({more:+.1%})"
                     f"{'' if within else ': TOO MANY'}")
        if more < -TOLERANCE:
            lines.append(f"{name}: the budget can be lowered: tests/run budget --set 'what made it cheaper'")
    return lines, good


def main(argv):
    parser = argparse.ArgumentParser(prog="tests/run budget", description=__doc__.split("\n\n")[0])
    parser.add_argument("--redis", action="store_true", help="count redis-server, against no budget")
    parser.add_argument("--set", metavar="REASON", help="make what is counted the budget, for this reason")
    options = parser.parse_args(argv)
    if not shutil.which("valgrind"):
        sys.exit("budget: valgrind is not installed: deploy/install-packages --for ci")
    build()
    counted, objects = per_delivery(count_redis if options.redis else count)
    for name, cost in sorted(objects.items(), key=lambda one: -one[1]):
        if cost > 0:
            print(f"  {cost:>9,}  {name}")
    if options.redis:
        print(f"redis-server: {counted['total']:,} instructions per delivery")
        return 0
    if options.set:
        with open(BUDGET, "w", encoding="utf-8") as out:
            json.dump({"reason": options.set, "instructions_per_delivery": counted}, out, indent=2)
            out.write("\n")
    with open(BUDGET, encoding="utf-8") as stream:
        lines, good = judge(json.load(stream)["instructions_per_delivery"], counted)
    print(*lines, sep="\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
