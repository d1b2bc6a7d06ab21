/* SPDX-License-Identifier: MIT */
/*
 * Requests with holes: rendering by descriptors made here, the frozen form there and back, and filling.
 */
#include "support.h"

#include <stdio.h>
#include <unistd.h>

#include "keys/canonical.h"
#include "platforms/auth.h"
#include "platforms/form.h"

static char folder[] = "/tmp/form.XXXXXX";

/* A channel whose descriptor writes with these programs; auth is the member's JSON. */
static struct channel *open_channel(struct test_channels *channels, const char *auth, const char *request)
{
    char path[64], credential[200];
    json_t *descriptor = json_of("{'platform': 'p', 'title': 'P', 'tier': 'blind', 'repeats': 'harmful',"
                                 "'accept': [{'status': [200], 'outcome': 'committed'}]}");
    json_object_set_new(descriptor, "auth", json_of(auth));
    json_object_set_new(descriptor, "write", json_pack("{s:o, s:b}", "request", json_of(request), "gives_id", 0));
    snprintf(path, sizeof(path), "%s/p.json", folder);
    assert_int_equal(json_dump_file(descriptor, path, 0), 0);
    json_decref(descriptor);
    setenv("TEST_SECRET", "s\"e/c r&t", 1);
    setenv("TEST_USER", "me", 1);
    setenv("TEST_JWT", "6489d0d1b4d1f20001a1b2c3:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 1);
    setenv("TEST_HOOK", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", 1);
    if (strstr(auth, "basic"))
        snprintf(credential, sizeof(credential), "{'user': {'env': 'TEST_USER'}, 'password': {'env': 'TEST_SECRET'}}");
    else
        snprintf(credential, sizeof(credential), "{'secret': {'env': '%s'}}",
                 strstr(auth, "webhook") ? "TEST_HOOK"
                 : strstr(auth, "jwt")   ? "TEST_JWT"
                                         : "TEST_SECRET");
    json_t *channel = json_pack("{s:s}", "platform", "p");
    if (!strstr(auth, "none")) json_object_set_new(channel, "credentials", json_of(credential));
    test_channels_open(channels, folder, json_pack("{s:o}", "p/a", channel));
    return channel_find(channels->set, "p/a");
}

static bool render(struct channel *channel, const char *item, struct form *form, struct errbuf *err)
{
    json_t *json = json_of(item);
    struct channel_facts facts = {.item = json, .key = "key-1"};
    json_t *input = channel_input(channel, &facts);
    bool ok = form_render(channel, DESCRIPTOR_WRITE, &channel->descriptor->write, input, form, err);
    json_decref(input);
    json_decref(json);
    return ok;
}

/* Render, freeze, thaw, fill; give the request. */
static struct http_request send_of(struct channel *channel, const char *item)
{
    struct errbuf err;
    struct form form, thawed;
    struct http_request request;
    size_t len, canonical_len;
    if (!render(channel, item, &form, &err)) fail_msg("%s", err.text);
    char *frozen = form_frozen(&form, &len);
    assert_null(strstr(frozen, "e/c r"));
    json_t *json = json_loads(frozen, 0, NULL);
    char *canonical = canonical_write(json, &canonical_len);
    assert_string_equal(frozen, canonical);
    if (!form_parse(json, &thawed, &err)) fail_msg("%s", err.text);
    char *again = form_frozen(&thawed, &len);
    assert_string_equal(again, frozen);
    free(again);
    free(canonical);
    free(frozen);
    json_decref(json);
    struct form_fill fill = {
        .credentials = &channel->credentials, .unix_s = 1790000000, .descriptor = channel->descriptor};
    if (!form_fill(&thawed, &fill, &request, &err)) fail_msg("%s", err.text);
    form_fini(&form);
    form_fini(&thawed);
    return request;
}

static const char *header(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strncmp(request->headers[i], name, strlen(name)) == 0) return request->headers[i] + strlen(name) + 2;
    return "";
}

/* Each place has its own encoding; what an item says stays where it is said. */
static void test_places(void **state)
{
    (void)state;
    struct test_channels channels;
    struct channel *channel =
        open_channel(&channels, "{'kind': 'bearer'}",
                     "{'method': 'POST', 'url': '(.item.u) + .hole.secret', 'headers': '{\\u0022X-Key\\u0022: .key}',"
                     " 'body': {'json': '{z: .item.t, key: .hole.secret, a: 1.0}'}}");
    struct http_request request =
        send_of(channel, "{'u': 'https://h.example/a?token=', 't': 'hole secret {secret} \\n\\u0022'}");
    assert_string_equal(request.method, "POST");
    assert_string_equal(request.url, "https://h.example/a?token=s%22e%2Fc%20r%26t");
    assert_string_equal(header(&request, "Authorization"), "Bearer s\"e/c r&t");
    assert_string_equal(header(&request, "X-Key"), "key-1");
    assert_string_equal(header(&request, "Content-Type"), "application/json");
    assert_string_equal(request.body, "{\"a\":1,\"key\":\"s\\\"e/c r&t\",\"z\":\"hole secret {secret} \\n\\\"\"}");
    assert_int_equal(request.body_len, strlen(request.body));
    http_request_fini(&request);
    assert_null(request.url);
    test_channels_close(&channels);
}

static void test_form_body(void **state)
{
    (void)state;
    struct test_channels channels;
    struct channel *channel = open_channel(&channels, "{'kind': 'body'}",
                                           "{'method': 'POST', 'url': '.item.u', 'body': {'form': '{k: .hole.secret, "
                                           "t: .item.t, n: 5, b: true, x: null, list: [1, .item.t]}'}}");
    struct http_request request = send_of(channel, "{'u': 'http://h.example', 't': 'a b&c=ü'}");
    assert_string_equal(request.body,
                        "b=true&k=s%22e%2Fc%20r%26t&list=1&list=a%20b%26c%3D%C3%BC&n=5&t=a%20b%26c%3D%C3%BC");
    assert_string_equal(header(&request, "Content-Type"), "application/x-www-form-urlencoded");
    assert_string_equal(header(&request, "Authorization"), "");
    http_request_fini(&request);
    test_channels_close(&channels);
}

static void test_text_body_and_basic(void **state)
{
    (void)state;
    struct test_channels channels;
    struct channel *channel =
        open_channel(&channels, "{'kind': 'basic'}",
                     "{'method': 'PUT', 'url': '.item.u', 'body': {'text': '.item.t', 'type': 'text/plain'}}");
    struct http_request request = send_of(channel, "{'u': 'http://h.example', 't': 'a\\r\\nb\\u0022'}");
    assert_string_equal(request.body, "a\r\nb\"");
    assert_string_equal(header(&request, "Content-Type"), "text/plain");
    assert_string_equal(header(&request, "Authorization"), "Basic bWU6cyJlL2MgciZ0");
    http_request_fini(&request);
    test_channels_close(&channels);
}

/* The vector of the specification's shape, computed with other software. */
static void test_webhook_signature(void **state)
{
    (void)state;
    struct test_channels channels;
    struct channel *channel = open_channel(
        &channels, "{'kind': 'webhook'}",
        "{'method': 'POST', 'url': '.item.u', 'headers': '{\\u0022webhook-id\\u0022: \\u0022msg_lf_01\\u0022}',"
        " 'body': {'text': '.item.t', 'type': 'application/json'}}");
    struct http_request request = send_of(
        channel,
        "{'u': 'http://h.example', 't': '{\\u0022type\\u0022:\\u0022post.published\\u0022,\\u0022timestamp\\u0022:"
        "\\u00222026-09-21T13:33:20Z\\u0022,\\u0022data\\u0022:{\\u0022id\\u0022:\\u0022it-1\\u0022}}'}");
    assert_string_equal(header(&request, "webhook-id"), "msg_lf_01");
    assert_string_equal(header(&request, "webhook-timestamp"), "1790000000");
    assert_string_equal(header(&request, "webhook-signature"), "v1,g6Hz8+xIeO8UjKvAH4YrrWqG+JwO82T77b7CGxUPgGY=");
    http_request_fini(&request);
    test_channels_close(&channels);
}

/* What signs is kept from one message to the next, and not from one secret to the next. */
static void test_signatures_in_a_row(void **state)
{
    (void)state;
    static const char *const bodies[] = {"one", "another, longer than the first one by far and by a block of the hash",
                                         "one"};
    struct test_channels channels;
    struct channel *channel =
        open_channel(&channels, "{'kind': 'webhook'}",
                     "{'method': 'POST', 'url': '.item.u', 'headers': '{\\u0022webhook-id\\u0022: \\u0022a\\u0022}',"
                     " 'body': {'text': '.item.t', 'type': 'text/plain'}}");
    char seen[4][64], item[256];
    bool changed;
    struct errbuf err;
    for (int i = 0; i < 4; i++) {
        struct http_request request;
        if (i == 3) {
            setenv("TEST_HOOK", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", 1);
            assert_true(credentials_reload(&channel->credentials, &changed, &err) && changed);
        }
        snprintf(item, sizeof(item), "{'u': 'http://h.example', 't': '%s'}", bodies[i % 3]);
        request = send_of(channel, item);
        snprintf(seen[i], sizeof(seen[i]), "%s", header(&request, "webhook-signature"));
        http_request_fini(&request);
    }
    /* Computed with Python's hmac. */
    assert_string_equal(seen[0], "v1,hfjM2ZDDbP7My3Eicn/y9mizHkl2c0p4ONrH2uz27eQ=");
    assert_string_equal(seen[1], "v1,IcnOwRS8ljdOM2V7Zx28p8b/3W7u+CPh5BdoFMGEUM4=");
    assert_string_equal(seen[2], seen[0]);
    assert_string_equal(seen[3], "v1,r1z0iss86XyAr+KBPT9BFKT62f1wuQPp7tPDMRfCOp8=");
    test_channels_close(&channels);
}

/* RFC 7515 with HS256. The expected token was made with Python's hmac over the same header and claims. */
static void test_jwt(void **state)
{
    (void)state;
    struct test_channels channels;
    struct channel *channel =
        open_channel(&channels, "{'kind': 'jwt', 'prefix': 'Ghost ', 'audience': '/admin/', 'lifetime_s': 300}",
                     "{'method': 'POST', 'url': '.item.u', 'body': {'json': '{a: 1}'}}");
    struct http_request request = send_of(channel, "{'u': 'https://h.example/'}");
    assert_string_equal(header(&request, "Authorization"),
                        "Ghost eyJhbGciOiJIUzI1NiIsImtpZCI6IjY0ODlkMGQxYjRkMWYyMDAwMWExYjJjMyIsInR5cCI6IkpXVCJ9."
                        "eyJpYXQiOjE3OTAwMDAwMDAsImV4cCI6MTc5MDAwMDMwMCwiYXVkIjoiL2FkbWluLyJ9."
                        "Z6F6RhvAhtHGpIl2H5M5mKBxs3kur5MPyAlXNh0Km8o");
    http_request_fini(&request);
    test_channels_close(&channels);
}

static void test_jwt_keys(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "000102030405060708090a0b0c0d0e0f",      /* no id */
        ":000102030405060708090a0b0c0d0e0f",     /* an empty one */
        "a\"b:000102030405060708090a0b0c0d0e0f", /* one that would end the JSON string */
        "id:000102030405060708090a0b0c0d0e",     /* too short */
        "id:000102030405060708090a0b0c0d0e0",    /* half a byte */
        "id:000102030405060708090a0b0c0d0e0f ",  /* more behind it */
        "id:zz0102030405060708090a0b0c0d0e0f",   /* not hexadecimal */
    };
    const struct descriptor descriptor = {.audience = "/admin/", .lifetime_s = 300};
    for (size_t i = 0; i <= sizeof(wrong) / sizeof(*wrong); i++) {
        bool last = i == sizeof(wrong) / sizeof(*wrong);
        const char *text = last ? "id:000102030405060708090a0b0c0d0e0f" : wrong[i];
        char name[] = "secret";
        struct credential item = {.name = name, .secret = secret_new(text, strlen(text))};
        struct form_fill fill = {.credentials = &(struct credentials){&item, 1},
                                 .descriptor = last ? NULL : &descriptor};
        struct form form;
        struct http_request request;
        struct errbuf err;
        json_t *frozen = json_of("{'v':1,'method':'POST','url':['http://h.example'],'headers':[['Authorization',['x ',"
                                 "{'hole':'jwt'}]]],'body':['{}']}");
        assert_true(form_parse(frozen, &form, &err));
        assert_false(form_fill(&form, &fill, &request, &err));
        assert_has(err.text, last ? "no hole \"jwt\"" : "<key id>:<secret>");
        form_fini(&form);
        json_decref(frozen);
        secret_free(&item.secret);
    }
}

static void test_bad_signing_secrets(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "whsec_AAEC", "whsec_%%%", "whsec_", "plain text with spaces in it, long enough",
        "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=AAEC"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct secret *secret = secret_new(bad[i], strlen(bad[i]));
        char name[] = "secret";
        struct credential item = {.name = name, .secret = secret};
        struct form_fill fill = {.credentials = &(struct credentials){&item, 1}};
        struct errbuf err;
        struct form form;
        struct http_request request;
        json_t *frozen = json_of("{'v':1,'method':'POST','url':['http://h.example'],'headers':[['webhook-id',['a']],"
                                 "['webhook-signature',[{'hole':'signature'}]]],'body':['{}']}");
        assert_true(form_parse(frozen, &form, &err));
        assert_false(form_fill(&form, &fill, &request, &err));
        assert_string_equal(err.text, "the signing secret must be whsec_ and 24 to 64 bytes in base64");
        form_fini(&form);
        json_decref(frozen);
        secret_free(&secret);
    }
}

/* A line end in an address or a header would be a second request. */
static void test_what_an_item_cannot_do(void **state)
{
    (void)state;
    static const struct {
        const char *item, *message;
    } cases[] = {
        {"{'u': 'https://h.example/\\r\\nX: y', 'h': 'x'}", "control character"},
        {"{'u': 'https://h.example/ HTTP/1.1', 'h': 'x'}", "a space"},
        {"{'u': 'https://me:pw@h.example/', 'h': 'x'}", "user name"},
        {"{'u': 'https://me@h.example/', 'h': 'x'}", "user name"},
        {"{'u': 'file:///etc/passwd', 'h': 'x'}", "not an http or https address"},
        {"{'u': 'https://', 'h': 'x'}", "not an http or https address"},
        {"{'u': 'https://h.example:99999/', 'h': 'x'}", "not an http or https address"},
        {"{'u': '/relative', 'h': 'x'}", "not an http or https address"},
        {"{'u': 'https://h.example/\\u00e9', 'h': 'x'}", "not percent-encoded"},
        {"{'u': 'https://h.example/', 'h': 'a\\r\\nB: c'}", "header X-H: its value holds a control character"},
        {"{'u': 'https://h.example/', 'h': 'a\\u0000b'}", "without NUL"},
        {"{'u': 'https://h.example/', 'h': 'a\\tb'}", "control character"},
        {"{'u': 'https://h.example/', 'h': 7}", "must give strings"},
        {"{'u': null, 'h': 'x'}", "must give strings"},
        {"{'u': 'https://h.example/', 'h': 'x', 'n': 'Bad Name'}", "a header has a name that is none"},
        {"{'u': 'https://h.example/', 'h': 'x', 'n': 'a\\nb'}", "a header has a name that is none"},
        {"{'u': 'https://h.example/', 'h': 'x', 'n': 'Content-Length'}", "that the transfer sets itself"},
        {"{'u': 'https://h.example/', 'h': 'x', 'n': 'authorization'}", "header Authorization stands there twice"},
    };
    struct test_channels channels;
    struct channel *channel = open_channel(&channels, "{'kind': 'bearer'}",
                                           "{'method': 'GET', 'url': '.item.u', 'headers': '{\\u0022X-H\\u0022: "
                                           ".item.h} + (if .item.n then {(.item.n): \\u0022v\\u0022} else {} end)'}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct errbuf err;
        struct form form;
        if (render(channel, cases[i].item, &form, &err)) fail_msg("%s was rendered", cases[i].item);
        assert_has(err.text, "p.json: $.write.request.");
        assert_has(err.text, cases[i].message);
        assert_null(form.headers);
    }
    test_channels_close(&channels);
}

/* Holes are used whole and where they may stand. */
static void test_holes_misused(void **state)
{
    (void)state;
    static const struct {
        const char *url, *message;
    } cases[] = {
        {".hole.secret", "only behind its host"},
        {"'https://' + .hole.secret + '/'", "only behind its host"},
        {"'https://h.example' + .hole.secret", "only behind its host"},
        {"'https://h.example/' + .hole.secret[:33]", "must be used as it is"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct test_channels channels;
        struct errbuf err;
        struct form form;
        char request[300], url[200];
        size_t used = 0;
        for (const char *at = cases[i].url; *at; at++)
            used += (size_t)snprintf(url + used, sizeof(url) - used, *at == '\'' ? "\\u0022" : "%c", *at);
        snprintf(request, sizeof(request), "{'method': 'GET', 'url': '%s'}", url);
        struct channel *channel = open_channel(&channels, "{'kind': 'path'}", request);
        if (render(channel, "{}", &form, &err)) fail_msg("%s was rendered", cases[i].url);
        assert_has(err.text, cases[i].message);
        test_channels_close(&channels);
    }
}

/* Placeholders are drawn anew: nobody who has seen one request can put a hole into the next. */
static void test_placeholders_are_random(void **state)
{
    (void)state;
    struct test_channels channels;
    struct channel *channel =
        open_channel(&channels, "{'kind': 'bearer'}",
                     "{'method': 'POST', 'url': '.item.u', 'body': {'json': '{a: (.hole.secret | explode)}'}}");
    char *seen[2];
    for (int i = 0; i < 2; i++) {
        struct errbuf err;
        struct form form;
        assert_true(render(channel, "{'u': 'http://h.example'}", &form, &err));
        assert_int_equal(form.body.count, 1);
        seen[i] = strdup(form.body.segments[0].text);
        form_fini(&form);
    }
    assert_true(strlen(seen[0]) > 34 * 3);
    assert_string_not_equal(seen[0], seen[1]);
    free(seen[0]);
    free(seen[1]);
    test_channels_close(&channels);
}

static void test_fill_needs_values(void **state)
{
    (void)state;
    static const struct {
        const char *hole, *message;
    } cases[] = {{"secret", "no credential \"secret\""},
                 {"secret.other", "no credential \"other\""},
                 {"session.token", "a login must come first"},
                 {"basic", "no credential \"user\""},
                 {"signature", "needs the header webhook-id"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct credentials none = {0};
        struct form_fill fill = {.credentials = &none};
        struct errbuf err;
        struct form form;
        struct http_request request;
        json_t *frozen = json_pack("{s:i, s:s, s:[s], s:[[s, [{s:s}]]]}", "v", 1, "method", "GET", "url",
                                   "http://h.example", "headers", "X-A", "hole", cases[i].hole);
        assert_true(form_parse(frozen, &form, &err));
        assert_false(form_fill(&form, &fill, &request, &err));
        assert_has(err.text, cases[i].message);
        form_fini(&form);
        json_decref(frozen);
    }
}

/* What comes back from the ledger is not trusted. */
static void test_frozen_forms_refused(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "[]",
        "{}",
        "null",
        "'x'",
        "{'v':2,'method':'GET','url':['http://h.example'],'headers':[]}",
        "{'v':'1','method':'GET','url':['http://h.example'],'headers':[]}",
        "{'v':1,'method':'BREW','url':['http://h.example'],'headers':[]}",
        "{'v':1,'method':'GETGETGETGETGETGET','url':['http://h.example'],'headers':[]}",
        "{'v':1,'method':'GET','url':'http://h.example','headers':[]}",
        "{'v':1,'method':'GET','url':[],'headers':[]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':{}}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[['a']]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[['a',['b'],'c']]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[['a',['b\\r\\nc: d']]]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[['a\\nb',['c']]]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[['a',[{'hole':'env'}]]]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[['a',[{'hole':'secret','as':'raw'}]]]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[['a',[{'hole':'secret','as':'json'}]]]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[['a',[{'hole':'secret','x':1}]]]}",
        "{'v':1,'method':'GET','url':['http://h.example/',{'hole':'secret'}],'headers':[]}",
        "{'v':1,'method':'GET','url':['http://me@h.example/'],'headers':[]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[],'body':'x'}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[],'body':[7]}",
        "{'v':1,'method':'GET','url':['http://h.example'],'headers':[],'other':[]}",
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        struct errbuf err = {""};
        struct form form;
        json_t *frozen = json_of(broken[i]);
        if (form_parse(frozen, &form, &err)) fail_msg("%s was taken", broken[i]);
        assert_true(err.text[0] != '\0');
        json_decref(frozen);
    }
}

/* A body may be there and empty; a session value with a line end cannot get into a header. */
static void test_edges(void **state)
{
    (void)state;
    struct errbuf err;
    struct form form;
    struct http_request request;
    struct credentials none = {0};
    struct session session;
    session_init(&session);
    session.values[session.count++] = (struct session_value){"token", secret_new("a\r\nb", 4)};
    struct form_fill fill = {&none, &session, 0, NULL};
    json_t *frozen = json_of(
        "{'v':1,'method':'POST','url':['http://h.example'],'headers':[['a',[{'hole':'session.token'}]]],'body':[]}");
    assert_true(form_parse(frozen, &form, &err));
    assert_true(form_needs(&form, "session."));
    assert_false(form_needs(&form, "secret"));
    assert_false(form_fill(&form, &fill, &request, &err));
    assert_has(err.text, "header a: what fills it holds a control character");
    session_fini(&session);
    session.values[session.count++] = (struct session_value){"token", secret_new("ab", 2)};
    assert_true(form_fill(&form, &fill, &request, &err));
    assert_true(request.has_body);
    assert_string_equal(request.body, "");
    assert_string_equal(request.headers[0], "a: ab");
    http_request_fini(&request);
    form_fini(&form);
    session_fini(&session);
    json_decref(frozen);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof(path), "%s/p.json", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_form_body),
        cmocka_unit_test(test_text_body_and_basic),
        cmocka_unit_test(test_webhook_signature),
        cmocka_unit_test(test_signatures_in_a_row),
        cmocka_unit_test(test_jwt),
        cmocka_unit_test(test_jwt_keys),
        cmocka_unit_test(test_bad_signing_secrets),
        cmocka_unit_test(test_what_an_item_cannot_do),
        cmocka_unit_test(test_holes_misused),
        cmocka_unit_test(test_placeholders_are_random),
        cmocka_unit_test(test_fill_needs_values),
        cmocka_unit_test(test_frozen_forms_refused),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests_name("form", tests, make_folder, drop_folder);
}
