/* SPDX-License-Identifier: MIT */
/* The files of the spool: lines, hostile lines, torn ends, locks, full disks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "ledger/spool_file.h"

#define HASH "00112233445566778899aabbccddeeff"

static const struct spool_stamp stamp = {.environment = "test", .prefix = "lf", .partition = 3, .worker = "w-1"};

static struct attempt_report a_report(int attempt)
{
    struct attempt_report r = {
        .channel = "mastodon/brand",
        .delivery = "mastodon/brand/caf\xc3\xa9",
        .input = {.event = EV_UNKNOWN, .reason = RS_NO_ANSWER, .attempt = attempt, .token = "0123456789abcdef"},
        .ext_id = "42",
        .url = "https://m.example/42",
        .duplicate = "",
        .changed = true,
        .detail = "said \"no\"\n",
        .status = 503,
        .content_hash = HASH,
        .key = "lf-1",
        .body_hash = HASH,
        .item = "{\"id\":\"caf\xc3\xa9\"}",
        .frozen = "{\"v\":1}",
        .approved_at_ms = 1795990610859,
    };
    r.item_len = strlen(r.item);
    r.frozen_len = strlen(r.frozen);
    return r;
}

static size_t line_of(const struct attempt_report *r, struct buf *out)
{
    struct errbuf err;
    buf_init(out, SPOOL_LINE_MAX_BYTES);
    assert_true(spool_line_report(out, r, 17, &err));
    return out->len - 1;
}

/* ---- lines ---- */

static void a_report_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct errbuf err;
    struct buf text;
    struct spool_line line;
    struct attempt_report r = a_report(2);
    size_t len = line_of(&r, &text);
    assert_int_equal('\n', text.data[len]);
    assert_null(memchr(text.data, '\n', len));
    assert_true(spool_line_read(text.data, len, &line, &err));
    assert_int_equal(SPOOL_LINE_REPORT, line.kind);
    assert_int_equal(17, line.kept_at_ms);
    assert_true(spool_line_same(&r, &line.report));
    assert_string_equal(r.channel, line.report.channel);
    assert_int_equal(r.input.event, line.report.input.event);
    assert_int_equal(r.input.reason, line.report.input.reason);
    assert_string_equal(r.ext_id, line.report.ext_id);
    assert_string_equal(r.detail, line.report.detail);
    assert_int_equal(r.status, line.report.status);
    assert_true(line.report.changed);
    assert_string_equal(r.item, line.report.item);
    assert_int_equal(r.item_len, line.report.item_len);
    assert_string_equal(r.frozen, line.report.frozen);
    assert_int_equal(r.approved_at_ms, line.report.approved_at_ms);
    spool_line_fini(&line);
    buf_fini(&text);
}

static void the_item_is_kept_only_where_it_may_be_needed(void **state)
{
    (void)state;
    struct buf text;
    struct attempt_report r = a_report(1);
    r.input.event = EV_COMMITTED;
    (void)line_of(&r, &text);
    assert_null(strstr(text.data, "\"item\""));
    buf_fini(&text);
    char *large = calloc(1, SPOOL_ITEM_MAX_BYTES + 1);
    memset(large, 'x', SPOOL_ITEM_MAX_BYTES);
    r = a_report(1);
    r.item = large;
    r.item_len = SPOOL_ITEM_MAX_BYTES;
    assert_true(line_of(&r, &text) < 1000);
    buf_fini(&text);
    free(large);
}

static void what_is_no_text_is_not_written(void **state)
{
    (void)state;
    struct errbuf err = {{0}};
    struct buf text;
    struct attempt_report r = a_report(1);
    r.ext_id = "\xff";
    buf_init(&text, SPOOL_LINE_MAX_BYTES);
    assert_false(spool_line_report(&text, &r, 17, &err));
    assert_non_null(strstr(err.text, "ext_id"));
    assert_int_equal(0, text.len);
    r = a_report(1);
    r.detail = "\xff";
    assert_true(spool_line_report(&text, &r, 17, &err)); /* for people: left out */
    assert_null(strstr(text.data, "detail"));
    buf_fini(&text);
}

#define GOOD(member)                                                                                                   \
    "{\"v\":1,\"delivery\":\"a/b/c\",\"attempt\":1,\"token\":\"0123456789abcdef\",\"event\":\"unknown\","              \
    "\"content\":\"" HASH "\"" member "}"

static void hostile_lines_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "no JSON"},
        {"[]", "no JSON object"},
        {"{}", "version is 0"},
        {"{\"v\":2}", "version is 2"},
        {"{\"v\":1}", "delivery"},
        {GOOD(",\"v\":1"), "duplicate"},
        {GOOD(",\"ext_id\":7"), "ext_id is no text"},
        {GOOD(",\"ext_id\":\"\\u0000\""), "no JSON"},
        {GOOD(",\"status\":1000"), "status"},
        {GOOD(",\"status\":-1"), "status"},
        {GOOD(",\"status\":1.5"), "status"},
        {GOOD(",\"until\":9999999999999999"), "until"},
        {GOOD(",\"reason\":\"because\""), "reason"},
        {GOOD(",\"body_hash\":\"xyz\""), "body_hash"},
        {"{\"v\":1,\"delivery\":\"../../etc\",\"attempt\":1,\"token\":\"0123456789abcdef\"}", "no delivery"},
        {"{\"v\":1,\"delivery\":\"a/b/cafe\\u0301\",\"attempt\":1,\"token\":\"0123456789abcdef\"}", "normal form"},
        {"{\"v\":1,\"delivery\":\"a/b/c\",\"attempt\":0,\"token\":\"0123456789abcdef\"}", "attempt"},
        {"{\"v\":1,\"delivery\":\"a/b/c\",\"attempt\":3000000000,\"token\":\"0123456789abcdef\"}", "attempt"},
        {"{\"v\":1,\"delivery\":\"a/b/c\",\"attempt\":1,\"token\":\"0123456789ABCDEF\"}", "token"},
        {"{\"v\":1,\"delivery\":\"a/b/c\",\"attempt\":1,\"token\":\"0123456789abcdef\",\"event\":\"found\"}", "event"},
        {"{\"v\":1,\"delivery\":\"a/b/c\",\"attempt\":1,\"token\":\"0123456789abcdef\",\"event\":\"unknown\"}",
         "content"},
        {"{\"v\":1,\"done\":\"a/b/c\",\"attempt\":1}", "token"},
        {"{\"v\":1,\"spool\":[]}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct errbuf err = {{0}};
        struct spool_line line;
        bool ok = spool_line_read(cases[i].text, strlen(cases[i].text), &line, &err);
        if (cases[i].why == NULL) { /* a stamp of nobody: not ours, whoever we are */
            assert_true(ok);
            assert_string_equal("", line.stamp.environment);
            spool_line_fini(&line);
            continue;
        }
        assert_false(ok);
        if (strstr(err.text, cases[i].why) == NULL) fail_msg("%s: %s", cases[i].text, err.text);
    }
    struct errbuf err;
    struct spool_line line;
    const char *good = GOOD(",\"unknown_member\":{}");
    assert_true(spool_line_read(good, strlen(good), &line, &err));
    spool_line_fini(&line);
}

/* ---- files ---- */

struct place {
    char folder[64];
    struct spool_file *file;
};

static int make_place(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    struct errbuf err = {{0}};
    snprintf(p->folder, sizeof p->folder, "/tmp/landfall-spool-XXXXXX");
    if (mkdtemp(p->folder) == NULL || !spool_file_create(p->folder, &stamp, &p->file, &err)) return -1;
    *state = p;
    return 0;
}

static int drop_place(void **state)
{
    struct place *p = *state;
    struct spool_names names;
    struct errbuf err;
    spool_file_remove(&p->file);
    if (spool_names(p->folder, &names, &err)) {
        for (size_t i = 0; i < names.count; i++) {
            char path[256];
            snprintf(path, sizeof path, "%s/%s", p->folder, names.name[i]);
            unlink(path);
        }
        spool_names_fini(&names);
    }
    int result = rmdir(p->folder);
    free(p);
    return result;
}

static void put(struct place *p, const struct attempt_report *r)
{
    struct errbuf err = {{0}};
    struct buf text;
    (void)line_of(r, &text);
    assert_true(spool_file_append(p->file, &text, &err));
    assert_true(spool_file_sync(p->file, &err));
    buf_fini(&text);
}

static void put_bytes(struct place *p, const char *bytes, size_t len)
{
    FILE *file = fopen(spool_file_path(p->file), "ab");
    assert_non_null(file);
    assert_int_equal(len, fwrite(bytes, 1, len, file));
    fclose(file);
}

static void what_has_ended_is_not_read_again(void **state)
{
    struct place *p = *state;
    struct errbuf err = {{0}};
    struct spool_content content;
    struct buf done;
    struct attempt_report first = a_report(1), second = a_report(2);
    put(p, &first);
    put(p, &second);
    put(p, &second);
    buf_init(&done, 1000);
    assert_true(spool_line_done(&done, &first, &err));
    assert_true(spool_file_append(p->file, &done, &err));
    buf_fini(&done);
    assert_true(spool_file_read(p->folder, "w-1.spool", &content, &err));
    assert_int_equal(5, content.lines);
    assert_int_equal(1, content.count);
    assert_int_equal(2, content.reports[0]->report.input.attempt);
    assert_string_equal("test", content.stamp->stamp.environment);
    assert_int_equal(3, content.stamp->stamp.partition);
    spool_content_fini(&content);
    spool_file_clear(p->file);
    assert_true(spool_file_read(p->folder, "w-1.spool", &content, &err));
    assert_int_equal(1, content.lines);
    assert_int_equal(0, content.count);
    spool_content_fini(&content);
}

static void a_torn_end_is_no_line(void **state)
{
    struct place *p = *state;
    struct errbuf err = {{0}};
    struct spool_content content;
    struct spool_file *file = NULL;
    struct attempt_report r = a_report(1);
    put(p, &r);
    put_bytes(p, "{\"v\":1,\"deli", 12);
    assert_true(spool_file_read(p->folder, "w-1.spool", &content, &err));
    assert_int_equal(1, content.count);
    assert_int_equal(0, content.unreadable);
    assert_int_equal(12, content.torn_bytes);
    spool_content_fini(&content);
    spool_file_leave(&p->file);
    assert_int_equal(SPOOL_FILE_TAKEN, spool_file_take(p->folder, "w-1.spool", &file, &err));
    spool_file_cut_torn(file, 12);
    p->file = file;
    put(p, &r);
    assert_true(spool_file_read(p->folder, "w-1.spool", &content, &err));
    assert_int_equal(0, content.torn_bytes + content.unreadable);
    spool_content_fini(&content);
}

static void unreadable_lines_are_counted_and_named(void **state)
{
    struct place *p = *state;
    struct errbuf err = {{0}};
    struct spool_content content;
    struct attempt_report r = a_report(1);
    put_bytes(p, "hand\n\0\n", 7);
    char *large = malloc(SPOOL_LINE_MAX_BYTES + 2);
    memset(large, 'x', SPOOL_LINE_MAX_BYTES + 1);
    large[SPOOL_LINE_MAX_BYTES + 1] = '\n';
    put_bytes(p, large, SPOOL_LINE_MAX_BYTES + 2);
    free(large);
    put(p, &r);
    assert_true(spool_file_read(p->folder, "w-1.spool", &content, &err));
    assert_int_equal(3, content.unreadable);
    assert_int_equal(2, content.first_bad_line);
    assert_non_null(strstr(content.why.text, "no JSON"));
    assert_int_equal(1, content.count);
    spool_content_fini(&content);
}

static void the_lock_says_whether_the_owner_lives(void **state)
{
    struct place *p = *state;
    struct errbuf err = {{0}};
    struct spool_file *file = NULL;
    int told[2];
    char byte;
    assert_int_equal(SPOOL_FILE_ALIVE, spool_file_take(p->folder, "w-1.spool", &file, &err));
    assert_int_equal(SPOOL_FILE_GONE, spool_file_take(p->folder, "nobody.spool", &file, &err));
    assert_int_equal(0, pipe(told));
    pid_t child = fork();
    if (child == 0) { /* an owner, until it is killed */
        struct spool_file *own = NULL;
        struct spool_stamp other = stamp;
        other.worker = "w-2";
        if (spool_file_create(p->folder, &other, &own, &err) && write(told[1], "x", 1) == 1) pause();
        _exit(1);
    }
    assert_int_equal(1, read(told[0], &byte, 1));
    assert_int_equal(SPOOL_FILE_ALIVE, spool_file_take(p->folder, "w-2.spool", &file, &err));
    kill(child, SIGKILL);
    assert_int_equal(child, waitpid(child, NULL, 0));
    assert_int_equal(SPOOL_FILE_TAKEN, spool_file_take(p->folder, "w-2.spool", &file, &err));
    spool_file_remove(&file);
    assert_int_equal(SPOOL_FILE_GONE, spool_file_take(p->folder, "w-2.spool", &file, &err));
    close(told[0]);
    close(told[1]);
}

static void a_name_that_is_taken_is_made_unique(void **state)
{
    struct place *p = *state;
    struct errbuf err = {{0}};
    struct spool_file *second = NULL;
    struct spool_names names;
    assert_true(spool_file_create(p->folder, &stamp, &second, &err));
    assert_true(spool_names(p->folder, &names, &err));
    assert_int_equal(2, names.count);
    spool_names_fini(&names);
    assert_true(spool_file_put_aside(&second, &err));
    assert_true(spool_names(p->folder, &names, &err));
    assert_int_equal(2, names.count);
    assert_int_equal(1, spool_name_is_aside(names.name[0]) + spool_name_is_aside(names.name[1]));
    spool_names_fini(&names);
}

static void a_link_or_a_folder_is_no_file(void **state)
{
    struct place *p = *state;
    struct errbuf err = {{0}};
    struct spool_file *file = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/l.spool", p->folder);
    assert_int_equal(0, symlink("/etc/passwd", path));
    assert_int_equal(SPOOL_FILE_ERROR, spool_file_take(p->folder, "l.spool", &file, &err));
    unlink(path);
    assert_int_equal(0, mkdir(path, 0700));
    assert_int_equal(SPOOL_FILE_ERROR, spool_file_take(p->folder, "l.spool", &file, &err));
    rmdir(path);
    assert_int_equal(0, mkfifo(path, 0600));
    assert_int_equal(SPOOL_FILE_ERROR, spool_file_take(p->folder, "l.spool", &file, &err));
    unlink(path);
}

static void a_line_that_does_not_fit_leaves_nothing(void **state)
{
    struct place *p = *state;
    struct errbuf err = {{0}};
    struct rlimit was, small;
    struct buf text;
    struct stat status;
    struct attempt_report r = a_report(1);
    put(p, &r);
    (void)line_of(&r, &text);
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &was));
    signal(SIGXFSZ, SIG_IGN);
    small = was;
    small.rlim_cur = (rlim_t)spool_file_bytes(p->file) + 20;
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
    bool ok = spool_file_append(p->file, &text, &err);
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &was));
    assert_false(ok);
    assert_non_null(strstr(err.text, "w-1.spool"));
    assert_int_equal(0, stat(spool_file_path(p->file), &status));
    assert_int_equal(spool_file_bytes(p->file), status.st_size);
    assert_false(spool_file_broken(p->file));
    assert_true(spool_file_append(p->file, &text, &err));
    buf_fini(&text);
}

static void a_folder_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct errbuf err = {{0}};
    struct spool_file *file = NULL;
    struct spool_names names;
    assert_false(spool_file_create("/nonexistent/folder", &stamp, &file, &err));
    assert_non_null(strstr(err.text, "/nonexistent/folder"));
    assert_false(spool_names("/nonexistent/folder", &names, &err));
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, drop_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_is_read_as_it_was_written),
        cmocka_unit_test(the_item_is_kept_only_where_it_may_be_needed),
        cmocka_unit_test(what_is_no_text_is_not_written),
        cmocka_unit_test(hostile_lines_are_refused),
        WITH_PLACE(what_has_ended_is_not_read_again),
        WITH_PLACE(a_torn_end_is_no_line),
        WITH_PLACE(unreadable_lines_are_counted_and_named),
        WITH_PLACE(the_lock_says_whether_the_owner_lives),
        WITH_PLACE(a_name_that_is_taken_is_made_unique),
        WITH_PLACE(a_link_or_a_folder_is_no_file),
        WITH_PLACE(a_line_that_does_not_fit_leaves_nothing),
        cmocka_unit_test(a_folder_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
