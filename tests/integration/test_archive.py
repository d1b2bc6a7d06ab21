# SPDX-License-Identifier: MIT
"""landfall archive: what leaves the ledger stands in the file first, once; what could still prevent a second post stays."""
import fcntl
import json
import os
import time

import pytest

from lib.cli import Cli
from lib.fleet import Fleet
from lib.procs import Process
from lib.tree import program

DAY = 86400 * 1000
FILE = "archive.ndjson"
WHY = ("--why", "the disk is full")


@pytest.fixture
def cli(tmp_path):
    with Cli(tmp_path) as one:
        channel = {"settings": {"origin": "https://blog.example"}, "credential": {"env": "BLOG_TOKEN"}}
        one.config(channels={"blog/brand": {"platform": "blog", **channel, "max_age_ms": 30 * DAY},
                             "news/brand": {"platform": "news", **channel}})
        yield one


def settled(cli, delivery, days=100, state="published", dated=True, **fields):
    """A row that was settled so many days ago, of an item of the same date."""
    since = cli.now_ms() - days * DAY
    cli.row(delivery, state=state, reason="confirmed" if state == "published" else "refused", since=since, approved_at=since,
            attempt=1, **({"dated": since} if dated else {}), **fields)


def archive(cli, *words, code=0, **options):
    return cli.json("archive", FILE, "--older-than", "90d", *words, code=code, **options)


def act(cli, *words, **options):
    return archive(cli, "--yes", *WHY, *words, **options)


def lines(cli):
    with open(os.path.join(cli.folder, FILE), encoding="utf-8") as file:
        return file.read()


def names(cli):
    return [json.loads(line)["delivery"] for line in lines(cli).splitlines()]


def rows(cli):
    return sorted(key.split(":delivery:")[1] for key in cli.client.keys("lf:{0}:delivery:*"))


# ---- what goes, what stays

def test_what_stays_and_why(cli):
    settled(cli, "blog/brand/goes")
    settled(cli, "blog/brand/newer", days=80)
    settled(cli, "blog/brand/no-date", dated=False)
    settled(cli, "news/brand/no-max-age")
    settled(cli, "other/brand/unknown")
    settled(cli, "blog/brand/first")
    cli.row("blog/brand/open", state="held", reason="approval", since=1)
    item = {"id": "open", "content_text": "x", "landfall": {"after": "first"}}
    cli.client.hset(cli.key("request", "blog/brand/open"), "content", json.dumps(item))
    settled(cli, "blog/brand/broken")
    cli.client.hset(cli.key("delivery", "blog/brand/broken"), "state", "nonsense")
    before = cli.dump()
    document = archive(cli, "--dry-run")
    assert document["kept"] == {"open": 1, "newer": 1, "not_configured": 1, "attempt": 0, "awaited": 1, "age": 0, "unguarded": 2,
                                "unreadable": 1}
    assert (document["rows"], document["to_archive"], document["acted"]) == (8, 1, False)
    assert archive(cli, code=1)["to_archive"] == 1, "without --yes nothing is done"
    text = cli.run("archive", FILE, "--older-than", "90d")
    assert text.code == 1 and "say --yes" in text.out and "--no-guard" in text.out
    assert cli.dump() == before and not os.path.exists(os.path.join(cli.folder, FILE))
    assert act(cli)["dropped"] == 1 and names(cli) == ["blog/brand/goes"]
    assert act(cli, "--no-guard", "--channel", "news/brand")["dropped"] == 1
    assert act(cli, "--no-guard")["dropped"] == 1
    assert names(cli) == ["blog/brand/goes", "blog/brand/no-date", "news/brand/no-max-age"]
    assert rows(cli) == ["blog/brand/broken", "blog/brand/first", "blog/brand/newer", "blog/brand/open", "other/brand/unknown"]


def test_the_age_guard_must_hold_the_item_back_first(cli):
    settled(cli, "blog/brand/one")
    cli.client.hset(cli.key("delivery", "blog/brand/one"), "dated", cli.now_ms() - 29 * DAY)
    assert archive(cli, "--dry-run")["kept"]["age"] == 1
    cli.client.hset(cli.key("delivery", "blog/brand/one"), "dated", cli.now_ms() - 31 * DAY)
    assert act(cli)["dropped"] == 1


def test_what_was_sent_may_still_count(cli):
    """The longest time for which evidence is looked for is seven days, whatever is asked for."""
    settled(cli, "blog/brand/one", days=6, dated=False)
    document = cli.json("archive", FILE, "--older-than", "1d", "--no-guard", "--yes", *WHY)
    assert document["kept"]["attempt"] == 1 and document["dropped"] == 0 and rows(cli) == ["blog/brand/one"]


# ---- the file, the ledger and the trace

def test_the_file_has_the_lines_of_export(cli):
    for number in range(150):
        settled(cli, f"blog/brand/{number}", ext_id=f"id-{number}", url=f"https://blog.example/{number}")
    settled(cli, "blog/brand/rejected", state="rejected")
    exported = cli.run("export").out
    done = act(cli)
    assert (done["exported"], done["dropped"], done["lines"], done["changed"], done["gone_already"]) == (151, 151, 151, 0, 0)
    assert lines(cli) == exported and cli.run("export").out == ""
    assert rows(cli) == [] and set(cli.client.hvals(cli.key("counts"))) == {"0"}
    assert {finding["severity"] for finding in json.loads(cli.run("doctor", "--json").out)["findings"]
            if finding["check"] in ("counts", "places", "rows", "agenda")} == {"ok"}
    (_, entry), = cli.client.xrange(cli.key("audit"))
    assert (entry["act"], entry["from"], entry["why"]) == ("archive", f"151 rows to {FILE}", WHY[1]) and entry["user"]
    assert act(cli)["to_archive"] == 0 and lines(cli) == exported and cli.client.xlen(cli.key("audit")) == 1


def test_later_runs_are_merged_in(cli):
    for name in ("b", "d"):
        settled(cli, f"blog/brand/{name}")
    act(cli)
    os.chmod(os.path.join(cli.folder, FILE), 0o640)
    for name in ("a", "c", "d", "e"):
        settled(cli, f"blog/brand/{name}", days=95)
    act(cli)
    assert names(cli) == [f"blog/brand/{name}" for name in ("a", "b", "c", "d", "d", "e")], "d was archived, and came again"
    assert os.stat(os.path.join(cli.folder, FILE)).st_mode & 0o777 == 0o640
    assert os.listdir(cli.folder).count(FILE + ".part") == 0


# ---- killed, and run again

def killed(cli, crash_at):
    process = Process([program("landfall"), "archive", FILE, "--older-than", "90d", "--yes", *WHY], cli.folder,
                      env={**cli.env, "LANDFALL_CRASH_AT": crash_at}, cwd=cli.folder, name="killed")
    assert process.wait() == -9, process.tail()


@pytest.mark.parametrize("crash_at, left", [("after_export", 200), ("after_archive_batch", 136), ("after_archive_batch:3", 8),
                                            ("after_archive_batch:4", 0)])
def test_killed_between_file_and_ledger(cli, crash_at, left):
    for number in range(200):
        settled(cli, f"blog/brand/{number}")
    exported = cli.run("export").out
    killed(cli, crash_at)
    assert lines(cli) == exported, "every line is on the disk before the first row goes"
    assert len(rows(cli)) == left
    done = act(cli)
    assert done["dropped"] == left and lines(cli) == exported and rows(cli) == []
    assert json.loads(cli.run("doctor", "--json").out)["findings"]


def test_a_row_that_changed_after_it_was_written_down_stays(cli):
    settled(cli, "blog/brand/one")
    settled(cli, "blog/brand/two")
    killed(cli, "after_export")
    cli.client.hset(cli.key("delivery", "blog/brand/one"), mapping={"duplicate": "77", "rev": 2})
    act(cli)
    assert [json.loads(line).get("duplicate") for line in lines(cli).splitlines()] == [None, "77", None], "both are kept"
    assert names(cli) == ["blog/brand/one", "blog/brand/one", "blog/brand/two"]


def test_a_part_that_a_killed_run_left_is_overwritten_and_one_that_lives_is_not(cli):
    settled(cli, "blog/brand/one")
    with open(os.path.join(cli.folder, FILE + ".part"), "w", encoding="utf-8") as part:
        part.write("half a li")
        part.flush()
        fcntl.flock(part, fcntl.LOCK_EX)
        assert "another landfall archive" in act(cli, code=1)["error"]
        assert rows(cli) == ["blog/brand/one"]
    assert act(cli)["dropped"] == 1 and names(cli) == ["blog/brand/one"]


def test_audit_finds_what_left_the_ledger(cli):
    """Else a feed's check would turn red by an archive alone; what was rejected is no publication there either."""
    for name, state in (("a", "published"), ("b", "published"), ("r", "rejected")):
        settled(cli, f"blog/brand/{name}", state=state)
    cli.write("feed.ndjson", "".join(json.dumps({"id": name, "content_text": name}) + "\n" for name in "ab"))
    words = ("audit", "feed.ndjson", "--to", "blog/brand")
    assert cli.run(*words).code == 0
    act(cli)
    assert cli.run(*words).code == 5
    document = cli.json(*words, "--archive", FILE)
    assert (document["published"], document["archived"], document["missing"]) == (2, 2, 0)
    assert "2 of the published ones stand in the archive" in cli.run(*words, "--archive", FILE).out
    cli.write("feed.ndjson", '{"id": "r", "content_text": "r"}\n')
    assert cli.run(*words, "--archive", FILE).code == 5
    assert "nowhere" in cli.run(*words, "--archive", "nowhere").err
    cli.write("other", "no archive\n")
    assert cli.run(*words, "--archive", "other").code == 1


# ---- refused

@pytest.mark.parametrize("content, line", [("no json\n", 1), ('{"delivery":"b/b/b"}\n{"delivery":"a/a/a"}\n', 2),
                                           ('{"delivery":"a/a/a"}', 1), ('{"item": 1}\n', 1)])
def test_another_file_is_not_touched(cli, content, line):
    settled(cli, "blog/brand/one")
    cli.write(FILE, content)
    assert f"{FILE}:{line}: is no line of an archive" in act(cli, code=1)["error"]
    assert lines(cli) == content and rows(cli) == ["blog/brand/one"]
    assert not os.path.exists(os.path.join(cli.folder, FILE + ".part"))


@pytest.mark.parametrize("name", [FILE, FILE + ".part"])
def test_a_pipe_is_refused_and_not_waited_for(cli, name):
    settled(cli, "blog/brand/one")
    os.mkfifo(os.path.join(cli.folder, name))
    assert f"{name}: " in act(cli, code=1)["error"]
    assert rows(cli) == ["blog/brand/one"]


def test_where_a_link_leads_to_is_the_file(cli):
    """The disk that it is kept on lies behind the link; a rename over the link would leave that disk without it."""
    disk = os.path.join(cli.folder, "disk")
    os.mkdir(disk)
    cli.write(os.path.join(disk, "real.ndjson"), "")
    os.symlink(os.path.join("disk", "real.ndjson"), os.path.join(cli.folder, FILE))
    settled(cli, "blog/brand/one")
    assert act(cli)["dropped"] == 1
    assert os.path.islink(os.path.join(cli.folder, FILE)) and os.listdir(disk) == ["real.ndjson"]
    assert names(cli) == ["blog/brand/one"]


def test_without_a_disk_nothing_goes(cli):
    settled(cli, "blog/brand/one")
    for path in ("nowhere/archive.ndjson", ".", "-"):
        done = cli.run("archive", path, "--older-than", "90d", "--yes", *WHY)
        assert done.code == 1 and done.err, path
    if os.path.exists("/dev/full"):
        os.symlink("/dev/full", os.path.join(cli.folder, FILE + ".part"))
        assert act(cli, code=1)["error"]
    assert rows(cli) == ["blog/brand/one"]


def test_what_must_be_said(cli):
    assert "--older-than" in cli.run("archive", FILE, "--yes", *WHY).err
    assert "--why" in cli.run("archive", FILE, "--older-than", "90d", "--yes").err
    assert cli.run("archive", FILE, "--older-than", "90d", "--yes", "--dry-run", *WHY).code == 1
    assert cli.run("archive", FILE, "--older-than", "90d", "--channel", "blog").code == 1


# ---- what comes again

def test_what_comes_again_is_held_where_the_channel_has_a_max_age():
    """Where repeats are harmless it needs no guard, and is sent again."""
    with Fleet(["mastodon", "webhook"], channel={"mastodon": {"max_age_ms": 30 * DAY}}) as fleet:
        channels = ("mastodon/brand", "webhook/brand")
        dates = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * 86400)) for days in (20, 120)]
        for channel in channels:
            fleet.add(channel, fleet.item("it", date_published=dates[0]))
        assert fleet.run_worker(name="first") == 0
        for channel in channels:  # a hundred days pass
            key = f"lf:{{0}}:delivery:{channel}/it"
            assert fleet.db.hget(key, "state") == "published" and fleet.db.hget(key, "dated")
            for field in ("since", "dated"):
                fleet.db.hincrby(key, field, -100 * DAY)
        done = fleet.start("landfall", "archive", os.path.join(fleet.dir, FILE), "--older-than", "90d", "--yes", *WHY, "--json",
                           "--config", fleet.config_path)
        assert done.wait() == 0 and json.loads(done.stdout())["dropped"] == 2, done.tail()
        for channel in channels:
            fleet.add(channel, fleet.item("it", date_published=dates[1]))
        assert fleet.run_worker(name="again") == 3
        row = fleet.row("mastodon/brand/it")
        assert (row["state"], row["reason"]) == ("held", "backfill")
        assert fleet.state("webhook/brand/it") == "published"
        assert fleet.sim.delivery("mastodon/brand/it")["commits"] == 1
        assert fleet.sim.delivery("webhook/brand/it")["commits"] == 2
