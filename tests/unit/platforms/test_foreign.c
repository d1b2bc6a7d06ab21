/* SPDX-License-Identifier: MIT */
/*
 * Who named a request's address, and what a transfer connects to where data did.
 */
#include "support.h"

#include <stdio.h>
#include <unistd.h>

#include "platforms/foreign.h"
#include "runtime/address.h"
#include "transfer_fixture.h"

static char folder[] = "/tmp/foreign.XXXXXX";

/* Whether the write request of a channel with these settings, made by this program, is foreign for this item. */
static bool is_foreign(const char *url_program, const char *item)
{
    char path[64];
    struct test_channels channels;
    struct form form;
    struct errbuf err;
    json_t *descriptor =
        json_of("{'platform': 'p', 'title': 'P', 'tier': 'blind', 'repeats': 'harmful', 'auth': {'kind': 'none'},"
                "'settings': {'instance': {'type': 'origin', 'help': 'a'}, 'hook': {'type': 'url', 'help': 'a'},"
                "'word': {'type': 'string', 'help': 'a'}},"
                "'accept': [{'status': [200], 'outcome': 'committed'}]}");
    json_object_set_new(
        descriptor, "write",
        json_pack("{s:{s:s, s:s}, s:b}", "request", "method", "POST", "url", url_program, "gives_id", 0));
    snprintf(path, sizeof path, "%s/p.json", folder);
    assert_int_equal(json_dump_file(descriptor, path, 0), 0);
    json_decref(descriptor);
    test_channels_open(&channels, folder,
                       json_of("{'p/a': {'platform': 'p', 'settings': {'instance': 'https://social.example/below',"
                               "'hook': 'http://[fd00::7]:8080/a?b=c', 'word': 'https://word.example'}}}"));
    struct channel *channel = channel_find(channels.set, "p/a");
    json_t *json = json_of(item);
    const struct channel_facts facts = {.item = json};
    json_t *input = channel_input(channel, &facts);
    if (!form_render(channel, DESCRIPTOR_WRITE, &channel->descriptor->write, input, &form, &err))
        fail_msg("%s", err.text);
    bool foreign = form.foreign;
    form_fini(&form);
    json_decref(input);
    json_decref(json);
    test_channels_close(&channels);
    return foreign;
}

static void who_named_the_address(void **state)
{
    static const struct {
        const char *program, *item;
        bool foreign;
    } cases[] = {
        {".settings.instance + \"/api\"", "{}", false},
        {".settings.hook", "{}", false},
        {"\"https://api.example/v1/\" + .item.id", "{'id': 'x'}", false},
        {"\"https://api.example:8443\" + .item.id", "{'id': '/x'}", false},
        {".item.url", "{'url': 'https://social.example/elsewhere'}", false},
        {".item.url", "{'url': 'https://SOCIAL.example:443/elsewhere'}", false},
        {".item.url", "{'url': 'https://other.example/'}", true},
        {".item.url", "{'url': 'http://social.example/'}", true},
        {".item.url", "{'url': 'https://social.example:444/'}", true},
        {".item.url", "{'url': 'https://social.example.evil.example/'}", true},
        {".item.url", "{'url': 'http://[fd00::7]:8081/'}", true},
        {".item.url", "{'url': 'https://word.example/'}", true}, /* a setting that is no address */
        {"\"https://\" + .item.id", "{'id': 'x.example/y'}", true},
        {"\"https://api.example\" + .item.id", "{'id': '.evil.example/'}", true},
        {"\"https://api.example:844\" + .item.id", "{'id': '3/x'}", true},
        {".settings.instance[:22] + .item.id", "{'id': '.evil.example/'}", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (is_foreign(cases[i].program, cases[i].item) != cases[i].foreign)
            fail_msg("case %zu: %s of %s", i, cases[i].program, cases[i].item);
}

/* What comes from the ledger was named by whoever may write there, until it was compared with what the channel does. */
static void a_kept_request_is_foreign(void **state)
{
    (void)state;
    struct form form;
    struct errbuf err;
    json_t *json = json_of("{'v': 1, 'method': 'POST', 'url': ['https://social.example/'], 'headers': []}");
    assert_true(form_parse(json, &form, &err));
    assert_true(form.foreign);
    const struct form_fill fill = {.unix_s = 1};
    struct http_request request;
    assert_true(form_fill(&form, &fill, &request, &err));
    assert_true(request.foreign);
    http_request_fini(&request);
    form_fini(&form);
    json_decref(json);
}

/* A request to the server by this host, as data would name it, on this pool; the first `known` ones as a setting would.
 */
static struct transfer_facts fetch(struct transfer_pool *pool, int port, const char *host, bool foreign)
{
    struct sent s = sent_to(port, "GET", NULL);
    free(s.request.url);
    s.request.url = xformat("http://%s:%d/path", host, port);
    s.request.foreign = foreign;
    struct transfer *t = run(pool, &s);
    const struct transfer_facts facts = *transfer_facts(t);
    transfer_free(&t);
    sent_fini(&s);
    return facts;
}

static const struct raw_action one_answer[] = {ACCEPT, READ, WRITE(OK_ANSWER), END};

static void data_leads_to_no_inner_address(void **state)
{
    static const struct {
        const char *host, *error;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1 is at 127.0.0.1, which is no public address; fetch.allow names exceptions"},
        {"localhost", "localhost is at "},
        {"2130706433", " is at 127.0.0.1, which"},
        {"0x7f.1", " is at 127.0.0.1, which"},
        {"[::ffff:127.0.0.1]", " is at ::ffff:127.0.0.1, which"},
        {"[::1]", " is at ::1, which"},
        {"169.254.169.254", " is at 169.254.169.254, which"},
        {"0.0.0.0", " is at 0.0.0.0, which"},
    };
    (void)state;
    struct raw_server *server = raw_server_start(one_answer);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct transfer_facts facts = fetch(pool, server->port, cases[i].host, true);
        if (!facts.forbidden || facts.reached || facts.complete) fail_msg("%s was asked", cases[i].host);
        assert_has(facts.error, cases[i].error);
    }
    assert_int_equal(server->connections, 0);
    const struct transfer_facts own = fetch(pool, server->port, "127.0.0.1", false);
    assert_true(own.complete && !own.forbidden);
    transfer_pool_free(&pool);
    raw_server_stop(server);
}

static void what_is_allowed_is_reached(void **state)
{
    static const struct {
        const char *allowed, *host;
        bool reached;
    } cases[] = {
        {"127.0.0.0/8", "127.0.0.1", true},
        {"localhost ::1", "localhost", true},
        {"localhost", "127.0.0.1", false},
        {"10.0.0.0/8", "127.0.0.1", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct address_list allowed;
        struct errbuf err;
        assert_true(address_list_parse(cases[i].allowed, &allowed, &err));
        struct raw_server *server = raw_server_start(one_answer);
        struct transfer_pool *pool = transfer_pool_new(4, &allowed);
        const struct transfer_facts facts = fetch(pool, server->port, cases[i].host, true);
        if (facts.complete != cases[i].reached || facts.forbidden == cases[i].reached ||
            (facts.complete && *facts.error))
            fail_msg("case %zu: %s", i, facts.error);
        transfer_pool_free(&pool);
        raw_server_stop(server);
        address_list_fini(&allowed);
    }
}

/* An open connection that another request may use leads to an address that was not asked about. */
static void no_connection_is_shared(void **state)
{
    static const struct raw_action actions[] = {ACCEPT, READ, WRITE(OK_ANSWER), READ, WRITE(OK_ANSWER), END};
    (void)state;
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    assert_true(fetch(pool, server->port, "127.0.0.1", false).complete);
    const struct transfer_facts foreign = fetch(pool, server->port, "127.0.0.1", true);
    assert_true(foreign.forbidden && !foreign.reached);
    assert_true(fetch(pool, server->port, "127.0.0.1", false).complete); /* on the first connection */
    assert_int_equal(server->connections, 1);
    transfer_pool_free(&pool);
    raw_server_stop(server);
}

/* Behind a proxy nobody sees what is connected to. */
static void no_proxy_is_asked(void **state)
{
    (void)state;
    struct raw_server *server = raw_server_start(one_answer);
    char *proxy = xformat("http://127.0.0.1:%d", server->port);
    setenv("http_proxy", proxy, 1);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    assert_true(fetch(pool, 9, "127.0.0.1", true).forbidden);
    assert_int_equal(server->connections, 0);
    assert_true(fetch(pool, 9, "10.255.255.1", false).complete); /* the same, as a setting names it */
    transfer_pool_free(&pool);
    unsetenv("http_proxy");
    free(proxy);
    raw_server_stop(server);
}

/* A fleet of its own for trying things out, with production's channels by mistake. */
static void only_named_hosts_are_spoken_to(void **state)
{
    static const struct {
        const char *only, *host;
        bool foreign, reached;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", false, true},       {"127.0.0.0/8", "127.0.0.1", false, true},
        {"LOCALHOST", "localhost", false, true},       {"staging.example", "127.0.0.1", false, false},
        {"127.0.0.1", "localhost", false, false}, /* what a name leads to is not asked */
        {"staging.example", "127.0.0.1", true, false}, {"", "127.0.0.1", false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct address_list only, allowed;
        struct errbuf err;
        assert_true(address_list_parse(cases[i].only, &only, &err));
        assert_true(address_list_parse("127.0.0.0/8", &allowed, &err));
        struct raw_server *server = raw_server_start(one_answer);
        struct transfer_pool *pool = transfer_pool_new(4, &allowed);
        transfer_pool_only(pool, &only);
        const struct transfer_facts facts = fetch(pool, server->port, cases[i].host, cases[i].foreign);
        if (facts.complete != cases[i].reached || facts.reached != cases[i].reached || facts.forbidden ||
            server->connections != cases[i].reached)
            fail_msg("case %zu: %s", i, facts.error);
        if (!cases[i].reached) assert_has(facts.error, "http.only_hosts does not name ");
        transfer_pool_free(&pool);
        raw_server_stop(server);
        address_list_fini(&only);
        address_list_fini(&allowed);
    }
}

static int make_folder(void **state)
{
    return mkdtemp(folder) ? without_proxies(state) : -1;
}

static int remove_folder(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "%s/p.json", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_named_the_address),          cmocka_unit_test(a_kept_request_is_foreign),
        cmocka_unit_test(data_leads_to_no_inner_address), cmocka_unit_test(what_is_allowed_is_reached),
        cmocka_unit_test(no_connection_is_shared),        cmocka_unit_test(no_proxy_is_asked),
        cmocka_unit_test(only_named_hosts_are_spoken_to),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
