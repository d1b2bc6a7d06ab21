# SPDX-License-Identifier: MIT
"""docs/item.schema.json takes and refuses what landfall takes and refuses, and has the members of its tables."""
import copy
import json
import os
import re
import subprocess

import pytest

from lib.cli import BLOG
from lib.json_schema import accepts
from lib.tree import TOP, program

with open(os.path.join(TOP, "docs", "item.schema.json"), encoding="utf-8") as _file:
    SCHEMA = json.load(_file)
# What a member of a kind is in the schema.
KINDS = {"ID": ["id", "after"], "STRING": ["text"], "TIME": ["time", "not_before", "not_after"], "STRINGS": ["texts"],
         "OBJECT": ["object"], "OBJECTS": ["objects"], "ATTACHMENTS": ["attachments"]}

WHOLE = {
    "id": "it-1", "url": "https://blog.example/p/1", "external_url": "https://other.example/", "title": "T",
    "content_html": "<p>x</p>", "content_text": "x", "summary": "s", "image": "https://blog.example/i.png",
    "banner_image": "https://blog.example/b.png", "date_published": "2026-09-01T09:00:00.25+02:00",
    "date_modified": "2026-09-01T07:00:00Z", "author": {"name": "a"}, "authors": [{"name": "a"}], "tags": ["C", "Redis"],
    "language": "en-GB", "_own": {"any": 1},
    "attachments": [{"url": "https://blog.example/a.mp3", "mime_type": "audio/mpeg", "title": None, "size_in_bytes": 5,
                     "duration_in_seconds": 1.5, "_x": True}],
    "landfall": {"not_before": "2026-09-02T00:00:00Z", "not_after": "2026-09-03T00:00:00Z", "after": "it-0", "_n": 1,
                 "channels": {"blog/brand": {"title": None, "content_text": "other", "visibility": "public", "after": None,
                                             "not_before": None}}},
}


def changed(path, value):
    """WHOLE with another value at a path of names and indexes."""
    item = copy.deepcopy(WHOLE)
    at = item
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return item


def without(*path):
    item = copy.deepcopy(WHOLE)
    at = item
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    return item


CHANNEL = ("landfall", "channels", "blog/brand")
TEXTS = ("url", "external_url", "title", "content_html", "content_text", "summary", "image", "banner_image", "language")
GOOD = {
    "all of it": WHOLE, "the least of it": {"id": "a"}, "an id that is a number": {"id": 7}, "no landfall": changed(["landfall"], None),
    "no channels": changed(["landfall", "channels"], None), "no tags": changed(["tags"], []), "a long id": {"id": "x" * 200},
    "long names": changed(["landfall", "channels"], {"a" * 31 + "/" + "b" * 32: {}, "c/" + "b" * 62: {}}), "a blank within an id": {"id": "a b"},
    "nothing of a channel": changed(CHANNEL, {}), "an id in other letters": {"id": "Ünïcode"}, "a small t": changed(["date_published"], "2026-09-01t09:00:00z"),
    **{f"{name} is null": changed([name], None) for name in WHOLE if name not in ("id", "_own")},
}
BAD = {
    "no object": [], "no id": without("id"), "a null id": {"id": None}, "an empty id": {"id": ""}, "an id with a line end": {"id": "a\n"},
    "a list as id": {"id": []}, "an id that is too long": {"id": "x" * 201}, "a misspelt member": changed(["titel"], "x"),
    "a member of a feed": changed(["items"], []), "a tag that is none": changed(["tags"], ["a", 1]), "tags as text": changed(["tags"], "a"),
    "authors as one": changed(["authors"], {"name": "a"}), "author as text": changed(["author"], "a"), "attachments as text": changed(["attachments"], "a"),
    "an attachment without type": without("attachments", 0, "mime_type"), "an attachment without address": without("attachments", 0, "url"),
    "an unknown member of an attachment": changed(["attachments", 0, "urls"], "x"), "a size as text": changed(["attachments", 0, "size_in_bytes"], "5"),
    "a time without offset": changed(["date_published"], "2026-09-01T09:00:00"), "a day": changed(["date_published"], "2026-09-01"),
    "a time as number": changed(["date_modified"], 1790000000), "a month that is none": changed(["date_modified"], "2026-13-01T00:00:00Z"),
    "an hour that is none": changed(["date_modified"], "2026-12-01T24:00:00Z"), "a leap second": changed(["date_modified"], "2016-12-31T23:59:60Z"),
    "landfall as text": changed(["landfall"], "x"), "an unknown member of landfall": changed(["landfall", "not_befor"], None),
    "not_before as text": changed(["landfall", "not_before"], "soon"), "an empty after": changed(["landfall", "after"], ""),
    "after as list": changed(["landfall", "after"], ["a"]), "channels as list": changed(["landfall", "channels"], []),
    "a channel that is none": changed(["landfall", "channels"], {"blog": {}}), "a channel in capitals": changed(["landfall", "channels"], {"Blog/brand": {}}),
    "an id with a blank before it": {"id": " a"}, "an id with a blank behind it": {"id": "a\u2003"}, "an id of two lines": {"id": "a\u2028b"},
    "a time with a blank": changed(["date_modified"], "2026-09-01 07:00:00Z"), "an offset that is none": changed(["date_modified"], "2026-09-01T07:00:00+24:00"),
    "a platform that is too long": changed(["landfall", "channels"], {"a" * 32 + "/brand": {}}),
    "a channel that is too long": changed(["landfall", "channels"], {"a" * 31 + "/" + "b" * 33: {}}),
    "an account that is too long": changed(["landfall", "channels"], {"blog/" + "a" * 64: {}}),
    "a channel with null": changed(CHANNEL, None), "a channel with an id": changed([*CHANNEL, "id"], "b"),
    "a channel with landfall": changed([*CHANNEL, "landfall"], {}), "a channel's title as number": changed([*CHANNEL, "title"], 1),
    "a channel's time": changed([*CHANNEL, "not_after"], "never"),
    **{f"{name} is a number": changed([name], 1) for name in TEXTS},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A configuration with the channel blog/brand; Redis is not asked for a key."""
    path = tmp_path_factory.mktemp("items")
    (path / "descriptors").mkdir()
    (path / "descriptors" / "blog.json").write_text(json.dumps(BLOG))
    channel = {"platform": "blog", "settings": {"origin": "https://blog.example"}, "credential": {"env": "NONE"}}
    (path / "landfall.json").write_text(json.dumps({"channels": {"blog/brand": channel}}))
    return path


def landfall_takes(folder, item):
    done = subprocess.run([program("landfall"), "key", "-", "--channel", "blog/brand"], input=json.dumps(item), text=True,
                          capture_output=True, timeout=60, cwd=folder, check=False)
    assert done.returncode in (0, 1) and (done.returncode == 0 or done.stderr), done
    return done.returncode == 0


@pytest.mark.parametrize("name", GOOD)
def test_what_both_take(folder, name):
    assert accepts(SCHEMA, GOOD[name]) and landfall_takes(folder, GOOD[name])


@pytest.mark.parametrize("name", BAD)
def test_what_both_refuse(folder, name):
    assert not accepts(SCHEMA, BAD[name]) and not landfall_takes(folder, BAD[name])


def test_the_members_are_those_of_the_tables():
    with open(os.path.join(TOP, "keys", "content.c"), encoding="utf-8") as file:
        source = file.read()

    def table(name):
        body = re.search(rf"struct content_member (?:content_)?{name}\[\] = {{(.*?)\n}};", source, re.S).group(1)
        return {member: (kind, required == "true") for member, kind, required in
                re.findall(r'{"(\w+)", KIND_(\w+), (true|false)}', body)}

    def check(schema, members, more=()):
        properties = schema["properties"]
        assert set(properties) == set(members) | set(more)
        assert schema.get("required", []) == [name for name, (_, required) in members.items() if required]
        for name, (kind, required) in members.items():
            if kind == "NUMBER" or (required and kind == "STRING"):
                types = properties[name]["type"]
                assert types == ("string" if required else ["number", "null"]), name
            else:
                assert properties[name]["$ref"].removeprefix("#/$defs/") in KINDS[kind], name

    items, schedule, attachments = table("item_members"), table("schedule_members"), table("attachment_members")
    assert len(items) > 10 and len(schedule) == 3 and len(attachments) == 5
    check(SCHEMA, items, ["landfall"])
    check(SCHEMA["properties"]["landfall"], schedule, ["channels"])
    check(SCHEMA["$defs"]["attachments"]["items"], attachments)
    own = {**{name: kind for name, kind in items.items() if name != "id"}, **schedule}
    check(SCHEMA["$defs"]["channel"], own, ["id", "landfall"])
