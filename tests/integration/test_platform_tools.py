# SPDX-License-Identifier: MIT
"""landfall platform: what is told of descriptors is true, what is shown would be sent, and probing writes nothing."""
import glob
import json
import os
import shutil
import subprocess

import pytest

from lib.fleet import CHANNELS, SECRETS, UNPACED, Fleet
from lib.tree import TOP, program

SHIPPED = os.path.join(TOP, "platforms", "descriptors")
NAMES = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(SHIPPED, "*.json")))
READABLE = ("mastodon", "forem", "bluesky")


def platform(folder, *words, code=0, stdin="", people_too=True):
    """Runs it for programs, and for people; gives the document and what people got to read."""
    def run(*more):
        done = subprocess.run([program("landfall"), "platform", *words, *more], input=stdin, text=True, capture_output=True,
                              timeout=120, cwd=folder)
        assert done.returncode == code and "Sanitizer" not in done.stderr, done
        assert not any(secret in done.stdout + done.stderr for secret in SECRETS.values())
        return done
    document = json.loads(run("--json").stdout)
    people = run() if people_too else None
    return document, people and people.stdout + people.stderr


# ---- list

def test_list_of_all_that_are_shipped(tmp_path):
    (tmp_path / "own").mkdir()
    shutil.copy(os.path.join(SHIPPED, "mastodon.json"), tmp_path / "own" / "mastodon.json")
    (tmp_path / "landfall.json").write_text(json.dumps({"descriptors": [SHIPPED, "own"]}))
    document, text = platform(tmp_path, "list")
    found = {one["platform"]: one for one in document["platforms"] if "hidden_by" not in one}
    assert sorted(found) == NAMES
    for name, one in found.items():
        with open(os.path.join(SHIPPED, name + ".json"), encoding="utf-8") as file:
            descriptor = json.load(file)
        assert one["tier"] == descriptor["tier"] and one["verified"] == (not descriptor.get("verify", False)), name
        assert [s["name"] for s in one["settings"]] == [n for n in descriptor.get("settings", {}) if n != "$comment"], name
        assert f"{name}: {descriptor['title']}" in text
    assert found["mastodon"]["credentials"] == ["secret"]
    assert [one["hidden_by"] for one in document["platforms"] if "hidden_by" in one] == [found["mastodon"]["file"]]


def test_list_tells_what_cannot_be_read(tmp_path):
    (tmp_path / "descriptors").mkdir()
    (tmp_path / "landfall.json").write_text(json.dumps({"descriptors": ["descriptors"]}))
    document, _ = platform(tmp_path, "list", code=5)
    assert document["platforms"] == []
    (tmp_path / "descriptors" / "odd.json").write_text('{"platform": "odd", "titel": "Odd"}')
    document, text = platform(tmp_path, "list", code=1)
    assert "titel" in document["platforms"][0]["problem"] and "odd.json" in text


# ---- check

@pytest.mark.parametrize("name", NAMES)
def test_check_of_what_is_shipped(tmp_path, name):
    document, text = platform(tmp_path, "check", os.path.join(SHIPPED, name + ".json"))
    fixtures = document["fixtures"]
    assert document["ok"] and document["problems"] == [] and fixtures["cases"] == fixtures["passed"] > 0
    facts = {fact["name"]: fact["text"] for fact in document["facts"]}
    with open(os.path.join(SHIPPED, name + ".json"), encoding="utf-8") as file:
        descriptor = json.load(file)
    stated = "window_setting" in descriptor.get("key", {})  # a channel that states the window is of tier key
    assert facts["tier"].split(":")[0] in (descriptor["tier"], *(["key"] if stated else []))
    assert {"verified", "window", "doubt ends"} <= set(facts)
    listing = descriptor.get("reads", {}).get("listing")
    assert ("end proof" in facts) == ("floor" in facts) == (listing is not None)
    first = {answer: group["then"] for group in document["answers"]["first"] for answer in group["answers"]}
    assert {"no answer", "401", "409", "429", "500"} <= set(first)
    assert "it is to be sent again" in first["nothing was sent"]
    assert ("waits for a person" in facts["doubt ends"] or "by a person" in facts["doubt ends"]) or descriptor["tier"] != "blind"
    harmless = descriptor["tier"] == "ping"
    assert (document["answers"]["again"] == []) == harmless
    assert harmless or "in doubt" in first["no answer"]
    assert f"{fixtures['cases']} of {fixtures['cases']} cases" in text and "answers to the first attempt" in text


@pytest.fixture
def copy(tmp_path):
    """A folder with Mastodon's descriptor and fixtures, and a way to change a file of it."""
    shutil.copy(os.path.join(SHIPPED, "mastodon.json"), tmp_path)
    shutil.copytree(os.path.join(SHIPPED, "fixtures", "mastodon"), tmp_path / "fixtures" / "mastodon")

    def change(name, edit):
        path = tmp_path / name
        value = json.loads(path.read_text())
        edit(value)
        path.write_text(json.dumps(value))
    change.folder = tmp_path
    return change


def problems(copy, code=1):
    document, text = platform(copy.folder, "check", "mastodon.json", code=code)
    assert all(problem in text for problem in document["problems"])
    return document["problems"]


def test_check_of_a_case_that_is_not_met(copy):
    copy("fixtures/mastodon/accept.json", lambda cases: cases[0]["expect"].update(id="72"))
    only, = problems(copy)
    assert "fixtures/mastodon/accept.json: published" in only and only.endswith('.id is "117100000000000001", is to be "72"')


def test_check_of_a_verdict_that_is_another(copy):
    def edit(cases):
        case = next(case for case in cases if case["answer"]["status"] == 429)
        case["verdict"] = {"event": "wait", "wait_ms": 1}
    copy("fixtures/mastodon/accept.json", edit)
    only, = problems(copy)
    assert "wait" in only and "is to be 1 ms" in only


def test_check_of_a_rule_that_no_fixture_tries(copy):
    copy("mastodon.json", lambda descriptor: descriptor["accept"].append({"status": [418], "outcome": "refused"}))
    only, = problems(copy)
    assert "$.accept[3]: no fixture is decided by it" in only


def test_check_of_a_request_that_is_another(copy):
    copy("mastodon.json", lambda descriptor: descriptor["write"]["request"].update(url='.settings.instance + "/api/v2/statuses"'))
    found = problems(copy)
    assert found and all(".url is " in problem and "/api/v2/statuses\", is to be " in problem for problem in found)


@pytest.mark.parametrize("bomb, word", [("def f: f; f", "does not come to an end within"),
                                        ("[limit(1e9; repeat(\"memory\" * 100000))] | length", "mastodon/reads.json")])
def test_check_of_a_program_that_never_ends(copy, bomb, word):
    """It cannot be interrupted, so it runs in a process of its own: what comes after it is checked all the same."""
    copy("mastodon.json", lambda descriptor: descriptor["reads"]["by_id"].update(found=bomb))
    cases = [{"name": "a bomb", "program": "reads.by_id.found", "answer": {"status": 200, "body": {}}, "expect": None},
             {"name": "a duck", "program": "reads.by_id.gone", "answer": {"status": 200, "body": {}}, "expect": True}]
    (copy.folder / "fixtures" / "mastodon" / "reads.json").write_text(json.dumps(cases))
    document, _ = platform(copy.folder, "check", "mastodon.json", code=1, people_too=False)
    found, = [problem for problem in document["problems"] if "a bomb" in problem]
    assert word in found, found
    assert [problem for problem in document["problems"] if "a duck: is false" in problem]
    assert document["answers"]["first"]


def test_check_of_a_walk(tmp_path):
    shutil.copy(os.path.join(SHIPPED, "slack.json"), tmp_path)
    shutil.copytree(os.path.join(SHIPPED, "fixtures", "slack"), tmp_path / "fixtures" / "slack")
    path = tmp_path / "fixtures" / "slack" / "walks.json"
    walks = json.loads(path.read_text())
    walks[0]["expect"]["event"] = "absent"
    walks[1]["pages"][0]["url"] += "x"
    path.write_text(json.dumps(walks))
    document, _ = platform(tmp_path, "check", "slack.json", code=1)
    assert "says found of the delivery, is to say" in document["problems"][0]
    assert "asks for https://slack.com/api/" in document["problems"][1] and len(document["problems"]) == 2


def test_check_of_words_that_nobody_reads(copy):
    """A word that is not known would be a check that is never made."""
    def edit(cases):
        cases[0].update(verdicts={"event": "held"}, kinds=["sucess"])
        cases[1]["verdict"] = {"wait": 1}
    copy("fixtures/mastodon/accept.json", edit)
    copy("fixtures/mastodon/walks.json", lambda walks: walks[0].update(attempt_from=walks[0].pop("attempt_from_ms")))
    found = "\n".join(problems(copy))
    for word in (": verdicts: there is no such member", ": wait: there is no such member", "there is no kind sucess",
                 ": attempt_from: there is no such member", "attempt_from_ms: missing"):
        assert word in found, found


def test_check_says_what_to_write(copy):
    copy("fixtures/mastodon/reads.json", lambda cases: cases[0].update(program="reads.prepare.me.keep"))
    copy("fixtures/mastodon/requests.json", lambda cases: cases[0].update(request="reads.prepare.me.request"))
    found = "\n".join(problems(copy))
    assert "such as reads.prepare[0].keep" in found and "such as reads.prepare[0].request" in found
    os.remove(copy.folder / "fixtures" / "mastodon" / "channel.json")
    document, _ = platform(copy.folder, "check", "mastodon.json", code=1)
    assert "channel.json: missing: write the settings" in document["error"]


def test_check_tells_the_place_of_a_mistake(copy):
    copy("mastodon.json", lambda descriptor: descriptor["reads"]["listing"].pop("end"))
    document, _ = platform(copy.folder, "check", "mastodon.json", code=1)
    assert "mastodon.json: $.reads.listing.end: missing" in document["error"]
    copy("mastodon.json", lambda descriptor: descriptor["reads"]["listing"].update(end=".answer |"))
    document, _ = platform(copy.folder, "check", "mastodon.json", code=1)
    assert "$.reads.listing.end: jq does not compile it" in document["error"]
    (copy.folder / "mastodon.json").write_text("{")
    document, _ = platform(copy.folder, "check", "mastodon.json", code=1)
    assert "mastodon.json: line 1" in document["error"]


def test_check_by_name_and_what_is_not_there(copy):
    (copy.folder / "landfall.json").write_text(json.dumps({"descriptors": ["."]}))
    document, _ = platform(copy.folder, "check", "mastodon")
    assert document["ok"] and document["file"].endswith("/mastodon.json")
    os.rename(copy.folder / "mastodon.json", copy.folder / "other.json")
    for name, words in (("mastodon", "there is no descriptor mastodon.json"), ("./none.json", "No such file"),
                        ("other.json", "$.platform: must be the name of the file"), ("./mastodon", "is called <platform>.json")):
        document, _ = platform(copy.folder, "check", name, code=1)
        assert words in document["error"], name


def test_check_without_fixtures_says_so(copy):
    shutil.rmtree(copy.folder / "fixtures")
    document, text = platform(copy.folder, "check", "mastodon.json")
    assert document["fixtures"]["folder"] is None and document["answers"]["own"] == []
    assert "none beside it" in text


# ---- try and probe, beside the fake platforms

@pytest.fixture(scope="module")
def fleet():
    with Fleet(tuple(CHANNELS), channel=UNPACED) as one:
        for channel in CHANNELS.values():
            one.add_many(channel, ["one", "two", "three"])
        assert one.run_worker() == 0
        yield one


def landfall(fleet, *words, **more):
    return platform(fleet.dir, *words, "--config", fleet.config_path, **more)


def counted(fleet, kind):
    return [entry for entry in fleet.sim.get("requests")["requests"] if entry["kind"] == kind]


@pytest.mark.parametrize("name", CHANNELS)
def test_try_sends_nothing_and_holds_no_secret(fleet, name):
    item = fleet.item("tried")
    asked = len(fleet.sim.get("requests")["requests"])
    # The credential is not there at all.
    os.rename(os.path.join(fleet.dir, name + ".secret"), os.path.join(fleet.dir, "away"))
    try:
        document, text = landfall(fleet, "try", CHANNELS[name], "-", stdin=json.dumps(item))
    finally:
        os.rename(os.path.join(fleet.dir, "away"), os.path.join(fleet.dir, name + ".secret"))
    assert len(fleet.sim.get("requests")["requests"]) == asked
    write = document["requests"][-1]
    assert write["name"] == "write" and write["request"]["url"].startswith(fleet.sim.urls[name])
    assert "{{" in json.dumps(document["requests"]) and write["request"]["method"] in text
    shown = write["request"]["url"] + write["request"]["body"]
    assert "https://blog.example/p/tried" in shown or "https%3A%2F%2Fblog.example%2Fp%2Ftried" in shown, shown
    assert (document["key"] is not None) == (name in ("mastodon", "bluesky", "webhook"))
    assert document["key_depends_on_time"] == (name == "bluesky")
    assert [one["name"] for one in document["requests"]] == (["login", "write"] if name == "bluesky" else ["write"])


def test_try_of_a_part_of_a_thread(fleet):
    """What comes first is not looked for; a text stands for what would be known of it."""
    item = {**fleet.item("second"), "landfall": {"after": "first"}}
    document, text = landfall(fleet, "try", "bluesky/brand", "-", stdin=json.dumps(item))
    names = [one["name"] for one in document["requests"]]
    assert names == ["login", "parent", "write"] and "after.ext_id" in document["requests"][1]["request"]["url"]
    assert '"reply":"{{prepared.parent}}"' in document["requests"][2]["request"]["body"] and "\nparent\n" in text
    document, _ = landfall(fleet, "try", "mastodon/brand", "-", stdin=json.dumps(item))
    assert '"in_reply_to_id":"{{after.ext_id}}"' in document["requests"][-1]["request"]["body"]


def test_try_of_what_only_an_answer_can_tell(copy):
    def edit(descriptor):
        step = {"method": "GET", "url": '.settings.instance + "/media"'}
        descriptor["prepare"] = [{"name": "media", "request": step, "keep": ".answer.body"}]
        descriptor["write"]["request"]["body"]["json"] = "{media: .prepared.media.id}"
    copy("mastodon.json", edit)
    channel = {"platform": "mastodon", "settings": {"instance": "https://m.example"}, "credential": {"env": "NONE"}}
    (copy.folder / "landfall.json").write_text(json.dumps({"descriptors": ["."], "channels": {"mastodon/brand": channel}}))
    document, text = platform(copy.folder, "try", "mastodon/brand", "-", stdin='{"id": "a", "title": "x"}')
    step, write = document["requests"]
    assert step["request"]["url"] == "https://m.example/media" and "$.write.request.body.json" in write["unknown"]
    assert "depends on what the step before it answers" in text
    copy("mastodon.json", lambda descriptor: descriptor.pop("prepare"))  # now nothing excuses it
    copy("mastodon.json", lambda descriptor: descriptor["write"]["request"]["body"].update(json=".item.title.id"))
    document, _ = platform(copy.folder, "try", "mastodon/brand", "-", stdin='{"id": "a", "title": "x"}', code=1)
    assert "$.write.request.body.json" in document["error"]


def test_try_shows_what_a_worker_freezes(fleet):
    """The request that is left behind by an attempt without answer is the one that try shows, byte for byte."""
    for name in ("mastodon", "forem"):
        item = fleet.item("frozen")
        fleet.sim.fault("close_before_commit", name)
        fleet.add(CHANNELS[name], item)
        fleet.run_worker()
        shown = subprocess.run([program("landfall"), "show", f"{CHANNELS[name]}/frozen", "--json", "--config",
                                fleet.config_path], capture_output=True, text=True, timeout=60, check=False)
        frozen = json.loads(shown.stdout)
        document, _ = landfall(fleet, "try", CHANNELS[name], "-", stdin=json.dumps(item))
        assert frozen["state"] == "uncertain" and document["requests"][-1]["request"] == frozen["request"]
        assert document["key"] == frozen["row"].get("key")


def test_try_shows_the_post_of_an_item_with_pictures(fleet):
    """What the uploads would give is stood in for; the rest of the post is as it would be."""
    picture = {"url": "https://p.example/a.png", "mime_type": "image/png", "title": "A cat"}
    document, _ = landfall(fleet, "try", "mastodon/brand", "-", stdin=json.dumps(fleet.item("it", attachments=[picture])))
    shown = {one["name"]: one for one in document["requests"]}
    assert shown["pictures"]["request"]["url"] == picture["url"] and "converted" not in shown
    assert json.loads(shown["write"]["request"]["body"])["media_ids"] == ["{{prepared.media}}"]


def test_try_counts_and_refuses(fleet):
    short = fleet.item("short")
    document, text = landfall(fleet, "try", "mastodon/brand", "-", stdin=json.dumps(short))
    length = len(short["content_text"].replace(short["url"], "u" * 23))
    assert document["limits"] == [{"what": "text", "unit": "graphemes", "count": length, "max": 500}]
    assert f"text: {length} graphemes, of 500" in text and document["text"] == short["content_text"]
    long = {**short, "content_text": "x" * 501}
    for stdin, words in ((json.dumps(long), "text has 501 graphemes, the channel takes 500"),
                         ('{"id": "a"}', "the item has no content_text or title"), ("", "holds no item"),
                         ('{"id": "a", "titel": "x"}', "titel"), ("{", "-:1")):
        document, _ = landfall(fleet, "try", "mastodon/brand", "-", stdin=stdin, code=1)
        assert words in document["error"] or words == "-:1", document
    remote = {**short, "content_text": "x" * 493 + " @alice@a.very.long.host.example"}
    document, _ = landfall(fleet, "try", "mastodon/brand", "-", stdin=json.dumps(remote))
    assert document["limits"][0]["count"] == 500, "of a mention the name counts"
    document, _ = landfall(fleet, "try", "mastodon/nobody", "-", stdin="{}", code=1)
    assert "mastodon/nobody is not configured here" in document["error"]


@pytest.mark.parametrize("name", CHANNELS)
def test_probe_reads_and_writes_nothing(fleet, name):
    writes = len(counted(fleet, "write"))
    before = len(fleet.sim.get("requests")["requests"])
    document, text = landfall(fleet, "probe", CHANNELS[name])
    asked = fleet.sim.get("requests")["requests"][before:]
    assert len(counted(fleet, "write")) == writes and {entry["kind"] for entry in asked} <= {"read", "login"}
    assert document["requests"] * 2 == len(asked) and document["problems"] == []
    assert document["readable"] == (name in READABLE) and "nothing was written" in text
    if name not in READABLE:
        assert asked == [] and document["credential"] == "not tried" and "cannot be read" in text
        return
    assert document["credential"] == "taken" and document["login"] == (name == "bluesky")
    lookups = {one["by"]: one["answer"] for one in document["lookups"]}
    assert lookups == {"mastodon": {"id": "gone"}, "bluesky": {"key": "gone", "id": "gone"}, "forem": {}}[name]
    if name != "bluesky":
        listing = document["listing"]
        assert listing["end"] == "complete" and listing["end_proof_seen"] and listing["times"]
        assert listing["entries"] >= 3 and len(listing["page_ms"]) == listing["pages"]
        assert "the proof of its end was seen" in text


def with_secret(fleet, name, secret):
    """A folder of its own: the same channels, another credential for one of them."""
    with open(fleet.config_path, encoding="utf-8") as file:
        config = json.load(file)
    path = os.path.join(fleet.dir, "other.secret")
    with open(path, "w", encoding="utf-8") as file:
        file.write(secret)
    config["channels"][CHANNELS[name]]["credential"] = {"file": path}
    other = os.path.join(fleet.dir, "other.json")
    with open(other, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return other


@pytest.mark.parametrize("name", READABLE)
def test_probe_with_a_refused_credential(fleet, name):
    document, _ = platform(fleet.dir, "probe", CHANNELS[name], "--config", with_secret(fleet, name, "not-this-one"), code=4)
    assert document["credential"] == "refused" and document["problems"] and document["requests"] == 1


@pytest.mark.parametrize("name", READABLE)
def test_probe_out_of_reach(fleet, name):
    fleet.sim.fault("status", name, on={"kind": "any"}, times=-1, status=503)
    try:
        document, _ = landfall(fleet, "probe", CHANNELS[name], code=2)
    finally:
        fleet.sim.clear_faults()
    assert document["problems"] and document["credential"] == "not tried"


def test_probe_waits_a_little_and_not_long(fleet):
    fleet.sim.fault("rate_limited", "forem", on={"kind": "read"}, form="retry_after_seconds", wait_s=1, times=2)
    document, _ = landfall(fleet, "probe", "forem/brand")
    assert document["listing"]["end_proof_seen"]
    fleet.sim.fault("rate_limited", "forem", on={"kind": "read"}, form="retry_after_seconds", wait_s=120, times=2)
    document, _ = landfall(fleet, "probe", "forem/brand", code=2)
    assert "asks to wait" in document["problems"][0]
    fleet.sim.clear_faults()


def test_probe_stops_at_its_number_of_pages_and_tells_a_missing_proof(fleet):
    fleet.add_many("mastodon/brand", [f"many-{i}" for i in range(42)])
    assert fleet.run_worker(timeout_s=60) == 0
    document, text = landfall(fleet, "probe", "mastodon/brand", "--pages", "1")
    assert document["listing"]["end"] == "page_limit" and document["listing"]["pages"] == 1
    assert document["listing"]["entries"] == 40 and "was not seen" in text
    document, _ = landfall(fleet, "probe", "mastodon/brand", "--pages", "0")
    assert document["listing"]["end_proof_seen"] and document["listing"]["entries"] > 42
    fleet.sim.fault("paging_ignored", "mastodon", times=-1)
    try:
        document, _ = landfall(fleet, "probe", "mastodon/brand", code=5)
    finally:
        fleet.sim.clear_faults()
    assert not document["listing"]["end_proof_seen"] and document["problems"]


def test_probe_reads_only_the_credential_that_it_needs(fleet):
    os.rename(os.path.join(fleet.dir, "forem.secret"), os.path.join(fleet.dir, "away"))
    try:
        landfall(fleet, "probe", "mastodon/brand")
        document, _ = landfall(fleet, "probe", "forem/brand", code=1)
    finally:
        os.rename(os.path.join(fleet.dir, "away"), os.path.join(fleet.dir, "forem.secret"))
    assert "forem/brand.credential" in document["error"]
    document, _ = landfall(fleet, "probe", "forem/nobody", code=1)
    assert "forem/nobody is not configured here" in document["error"]
