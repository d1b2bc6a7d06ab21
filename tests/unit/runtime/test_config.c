/* SPDX-License-Identifier: MIT */
/* The configuration: what is taken, what is refused and with which words, what wins, and that no password is shown. */
#include "tests/unit/runtime/test.h"

#include <sys/stat.h>
#include "runtime/config.h"
#include "runtime/log.h"

static void write_config(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

static struct config *loaded(const char *path)
{
    struct config *config = NULL;
    struct errbuf err = {""};
    if (!config_load(path, &config, &err)) fail_msg("%s", err.text);
    return config;
}

static void test_defaults_without_a_file(void **state)
{
    (void)state;
    struct config *config = loaded(NULL);
    assert_null(config->path);
    assert_string_equal(config->environment, "production");
    assert_string_equal(config->redis.hosts[0].name, "127.0.0.1");
    assert_int_equal(config->redis.hosts[0].port, 6379);
    assert_null(config->redis.unix_path);
    assert_string_equal(config->redis_prefix, "lf");
    assert_int_equal(config->redis_round_limit_ms, 5000);
    assert_int_equal(config->worker_slots, 64);
    assert_int_equal(config_channel_slots(config), 16);
    assert_int_equal(config->delivery_give_up_after_ms, 604800000);
    assert_int_equal(config->delivery_on_absent, CONFIG_ON_ABSENT_RETRY);
    assert_int_equal(config->log_level, LOG_LEVEL_INFO);
    assert_int_equal(config->log_format, LOG_FORMAT_LOGFMT);
    assert_int_equal(json_object_size(config->channels), 0);
    assert_int_equal(config->descriptor_dir_count, 2);
    assert_string_equal(config->descriptor_dirs[0], "descriptors");
    assert_contains(config->descriptor_dirs[1], "/landfall/descriptors");
    assert_null(config->redis_password);
    config_free(&config);
    assert_null(config);
}

static const char full[] =
    "{\"$schema\": \"config.schema.json\", \"$comment\": [\"any\", 1],\n"
    " \"environment\": \"test\",\n"
    " \"redis\": {\"$comment\": \"here too\", \"url\": \"redis://app@redis.internal:6380/3\", \"password_file\": "
    "\"token\","
    "  \"prefix\": \"lf2\", \"round_limit_ms\": 3000},\n"
    " \"partition\": 1, \"partitions\": 2,\n"
    " \"worker\": {\"slots\": 3, \"max_in_flight_per_channel\": 0, \"grace_ms\": 0, \"name\": \"\"},\n"
    " \"delivery\": {\"on_absent\": \"hold\", \"max_attempts\": 20},\n"
    " \"log\": {\"level\": \"fatal\", \"format\": \"json\"},\n"
    " \"descriptors\": [\"mine\", \"/usr/share/x\"],\n"
    " \"channels\": {\"$comment\": \"c\", \"mastodon/brand\": {\"platform\": \"mastodon\", \"$comment\": \"kept\"}}}\n";

static void test_a_full_file(void **state)
{
    (void)state;
    size_t len = 0;
    write_config("conf/landfall.json", full);
    write_config("conf/token", "CANARY-7f3a\n");
    struct config *config = loaded("conf/landfall.json");
    assert_string_equal(config->path, "conf/landfall.json");
    assert_string_equal(config->environment, "test");
    assert_string_equal(config->redis.hosts[0].name, "redis.internal");
    assert_int_equal(config->redis.hosts[0].port, 6380);
    assert_int_equal(config->redis.db, 3);
    assert_string_equal(config->redis.user, "app");
    assert_string_equal(config->redis_password_file, "conf/token"); /* beside the file */
    assert_string_equal(secret_bytes(config->redis_password, &len), "CANARY-7f3a");
    assert_int_equal(config->redis_round_limit_ms, 3000);
    assert_int_equal(config->partition, 1);
    assert_int_equal(config_channel_slots(config), 1);
    assert_int_equal(config->delivery_on_absent, CONFIG_ON_ABSENT_HOLD);
    assert_int_equal(config->log_level, LOG_LEVEL_FATAL);
    assert_int_equal(config->log_format, LOG_FORMAT_JSON);
    assert_int_equal(config->descriptor_dir_count, 3);
    assert_string_equal(config->descriptor_dirs[0], "conf/mine");
    assert_string_equal(config->descriptor_dirs[1], "/usr/share/x");
    assert_int_equal(json_object_size(config->channels), 1);
    json_t *channel = json_object_get(config->channels, "mastodon/brand");
    assert_string_equal(json_string_value(json_object_get(channel, "platform")), "mastodon");
    assert_non_null(json_object_get(channel, "$comment"));
    config_free(&config);
}

static void test_a_comment_alone(void **state)
{
    (void)state;
    write_config("c.json", "{\"channels\": {\"$comment\": 1}}");
    struct config *config = loaded("c.json");
    assert_int_equal(json_object_size(config->channels), 0);
    config_free(&config);
}

/* All refused; the whole text of the error, or its beginning where jansson's words follow. */
static const struct {
    const char *text, *error;
} refused[] = {
    {"", "c.json:1:0: is not valid JSON: "},
    {"{\n  \"redis\": {\n    \"url\": oops\n}}", "c.json:3:15: is not valid JSON: invalid token"},
    {"{\"partition\": 0, \"partition\": 1}", "c.json:1:28: is not valid JSON: duplicate object key"},
    {"[]", "c.json: must hold one JSON object"},
    {"{} x", "c.json:1:4: is not valid JSON: "},
    {"{\"reddis\": {}}", "c.json: unknown field reddis; known here: environment, redis, partition, partitions, worker, "
                         "delivery, retention, "
                         "fetch, http, metrics, log, descriptors, channels, $comment"},
    {"{\"redis\": {\"password\": \"CANARY\"}}",
     "c.json: unknown field redis.password; known here: url, password_file, "
     "ca_file, cert_file, key_file, sentinel_password_file, "
     "prefix, round_limit_ms, away_limit_ms, wait_replicas, wait_fsync, wait_timeout_ms, $comment"},
    {"{\"redis\": {\"wait_replicas\": 17}}", "c.json: redis.wait_replicas must be a whole number from 0 to 16"},
    {"{\"redis\": {\"wait_fsync\": true}}", "c.json: redis.wait_fsync must be one of no|local|all"},
    {"{\"redis\": {\"wait_timeout_ms\": 99}}",
     "c.json: redis.wait_timeout_ms must be a whole number from 100 to 30000"},
    {"{\"redis\": {\"wait_fsync\": \"all\"}}",
     "c.json: redis.wait_fsync is all, but redis.wait_replicas is 0; set it, or say local"},
    {"{\"redis\": 1}", "c.json: redis must be an object"},
    {"{\"redis\": {\"url\": 1}}", "c.json: redis.url must be a string"},
    {"{\"redis\": {\"url\": \"redis://h\\u0000x\"}}", "c.json:1:"},
    {"{\"redis\": {\"round_limit_ms\": 2999}}",
     "c.json: redis.round_limit_ms must be a whole number from 3000 to 60000"},
    {"{\"worker\": {\"slots\": 0}}", "c.json: worker.slots must be a whole number from 1 to 1024"},
    {"{\"worker\": {\"slots\": 1025}}", "c.json: worker.slots must be a whole number from 1 to 1024"},
    {"{\"worker\": {\"slots\": 1.5}}", "c.json: worker.slots must be a whole number from 1 to 1024"},
    {"{\"worker\": {\"slots\": \"64\"}}", "c.json: worker.slots must be a whole number from 1 to 1024"},
    {"{\"worker\": {\"slots\": null}}", "c.json: worker.slots must be a whole number from 1 to 1024"},
    {"{\"worker\": {\"slots\": 99999999999999999999}}", "c.json:1:"},
    {"{\"worker\": {\"name\": \"a b\"}}", "c.json: worker.name must be 1 to 64 letters, digits, '.', '_' or '-'"},
    {"{\"environment\": \"\"}", "c.json: environment must be 1 to 64 letters, digits, '.', '_' or '-'"},
    {"{\"redis\": {\"prefix\": \"a{b}\"}}", "c.json: redis.prefix must be 1 to 64 letters, digits, '.', '_' or '-'"},
    {"{\"delivery\": {\"on_absent\": \"ret\"}}", "c.json: delivery.on_absent must be one of retry|hold"},
    {"{\"delivery\": {\"on_absent\": \"retry|hold\"}}", "c.json: delivery.on_absent must be one of retry|hold"},
    {"{\"log\": {\"level\": 1}}", "c.json: log.level must be one of debug|info|warn|error|fatal"},
    {"{\"log\": {\"level\": \"\"}}", "c.json: log.level must be one of debug|info|warn|error|fatal"},
    {"{\"descriptors\": \"dir\"}", "c.json: descriptors must be a list of folders"},
    {"{\"descriptors\": [\"a\", \"\"]}", "c.json: descriptors[1] must be the path of a folder"},
    {"{\"descriptors\": [1]}", "c.json: descriptors[0] must be the path of a folder"},
    {"{\"channels\": []}", "c.json: channels must be an object with one object for each channel"},
    {"{\"channels\": {\"mastodon/brand\": \"x\"}}", "c.json: channels[\"mastodon/brand\"] must be an object"},
    {"{\"partition\": 2, \"partitions\": 2}",
     "c.json: partition is 2, but there are 2 partitions, numbered from 0; set partition or partitions"},
    {"{\"worker\": {\"slots\": 4, \"max_in_flight_per_channel\": 5}}",
     "c.json: worker.max_in_flight_per_channel is 5, more than worker.slots, 4"},
    {"{\"delivery\": {\"backoff_base_ms\": 5000, \"backoff_cap_ms\": 4000}}",
     "c.json: delivery.backoff_base_ms is 5000, more than delivery.backoff_cap_ms, 4000"},
    {"{\"fetch\": {\"allow\": \"media.internal 10.0.0.0/33\"}}",
     "c.json: fetch.allow: \"10.0.0.0/33\" is no host name, address or range such as 10.0.0.0/8"},
    {"{\"http\": {\"only_hosts\": \"https://staging.example\"}}",
     "c.json: http.only_hosts: \"https://staging.example\" is no host name, address or range such as 10.0.0.0/8"},
    {"{\"http\": {\"only_hosts\": \"  \"}}", "c.json: http.only_hosts: \"  \" names nothing"},
    {"{\"redis\": {\"url\": \"redis://u:CANARY@h\"}}",
     "c.json: redis.url: holds a password, which would show in process lists and logs; put it into "
     "a file named by redis.password_file or into LANDFALL_REDIS_PASSWORD"},
    {"{\"redis\": {\"password_file\": \"missing\"}}",
     "c.json: redis.password_file: file: there is no such file; names are seen from the configuration's folder"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct config *config = NULL;
        struct errbuf err = {""};
        write_config("c.json", refused[i].text);
        if (config_load("c.json", &config, &err)) fail_msg("taken: %s", refused[i].text);
        assert_null(config);
        size_t len = strlen(refused[i].error);
        bool beginning =
            strncmp(refused[i].error, "c.json:1:", 9) == 0 || strncmp(refused[i].error, "c.json:3:", 9) == 0;
        if (strncmp(err.text, refused[i].error, len) != 0 || (!beginning && err.text[len])) {
            fail_msg("%s\n   is: %s\n  not: %s", refused[i].text, err.text, refused[i].error);
        }
        assert_lacks(err.text, "CANARY");
    }
}

static void test_search_order(void **state)
{
    (void)state;
    struct config *config = NULL;
    struct errbuf err;
    write_config("landfall.json", "{\"environment\": \"here\"}");
    write_config("variable.json", "{\"environment\": \"variable\"}");
    write_config("option.json", "{\"environment\": \"option\"}");
    config = loaded(NULL);
    assert_string_equal(config->environment, "here");
    assert_string_equal(config->path, "./landfall.json");
    config_free(&config);
    setenv("LANDFALL_CONFIG", "variable.json", 1);
    config = loaded(NULL);
    assert_string_equal(config->environment, "variable");
    config_free(&config);
    config = loaded("option.json");
    assert_string_equal(config->environment, "option");
    config_free(&config);
    setenv("LANDFALL_CONFIG", "missing.json", 1);
    assert_false(config_load(NULL, &config, &err));
    assert_string_equal(err.text, "missing.json: cannot be opened: No such file or directory");
    unsetenv("LANDFALL_CONFIG");
    assert_false(config_load("missing.json", &config, &err));
}

static void test_variables(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *error; /* error NULL: taken */
    } variables[] = {
        {"LANDFALL_WORKER_SLOTS", "7", NULL},
        {"LANDFALL_WORKER_SLOTS", "", NULL}, /* as if not set */
        {"LANDFALL_WORKER_SLOTS", "7x", "LANDFALL_WORKER_SLOTS must be a whole number from 1 to 1024"},
        {"LANDFALL_WORKER_SLOTS", " 7", "LANDFALL_WORKER_SLOTS must be a whole number from 1 to 1024"},
        {"LANDFALL_WORKER_SLOTS", "+7", "LANDFALL_WORKER_SLOTS must be a whole number from 1 to 1024"},
        {"LANDFALL_WORKER_SLOTS", "-7", "LANDFALL_WORKER_SLOTS must be a whole number from 1 to 1024"},
        {"LANDFALL_WORKER_SLOTS", "-", "LANDFALL_WORKER_SLOTS must be a whole number from 1 to 1024"},
        {"LANDFALL_WORKER_SLOTS", "99999999999999999999",
         "LANDFALL_WORKER_SLOTS must be a whole number from 1 to 1024"},
        {"LANDFALL_DELIVERY_ON_ABSENT", "maybe", "LANDFALL_DELIVERY_ON_ABSENT must be one of retry|hold"},
        {"LANDFALL_ENVIRONMENT", "a b", "LANDFALL_ENVIRONMENT must be 1 to 64 letters, digits, '.', '_' or '-'"},
        {"LANDFALL_ENVIRONMENT", "\xFF", "LANDFALL_ENVIRONMENT must be a string"},
        {"LANDFALL_REDIS_URL", "http://x",
         "redis.url: is of no known kind; write redis://[user@]host[:port][,host...][/db], rediss:// for TLS, "
         "redis+sentinel://host[,host...]/service[/db] or unix:///path[?db=N]"},
    };
    for (size_t i = 0; i < COUNT(variables); i++) {
        struct config *config = NULL;
        struct errbuf err = {""};
        setenv(variables[i].name, variables[i].value, 1);
        bool done = config_load(NULL, &config, &err);
        if (done != !variables[i].error) fail_msg("%s=%s: %s", variables[i].name, variables[i].value, err.text);
        if (!done) assert_string_equal(err.text, variables[i].error);
        if (done) assert_int_equal(config->worker_slots, variables[i].value[0] ? 7 : 64);
        config_free(&config);
        unsetenv(variables[i].name);
    }
}

/* Every setting's variable reaches its field: each is set to something that is not its default and read back by
 * config_print. */
static void test_every_variable(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        const struct config_setting *setting = config_setting(i);
        char value[64] = "redis://other";
        if (strcmp(setting->path, "partitions") == 0) continue; /* 2, for the partition's sake */
        if (setting->kind == CONFIG_KIND_NUMBER)
            (void)snprintf(value, sizeof value, "%lld",
                           (long long)(setting->fallback == 1 ? 2 : setting->fallback + 1));
        if (setting->kind == CONFIG_KIND_CHOICE)
            (void)snprintf(value, sizeof value, "%s", strrchr(setting->text, '|') + 1);
        if (setting->pattern == CONFIG_NAME || setting->pattern == CONFIG_OPTIONAL_NAME)
            (void)snprintf(value, sizeof value, "name%zu", i);
        if (setting->pattern == CONFIG_PATH) (void)snprintf(value, sizeof value, "token");
        if (strcmp(setting->path, "fetch.allow") == 0 || strcmp(setting->path, "http.only_hosts") == 0)
            (void)snprintf(value, sizeof value, "media 10.0.0.0/8");
        setenv("LANDFALL_PARTITIONS", "2", 1);
        setenv("LANDFALL_DELIVERY_BACKOFF_CAP_MS", "3600001", 1);
        setenv("LANDFALL_REDIS_WAIT_REPLICAS", "1", 1); /* for wait_fsync's sake */
        setenv(setting->variable, value, 1);
        write_config("token", "CANARY-7f3a");
        struct config *config = loaded(NULL);
        FILE *out = open_memstream(&text, &size);
        config_print(config, out);
        assert_int_equal(fclose(out), 0);
        char line[256];
        const char *quote = setting->kind == CONFIG_KIND_TEXT ? "\"" : "";
        (void)snprintf(line, sizeof line, "\n%s = %s%s%s  (%s)\n", setting->path, quote, value, quote,
                       setting->variable);
        assert_contains(text, line);
        assert_lacks(text, "CANARY");
        free(text);
        config_free(&config);
        unsetenv(setting->variable);
    }
    unsetenv("LANDFALL_PARTITIONS");
    unsetenv("LANDFALL_DELIVERY_BACKOFF_CAP_MS");
    unsetenv("LANDFALL_REDIS_WAIT_REPLICAS");
}

static void test_what_is_in_force(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    write_config("conf/landfall.json", full);
    write_config("conf/token", "CANARY-7f3a");
    setenv("LANDFALL_WORKER_SLOTS", "8", 1);
    struct config *config = loaded("conf/landfall.json");
    FILE *out = open_memstream(&text, &size);
    config_print(config, out);
    fclose(out);
    assert_contains(text, "file = conf/landfall.json\n");
    assert_contains(text, "environment = \"test\"  (file)\n");
    assert_contains(text, "worker.slots = 8  (LANDFALL_WORKER_SLOTS)\n");
    assert_contains(text, "delivery.max_age_ms = 0  (default)\n");
    assert_contains(text, "delivery.on_absent = hold  (file)\n");
    assert_contains(text, "redis password = set\n");
    assert_contains(text, "channels = 1\n");
    assert_lacks(text, "CANARY");
    free(text);
    config_free(&config);
    unsetenv("LANDFALL_WORKER_SLOTS");
}

static void test_the_password_of_the_environment_wins_and_survives_a_reload(void **state)
{
    (void)state;
    size_t len = 0;
    write_config("conf/landfall.json", full);
    write_config("conf/token", "from-the-file");
    setenv("LANDFALL_REDIS_PASSWORD", "from-the-environment", 1);
    for (int load = 0; load < 2; load++) {
        struct config *config = loaded("conf/landfall.json");
        assert_string_equal(secret_bytes(config->redis_password, &len), "from-the-environment");
        assert_null(getenv("LANDFALL_REDIS_PASSWORD"));
        config_free(&config);
    }
}

static const struct {
    const char *url;
    const char *unix_path;
    const char *hosts; /* "name port" of each, with commas */
    const char *service, *user;
    int db;
    bool tls;
    const char *error; /* NULL: taken */
} urls[] = {
    {"redis://h", .hosts = "h 6379"},
    {"redis://h/", .hosts = "h 6379"},
    {"redis://h:1/15", .hosts = "h 1", .db = 15},
    {"redis://u@h:65535", .hosts = "h 65535", .user = "u"},
    {"redis://@h", .hosts = "h 6379"},
    {"redis://u@x@h", .hosts = "h 6379", .user = "u@x"},
    {"redis://[::1]:7/2", .hosts = "::1 7", .db = 2},
    {"redis://u@[fe80::1]", .hosts = "fe80::1 6379", .user = "u"},
    {"redis://a,b:7,[::1]:8/3", .hosts = "a 6379,b 7,::1 8", .db = 3},
    {"rediss://h", .hosts = "h 6379", .tls = true},
    {"redis+sentinel://a,b:7/main", .hosts = "a 26379,b 7", .service = "main"},
    {"redis+sentinel://u@a/main/4", .hosts = "a 26379", .service = "main", .user = "u", .db = 4},
    {"rediss+sentinel://a/main/", .hosts = "a 26379", .service = "main", .tls = true},
    {"unix:///run/redis.sock", .unix_path = "/run/redis.sock", .hosts = ""},
    {"unix:///run/redis.sock?db=2", .unix_path = "/run/redis.sock", .hosts = "", .db = 2},
    {"unix://u@/run/redis.sock", .unix_path = "/run/redis.sock", .hosts = "", .user = "u"},
    {"redis+sentinel://a", .error = "does not say what the sentinels call the master"},
    {"redis+sentinel://a/", .error = "does not say what the sentinels call the master"},
    {"redis+sentinel://a//1", .error = "does not say what the sentinels call the master"},
    {"redis://a,,b", .error = "has no valid host"},
    {"redis://a,", .error = "has no valid host"},
    {"redis://a,u:CANARY@b", .error = "holds a password"},
    {"redis://u:CANARY@h", .error = "holds a password"},
    {"redis://:CANARY@h", .error = "holds a password"},
    {"redis://u:CAN@ARY@h", .error = "holds a password"},
    {"unix://u:CANARY@/run/x", .error = "holds a password"},
    {"", .error = "is of no known kind"},
    {"h:6379", .error = "is of no known kind"},
    {"redis://", .error = "has no valid host"},
    {"redis://:6379", .error = "has no valid host"},
    {"redis://h:0", .error = "the port is a number"},
    {"redis://h:65536", .error = "the port is a number"},
    {"redis://h:99999999999999999999", .error = "the port is a number"},
    {"redis://h:", .error = "the port is a number"},
    {"redis://h:1x", .error = "the port is a number"},
    {"redis://h/x", .error = "the database is a number"},
    {"redis://h/-1", .error = "the database is a number"},
    {"redis://h?db=1", .error = "has no valid host"},
    {"redis://[::1", .error = "is not closed"},
    {"redis://[::1]x", .error = "is not closed"},
    {"unix://", .error = "the path of the socket"},
    {"unix://run/x", .error = "the path of the socket"},
    {"unix:///run/x?database=1", .error = "after ? stands db=N"},
    {"unix:///run/x?db=", .error = "the database is a number"},
};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void test_urls(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct config_redis redis;
        struct errbuf err = {""};
        bool done = config_redis_parse(urls[i].url, &redis, &err);
        if (done != !urls[i].error) fail_msg("%s: %s", urls[i].url, done ? "was taken" : err.text);
        if (done) {
            char hosts[128] = "";
            size_t len = 0;
            for (size_t h = 0; h < redis.host_count; h++)
                len += (size_t)snprintf(hosts + len, sizeof hosts - len, "%s%s %d", h ? "," : "", redis.hosts[h].name,
                                        redis.hosts[h].port);
            assert_string_equal(hosts, urls[i].hosts);
            assert_true(same(redis.unix_path, urls[i].unix_path) && same(redis.user, urls[i].user) &&
                        same(redis.service, urls[i].service));
            assert_int_equal(redis.db, urls[i].db);
            assert_int_equal(redis.tls, urls[i].tls);
        } else {
            assert_contains(err.text, urls[i].error);
            assert_lacks(err.text, "CAN");
            assert_lacks(err.text, "ARY");
        }
        config_redis_fini(&redis);
    }
}

static int enter_folder_with_conf(void **state)
{
    return enter_folder(state) != 0 || mkdir("conf", 0700) != 0;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder_with_conf, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_defaults_without_a_file),
        IN_FOLDER(test_a_full_file),
        IN_FOLDER(test_a_comment_alone),
        IN_FOLDER(test_refused),
        IN_FOLDER(test_search_order),
        IN_FOLDER(test_variables),
        IN_FOLDER(test_every_variable),
        IN_FOLDER(test_what_is_in_force),
        IN_FOLDER(test_the_password_of_the_environment_wins_and_survives_a_reload), /* the last: it is remembered */
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
