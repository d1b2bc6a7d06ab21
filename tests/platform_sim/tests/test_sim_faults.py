# SPDX-License-Identifier: MIT
"""Faults as they are on the wire: how a connection ends, what was committed before it did, and which request got it."""
import gzip
import http.client
import socket
import threading
import time

import pytest

from simhttp import call, eventually, raw, read_all, send

STATUSES = "/api/v1/statuses"
BODY = b'{"status":"https://blog.example/p/1"}'
HEADERS = ("Authorization: Bearer mastodon-token-1", "Content-Type: application/json")
DELIVERY = "mastodon/brand/1"


def post_raw(sim, path=STATUSES):
    return raw(sim.urls["m"], path, BODY, HEADERS)


def post(mastodon, number=1, **options):
    return mastodon.post(STATUSES, {"status": f"https://blog.example/p/{number}"}, **options)


def commits(sim, delivery=DELIVERY):
    found = sim.delivery(delivery)
    return found["commits"] if found else 0


def first_page(mastodon, **query):
    me = mastodon.get("/api/v1/accounts/verify_credentials").json["id"]
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return mastodon.get(f"/api/v1/accounts/{me}/statuses?{text}")


@pytest.mark.parametrize("fault, committed", [("commit_then_close", 1), ("close_before_commit", 0)])
@pytest.mark.parametrize("how", ["fin", "rst"])
def test_closed_without_an_answer(sim, fault, committed, how):
    sim.fault(fault, "m", how=how)
    assert read_all(post_raw(sim)) == (b"", how)
    assert commits(sim) == committed


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_closed_on_a_reused_connection_only(sim, how):
    sim.fault("commit_then_close", "m", on={"reused": True}, how=how)
    sock = post_raw(sim)
    assert sock.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
    send(sock, sim.urls["m"], STATUSES, BODY, HEADERS)
    assert read_all(sock) == (b"", how)
    delivery = sim.delivery(DELIVERY)
    assert delivery["commits"] == 2 and [write["reused_connection"] for write in delivery["requests"]] == [False, True]
    assert sim.report()["instances"]["m"]["on_reused_connection"] == 1


def test_late_answer(sim, mastodon):
    sim.fault("commit_then_late_answer", "m", delay_ms=150)
    with pytest.raises(TimeoutError):
        post(mastodon, timeout_s=0.05)
    sim.wait("commits", 1)
    sim.fault("commit_then_late_answer", "m", delay_ms=150)
    start = time.monotonic()
    assert post(mastodon).status == 200 and time.monotonic() - start > 0.15


def test_other_status_after_the_commit(sim, mastodon):
    sim.fault("commit_then_status", "m")
    reply = post(mastodon)
    assert (reply.status, reply.headers["Content-Type"], commits(sim)) == (503, "text/html", 1)
    assert reply.body.startswith(b"<html>")
    sim.fault("commit_then_status", "m", status=504, headers={"Retry-After": "{http_date:30}"},
              body={"error": {"code": "x"}})
    reply = post(mastodon)
    assert reply.json == {"error": {"code": "x"}} and reply.headers["Retry-After"].endswith(" GMT")


def test_status_without_commit(sim, mastodon):
    sim.fault("status", "m", status=401, body="no: {request_header:authorization}")
    assert post(mastodon).body == b"no: Bearer mastodon-token-1"
    assert commits(sim) == 0 and post(mastodon).status == 200


@pytest.mark.parametrize("form, header, pattern", [
    ("retry_after_seconds", "Retry-After", "30"), ("retry_after_http_date", "Retry-After", " GMT"),
    ("retry_after_rfc850", "Retry-After", "day, "), ("retry_after_word", "Retry-After", "soon"),
    ("reset_iso", "X-RateLimit-Reset", "000Z"), ("reset_iso_offset", "X-RateLimit-Reset", "+02:00"),
    ("reset_epoch", "X-RateLimit-Reset", "1"), ("reset_epoch_ms", "X-RateLimit-Reset", "1"),
    ("reset_epoch_fraction", "X-RateLimit-Reset", "."), ("reset_delta", "X-RateLimit-Reset", "30"),
    ("ratelimit_reset_epoch", "RateLimit-Reset", "1"), ("ratelimit_reset_delta", "RateLimit-Reset", "30"),
    ("native", "X-RateLimit-Reset", "000Z")])
def test_429_in_each_form(sim, mastodon, form, header, pattern):
    sim.fault("rate_limited", "m", form=form, wait_s=30)
    reply = post(mastodon)
    assert reply.status == 429 and pattern in reply.headers[header] and commits(sim) == 0
    if "epoch" in form:
        seconds = float(reply.headers[header]) / (1000 if form.endswith("_ms") else 1)
        assert 25 < seconds - time.time() < 32


def test_429_in_the_body_and_without_a_word(sim, mastodon):
    sim.fault("rate_limited", "m", form="body_retry_after", wait_s=3)
    assert post(mastodon).json["retry_after"] == 3.25
    sim.fault("rate_limited", "m", form="none")
    reply = post(mastodon)
    assert reply.status == 429 and not {"Retry-After", "X-RateLimit-Reset"} & set(reply.headers)


def test_truncated_answer(sim, mastodon):
    sim.fault("truncated_answer", "m", sent_bytes=24)
    with pytest.raises(http.client.IncompleteRead) as error:
        post(mastodon)
    assert len(error.value.partial) == 24 and commits(sim) == 1
    sim.fault("truncated_answer", "m", how="rst")
    assert read_all(post_raw(sim))[1] == "rst" and commits(sim) == 2


def test_truncated_page(sim, mastodon):
    sim.post("posts", instance="m", op="plant", count=5)
    sim.fault("truncated_page", "m")
    assert mastodon.get("/api/v1/accounts/verify_credentials").status == 200
    with pytest.raises(http.client.IncompleteRead):
        first_page(mastodon)
    assert len(first_page(mastodon).json) == 5


def walk_mastodon(mastodon, pages):
    """(sizes, cursors) of at most so many pages."""
    sizes, cursors, query = [], [], {"limit": 10}
    for _ in range(pages):
        page = first_page(mastodon, **query)
        sizes.append(len(page.json))
        link = page.headers.get("Link", "")
        if 'rel="next"' not in link:
            break
        cursors.append(link.split("max_id=")[1].split(">")[0])
        query["max_id"] = cursors[-1]
    return sizes, cursors


def walk_bluesky(sim, pages):
    did = call("POST", sim.urls["b"] + "/xrpc/com.atproto.server.createSession",
               body={"identifier": "lf", "password": "app-password-1"}).json["did"]
    sizes, cursors, cursor = [], [], ""
    for _ in range(pages):
        page = call("GET", f"{sim.urls['b']}/xrpc/com.atproto.repo.listRecords?repo={did}&limit=10"
                    f"&collection=app.bsky.feed.post" + (f"&cursor={cursor}" if cursor else "")).json
        sizes.append(len(page["records"]))
        if "cursor" not in page:
            break
        cursor = page["cursor"]
        cursors.append(cursor)
    return sizes, cursors


@pytest.mark.parametrize("fault, options, sizes", [
    ("empty_page", {"on": {"kind": "list", "nth": 2}}, [10, 0, 10, 5]),
    ("short_page", {"on": {"kind": "list", "nth": 2}, "items": 3}, [10, 3, 10, 2])])
def test_pages_that_are_not_the_end(sim, mastodon, fault, options, sizes):
    for name in ("m", "b"):
        sim.post("posts", instance=name, op="plant", count=25)
        sim.fault(fault, name, **options)
    assert walk_mastodon(mastodon, 9)[0] == sizes
    assert walk_bluesky(sim, 9)[0] == sizes + [0]


def test_cursors_that_lead_nowhere(sim, mastodon):
    for name in ("m", "b"):
        sim.post("posts", instance=name, op="plant", count=45)
    for fault, distinct in (("repeated_cursor", 1), ("cyclic_cursors", 2), ("paging_ignored", 1)):
        sim.clear_faults()
        for name in ("m", "b"):
            sim.fault(fault, name, times=-1)
        for sizes, cursors in (walk_mastodon(mastodon, 6), walk_bluesky(sim, 6)):
            assert sizes == [10] * 6 and len(set(cursors)) == distinct, fault


def test_pages_of_a_numbered_listing(sim, forem):
    sim.post("posts", instance="f", op="plant", count=25)

    def page(number):
        return [article["id"] for article in forem.get(f"/api/articles/me/all?per_page=10&page={number}").json]

    honest = [page(number) for number in (1, 2, 3)]
    for fault, expected in (("empty_page", []), ("repeated_cursor", honest[0]), ("paging_ignored", honest[0])):
        sim.fault(fault, "f")
        assert page(2) == expected and page(2) == honest[1]
    sim.fault("short_page", "f", items=4, times=-1)
    assert page(1) + page(2) == honest[0][:8]


def test_visibility_delay_for_one_write(sim, mastodon):
    sim.fault("visibility_delay", "m", delay_ms=400)
    late, early = post(mastodon, 1).json["id"], post(mastodon, 2).json["id"]
    assert [status["id"] for status in first_page(mastodon).json] == [early]
    eventually(lambda: [status["id"] for status in first_page(mastodon).json] == [early, late])


def test_text_cut_on_store_with_the_answer_lost(sim, mastodon):
    sim.fault("text_cut", "m", characters=10)
    sim.fault("commit_then_close", "m")
    assert read_all(post_raw(sim)) == (b"", "fin")
    assert sim.get("posts", instance="m")["posts"][0]["text"] == "https://bl"
    assert sim.get("requests")["requests"][-1]["fault"] == "text_cut+commit_then_close"


def test_ghost(sim, mastodon):
    sim.fault("ghost_id", "m")
    assert mastodon.get(f"{STATUSES}/{post(mastodon).json['id']}").status == 404 and commits(sim) == 0


def test_slow_drip(sim):
    sim.fault("slow_drip", "m", interval_ms=20, chunk_bytes=4)
    sock, start = post_raw(sim), time.monotonic()
    pieces = 0
    while sock.recv(65536):
        pieces += 1
        if pieces == 6:
            break
    assert time.monotonic() - start > 0.08 and commits(sim) == 1


def test_drip_for_ever_ends_when_the_client_goes(sim):
    sim.fault("slow_drip", "m", interval_ms=5, chunk_bytes=4000, for_ever=True)
    sock = post_raw(sim)
    assert len(read_all(sock, limit=20_000)[0]) >= 20_000
    sock.close()
    sim.wait("requests", 1)
    wait_for_end(sim, "cut, fin", "client gone")


def wait_for_end(sim, *ends):
    eventually(lambda: any(line["end"] in ends for line in sim.get("requests")["requests"]))


@pytest.mark.parametrize("chunked", [True, False])
def test_endless_body(sim, chunked):
    sim.fault("endless_body", "m", chunked=chunked)
    sock = post_raw(sim)
    data, how = read_all(sock, limit=4 << 20)
    assert how == "limit" and (b"Transfer-Encoding: chunked" in data[:1000]) == chunked
    sock.close()
    wait_for_end(sim, "cut, fin", "client gone")
    assert commits(sim) == 1


def test_hold_and_release(sim, mastodon):
    sim.fault("hold", "m", on={"nth_write": 2})
    assert post(mastodon, 1).status == 200
    replies = []
    thread = threading.Thread(target=lambda: replies.append(post(mastodon, 2)))
    thread.start()
    held, = sim.wait("holding", instance="m")["holding"]
    assert held["deliveries"] == ["mastodon/brand/2"] and held["client_connected"] and replies == []
    assert commits(sim, "mastodon/brand/2") == 1 and sim.get("state")["holding"][0]["id"] == held["id"]
    assert sim.release() == 1
    thread.join()
    assert replies[0].status == 200 and sim.get("state")["holding"] == []


def test_hold_sees_that_the_client_died(sim):
    sim.fault("hold", "m")
    sock = post_raw(sim)
    sim.wait("holding")
    sock.close()
    assert sim.wait("gone")["holding"][0]["client_connected"] is False
    assert sim.release("close", instance="m") == 1


def test_accept_and_never_answer(sim, mastodon):
    sim.fault("accept_and_never_answer", "m")
    with pytest.raises(TimeoutError):
        post(mastodon, timeout_s=0.1)
    sim.wait("writes", 1)
    assert commits(sim) == 0


def accepts(account):
    try:
        return account.get("/api/v1/instance").status == 200
    except ConnectionRefusedError:
        return False


def test_second_connection_is_refused(sim, mastodon):
    sim.fault("refuse_connections", "m", for_ms=300)
    sock = post_raw(sim)
    assert read_all(sock) == (b"", "rst")
    with pytest.raises(ConnectionRefusedError):
        post(mastodon)
    assert sim.get("state")["instances"]["m"]["base_url"] == mastodon.base_url and commits(sim) == 1
    eventually(lambda: accepts(mastodon))
    assert post(mastodon, 2).status == 200
    assert commits(sim, "mastodon/brand/2") == 1


def test_idle_connections_die_with_the_instance(sim, mastodon):
    idle = post_raw(sim)
    idle.recv(65536)
    sim.fault("refuse_connections", "m", for_ms=50)
    read_all(post_raw(sim))
    assert read_all(idle)[0] == b""
    eventually(lambda: accepts(mastodon))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect(sim, mastodon, status):
    sim.fault("redirect", "m", status=status)
    reply = post(mastodon)
    assert reply.status == status and reply.headers["Location"] == mastodon.base_url + STATUSES + "?followed=1"
    sim.fault("redirect", "m", status=status, location="http://192.0.2.1/elsewhere")
    assert post(mastodon).headers["Location"] == "http://192.0.2.1/elsewhere" and commits(sim) == 0


def test_false_gzip(sim, mastodon):
    sim.fault("false_gzip", "m")
    reply = post(mastodon)
    assert reply.headers["Content-Encoding"] == "gzip" and reply.json["id"] and commits(sim) == 1


def test_gzip_bomb(sim, mastodon):
    sim.fault("gzip_bomb", "m", megabytes=3)
    reply = post(mastodon)
    assert reply.headers["Content-Encoding"] == "gzip" and len(reply.body) < 20000 and commits(sim) == 1
    assert 3 << 20 < len(gzip.decompress(reply.body)) < 4 << 20


def test_many_headers(sim):
    sim.fault("many_headers", "m")
    sock = post_raw(sim)
    data = b""
    while b"\r\n\r\n" not in data:
        data += sock.recv(65536)
    assert data.count(b"X-Filler-") == 300


def test_commit_after_the_client_gave_up(sim, mastodon):
    sim.fault("commit_late", "m", after_ms=400)
    with pytest.raises(TimeoutError):
        post(mastodon, timeout_s=0.05)
    assert commits(sim) == 0
    sim.wait("commits", 1, "m")


def test_commit_after_the_server_closed(sim):
    sim.fault("commit_late", "m", after_ms=400, close="rst")
    assert read_all(post_raw(sim)) == (b"", "rst") and commits(sim) == 0
    sim.wait("commits", 1, "m")


def test_late_commit_and_a_replay_in_between(sim, mastodon):
    """The key was looked up when the first request came and is stored when it commits: without a lock both create."""
    sim.post("settings", instance="m", key_lock=False)
    sim.fault("commit_late", "m", after_ms=400)
    with pytest.raises(TimeoutError):
        post(mastodon, timeout_s=0.05, idempotency_key="k")
    sim.wait("writes", 1)
    assert post(mastodon, idempotency_key="k").status == 200
    sim.wait("commits", 2, "m")
    assert [violation["kind"] for violation in sim.report()["violations"]] == ["O1"]


def expecting(sim, body=BODY):
    sock = socket.create_connection(("127.0.0.1", int(sim.urls["m"].split(":")[2].split("/")[0])), 20)
    lines = [f"POST /m{STATUSES} HTTP/1.1", "Host: sim", "Expect: 100-continue", f"Content-Length: {len(body)}"]
    lines += HEADERS
    sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
    return sock


def test_expect_is_answered(sim):
    sock = expecting(sim)
    assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
    sock.sendall(BODY)
    assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def test_expect_is_refused(sim):
    sim.fault("expect", "m")
    data, _ = read_all(expecting(sim))
    assert data.startswith(b"HTTP/1.1 417") and sim.delivery(DELIVERY) is None


def test_expect_is_ignored(sim):
    sim.fault("expect", "m", status=0)
    sock = expecting(sim)
    sock.settimeout(0.1)
    with pytest.raises(TimeoutError):
        sock.recv(1)
    sock.settimeout(20)
    sock.sendall(BODY)
    assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def test_which_request_gets_a_fault(sim, mastodon):
    sim.fault("status", "m", on={"delivery": "2"}, times=-1)
    sim.fault("status", "m", on={"nth_write": [3, 4]}, times=-1, status=502)
    sim.fault("status", "m", on={"method": "GET", "path": "verify"}, status=504)
    statuses = [post(mastodon, number).status for number in (1, 2, 3, 4, 5)]
    assert statuses == [200, 500, 502, 502, 200]
    codes = [mastodon.get("/api/v1/accounts/verify_credentials").status for _ in range(2)]
    assert codes == [504, 200]
    rules = {rule["id"]: rule for rule in sim.get("state")["faults"]}
    assert [rule["fired"] for rule in rules.values()] == [1, 2, 1]


def test_a_fault_for_all_instances(sim, mastodon, forem):
    """So a test can say "the third write of all"."""
    sim.fault("status", "*", on={"nth_write": 3})
    assert post(mastodon, 1).status == 200
    article = {"title": "a", "body_markdown": "b", "published": True, "canonical_url": "https://blog.example/p/1"}
    assert forem.post("/api/articles", {"article": article}).status == 201
    assert post(mastodon, 2).status == 500 and post(mastodon, 3).status == 200


def test_one_rule_is_taken_back(sim, mastodon):
    kept = sim.fault("status", "m", status=502, times=-1)["id"]
    gone = sim.fault("status", "f")["id"]
    sim.call("DELETE", "faults", id=gone)
    assert [rule["id"] for rule in sim.get("state")["faults"]] == [kept] and post(mastodon).status == 502
    sim.clear_faults()
    assert post(mastodon).status == 200
