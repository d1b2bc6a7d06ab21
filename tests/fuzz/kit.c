/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/kit.h"

#include <dirent.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platforms/answer.h"
#include "platforms/descriptor.h"
#include "runtime/die.h"
#include "runtime/log.h"

#define DESCRIPTORS  TREE "/platforms/descriptors"
#define ANSWER_BYTES ((size_t)1 << 20)
#define REPLIES_MAX  4000
#define REPLY_DEPTH  6
#define NEXT_ANSWER  '\x1e'

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    log_configure(LOG_LEVEL_FATAL, LOG_FORMAT_LOGFMT);
    fuzz_begin();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {(const char *)data, size};
    fuzz_one(&input);
    return 0;
}

/* ---- pieces */

unsigned char fuzz_byte(struct fuzz_input *input)
{
    if (input->left == 0) return 0;
    input->left--;
    return (unsigned char)*input->at++;
}

const char *fuzz_until(struct fuzz_input *input, char end, size_t *len)
{
    const char *start = input->at;
    const char *found = input->left > 0 ? memchr(start, end, input->left) : NULL;
    *len = found ? (size_t)(found - start) : input->left;
    input->at += *len + (found != NULL);
    input->left -= *len + (found != NULL);
    return start;
}

char *fuzz_text(struct fuzz_input *input, size_t *len)
{
    *len = input->left;
    char *text = xmalloc(*len + 1);
    if (*len > 0) memcpy(text, input->at, *len);
    text[*len] = '\0';
    input->at += *len;
    input->left = 0;
    return text;
}

/* ---- answers of platforms */

bool fuzz_answer(struct fuzz_input *input, struct answer *answer, bool *complete)
{
    struct fuzz_input one;
    size_t len;
    one.at = fuzz_until(input, NEXT_ANSWER, &one.left);
    answer_init(answer, ANSWER_BYTES);
    *complete = true;
    while (one.left > 0) {
        const char *line = fuzz_until(&one, '\n', &len);
        if (len == 0 || (len == 1 && *line == '\r')) break;
        answer_header_line(answer, line, len);
    }
    *complete = answer_body(answer, one.at, one.left);
    answer_finish(answer);
    return input->left > 0;
}

/* ---- replies of Redis */

static struct redisReply *reply_of(struct fuzz_input *input, size_t *budget, int depth)
{
    struct redisReply *reply = xcalloc(1, sizeof *reply);
    unsigned char kind = fuzz_byte(input);
    size_t len;
    (*budget)--;
    if (kind == '*' && depth < REPLY_DEPTH) {
        size_t count = fuzz_byte(input);
        reply->type = REDIS_REPLY_ARRAY;
        reply->element = xcalloc(count + 1, sizeof *reply->element);
        while (reply->elements<count && * budget> 0 && input->left > 0)
            reply->element[reply->elements++] = reply_of(input, budget, depth + 1);
        return reply;
    }
    if (kind == '_') {
        reply->type = REDIS_REPLY_NIL;
        return reply;
    }
    const char *text = fuzz_until(input, '\n', &len);
    reply->type = kind == '-' ? REDIS_REPLY_ERROR : kind == '+' ? REDIS_REPLY_STATUS : REDIS_REPLY_STRING;
    reply->str = xstrndup(text, len);
    reply->len = len;
    if (kind == ':') {
        reply->type = REDIS_REPLY_INTEGER;
        reply->integer = strtoll(reply->str, NULL, 10);
    }
    return reply;
}

struct redisReply *fuzz_reply(struct fuzz_input *input)
{
    size_t budget = REPLIES_MAX;
    return reply_of(input, &budget, 0);
}

void fuzz_reply_free(struct redisReply *reply)
{
    for (size_t i = 0; i < reply->elements; i++)
        fuzz_reply_free(reply->element[i]);
    free(reply->element);
    free(reply->str);
    free(reply);
}

/* ---- channels */

static struct descriptor_set *descriptors;
static struct channel_set *channels;

/* Named, and never read. */
static void name_credentials(json_t *channel, const char *platform)
{
    char path[500];
    struct descriptor *descriptor = NULL;
    struct errbuf err;
    const char *name;
    json_t *credentials = json_object();
    snprintf(path, sizeof path, DESCRIPTORS "/%s.json", platform);
    if (!descriptor_load(path, &descriptor, &err)) die("%s", err.text);
    for (size_t i = 0; (name = descriptor_credential(descriptor, i)); i++)
        json_object_set_new(credentials, name, json_pack("{s:s}", "env", "LANDFALL_FUZZ"));
    if (json_object_size(credentials) > 0) json_object_set(channel, "credentials", credentials);
    json_decref(credentials);
    descriptor_free(&descriptor);
}

static json_t *channel_json(const char *platform)
{
    char path[500];
    json_error_t error;
    snprintf(path, sizeof path, DESCRIPTORS "/fixtures/%s/channel.json", platform);
    json_t *json = json_load_file(path, 0, &error);
    if (!json) die("%s: %s", path, error.text);
    json_object_set_new(json, "platform", json_string(platform));
    name_credentials(json, platform);
    return json;
}

void fuzz_channels_load(void)
{
    static const struct delivery_policy defaults = {
        .max_attempts = 5, .backoff_base_ms = 1000, .backoff_cap_ms = 60000, .give_up_after_ms = 604800000};
    const char *dirs[] = {DESCRIPTORS};
    struct errbuf err;
    json_t *all = json_object();
    DIR *dir = opendir(DESCRIPTORS);
    if (!dir) die(DESCRIPTORS " cannot be read");
    for (struct dirent *entry; (entry = readdir(dir));) {
        char name[300], platform[200];
        size_t len = strlen(entry->d_name);
        if (len < 6 || len > sizeof platform || strcmp(entry->d_name + len - 5, ".json") != 0) continue;
        snprintf(platform, sizeof platform, "%.*s", (int)(len - 5), entry->d_name);
        snprintf(name, sizeof name, "%s/brand", platform);
        json_object_set_new(all, name, channel_json(platform));
    }
    closedir(dir);
    descriptors = descriptor_set_new(dirs, 1);
    if (!channel_set_load_bare(all, NULL, descriptors, &defaults, &channels, &err)) die("%s", err.text);
    json_decref(all);
}

struct channel *fuzz_channel(struct fuzz_input *input)
{
    char name[300];
    size_t len, sum = 0;
    const char *line = fuzz_until(input, '\n', &len);
    snprintf(name, sizeof name, "%.*s/brand", (int)(len < 200 ? len : 200), line);
    struct channel *channel = channel_find(channels, name);
    for (size_t i = 0; !channel && i < len; i++)
        sum += (unsigned char)line[i];
    return channel ? channel : channel_set_at(channels, sum % channel_set_count(channels));
}

/* ---- files */

const char *fuzz_file(const char *bytes, size_t len)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        if (fd < 0) die("memfd_create");
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, bytes, len, 0) != (ssize_t)len) die("a file in memory cannot be written");
    return path;
}

/* ---- what the leak check cannot see */

const char *__lsan_default_suppressions(void);

/* libjq 1.6 keeps the stack of a program by a pointer to its end, and forgets a name when a program fails within an
 * object's members. What we do with its values the unit tests watch. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libjq";
}
