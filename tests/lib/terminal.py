# SPDX-License-Identifier: MIT
"""A terminal for tests, where the machine has any."""
import pty

import pytest


def open_terminal():
    """(our end, the program's end), two descriptors of the caller's. Skips the test where there are none (no /dev/pts)."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"there are no terminals here: {error}")
