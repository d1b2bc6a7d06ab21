# SPDX-License-Identifier: MIT
"""The rules about includes fail on a tree that breaks them."""
import pytest

from lint import includes


def test_a_good_tree_passes(tree):
    assert includes.check(tree.top) == []


@pytest.mark.parametrize("path, header, words", [
    ("keys/keys.h", '"core/core.h"', "keys/ may not include core/core.h"),
    ("keys/keys.h", '"runtime/log.h"', "keys/ may not include runtime/log.h"),
    ("core/core.c", '"runtime/log.h"', "core/ may not include runtime/log.h"),
    ("core/core.c", "<runtime/log.h>", "core/ may not include runtime/log.h"),
    ("core/core.c", "<sys/socket.h>", "core/ may not include sys/socket.h"),
    ("core/core.c", "<time.h>", "core/ may not include time.h"),
    ("core/core.c", "<curl/curl.h>", "only platforms/transfer"),
    ("core/core.c", "<hiredis/hiredis.h>", "only ledger/"),
    ("ledger/link.c", '"platforms/channel.h"', "ledger/ may not include platforms/channel.h"),
    ("platforms/transfer.c", '"ledger/link.h"', "platforms/ may not include ledger/link.h"),
    ("platforms/transfer.c", "<jq.h>", "libjq has a cage"),
    ("runtime/log.h", '"core/core.h"', "runtime/ may not include core/core.h"),
    ("worker/send.c", '"reconciler/walk.h"', "worker/ may not include reconciler/walk.h"),
    ("worker/send.c", "<hiredis/async.h>", "only ledger/"),
    ("reconciler/main.c", '"worker/round.h"', "reconciler/ may not include worker/round.h"),
    ("reconciler/main.c", '"platforms/request.h"', "the write half"),
    ("reconciler/main.c", '"platforms/verdict.h"', "judges its answer"),
    ("cli/main.c", '"platforms/limits.h"', "judges its answer"),
    ("cli/main.c", '"main.h"', "from the top of the tree"),
    ("cli/main.c", '"../worker/round.h"', "from the top of the tree"),
])
def test_a_forbidden_include_is_found(tree, expect, path, header, words):
    line = (tree.top / path).read_text().count("\n") + 1
    tree.include(path, header)
    expect(includes.check(tree.top), path, line, words)


@pytest.mark.parametrize("path, text, words", [
    ("worker/attempt.c", "void f(void) { o.write = true; }", "in one place"),
    ("reconciler/main.c", "struct options o = {.write = yes};", "in one place"),
    ("cli/main.c", "void f(void) { o->write=1; }", "in one place"),
    ("platforms/search.c", "void f(void) { curl_easy_init(); }", "how a transfer fails"),
    ("worker/attempt.c", "void f(void) { printf(text); }", "escaped"),
    ("cli/verb_show.c", "void f(void) { fprintf (stderr, text); }", "escaped"),
    ("reconciler/walk.c", "void f(void) { puts(text); }", "escaped"),
])
def test_some_things_are_done_in_one_place(tree, expect, path, text, words):
    tree.write(path, f"\n{text}\n")
    expect(includes.check(tree.top), path, 2, words)


@pytest.mark.parametrize("text", [
    "struct options o = {.write = false};", "if (o->write == x) return;", "/* .write = true */",
    'const char *words = "curl_easy_init()";', "void f(void) { snprintf(out, 3, text); }",
])
def test_what_looks_like_them_passes(tree, text):
    tree.write("worker/attempt.c", text + "\n")
    assert includes.check(tree.top) == []
