# SPDX-License-Identifier: MIT
"""Content ids as AT Protocol servers make them: DAG-CBOR of the record, SHA-256, CIDv1, base32.

So the id depends on the record's content alone, and a repeated put of the same record is recognised as the same.
Encoding after https://ipld.io/specs/codecs/dag-cbor/spec/ (as far as JSON values need it).
"""
import base64
import hashlib
import struct

CID_V1_DAG_CBOR_SHA256 = bytes([0x01, 0x71, 0x12, 0x20])


def _head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    for code, form, limit in ((24, ">B", 1 << 8), (25, ">H", 1 << 16), (26, ">I", 1 << 32), (27, ">Q", 1 << 64)):
        if number < limit:
            return bytes([major << 5 | code]) + struct.pack(form, number)
    raise ValueError("integer too large")


def encode(value):
    """DAG-CBOR bytes of a JSON value; map members in the order of their length, then their bytes."""
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        return _head(3, len(data)) + data
    if isinstance(value, list):
        return _head(4, len(value)) + b"".join(encode(item) for item in value)
    members = sorted(value.items(), key=lambda member: (len(member[0].encode()), member[0].encode()))
    return _head(5, len(members)) + b"".join(encode(name) + encode(item) for name, item in members)


def cid(record):
    """The content id of a record, as text ("bafyrei...")."""
    digest = hashlib.sha256(encode(record)).digest()
    return "b" + base64.b32encode(CID_V1_DAG_CBOR_SHA256 + digest).decode().lower().rstrip("=")
