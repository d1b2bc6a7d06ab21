# SPDX-License-Identifier: MIT
"""What is promised, line by line, and what was measured of it. A figure is a number, (median, least, most), or None."""
import operator

from bench import cases, growth
from bench.cases import BASELINE, between, median

SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, "=": operator.eq}


def of_cases(results):
    main = results.get(cases.MAIN.name, {})
    of = {name: results.get(case.name, {}) for name, case in (("thousand", cases.THOUSAND), ("tls", cases.TLS),
          ("tls2", cases.TLS_2), ("fsync", cases.FSYNC), ("channels", cases.CHANNELS))}
    return [
        ("rate, product / bare loop", between(main, "product", "bare", "rate"), ">=", 0.8),
        ("worker CPU per delivery, product / bare loop", between(main, "product", "bare", "worker_us"), "<=", 1.4),
        ("rate, product / BullMQ", between(main, "product", "bullmq", "rate"), ">=", 3),
        ("worker CPU per delivery, product / BullMQ", between(main, "product", "bullmq", "worker_us"), "<=", 0.33),
        ("rate over TLS with HTTP/1.1, product / bare loop", between(of["tls"], "product", "bare", "rate"), ">=", 0.85),
        ("rate over TLS where HTTP/2 is offered, product / bare loop", between(of["tls2"], "product", "bare", "rate"), ">=", 0.85),
        ("rate, fsync always / everysec", between(of["fsync"], "product", BASELINE, "rate"), ">=", 0.6),
        ("Redis CPU per delivery, us", median(main.get("product", ()), "redis_us"), "<=", 30),
        ("peak RSS with 1,000 in flight and 1 KB, MiB", median(of["thousand"].get("product", ()), "rss_mib"), "<=", 64),
        ("CPU per delivery, 10,000 channels / 1", between(of["channels"], "product", BASELINE, cases.cost_us), "<=", 1.2),
    ]


def of_parts(parts):
    latency, idle, rows, memory, doubt = (parts.get(name) for name in ("latency", "idle", "growth", "memory", "doubt"))
    least, most = growth.SIZES[0], growth.SIZES[-1]
    one, many = (idle or {}).get("1"), (idle or {}).get("100")
    read = max(one["pages_read"] / one["pages"] for runs in doubt.values() for one in runs) if doubt else None
    return [
        ("added latency p50 over the bare loop at 500/s, ms", latency and latency["product"]["p50"] - latency["bare"]["p50"], "<=", 1),
        (f"CPU per delivery, {most:,} settled rows / {least:,}", rows and cases.ratio(rows[most], rows[least], "cpu_us"), "<=", 1.1),
        ("memory of a settled row, all its keys, bytes", memory and max(of["shipped"]["own"] for of in memory.values()), "<=", 512),
        ("read requests to settle 10,000 in doubt / pages back to the floor", read, "=", 1),
        ("an idle worker, % of a core", one and one["cpu_percent"], "<", 0.2),
        ("an idle worker, Redis commands/s", one and one["commands_per_s"], "<", 10),
        ("one of 100 idle workers, % of a core", many and many["cpu_percent"], "<", 0.2),
        ("one of 100 idle workers, Redis commands/s", many and many["commands_per_s"], "<", 10),
    ]


def judged(lines):
    """The same for programs."""
    out = []
    for words, figure, sign, goal in lines:
        middle, least, most = figure if isinstance(figure, tuple) else (figure,) * 3
        out.append({"goal": words, "figure": middle, "least": least, "most": most, "sign": sign, "wanted": goal,
                    "reached": None if middle is None else SIGNS[sign](middle, goal)})
    return out
