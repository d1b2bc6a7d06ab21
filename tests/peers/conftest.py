# SPDX-License-Identifier: MIT
"""The figures are what these tests are run for: they are printed at the end, whatever became of the tests."""
import pytest

FIGURES = pytest.StashKey[list]()


@pytest.fixture
def tell(pytestconfig):
    """tell(words): they are printed at the end."""
    return pytestconfig.stash.setdefault(FIGURES, []).append


def pytest_terminal_summary(terminalreporter):
    for words in terminalreporter.config.stash.get(FIGURES, []):
        terminalreporter.write_line(words)
