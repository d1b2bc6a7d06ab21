# SPDX-License-Identifier: MIT
"""The verbs that read, on rows as the contract has them; help, completion, manual and documentation: one table."""
import json
import os
import re
import shutil
import subprocess

import pytest

from lib.cli import Cli
from lib.tree import TOP, program

PLATFORM = ["platform list", "platform check", "platform try", "platform probe"]
VERBS = ["submit", "status", "show", "report", "retry", "approve", "confirm", "cancel", "reject", "pause", "resume", "leases",
         "journal", "audit", "export", "archive", "partitions", "key", "drain", "spool", "doctor", "config", *PLATFORM, "completion", "man", "help"]
# Examples end with 0, but for these: what they are about is not settled.
EXAMPLE_CODES = {"status": 3, "show": 3, "audit": 5, "partitions": 3, "doctor": 4}


@pytest.fixture
def cli(tmp_path):
    with Cli(tmp_path) as one:
        yield one


def outcome(cli, delivery, state, **more):
    return cli.client.xadd(cli.key("outcomes"), {"delivery": delivery, "state": state, "attempt": 1, **more})


# ---- status

def test_status_of_nothing(cli):
    document = cli.json("status")
    assert document["channels"] == [] and document["queue"] == 0 and "no worker" in document["notes"][0]
    assert cli.run("status", "--channel", "other/one").code == 5
    assert cli.run("status", "--channel", "blog/brand").code == 0


def test_status(cli):
    now = cli.now_ms()
    cli.row("blog/brand/u1", state="uncertain", reason="no_answer", since=now - 120000, attempt=1)
    cli.row("blog/brand/u2", state="uncertain", reason="lease_lost", since=now - 60000, attempt=1)
    for name, reason in [("w1", "paced"), ("w2", "paced"), ("w3", "blocked")]:
        cli.row(f"blog/brand/{name}", state="approved", reason=reason, since=now)
        cli.client.zadd(cli.key("waiting", "blog/brand"), {f"blog/brand/{name}": now})
    cli.client.hset(cli.key("channel", "blog/brand"), mapping={
        "next_at": now + 40000, "paused": "x", "paused_at": now - 5000, "blocked_until": now + 9000,
        "blocked_why": "429 \x1b[2J"})
    cli.client.zadd(cli.key("agenda"), {"walk:blog/brand": now + 3000})
    cli.client.set(cli.key("worker", "w-1"), "role=worker pid=7 \x1b[31m", px=30000)
    document = cli.json("status", code=3)
    channel = document["channels"][0]
    assert channel["channel"] == "blog/brand"
    assert channel["counts"]["uncertain"] == 2 and channel["counts"]["approved"] == 3
    assert channel["waiting"] == 3 and channel["waiting_reasons"] == {"paced": 2, "blocked": 1}
    assert channel["next_at_ms"] == now + 40000 and channel["blocked_until_ms"] == now + 9000
    assert channel["uncertain_since_ms"] == now - 120000 and channel["next_look_ms"] == now + 3000
    assert document["journal"] == 2 and document["processes"][0]["role"] == "worker"
    people = cli.run("status")
    assert people.code == 3 and "2 min ago" in people.out and "paced 2" in people.out and "\x1b" not in people.out
    assert "no reconciler has been seen" in people.out


def test_status_held_is_3(cli):
    cli.row("blog/brand/h", state="held", reason="approval", since=cli.now_ms())
    assert cli.json("status", code=3)["channels"][0]["counts"]["held"] == 1


# ---- show

def test_show_unknown(cli):
    nothing = cli.run("show", "blog/brand/none")
    assert nothing.code == 5 and "queue" not in nothing.err
    cli.client.xadd(cli.key("queue"), {"channel": "blog/brand", "item": '{"id": "none", "content_text": "x"}'})
    queued = cli.run("show", "blog/brand/none")
    assert queued.code == 5 and queued.err.endswith("when a worker reads them: 1\n")
    assert cli.run("show", "nonsense").code == 1


def test_show_uncertain(cli):
    now = cli.now_ms()
    name = "blog/brand/u"
    cli.row(name, state="uncertain", reason="no_answer", since=now - 120000, attempt=1, tries=1, commit_by=now + 30000,
            first_send=now - 130000, token="abcdef0123456789", in_doubt="1:abcdef01", key="lf-u")
    cli.client.hset(cli.key("request", name), mapping={
        "content": '{"id":"u","content_text":"hi\\u001b"}', "detail": "reset \x1b[2J by peer",
        "frozen": json.dumps({"v": 1, "method": "POST", "url": ["https://blog.example/posts"],
                              "headers": [["Authorization", ["Bearer ", {"hole": "secret"}]],
                                          ["Content-Type", ["application/json"]]],
                              "body": ['{"text":"hi"}']})})
    cli.client.zadd(cli.key("agenda"), {"walk:blog/brand": now + 5000})
    document = cli.json("show", name, code=3)
    assert document["state"] == "uncertain" and document["row"]["in_doubt"] == "1:abcdef01" and document["in_journal"]
    assert document["request"]["headers"][0] == ["Authorization", "Bearer {{secret}}"]
    assert document["request"]["body"] == '{"text":"hi"}'
    assert any("looks again" in line for line in document["next"])
    assert any("may be sent again" in line for line in document["next"])
    people = cli.run("show", name)
    assert people.code == 3 and "2 min ago" in people.out and "{{secret}}" in people.out and "\x1b" not in people.out
    assert "it may have been executed" in people.out


def test_show_claimed_and_settled(cli):
    now = cli.now_ms()
    cli.row("blog/brand/c", state="claimed", reason="sending", since=now, attempt=2, token="abcdef0123456789",
            worker="w-1")
    cli.client.set(cli.key("lease", "blog/brand/c"), "w-1 2 abcdef0123456789", px=60000)
    cli.client.zadd(cli.key("agenda"), {"delivery:blog/brand/c": now + 60000})
    document = cli.json("show", "blog/brand/c", code=3)
    assert document["lease"]["holder"] == "w-1" and document["lease"]["attempt"] == 2
    assert document["agenda_ms"] == now + 60000
    assert any("its lease ends" in line for line in document["next"])
    cli.client.delete(cli.key("lease", "blog/brand/c"))
    assert "its lease is gone" in cli.run("show", "blog/brand/c").out
    cli.row("blog/brand/p", state="published", reason="confirmed", since=now, ext_id="7", url="https://blog.example/7",
            source="response")
    assert cli.json("show", "blog/brand/p")["row"]["url"] == "https://blog.example/7"
    cli.row("blog/brand/r", state="rejected", reason="refused", since=now)
    assert cli.run("show", "blog/brand/r").code == 4


def test_show_an_unreadable_row(cli):
    cli.client.set(cli.key("delivery", "blog/brand/x"), "somebody's hand")
    done = cli.run("show", "blog/brand/x")
    assert done.code == 3 and "cannot be read" in done.err


# ---- report

def test_report(cli):
    for i in range(3):
        outcome(cli, f"blog/brand/{i}", "published", source="response", url=f"https://blog.example/{i}", ext_id=str(i))
    outcome(cli, "news/brand/0", "published", source="read_back", reason="confirmed")
    document = cli.json("report", "--since", "1h")
    assert document["published"] == 4
    assert {"channel": "news/brand", "state": "published", "source": "read_back", "n": 1} in document["counts"]
    assert document["deliveries"][0]["url"] == "https://blog.example/0"
    assert cli.json("report", "--channel", "news/brand")["published"] == 1
    assert cli.run("report", "--expect", "4").code == 0
    assert cli.run("report", "--expect", "5").code == 5 and "1 are missing" in cli.run("report", "--expect", "5").out
    assert cli.json("report", "--since", "2099-01-01T00:00:00Z")["published"] == 0
    outcome(cli, "blog/brand/h", "held", reason="spent")
    assert cli.run("report").code == 3
    outcome(cli, "blog/brand/r", "rejected", reason="refused \x1b[2J")
    done = cli.run("report", "--expect", "9")
    assert done.code == 4 and "\x1b" not in done.out
    outcome(cli, "blog/brand/r", "published", source="operator")
    outcome(cli, "blog/brand/h", "published", source="operator")
    assert cli.json("report")["published"] == 6  # the newest outcome of a delivery counts


@pytest.mark.parametrize("verb", ["report", "status", "journal", "leases", "export"])
def test_a_channel_that_nobody_knows_is_a_typing_error(cli, verb):
    """Nothing due would end with 0; a name that is misspelt must not look like that."""
    done = cli.run(verb, "--channel", "blog/brnad")
    assert done.code == 5 and "blog/brnad is not configured here and has no deliveries" in done.err and done.out == ""
    assert cli.json(verb, "--channel", "blog/brnad", code=5)["exit"] == 5
    assert cli.run(verb, "--channel", "blog/brand").code == 0, "configured, and nothing of it yet"
    outcome(cli, "old/brand/x", "published")
    cli.row("old/brand/x", state="published", reason="confirmed", since=cli.now_ms())
    assert cli.run(verb, "--channel", "old/brand").code == 0, "not configured any more, and known"


def test_report_reads_more_than_a_page(cli):
    with cli.client.pipeline() as pipe:
        for i in range(1234):
            pipe.xadd(cli.key("outcomes"), {"delivery": f"blog/brand/{i}", "state": "published"})
        pipe.execute()
    assert cli.json("report", "--expect", "1234")["published"] == 1234


# ---- key, config, drain

def test_key_is_the_same_everywhere(cli):
    item = b'{"id": "a", "content_text": "x"}'
    one = cli.json("key", "-", "--channel", "blog/brand", stdin=item)
    two = cli.json("key", "-", "--channel", "blog/brand", stdin=b'{"content_text":"x",\n"id":"a"}')
    assert one == two and one["key"].startswith("lf-a-") and one["delivery"] == "blog/brand/a"
    assert cli.run("key", "-", "--channel", "blog/brand", stdin=item).out.strip() == one["key"]
    assert cli.json("key", "-", "--channel", "blog/brand", "--generation", "1", stdin=item)["key"] != one["key"]
    assert cli.run("key", "-", "--channel", "other/one", stdin=b"{}").code == 1
    assert cli.run("key", "-", "--channel", "blog/brand", stdin=b"").code == 1
    assert cli.run("key", "-", "--channel", "blog/brand", stdin=b"{}").code == 1


def test_config(cli):
    document = cli.json("config")
    settings = {one["path"]: one for one in document["settings"]}
    assert settings["environment"] == {"path": "environment", "value": "test", "source": "file"}
    assert document["channels"] == ["blog/brand", "news/brand"]
    assert "channel blog/brand" in cli.run("config").out
    assert cli.run("config", "--config", "none.json").code == 1
    cli.write("landfall.json", '{"redis": {"urll": 1}}')
    broken = cli.run("config")
    assert broken.code == 1 and "urll" in broken.err and "landfall.json" in broken.err


def test_drain_becomes_the_reconciler(cli, tmp_path):
    """Beside a copy of landfall stands another landfall-reconciler: it gets the arguments and the whole environment."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(program("landfall"), folder / "landfall")
    (folder / "landfall-reconciler").write_text("#!/bin/sh\necho \"$@\" \"${BLOG_TOKEN:+whole}\"\nexit 3\n")
    os.chmod(folder / "landfall-reconciler", 0o755)
    done = subprocess.run([folder / "landfall", "drain", "--config", "x y", "--what"], env=cli.env, capture_output=True,
                          text=True, timeout=20)
    assert done.returncode == 3 and done.stdout == "drain --config x y --what whole\n"
    done = subprocess.run([folder / "landfall", "--config", "x", "drain"], env=cli.env, capture_output=True, text=True,
                          timeout=20)
    assert done.stdout == "drain --config x whole\n"
    os.unlink(folder / "landfall-reconciler")
    done = subprocess.run([folder / "landfall", "drain"], env={"PATH": "/nonexistent"}, capture_output=True, text=True,
                          timeout=20)
    assert done.returncode == 1 and "landfall-reconciler" in done.stderr


# ---- help, completion, manual, documentation

def test_help_of_every_verb(cli):
    whole = cli.run("help")
    assert whole.code == 0
    for verb in VERBS:
        assert f"  {verb} " in whole.out
        done = cli.run(*verb.split(), "--help")
        assert done.code == 0 and f"Usage: landfall {verb}" in done.out and "Example:" in done.out
        assert max(len(line) for line in done.out.splitlines()) <= 110
    assert cli.run("help", "submit").out == cli.run("submit", "--help").out
    assert cli.run("help", "platform", "try").out == cli.run("platform", "try", "--help").out
    group = cli.run("platform", "--help")
    assert group.code == 0 and all(f"  {verb} " in group.out for verb in PLATFORM) and "submit" not in group.out
    assert cli.run("help", "platform").out == group.out
    for words in (("platform",), ("platform", "nonsense"), ("help", "platform", "nonsense"), ("platform list",)):
        assert cli.run(*words).code == 1, words
    assert cli.run("--version").out.startswith("landfall ")
    assert cli.run().code == 1 and cli.run("nonsense").code == 1


def test_a_flag_is_explained_as_its_verb_means_it(cli):
    assert "The platform's id of the post" in cli.run("confirm", "--help").out
    assert "The id of --text's item" in cli.run("submit", "--help").out
    assert "required with --yes" in cli.run("archive", "--help").out
    assert "required with --yes" not in cli.run("cancel", "--help").out


def test_the_list_says_what_a_setting_may_be(cli):
    cli.config(channels={}, descriptors=[os.path.join(TOP, "platforms", "descriptors")])
    listed = cli.run("platform", "list").out
    assert '    visibility (enum: one of public, unlisted, private; default "public"): ' in listed
    assert "    instance (origin; required): " in listed and "(number; default 5000): " in listed


@pytest.mark.parametrize("verb", VERBS)
def test_examples_run(cli, verb):
    cli.write("items.ndjson", '{"id": "hello", "content_text": "Hello"}\n')
    cli.write("item.json", '{"id": "hello", "content_text": "Hello"}\n')
    assert cli.run("submit", "items.ndjson", "--to", "blog/brand").code == 0
    cli.row("blog/brand/lost", state="held", reason="no_evidence", since=cli.now_ms(), attempt=1, in_doubt="1:abcdef01",
            first_send=cli.now_ms() - 1000)
    cli.row("blog/brand/draft", state="held", reason="approval", since=cli.now_ms())
    example = re.search(r"Example:\n  (.*)\n", cli.run(*verb.split(), "--help").out).group(1)
    path = os.path.dirname(program("landfall")) + ":" + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", example], cwd=cli.folder, env={**cli.env, "PATH": path}, capture_output=True,
                          text=True, timeout=30)
    assert done.returncode == EXAMPLE_CODES.get(verb, 0), (example, done.stdout, done.stderr)
    assert done.stdout


def test_completion(cli):
    cli.write("completion.sh", cli.run("completion", "bash").out)
    ask = 'source completion.sh; COMP_WORDS=({words}); COMP_CWORD={at}; _landfall; printf "%s\\n" "${{COMPREPLY[@]}}"'

    def complete(*words):
        command = ask.format(words=" ".join(f"'{word}'" for word in words), at=len(words) - 1)
        return subprocess.run(["bash", "-c", command], cwd=cli.folder, capture_output=True, text=True, check=True,
                              timeout=20).stdout.split()
    assert complete("landfall", "") == list(dict.fromkeys(verb.split()[0] for verb in VERBS))
    assert complete("landfall", "platform", "") == [verb.split()[1] for verb in PLATFORM]
    assert complete("landfall", "platform", "probe", "--p") == ["--pages"]
    assert "landfall.json" in complete("landfall", "platform", "check", "land")
    assert complete("landfall", "st") == ["status"] and complete("landfall", "re") == ["report", "retry", "reject", "resume"]
    assert complete("landfall", "report", "--e") == ["--expect"]
    assert "--dry-run" in complete("landfall", "submit", "-") and "--dry-run" not in complete("landfall", "status", "-")
    assert "landfall.json" in complete("landfall", "submit", "land")
    assert cli.run("completion", "fish").code == 1


def test_man(cli):
    page = cli.run("man")
    assert page.code == 0 and page.out.startswith(".TH LANDFALL 1")
    for verb in VERBS:
        assert f".SS {verb}" in page.out


def test_the_documentation_is_the_tables(cli):
    with open(os.path.join(TOP, "docs", "cli.md"), encoding="utf-8") as file:
        assert file.read() == cli.run("man", "--markdown").out, "build/dev/bin/landfall man --markdown > docs/cli.md"


def test_stdout_that_cannot_be_written(cli):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([program("landfall"), "config"], cwd=cli.folder, env=cli.env, stdout=full,
                              stderr=subprocess.PIPE, timeout=20)
    assert done.returncode == 1 and b"standard output" in done.stderr
