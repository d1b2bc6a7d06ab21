# SPDX-License-Identifier: MIT
"""Programs for Node that the tests measure landfall against: installed by the run that wants them, into the build folder.

The versions stand in a package.json of this tree; where they come from is up to the npm of whoever runs it.
"""
import filecmp
import os
import re
import shutil
import subprocess

NODE_MAJOR_MIN = 20
INSTALL_LIMIT_S = 300


class NotToBeHad(Exception):
    """Why there is nothing to measure against; the run says so and passes it over."""


def installed(folder, package, *programs):
    """The packages of `package` (a package.json) in `folder`, and the programs beside them, where they find them."""
    _check_node()
    os.makedirs(folder, exist_ok=True)
    for path in programs:
        shutil.copy(path, folder)
    complete = os.path.join(folder, "complete.json")
    if os.path.exists(complete) and filecmp.cmp(complete, package, shallow=False):
        return
    shutil.copy(package, os.path.join(folder, "package.json"))
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=INSTALL_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise NotToBeHad(f"npm did not come to an end within {INSTALL_LIMIT_S} s") from None
    if done.returncode != 0:
        code = re.search(r"code (\w+)", done.stderr.decode("utf-8", "replace"))
        raise NotToBeHad(f"npm could not install what {os.path.basename(package)} names ({code.group(1) if code else done.returncode})")
    shutil.copy(package, complete)


def _check_node():
    if not shutil.which("node") or not shutil.which("npm"):
        raise NotToBeHad("node or npm is not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    if int(version[1:].split(".")[0]) < NODE_MAJOR_MIN:
        raise NotToBeHad(f"it needs Node {NODE_MAJOR_MIN}; here is {version}")
