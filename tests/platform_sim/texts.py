# SPDX-License-Identifier: MIT
"""Pure functions on text: links, item ids in links, length in graphemes, times in the forms platforms use."""
import re
import time
import unicodedata
import urllib.parse
from email.utils import formatdate

LINK = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`]+")
MENTION = re.compile(r"(?<![=/\w])@(\w+(?:[.-]\w+)*)@\w+(?:[.-]+\w+)*")  # of @name@host
ZERO_WIDTH_JOINER = "\u200d"


def links_in(text):
    """The links of a text, without the punctuation that ends a sentence."""
    return [link.rstrip(".,;:!?") for link in LINK.findall(text)]


def item_id_of_link(link):
    """The last part of a link's path, decoded and in NFC; None if it has none."""
    path = urllib.parse.urlsplit(link).path.rstrip("/")
    last = urllib.parse.unquote(path.rsplit("/", 1)[-1])
    return unicodedata.normalize("NFC", last) or None


def item_id_in(texts):
    """The item id that the first article link (`/p/<id>`) of the texts names; else that of the first link at all."""
    links = [link for text in texts for link in links_in(text)]
    articles = [link for link in links if "/p/" in link]
    for link in articles + links:
        item_id = item_id_of_link(link)
        if item_id:
            return item_id
    return None


def strings_in(value):
    """All strings of a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings_in(member)


def _joins(character, previous):
    code = ord(character)
    return (previous == ZERO_WIDTH_JOINER or character == ZERO_WIDTH_JOINER
            or unicodedata.category(character) in ("Mn", "Me", "Mc")
            or 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F
            or (previous == "\r" and character == "\n"))


def grapheme_count(text):
    """Graphemes as a reader counts them: marks, joined emoji and flags count once. Hangul is counted composed."""
    count, previous, flag_half = 0, "", False
    for character in unicodedata.normalize("NFC", text):
        is_flag_half = 0x1F1E6 <= ord(character) <= 0x1F1FF
        if is_flag_half and flag_half:
            flag_half = False
        else:
            flag_half = is_flag_half
            if not previous or not _joins(character, previous):
                count += 1
        previous = character
    return count


def iso_ms(epoch_ms):
    """RFC 3339 in UTC with milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(epoch_ms // 1000)) + f".{epoch_ms % 1000:03d}Z"


def iso_us(epoch_ms):
    """RFC 3339 in UTC with six decimals."""
    return iso_ms(epoch_ms)[:-1] + "000Z"


def iso_offset(epoch_ms, offset_hours):
    """RFC 3339 with a numeric offset, the same instant."""
    local = iso_ms(epoch_ms + offset_hours * 3_600_000)[:-1]
    return f"{local}{'-' if offset_hours < 0 else '+'}{abs(offset_hours):02d}:00"


def http_date(epoch_ms):
    return formatdate(epoch_ms / 1000, usegmt=True)


def rfc850_date(epoch_ms):
    return time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(epoch_ms / 1000))
