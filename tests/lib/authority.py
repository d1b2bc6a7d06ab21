# SPDX-License-Identifier: MIT
"""An authority of a test's own that one program trusts: the programs believe whom the system believes, so its list is covered
by ours, for that program alone, in a mount namespace. What is started keeps its process id.
"""
import shutil
import subprocess

TRUSTED = "/etc/ssl/certs/ca-certificates.crt"
HIDDEN_MOUNT = ["unshare", "-rm", "sh", "-c", 'mount --bind "$0" ' + TRUSTED + ' && exec "$@"']


def trusting(authority, argv):
    """argv, for a process that trusts the authority (the path of its certificate) and nobody else."""
    return [*HIDDEN_MOUNT, authority, *argv]


def can_trust(authority):
    """Whether this machine lets us do so."""
    return bool(shutil.which("unshare")) and \
        subprocess.run(trusting(authority, ["true"]), capture_output=True, check=False).returncode == 0
