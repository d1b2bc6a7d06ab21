# SPDX-License-Identifier: MIT
"""A small tree that keeps every rule; each test breaks one thing in a copy of it and expects exactly that finding."""
import pytest

LICENCE = "/* SPDX-License-Identifier: MIT */\n"
GOOD = {
    "README.md": "# Small\n\n| folder | what |\n|---|---|\n" + "".join(
        f"| `{name}/` | a part |\n" for name in
        ("cli", "core", "docs", "keys", "ledger", "platforms", "reconciler", "runtime", "tests", "worker"))
        + "\n```\ntests/run\ncli/x --help\n```\n\nRead [the contract](docs/contract.md#one-thing).\n",
    "docs/contract.md": "# Contract\n\n## One thing\n\nBack to [the start](../README.md).\n",
    "keys/keys.h": LICENCE + "#include <stdint.h>\n",
    "core/core.c": LICENCE + '#include <string.h>\n#include "keys/keys.h"\n/* system() stays a word here, and core is no platform */\n'
                             'const char *core_words(void) { return "atoi(x)"; }\n',
    "core/core.h": LICENCE,
    "ledger/link.c": LICENCE + '#include <hiredis/hiredis.h>\n#include "core/core.h"\n#include "runtime/log.h"\n',
    "platforms/transfer.c": LICENCE + '#include <curl/curl.h>\n#include "runtime/log.h"\n#include "core/core.h"\n',
    "platforms/descriptors/birdsite.json": '{"platform": "birdsite"}\n',
    "platforms/descriptors/fixtures/birdsite/core.json": "{}\n",
    "platforms/descriptors/webhook.json": '{"platform": "webhook"}\n',
    "runtime/log.h": LICENCE + "#include <time.h>\n",
    "worker/send.c": LICENCE + '#include "platforms/request.h"\n#include "ledger/link.h"\n'
                               'static struct options o = {.write = true};\n',
    "reconciler/main.c": LICENCE + '#include "ledger/link.h"\n#include "platforms/channel.h"\n',
    "cli/main.c": LICENCE + '#include "ledger/link.h"\nint main(void) { return 0; }\n',
    "tests/unit/worker/test_send.c": LICENCE + '#include "platforms/verdict.h"\n/* birdsite is named in a test */\n',
}


class Tree:
    def __init__(self, top):
        self.top = top
        for path, text in GOOD.items():
            self.write(path, text)

    def write(self, path, text):
        target = self.top / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def append(self, path, text):
        self.write(path, (self.top / path).read_text() + text)

    def include(self, path, header):
        self.append(path, f"#include {header}\n")


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@pytest.fixture
def expect():
    """expect(findings, path, line, words): one finding, there, and it says so."""
    def check(findings, path, line, words):
        findings = list(findings)
        assert len(findings) == 1, list(map(str, findings))
        assert findings[0].path == path and findings[0].line == line and words in findings[0].text, str(findings[0])
    return check
