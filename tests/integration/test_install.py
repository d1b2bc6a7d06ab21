# SPDX-License-Identifier: MIT
"""What `cmake --install` puts where: programs, descriptors, manual pages that man reads, completion that bash finds; and the
examples of the two programs that run for long."""
import os
import re
import shutil
import subprocess

import pytest

from lib.fleet import Fleet
from lib.tree import TOP, program

PROGRAMS = ("landfall", "landfall-worker", "landfall-reconciler")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that stands for /usr."""
    to = tmp_path_factory.mktemp("destdir")
    build = os.path.dirname(os.path.dirname(program("landfall")))
    subprocess.run(["cmake", "--install", build, "--prefix", "/usr"], env={**os.environ, "DESTDIR": str(to)}, check=True,
                   capture_output=True, timeout=60)
    assert os.listdir(to) == ["usr"], "nothing is put outside of the prefix"
    return os.path.join(to, "usr")


def page(installed, name):
    return os.path.join(installed, "share", "man", "man1", f"{name}.1")


def test_programs_and_descriptors(installed):
    for name in PROGRAMS:
        done = subprocess.run([os.path.join(installed, "bin", name), "--version"], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0 and done.stdout.startswith(f"{name} ")
    folder = os.path.join(TOP, "platforms", "descriptors")
    shipped = {name for name in os.listdir(folder) if name.endswith(".json")}
    assert set(os.listdir(os.path.join(installed, "share", "landfall", "descriptors"))) == shipped


@pytest.mark.parametrize("name", PROGRAMS)
def test_manual_pages(installed, name):
    """lexgrog is what lets `man -k` and `whatis` find a page; man says what roff does not take."""
    with open(page(installed, name), encoding="utf-8") as file:
        text = file.read()
    assert text.startswith(".TH " + name.upper().replace("-", "\\-"))
    if shutil.which("lexgrog"):
        done = subprocess.run(["lexgrog", page(installed, name)], capture_output=True, text=True, check=True, timeout=20)
        assert f'"{name} - ' in done.stdout
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-Tlint", "-W", "error", page(installed, name)], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stdout
    if not shutil.which("man"):
        pytest.skip("there is no man here (Debian package man-db): the page was not rendered")
    done = subprocess.run(["man", "--warnings", "--local-file", page(installed, name)], capture_output=True, text=True, timeout=20,
                          env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "EXIT" in done.stdout.upper() and "Example" in done.stdout


@pytest.mark.parametrize("name", PROGRAMS[1:])
def test_a_page_says_what_help_says(installed, name):
    help_text = subprocess.run([os.path.join(installed, "bin", name), "--help"], capture_output=True, text=True, check=True).stdout
    with open(page(installed, name), encoding="utf-8") as file:
        body = file.read().split(".nf\n")[1].split(".fi\n")[0]
    assert body.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\") == help_text


def test_completion(installed):
    path = os.path.join(installed, "share", "bash-completion", "completions", "landfall")
    printed = subprocess.run([program("landfall"), "completion", "bash"], capture_output=True, text=True, check=True).stdout
    with open(path, encoding="utf-8") as file:
        assert file.read() == printed
    done = subprocess.run(["bash", "-c", f'source "{path}" && complete -p landfall'], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and "_landfall" in done.stdout


@pytest.mark.parametrize("name", PROGRAMS[1:])
def test_the_examples_of_help_run(name):
    """As they stand, but for the channel's name, in a folder with a configuration and one published item."""
    help_text = subprocess.run([program(name), "--help"], capture_output=True, text=True, check=True).stdout
    examples = re.findall(rf"^  ({name} .*)$", re.split("Examples?:", help_text)[1], re.M)
    assert examples
    with Fleet(["mastodon"]) as fleet:
        fleet.add("mastodon/brand", fleet.item("launch"))
        assert fleet.run_worker() == 0
        path = os.path.dirname(program(name)) + ":/usr/bin:/bin"
        for example in examples:
            command = example.replace("news/brand", "mastodon/brand")
            done = subprocess.run(["bash", "-c", command], cwd=fleet.dir, capture_output=True, text=True, timeout=60,
                                  env={"PATH": path, "HOME": fleet.dir, "ASAN_OPTIONS": "detect_leaks=0"})
            assert done.returncode == 0, (command, done.stdout, done.stderr)
