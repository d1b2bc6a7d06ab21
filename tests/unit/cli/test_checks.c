/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "cli/checks.h"

#define NOW INT64_C(1788246000000)

/* A fleet with nothing wrong, and one thing changed by each case. */
struct fixture {
    struct checks_facts facts;
    struct config config;
};

static void sound(struct fixture *f)
{
    static char environment[] = "test", prefix[] = "lf", spool[] = "/var/lib/landfall";
    memset(f, 0, sizeof(*f));
    f->config.environment = environment;
    f->config.redis_prefix = prefix;
    f->config.worker_spool_dir = spool;
    f->config.partitions = 1;
    f->facts.config = &f->config;
    f->facts.has_server = f->facts.has_ledger = f->facts.processes_complete = true;
    f->facts.run_id = "abc";
    f->facts.workers = f->facts.reconcilers = 1;
    f->facts.local.channels = 2;
    f->facts.health = (struct health){.version = "7.0.15",
                                      .role = "master",
                                      .policy = "noeviction",
                                      .used_bytes = 1 << 20,
                                      .system_bytes = 1 << 30,
                                      .append_only = true,
                                      .append_fsync = "always",
                                      .replicas = 1,
                                      .min_replicas = 1,
                                      .listpack_value_bytes = 64,
                                      .listpack_entries = 128,
                                      .user = "default",
                                      .server_ms = NOW,
                                      .wall_ms = NOW,
                                      .error_ms = 1};
    f->facts.survey.complete = f->facts.survey.agenda_complete = f->facts.survey.counted = true;
    f->facts.overview.now_ms = NOW;
}

static struct finding look(const char *name, const struct fixture *f)
{
    struct finding finding = {0};
    for (size_t i = 0; i < checks_count; i++)
        if (strcmp(checks_table[i].name, name) == 0) checks_table[i].look(&f->facts, &finding);
    assert_true(finding.what.text[0] != '\0');
    assert_int_equal(finding.cost[0] == '\0', finding.severity == SEVERITY_OK);
    assert_int_equal(finding.todo[0] == '\0', finding.severity == SEVERITY_OK);
    return finding;
}

static void test_a_sound_fleet(void **state)
{
    (void)state;
    struct fixture f;
    sound(&f);
    for (size_t i = 0; i < checks_count; i++)
        assert_int_equal(look(checks_table[i].name, &f).severity, SEVERITY_OK);
}

static void test_version(void **state)
{
    (void)state;
    static const struct {
        const char *version, *server;
        enum severity severity;
    } cases[] = {{"7.0.0", "", SEVERITY_OK},      {"8.2.1", "", SEVERITY_OK}, {"7.2.4", "valkey", SEVERITY_OK},
                 {"6.2.14", "", SEVERITY_UNSAFE}, {"", "", SEVERITY_UNSAFE},  {"10.0.0", "", SEVERITY_OK}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f;
        sound(&f);
        snprintf(f.facts.health.version, sizeof(f.facts.health.version), "%s", cases[i].version);
        snprintf(f.facts.health.server, sizeof(f.facts.health.server), "%s", cases[i].server);
        assert_int_equal(look("version", &f).severity, cases[i].severity);
    }
}

static void test_copies(void **state)
{
    (void)state;
    static const struct {
        int64_t wanted;
        int fsync;
        const char *version;
        bool append_only;
        enum severity severity;
        const char *says;
    } cases[] = {
        {0, CONFIG_WAIT_FSYNC_NO, "7.0.15", false, SEVERITY_OK, "no copies"},
        {1, CONFIG_WAIT_FSYNC_NO, "7.0.15", false, SEVERITY_OK, "wait for 1 replicas"},
        {2, CONFIG_WAIT_FSYNC_NO, "7.0.15", false, SEVERITY_RISK, "is 2, and 1 are connected"},
        {0, CONFIG_WAIT_FSYNC_LOCAL, "7.0.15", true, SEVERITY_RISK, "Redis 7.0.15 does not have"},
        {0, CONFIG_WAIT_FSYNC_LOCAL, "", true, SEVERITY_RISK, "WAITAOF"},
        {0, CONFIG_WAIT_FSYNC_LOCAL, "7.2.0", true, SEVERITY_OK, "for the disk"},
        {0, CONFIG_WAIT_FSYNC_LOCAL, "8.0.2", true, SEVERITY_OK, "for the disk"},
        {0, CONFIG_WAIT_FSYNC_LOCAL, "7.2.0", false, SEVERITY_RISK, "appendonly is no"},
        {1, CONFIG_WAIT_FSYNC_ALL, "7.2.4", true, SEVERITY_OK, "wait for 1 replicas, and for the disk"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f;
        sound(&f);
        f.config.redis_wait_replicas = cases[i].wanted;
        f.config.redis_wait_fsync = cases[i].fsync;
        f.facts.health.append_only = cases[i].append_only;
        snprintf(f.facts.health.version, sizeof(f.facts.health.version), "%s", cases[i].version);
        const struct finding finding = look("copies", &f);
        assert_int_equal(finding.severity, cases[i].severity);
        assert_contains(finding.what.text, cases[i].says);
    }
}

/* Names are kept of the first that wait: what was not looked at is not called fine. */
static void test_long_chains(void **state)
{
    (void)state;
    struct fixture f;
    sound(&f);
    f.facts.survey.behind = (struct survey_list){.kept = 1000, .total = 1000};
    assert_string_equal(look("chains", &f).what.text, "1000 deliveries wait for another one, and that is there");
    f.facts.survey.behind.total = 1001;
    assert_contains(look("chains", &f).what.text, "only the first 1000 were looked at");
}

static void test_the_right_to_wait(void **state)
{
    (void)state;
    static const struct {
        int64_t wanted;
        int fsync;
        bool wait, waitaof;
        const char *lacks; /* NULL: what is lacked is not needed */
    } cases[] = {
        {1, CONFIG_WAIT_FSYNC_NO, true, false, "wants WAIT,"},       {1, CONFIG_WAIT_FSYNC_NO, false, true, NULL},
        {0, CONFIG_WAIT_FSYNC_LOCAL, false, true, "wants WAITAOF,"}, {0, CONFIG_WAIT_FSYNC_LOCAL, true, false, NULL},
        {1, CONFIG_WAIT_FSYNC_LOCAL, true, true, "wants WAIT,"},     {1, CONFIG_WAIT_FSYNC_ALL, true, false, NULL},
        {1, CONFIG_WAIT_FSYNC_ALL, true, true, "wants WAITAOF,"},    {0, CONFIG_WAIT_FSYNC_NO, true, true, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f;
        sound(&f);
        f.config.redis_wait_replicas = cases[i].wanted;
        f.config.redis_wait_fsync = cases[i].fsync;
        f.facts.health.wait_forbidden = cases[i].wait;
        f.facts.health.waitaof_forbidden = cases[i].waitaof;
        snprintf(f.facts.health.version, sizeof(f.facts.health.version), "7.2.0");
        const struct finding finding = look("copies", &f);
        assert_int_equal(finding.severity, cases[i].lacks ? SEVERITY_RISK : SEVERITY_OK);
        if (cases[i].lacks) assert_contains(finding.what.text, cases[i].lacks);
    }
}

static void test_role(void **state)
{
    (void)state;
    struct fixture f;
    sound(&f);
    snprintf(f.facts.health.role, sizeof(f.facts.health.role), "slave");
    assert_int_equal(look("role", &f).severity, SEVERITY_UNSAFE);
}

/* Only what is surely a difference counts: not what the round trip itself took. */
static void test_clock(void **state)
{
    (void)state;
    static const struct {
        int64_t server_ms, error_ms;
        enum severity severity;
        const char *says;
    } cases[] = {{NOW + 999, 0, SEVERITY_OK, "agree"},      {NOW + 1000, 0, SEVERITY_NOTE, "ahead of"},
                 {NOW + 1500, 600, SEVERITY_OK, "agree"},   {NOW - 9999, 0, SEVERITY_NOTE, "behind"},
                 {NOW - 10000, 0, SEVERITY_RISK, "behind"}, {NOW + 10000, 1, SEVERITY_NOTE, "ahead of"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f;
        sound(&f);
        f.facts.health.server_ms = cases[i].server_ms;
        f.facts.health.error_ms = cases[i].error_ms;
        const struct finding finding = look("clock", &f);
        assert_int_equal(finding.severity, cases[i].severity);
        assert_contains(finding.what.text, cases[i].says);
    }
}

/* Where CONFIG is forbidden, nothing is made of it but words. */
static void test_settings_that_are_not_known(void **state)
{
    (void)state;
    struct fixture f;
    sound(&f);
    snprintf(f.facts.health.config_refused, sizeof(f.facts.health.config_refused), "ERR unknown command 'CONFIG'");
    f.facts.health.append_fsync[0] = '\0';
    f.facts.health.min_replicas = f.facts.health.listpack_value_bytes = HEALTH_UNKNOWN;
    static const struct {
        const char *check;
        enum severity severity;
    } cases[] = {{"persistence", SEVERITY_NOTE}, {"replication", SEVERITY_NOTE}, {"encoding", SEVERITY_OK}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct finding finding = look(cases[i].check, &f);
        assert_int_equal(finding.severity, cases[i].severity);
        assert_contains(finding.what.text, "unknown command");
    }
    f.facts.health.append_only = false;
    assert_int_equal(look("persistence", &f).severity, SEVERITY_RISK);
}

static void test_writes_that_failed(void **state)
{
    (void)state;
    struct fixture f;
    sound(&f);
    f.facts.health.append_failed = true;
    assert_int_equal(look("persistence", &f).severity, SEVERITY_UNSAFE);
    assert_contains(look("persistence", &f).what.text, "append-only");
    f.facts.health.append_failed = false;
    f.facts.health.snapshot_failed = true;
    assert_contains(look("persistence", &f).what.text, "snapshot");
}

/* A look at a part says so, and never calls the whole fine. */
static void test_not_all_was_looked_at(void **state)
{
    (void)state;
    struct fixture f;
    sound(&f);
    f.facts.survey.complete = f.facts.survey.agenda_complete = f.facts.survey.counted = false;
    static const char *const checks[] = {"leases", "claims", "places", "rows", "agenda", "keys"};
    for (size_t i = 0; i < COUNT(checks); i++)
        assert_contains(look(checks[i], &f).what.text, "not all");
    assert_contains(look("counts", &f).what.text, "not compared");
    f.facts.processes_complete = false;
    f.facts.workers = f.facts.reconcilers = 0;
    f.facts.overview.agenda_length = f.facts.overview.journal_length = 3;
    assert_int_equal(look("processes", &f).severity, SEVERITY_OK);
    assert_contains(look("processes", &f).what.text, "perhaps more");
}

/* Names of any length and number are one sentence. */
static void test_long_lists(void **state)
{
    (void)state;
    static char long_name[300];
    char *names[3] = {long_name, long_name, long_name};
    memset(long_name, 'x', sizeof(long_name) - 1);
    const struct survey_list list = {names, 3, 1234567};
    struct fixture f;
    sound(&f);
    f.facts.survey.unknown = f.facts.survey.endless = f.facts.survey.unreadable = list;
    f.facts.survey.nowhere = f.facts.survey.no_lease = f.facts.survey.stale = list;
    f.facts.survey.deaf = f.facts.survey.unwalked = list;
    static const char *const checks[] = {"keys", "leases", "rows", "places", "claims", "agenda", "channels"};
    for (size_t i = 0; i < COUNT(checks); i++) {
        const struct finding finding = look(checks[i], &f);
        assert_true(finding.severity > SEVERITY_OK);
        assert_contains(finding.what.text, "1234567 (xxx");
        assert_true(strlen(finding.what.text) < sizeof(finding.what.text));
    }
}

/* What a check needs Redis for is not looked at without it: no fact of it is set then. */
static void test_without_redis(void **state)
{
    (void)state;
    struct fixture f;
    sound(&f);
    f.facts.has_server = f.facts.has_ledger = false;
    memset(&f.facts.health, 0, sizeof(f.facts.health));
    memset(&f.facts.survey, 0, sizeof(f.facts.survey));
    for (size_t i = 0; i < checks_count; i++)
        if (checks_may_look(&checks_table[i], &f.facts))
            assert_int_equal(look(checks_table[i].name, &f).severity, SEVERITY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sound_fleet),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_the_right_to_wait),
        cmocka_unit_test(test_long_chains),
        cmocka_unit_test(test_role),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_settings_that_are_not_known),
        cmocka_unit_test(test_writes_that_failed),
        cmocka_unit_test(test_not_all_was_looked_at),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_without_redis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
