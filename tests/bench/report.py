# SPDX-License-Identifier: MIT
"""What the bench prints: a table of each case, the goals with their figures."""
import statistics

COLUMNS = [  # figure, head, form
    ("rate", "deliveries/s", "{:,.0f}"), ("worker_us", "worker us", "{:.1f}"), ("redis_us", "Redis us", "{:.1f}"),
    ("rss_mib", "RSS MiB", "{:.0f}"), ("redis_commands", "commands", "{:.2f}"), ("redis_in", "bytes in", "{:,.0f}"),
    ("redis_out", "bytes out", "{:,.0f}"),
]


def say(words):
    print(words, flush=True)


def cell(runs, figure, form):
    values = [one[figure] for one in runs if figure in one]
    if not values:
        return "-"
    low, middle, high = (form.format(f(values)) for f in (min, statistics.median, max))
    return middle if low == high else f"{middle} [{low} .. {high}]"


def case(name, runs):
    """Medians, with the range of the runs behind them; per delivery, but for the rate and the memory."""
    rows = [["", *(head for _, head, _ in COLUMNS)]]
    rows += [[subject, *(cell(of, figure, form) for figure, _, form in COLUMNS)] for subject, of in runs.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS) + 1)]
    say(f"\n{name}")
    for row in rows:
        say("  " + "  ".join(text.rjust(width) if column else text.ljust(width)
                             for column, (text, width) in enumerate(zip(row, widths))))


def paced(figures):
    say("\nat 500/s, from XADD to settled, ms")
    for subject, of in figures["latency_ms"].items():
        say(f"  {subject}: p50 {of['p50']:.2f}, p99 {of['p99']:.2f}, p99.9 {of['p99.9']:.2f} of {of['count']}")
    idle, start = figures["idle"], figures["start"]
    say(f"an idle worker: {idle['cpu_percent']:.2f} % of a core, {idle['commands_per_s']:.1f} Redis commands/s")
    say(f"from start to the first delivery: {start['one_channel_s']:.2f} s with 1 channel, "
        f"{start['many_channels_s']:.2f} s with {start['channels']:,} channels and {start['descriptors']} descriptors")


def goals(lines):
    say("\ngoal                                                            figure")
    for words, figure, sign, goal in lines:
        middle = figure[0] if isinstance(figure, (tuple, list)) else figure
        if middle is None:
            verdict = "not measured in this run"
        else:
            reached = middle >= goal if sign == ">=" else middle <= goal
            spread = f" [{figure[1]:.2f} .. {figure[2]:.2f}]" if isinstance(figure, (tuple, list)) else ""
            verdict = f"{middle:.2f}{spread}: {'reached' if reached else 'NOT REACHED'}"
        say(f"  {words + ' ' + sign + ' ' + format(goal, 'g'):<60}  {verdict}")
