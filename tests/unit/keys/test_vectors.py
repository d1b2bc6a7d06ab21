# SPDX-License-Identifier: MIT
"""Builds every key of keys/vectors.json from its inputs, with Python's standard library and nothing of ours.

This is also the shortest complete description of the keys for somebody who builds them in another language.
"""
import hashlib
import json
import os
import re
import unicodedata
import uuid

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
with open(os.path.join(TOP, "keys", "vectors.json"), encoding="utf-8") as stream:
    VECTORS = json.load(stream)

SCHEDULE = ("not_before", "not_after", "after")
TID_DIGITS = "234567abcdefghijklmnopqrstuvwxyz"


def number(value):
    """A number as ECMAScript writes it; repr() finds the same shortest digits."""
    mantissa, _, exponent = repr(float(abs(value))).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    if not digits:
        return "0"
    if len(digits) <= point <= 21:
        text = digits.ljust(point, "0")
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{point - 1:+d}"
    return ("-" if value < 0 else "") + text


def canonical(value):
    """RFC 8785."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def merge(item, channel):
    own = item.get("landfall", {}).get("channels", {}).get(channel, {})
    merged = {**item, **own}
    merged["id"] = unicodedata.normalize("NFC", item["id"])
    return {name: value for name, value in merged.items()
            if value is not None and name != "landfall" and not (name in own and name in SCHEDULE)}


def blake2b(data):
    return hashlib.blake2b(data, digest_size=16).digest()


def tid(us, clock_id):
    value = us << 10 | clock_id
    return "".join(TID_DIGITS[value >> 5 * place & 31] for place in range(12, -1, -1))


def keys(vector):
    content = merge(vector["item"], vector["channel"])
    fields = ["1", vector["instance"], vector["channel"].split("/", 1)[1], vector["operation"], content["id"],
              str(vector["generation"]), canonical(content)]
    data = [field.encode() for field in fields]
    digest = blake2b(b"".join(len(field).to_bytes(8, "little") + field for field in data))
    lower = re.sub("[A-Z]", lambda letter: letter[0].lower(), content["id"])
    readable = re.sub("[^a-z0-9]+", "-", lower).strip("-")[-20:].strip("-")
    plain = "-".join(part for part in (vector["prefix"], readable, digest.hex()) if part)
    bits = int.from_bytes(digest, "big")
    version_8 = bits & ~(0xf << 76) & ~(0x3 << 62) | 0x8 << 76 | 0x2 << 62
    us = vector["approved_at_ms"] * 1000 + int.from_bytes(digest[:4], "big") % 1000
    return {
        "plain": plain,
        "sf_string": f'"{plain}"',
        "uuid": str(uuid.UUID(int=version_8)),
        "hex24": digest.hex()[:24],
        "tid": tid(us, int.from_bytes(digest[4:6], "big") % 1024),
    }


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_vector(vector):
    content = canonical(merge(vector["item"], vector["channel"]))
    assert content == vector["content"]
    assert blake2b(content.encode()).hex() == vector["content_hash"]
    assert keys(vector) == vector["keys"]


@pytest.mark.parametrize("vector", VECTORS["tids"], ids=lambda vector: vector["tid"])
def test_tid(vector):
    assert tid(vector["us"], vector["clock_id"]) == vector["tid"]


def test_vectors_differ():
    """What goes into a key matters: no two vectors have one in common."""
    for form in ("plain", "tid"):
        assert len({vector["keys"][form] for vector in VECTORS["vectors"]}) == len(VECTORS["vectors"])
