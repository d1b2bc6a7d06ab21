# SPDX-License-Identifier: MIT
"""The web server with pictures as played: one test for each behaviour that the module lists."""
import pytest

from platform_sim.files import picture
from simhttp import Account


@pytest.fixture
def files(sim):
    return sim.post("instances", name="web", platform="files", channel="files/nobody", token="t")["base_url"]


def test_pictures_differ_by_name_and_have_the_type_of_their_ending(files):
    seen = {}
    for name, media_type in (("a.png", "image/png"), ("b.jpg", "image/jpeg"), ("c.gif", "image/gif"), ("d.webp", "image/webp")):
        reply = Account(files).get(f"/pictures/{name}")
        assert (reply.status, reply.headers["Content-Type"], reply.body) == (200, media_type, picture(name[0]))
        seen[reply.body] = name
    assert len(seen) == 4


def test_what_is_no_picture(files):
    assert Account(files).get("/pages/a.png").headers["Content-Type"] == "text/html"
    assert Account(files).get("/hidden/a.png").status == 403
    assert Account(files).get("/pictures/a.bmp").status == 404


def test_a_credential_is_refused(files):
    assert Account(files, {"Authorization": "Bearer t"}).get("/pictures/a.png").status == 400
