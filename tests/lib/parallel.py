# SPDX-License-Identifier: MIT
"""Cases that mostly wait, side by side: each with its own Redis and its own processes."""
from concurrent.futures import ThreadPoolExecutor


def all_pass(check, cases, at_once=8):
    """Runs check(case) for every case and fails with the words of every case that failed, not of the first alone."""
    def run(case):
        try:
            check(case)
            return None
        except BaseException as error:  # also pytest's own failures
            return f"{case}: {type(error).__name__}: {error}"

    with ThreadPoolExecutor(at_once) as pool:
        failures = [text for text in pool.map(run, cases) if text]
    assert not failures, "\n\n".join(failures)
