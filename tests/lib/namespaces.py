# SPDX-License-Identifier: MIT
"""Namespaces of a test's own: a fleet that lives alone in a small network, or with a small disk, which the test may break.

    pytestmark = namespaces.needed()
    with OwnNetwork() as network:           # this thread, and every process that it starts from now on, is in there
        network.rule("-A", "INPUT", "-p", "tcp", "--dport", port, "-j", "DROP")

Only the calling thread is moved, so a test that uses it runs in a thread of its own: see alone(). Nothing outside of the
namespace is touched, and it ends with its last process.
"""
import ctypes
import os
import shutil
import subprocess
import threading

import pytest

CLONE_NEWNET = 0x40000000
CLONE_NEWNS = 0x00020000
MS_PRIVATE_RECURSIVE = 0x00040000 | 0x4000
MS_BIND = 0x1000
MS_REMOUNT = 0x20
MNT_DETACH = 2
libc = ctypes.CDLL(None, use_errno=True)


def _unshare(flags):
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "a namespace of our own")


def mounts_needed():
    """Skips, with the reason, where a test may mount nothing."""
    tried = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True, check=False)
    return pytest.mark.skipif(tried.returncode != 0, reason=f"nothing can be mounted here: {tried.stderr.strip()[-200:]}")


def _own_mounts():
    _unshare(CLONE_NEWNS)
    if libc.mount(None, b"/", None, MS_PRIVATE_RECURSIVE, None) != 0:
        raise OSError(ctypes.get_errno(), "mounts of our own")


class SmallDisk:
    """A file system of so many bytes on a folder, for this thread and what it starts: see alone()."""

    def __init__(self, folder, size_bytes):
        self.folder, self.size_bytes = folder, size_bytes

    def __enter__(self):
        _own_mounts()
        self._mount(0, self.size_bytes)
        return self

    def __exit__(self, *exc):
        libc.umount2(os.fsencode(self.folder), MNT_DETACH)

    def grow(self, size_bytes):
        self._mount(MS_REMOUNT, size_bytes)

    def _mount(self, flags, size_bytes):
        if libc.mount(b"none", os.fsencode(self.folder), b"tmpfs", flags, f"size={size_bytes}".encode()) != 0:
            raise OSError(ctypes.get_errno(), f"a small disk on {self.folder}")


def needed():
    """Skips, with the reason, where namespaces or packet filters are not permitted."""
    if not (shutil.which("ip") and shutil.which("iptables")):
        return pytest.mark.skip(reason="ip or iptables is not installed")
    tried = subprocess.run(["unshare", "-n", "sh", "-c", "ip link set lo up && iptables -A INPUT -p tcp -m statistic --mode random "
                            "--probability 0.1 -j DROP"], capture_output=True, text=True, check=False)
    return pytest.mark.skipif(tried.returncode != 0, reason=f"no network namespace here: {tried.stderr.strip()[-200:]}")


def alone(function):
    """Runs the test in a thread of its own, which may go into namespaces and never comes back from there."""
    def run():
        failure = []

        def guarded():
            try:
                function()
            except BaseException as error:  # pytest's own, too
                failure.append(error)

        thread = threading.Thread(target=guarded)
        thread.start()
        thread.join()
        if failure:
            raise failure[0]

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


class OwnNetwork:
    def __enter__(self):
        _unshare(CLONE_NEWNET)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return self

    def __exit__(self, *exc):
        pass

    @staticmethod
    def rule(*words):
        subprocess.run(["iptables", *map(str, words)], check=True, timeout=20)

    def drop(self, port, probability=1.0):
        """From now on so many of the packets to and from this port are lost; gives what heals it."""
        chance = [] if probability >= 1.0 else ["-m", "statistic", "--mode", "random", "--probability", probability]
        rules = [["INPUT", "-p", "tcp", side, port, *chance, "-j", "DROP"] for side in ("--dport", "--sport")]
        for rule in rules:
            self.rule("-A", *rule)

        def heal():
            for rule in rules:
                self.rule("-D", *rule)
        return heal

    @staticmethod
    def put_over(source, target):
        """For this thread and what it starts, a file has the content of another."""
        _own_mounts()
        if libc.mount(os.fsencode(source), os.fsencode(target), None, MS_BIND, None) != 0:
            raise OSError(ctypes.get_errno(), f"{source} over {target}")
