/* SPDX-License-Identifier: MIT */
/*
 * bare_loop: the limit that the bench compares with: takes from the stream, POSTs, acknowledges, records nothing.
 *
 *     bench_bare_loop --redis-port N --url URL --slots N --secret whsec_... [--http2 CONNECTIONS] [--tell STREAM]
 *
 * It reads `lf:{0}:queue` with the group `workers`, as the worker does, and sends what the worker sends: the item in
 * the same envelope, signed, with a webhook-id. It parses no JSON, keeps no state and repeats nothing; what fails ends
 * the process, so that no figure comes of it. One connection waits for entries, the other acknowledges, many at a time.
 * --http2: HTTP/2 over TLS, all requests on so many connections. --tell: it also adds the item's delivery to a stream
 * when it is acknowledged, for the measuring of latencies. SIGTERM ends it.
 */
#include <curl/curl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "tests/bench/wire.h"

#define QUEUE       "lf:{0}:queue"
#define GROUP       "workers"
#define READ_MAX    256
#define RECV_BUFFER 4096 /* answers are small: what libcurl would allocate and touch otherwise costs more */

struct slot {
    CURL *easy;
    struct curl_slist *headers;
    char *body;
    size_t body_capacity;
    char entry[48], name[96];
    struct slot *next_free;
};

struct loop {
    redisContext *feed, *link;
    CURLM *multi;
    struct slot *slots, *free_slot;
    size_t slot_count, free_count;
    bool asked;    /* XREADGROUP is under way */
    size_t unread; /* answers to acknowledgements that have not been read */
    struct slot **finished;
    size_t finished_count;
    const char *url, *tell;
    long http2_connections; /* 0: HTTP/1.1, a connection for each slot */
    struct wire_signer signer;
};

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

static size_t drop(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes, (void)context;
    return size * count;
}

/* ---- out of the stream ---- */

static void ask(struct loop *loop)
{
    size_t count = loop->free_count < READ_MAX ? loop->free_count : READ_MAX;
    if (loop->asked || count == 0) return;
    redisAppendCommand(loop->feed, "XREADGROUP GROUP " GROUP " bare COUNT %d BLOCK 1000 STREAMS " QUEUE " >",
                       (int)count);
    int written = 0;
    while (!written) {
        if (redisBufferWrite(loop->feed, &written) != REDIS_OK) wire_die(loop->feed->errstr);
    }
    loop->asked = true;
}

static void add_header(struct slot *slot, const char *name, const char *value)
{
    char line[160];
    snprintf(line, sizeof line, "%s: %s", name, value);
    slot->headers = curl_slist_append(slot->headers, line);
}

static void fill_body(struct slot *slot, const redisReply *item, const char *entry, size_t *len)
{
    size_t capacity = item->len + 128;
    if (slot->body_capacity < capacity) {
        slot->body = realloc(slot->body, capacity);
        if (slot->body == NULL) wire_die("out of memory");
        slot->body_capacity = capacity;
    }
    int head = snprintf(slot->body, capacity, "{\"type\":\"item.published\",\"timestamp\":%.13s,\"data\":", entry);
    memcpy(slot->body + head, item->str, item->len);
    *len = (size_t)head + item->len + 1;
    slot->body[*len - 1] = '}';
}

/* The item's id stands in front; the harness wrote it so. */
static void name_of(const redisReply *channel, const redisReply *item, char name[96])
{
    static const char front[] = "{\"id\":\"";
    if (item->len < sizeof front || memcmp(item->str, front, sizeof front - 1) != 0) wire_die("an item without its id");
    const char *id = item->str + sizeof front - 1;
    snprintf(name, 96, "%s/%.*s", channel->str, (int)strcspn(id, "\""), id);
}

static void start(struct loop *loop, const redisReply *entry)
{
    const redisReply *fields = entry->element[1];
    if (fields->elements != 4) wire_die("an entry without channel and item");
    struct slot *slot = loop->free_slot;
    loop->free_slot = slot->next_free;
    loop->free_count--;
    snprintf(slot->entry, sizeof slot->entry, "%s", entry->element[0]->str);
    name_of(fields->element[1], fields->element[3], slot->name);
    size_t len = 0;
    fill_body(slot, fields->element[3], slot->entry, &len);
    char timestamp[24], signature[WIRE_SIGNATURE_BYTES];
    snprintf(timestamp, sizeof timestamp, "%lld", (long long)time(NULL));
    wire_sign(&loop->signer, slot->name, strlen(slot->name), timestamp, strlen(timestamp), slot->body, len, signature);
    curl_slist_free_all(slot->headers);
    slot->headers = NULL;
    add_header(slot, "content-type", "application/json");
    add_header(slot, "webhook-id", slot->name);
    add_header(slot, "webhook-timestamp", timestamp);
    add_header(slot, "webhook-signature", signature);
    curl_easy_setopt(slot->easy, CURLOPT_HTTPHEADER, slot->headers);
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDSIZE, (long)len);
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDS, slot->body);
    curl_multi_add_handle(loop->multi, slot->easy);
}

static void take_in(struct loop *loop)
{
    void *reply = NULL;
    if (redisBufferRead(loop->feed) != REDIS_OK || redisGetReplyFromReader(loop->feed, &reply) != REDIS_OK)
        wire_die(loop->feed->errstr);
    if (reply == NULL) return;
    redisReply *streams = reply;
    loop->asked = false;
    if (streams->type == REDIS_REPLY_ERROR) wire_die(streams->str);
    if (streams->type == REDIS_REPLY_ARRAY) {
        const redisReply *entries = streams->element[0]->element[1];
        for (size_t i = 0; i < entries->elements; i++)
            start(loop, entries->element[i]);
    }
    freeReplyObject(streams);
}

/* ---- acknowledging ---- */

static void drain(struct loop *loop)
{
    for (; loop->unread > 0; loop->unread--) {
        redisReply *reply = NULL;
        if (redisGetReply(loop->link, (void **)&reply) != REDIS_OK) wire_die(loop->link->errstr);
        if (reply->type == REDIS_REPLY_ERROR) wire_die(reply->str);
        freeReplyObject(reply);
    }
}

static void append_ids(struct loop *loop, const char *const *front, int front_count, const char **words)
{
    memcpy(words, front, (size_t)front_count * sizeof *words);
    for (size_t i = 0; i < loop->finished_count; i++)
        words[(size_t)front_count + i] = loop->finished[i]->entry;
    redisAppendCommandArgv(loop->link, front_count + (int)loop->finished_count, words, NULL);
    loop->unread++;
}

static void acknowledge(struct loop *loop)
{
    static const char *const ack[] = {"XACK", QUEUE, GROUP}, *const del[] = {"XDEL", QUEUE};
    if (loop->finished_count == 0) return;
    drain(loop);
    const char **words = calloc(loop->finished_count + 3, sizeof *words);
    if (words == NULL) wire_die("out of memory");
    append_ids(loop, ack, 3, words);
    append_ids(loop, del, 2, words);
    free(words);
    for (size_t i = 0; i < loop->finished_count; i++) {
        struct slot *slot = loop->finished[i];
        if (loop->tell != NULL) {
            redisAppendCommand(loop->link, "XADD %s * delivery %s", loop->tell, slot->name);
            loop->unread++;
        }
        slot->next_free = loop->free_slot;
        loop->free_slot = slot;
        loop->free_count++;
    }
    loop->finished_count = 0;
    int written = 0;
    while (!written) {
        if (redisBufferWrite(loop->link, &written) != REDIS_OK) wire_die(loop->link->errstr);
    }
}

static void collect(struct loop *loop)
{
    CURLMsg *message;
    int left = 0;
    while ((message = curl_multi_info_read(loop->multi, &left)) != NULL) {
        CURL *easy = message->easy_handle;
        CURLcode result = message->data.result;
        long status = 0;
        struct slot *slot = NULL;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&slot);
        if (result != CURLE_OK || status != 204) wire_die("a POST failed");
        curl_multi_remove_handle(loop->multi, easy);
        loop->finished[loop->finished_count++] = slot;
    }
}

/* ---- opening ---- */

static void open_slot(struct loop *loop, struct slot *slot)
{
    slot->easy = curl_easy_init();
    if (slot->easy == NULL) wire_die("out of memory");
    curl_easy_setopt(slot->easy, CURLOPT_URL, loop->url);
    curl_easy_setopt(slot->easy, CURLOPT_PRIVATE, slot);
    curl_easy_setopt(slot->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(slot->easy, CURLOPT_BUFFERSIZE, (long)RECV_BUFFER);
    curl_easy_setopt(slot->easy, CURLOPT_TIMEOUT_MS, 20000L);
    curl_easy_setopt(slot->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(slot->easy, CURLOPT_PROXY, "");
    const bool http2 = loop->http2_connections > 0;
    curl_easy_setopt(slot->easy, CURLOPT_HTTP_VERSION, (long)(http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(slot->easy, CURLOPT_PIPEWAIT, http2 ? 1L : 0L); /* better a place on a connection than a new one */
}

static void open_slots(struct loop *loop)
{
    loop->slots = calloc(loop->slot_count, sizeof *loop->slots);
    loop->finished = calloc(loop->slot_count, sizeof(struct slot *));
    loop->multi = curl_multi_init();
    if (loop->slots == NULL || loop->finished == NULL || loop->multi == NULL) wire_die("out of memory");
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)loop->slot_count);
    curl_multi_setopt(loop->multi, CURLMOPT_MAX_HOST_CONNECTIONS, loop->http2_connections);
    curl_multi_setopt(loop->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)loop->slot_count);
    for (size_t i = 0; i < loop->slot_count; i++) {
        struct slot *slot = &loop->slots[i];
        open_slot(loop, slot);
        slot->next_free = loop->free_slot;
        loop->free_slot = slot;
        loop->free_count++;
    }
}

static redisContext *connect_to(int port)
{
    redisContext *context = redisConnect("127.0.0.1", port);
    if (context == NULL || context->err) wire_die("cannot reach Redis");
    return context;
}

static void open_loop(struct loop *loop, int argc, char **argv)
{
    const char *port = "6379", *secret = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (strcmp(name, "--redis-port") == 0) port = value;
        if (strcmp(name, "--url") == 0) loop->url = value;
        if (strcmp(name, "--slots") == 0) loop->slot_count = strtoul(value, NULL, 10);
        if (strcmp(name, "--secret") == 0) secret = value;
        if (strcmp(name, "--http2") == 0) loop->http2_connections = strtol(value, NULL, 10);
        if (strcmp(name, "--tell") == 0) loop->tell = value;
    }
    if (loop->url == NULL || loop->slot_count == 0) wire_die("--url and --slots are needed");
    wire_signer_init(&loop->signer, secret);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    open_slots(loop);
    int number = (int)strtol(port, NULL, 10);
    loop->feed = connect_to(number);
    loop->link = connect_to(number);
    redisReply *reply = redisCommand(loop->link, "XGROUP CREATE " QUEUE " " GROUP " 0 MKSTREAM");
    if (reply == NULL) wire_die("cannot reach Redis"); /* an error: the group is there */
    freeReplyObject(reply);
}

int main(int argc, char **argv)
{
    static struct loop loop;
    signal(SIGTERM, stop);
    open_loop(&loop, argc, argv);
    while (!stopped) {
        int running = 0;
        struct curl_waitfd feed = {.fd = loop.feed->fd, .events = CURL_WAIT_POLLIN};
        ask(&loop);
        curl_multi_poll(loop.multi, &feed, 1, 1000, NULL);
        if (feed.revents != 0) take_in(&loop);
        curl_multi_perform(loop.multi, &running);
        collect(&loop);
        acknowledge(&loop);
    }
    return 0;
}
