# SPDX-License-Identifier: MIT
"""A value against a JSON Schema (draft 2020-12), as far as the schemas of docs/ go. A keyword that is not known here is
an error: what is not looked at must not pass for checked."""
import re

ANNOTATIONS = {"$schema", "$defs", "$comment", "title", "description", "default"}
TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "number": (int, float), "integer": int,
}


def _is(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def accepts(schema, value, root=None):
    """True if the value is as the schema says."""
    root = schema if root is None else root
    if isinstance(schema, bool):
        return schema
    return all(KEYWORDS[word](schema, value, root) for word in schema if word not in ANNOTATIONS)


def _ref(schema, value, root):
    target = root
    for step in schema["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return accepts(target, value, root)


def _type(schema, value, _):
    names = schema["type"]
    return any(_is(value, name) for name in ([names] if isinstance(names, str) else names))


def _members(schema, value, root):
    """properties, patternProperties and additionalProperties together."""
    if not isinstance(value, dict):
        return True
    known, patterns, others = (schema.get(word, {}) for word in ("properties", "patternProperties", "additionalProperties"))
    for name, member in value.items():
        fitting = [known[name]] if name in known else []
        fitting += [inner for pattern, inner in patterns.items() if re.search(pattern, name)]
        if not all(accepts(inner, member, root) for inner in fitting or [others]):
            return False
    return True


def _pattern(schema, value, _):
    return not isinstance(value, str) or re.search(schema["pattern"].removesuffix("$") + r"\Z"
                                                   if schema["pattern"].endswith("$") else schema["pattern"], value) is not None


KEYWORDS = {
    "$ref": _ref, "type": _type, "pattern": _pattern,
    "properties": _members, "patternProperties": _members, "additionalProperties": _members,
    "propertyNames": lambda s, v, root: not isinstance(v, dict) or all(accepts(s["propertyNames"], name, root) for name in v),
    "required": lambda s, v, _: not isinstance(v, dict) or all(name in v for name in s["required"]),
    "items": lambda s, v, root: not isinstance(v, list) or all(accepts(s["items"], one, root) for one in v),
    "minLength": lambda s, v, _: not isinstance(v, str) or len(v) >= s["minLength"],
    "maxLength": lambda s, v, _: not isinstance(v, str) or len(v) <= s["maxLength"],
}
