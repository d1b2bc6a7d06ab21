# SPDX-License-Identifier: MIT
"""What the bench prints: tables that can be read on a terminal, and be put into docs/performance.md in place of those there."""
import statistics

COLUMNS = [  # figure, head, form
    ("rate", "deliveries/s", "{:,.0f}"), ("worker_us", "worker us", "{:.0f}"), ("redis_us", "Redis us", "{:.0f}"),
    ("rss_mib", "peak RSS MiB", "{:.0f}"), ("redis_commands", "commands", "{:.2f}"), ("redis_in", "bytes in", "{:,.0f}"),
    ("redis_out", "bytes out", "{:,.0f}"),
]

printed = {}  # head -> the table's rows, of what may stand in a page


def say(words):
    print(words, flush=True)


def table(title, head, rows, kept=True):
    rows = [list(head), *([str(cell) for cell in row] for row in rows)]
    if kept:
        printed[tuple(head)] = rows[1:]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    rows.insert(1, ["-" * width for width in widths])
    say(f"\n{title}\n")
    for row in rows:
        say("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")


def cells_of(line):
    return [text.strip() for text in line.strip().strip("|").split("|")]


def written(head, rows):
    """A table as pages have it, without the padding."""
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)]


def put_into(text):
    """The page with each table of this run in place of the one there that has the same head."""
    out, replaced = [], False
    for line in text.split("\n"):
        in_table = line.startswith("|")
        if in_table and not replaced and tuple(cells_of(line)) in printed:
            head = cells_of(line)
            out += [row.replace("|  |", "| |") for row in written(head, printed[tuple(head)])]
            replaced = True
        elif not (in_table and replaced):
            replaced = False
            out.append(line)
    return "\n".join(out)


def cell(runs, figure, form, ranged=True):
    values = [one[figure] for one in runs if figure in one]
    if not values:
        return "-"
    low, middle, high = (form.format(of(values)) for of in (min, statistics.median, max))
    return middle if low == high or not ranged else f"{middle} [{low} .. {high}]"


def case(name, runs, kept):
    """Medians, with the range of the runs behind them; per delivery, but for the rate and the memory."""
    table(name, ["per delivery", *(head for _, head, _ in COLUMNS)],
          [[subject, *(cell(of, figure, form) for figure, _, form in COLUMNS)] for subject, of in runs.items()], kept)


def cases(results, ratio, kept):
    """All of them, medians alone: the product, behind it the bare loop."""
    def both(runs, figure, form):
        return " / ".join(cell(runs.get(name, ()), figure, form, ranged=False) for name in ("product", "bare"))

    rows = []
    for name, runs in results.items():
        shares = [ratio(runs.get("product", ()), runs.get("bare", ()), figure) for figure in ("rate", "worker_us")]
        rows.append([name, *("{:.2f}".format(share[0]) if share else "-" for share in shares),
                     *(both(runs, figure, form) for figure, _, form in COLUMNS)])
    table("product / bare loop", ["case", "rate, ratio", "worker CPU, ratio", *(head for _, head, _ in COLUMNS)], rows, kept)


def latency(of):
    table("at 500/s, from XADD to settled, ms", ["", "p50", "p99", "p99.9", "deliveries"],
          [[name, *(f"{one[p]:.2f}" for p in ("p50", "p99", "p99.9")), one["count"]] for name, one in of.items()])


def idle(of):
    table("idle, of each worker", ["workers", "% of a core", "Redis commands/s", "Redis, % of a core, in all"],
          [[number, f"{one['cpu_percent']:.3f}", f"{one['commands_per_s']:.1f}", f"{one['redis_percent']:.2f}"]
           for number, one in of.items()])


def start(of):
    table("from the start to the first delivery", ["channels", "descriptors", "seconds"],
          [[f"{one['channels']:,}", one["descriptors"], f"{one['seconds']:.2f}"] for one in of])


def growth(of):
    rows = [[f"{size:,}", *(cell(runs, figure, "{:.0f}") for figure in ("worker_us", "redis_us", "cpu_us")),
             cell(runs, "redis_commands", "{:.2f}"), cell(runs, "rss_mib", "{:.0f}"), cell(runs, "row_bytes", "{:.0f}")]
            for size, runs in of.items()]
    table("beside settled rows, per delivery", ["settled rows", "worker us", "Redis us", "both us", "commands",
          "worker's RSS MiB", "used_memory of a row, bytes"], rows)


def memory(of):
    words = {"shipped": "deploy/redis/redis.conf", "without": "Redis without it", "narrow": "hash-max-listpack-value 32"}
    table("memory of a settled row by MEMORY USAGE, bytes", ["channel", "settings", "its keys", "its part of posts:", "both", "encoding"],
          [[platform, words[name], *(f"{one[key]:.0f}" for key in ("own", "shared", "all")), one["encoding"]]
           for platform, settings in of.items() for name, one in settings.items()])


def doubt(of):
    rows = [[name, f"{runs[0]['doubts']:,}", f"{runs[0]['reads']:,}", f"{runs[0]['needed']:,}",
             *(cell(runs, figure, "{:.0f}") for figure in ("cpu_us", "redis_us")),
             *(cell(runs, figure, "{:.2f}") for figure in ("seconds", "bare_seconds"))] for name, runs in of.items()]
    table("settling what is in doubt", ["", "in doubt", "read requests", "pages and look-ups", "reconciler us each", "Redis us each",
          "seconds", "bare reads, seconds"], rows)


def goals(lines, kept):
    rows = []
    for one in lines:
        figure = "-"
        if one["figure"] is not None:
            figure = f"{one['figure']:.2f}" + ("" if one["least"] == one["most"] else f" [{one['least']:.2f} .. {one['most']:.2f}]")
        verdict = {None: "not measured in this run", True: "reached", False: "NOT REACHED"}[one["reached"]]
        rows.append([f"{one['goal']} {one['sign']} {one['wanted']:g}", figure, verdict])
    table("goals", ["goal", "figure", ""], rows, kept)
