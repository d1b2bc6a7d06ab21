# SPDX-License-Identifier: MIT
"""Tests of one file that mostly wait, run at the same time: each is still a test of its own.

    together = Together(at_once=6)

    @together.test
    def test_redis_is_away():
        ...

The first of them that pytest comes to starts all that were selected, each in a thread; each then waits for its own end.
They must share nothing. A test so decorated takes no fixtures.
"""
import concurrent.futures


class Together:
    def __init__(self, at_once=6):
        self.at_once = at_once
        self.functions = {}
        self.futures = None

    def test(self, function):
        name = function.__name__
        self.functions[name] = function

        def run(request):
            self._start(request)
            self.futures[name].result()

        run.__name__, run.__doc__, run.__module__ = name, function.__doc__, function.__module__
        return run

    def _start(self, request):
        if self.futures is not None:
            return
        pool = concurrent.futures.ThreadPoolExecutor(self.at_once)
        selected = [item.name for item in request.session.items if item.path == request.node.path]
        self.futures = {name: pool.submit(self.functions[name]) for name in selected if name in self.functions}
        pool.shutdown(wait=False)
