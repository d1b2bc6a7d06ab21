# SPDX-License-Identifier: MIT
"""The command line: python3 -m platform_sim --port 0 --redis unix:/path --instance NAME=PLATFORM:SETTINGS"""
import argparse
import json
import os
import signal
import sys
import threading

from .base import SettingError
from .redis_row import PASSWORD_VARIABLE, RowReader
from .server import PLATFORMS, Simulator


def instance_spec(text):
    """`name=platform:setting=value,...` as the arguments of add_instance."""
    name, separator, rest = text.partition("=")
    platform, _, settings = rest.partition(":")
    if not separator:
        raise argparse.ArgumentTypeError("an instance is name=platform:channel=...,token=...[,setting=value...]")
    spec = {"name": name, "platform": platform}
    for pair in filter(None, settings.split(",")):
        key, separator, value = pair.partition("=")
        if not separator:
            raise argparse.ArgumentTypeError(f"instance {name}: {key!r} has no value")
        spec[key] = value
    return spec


def arguments():
    parser = argparse.ArgumentParser(prog="platform_sim", description="Fake publishing platforms that judge landfall.")
    parser.add_argument("--port", type=int, default=0, help="port; 0 (default) takes a free one")
    parser.add_argument("--host", default="127.0.0.1", help="name under which others reach it, as in a container's network; with "
                        "one it listens on all addresses (127.0.0.1)")
    parser.add_argument("--redis", metavar="ADDRESS", help="unix:/path or host:port of the ledger; without it no row "
                        f"is checked. A password is taken from ${PASSWORD_VARIABLE}")
    parser.add_argument("--prefix", default="lf", help="prefix of the ledger's keys (lf)")
    parser.add_argument("--partition", default="0", help="partition of the ledger's keys (0)")
    parser.add_argument("--ready-file", metavar="FILE", help="gets the port as soon as the simulator listens")
    parser.add_argument("--instance", action="append", default=[], type=instance_spec, metavar="NAME=PLATFORM:SETTINGS",
                        help=f"an instance; platforms: {', '.join(sorted(PLATFORMS))}; may be repeated")
    parser.add_argument("--instances", metavar="FILE", help="a JSON list of instances, as for POST /_admin/instances")
    parser.add_argument("--exit-with-stdin", action="store_true", help="stop when standard input ends")
    return parser.parse_args()


def write_ready(path, port):
    """Writes the port so that a reader sees all of it or nothing."""
    draft = f"{path}.{os.getpid()}"
    with open(draft, "w", encoding="ascii") as file:
        file.write(f"{port}\n")
    os.replace(draft, path)


def stop_with_stdin():
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main():
    # Blocked before the first thread starts, so that only sigwait() below sees them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    options = arguments()
    try:
        simulator = Simulator(options.port, RowReader(options.redis, options.prefix, options.partition)
                              if options.redis else None, options.host)
        specs = options.instance
        if options.instances:
            with open(options.instances, encoding="utf-8") as file:
                specs = specs + json.load(file)
        for spec in specs:
            simulator.add_instance(**spec)
    except (SettingError, OSError, ValueError, TypeError) as error:
        print(f"platform_sim: {error}", file=sys.stderr)
        return 1
    print(simulator.port, flush=True)
    if options.ready_file:
        write_ready(options.ready_file, simulator.port)
    if options.exit_with_stdin:
        threading.Thread(target=stop_with_stdin, daemon=True).start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    simulator.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
