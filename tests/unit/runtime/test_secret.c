/* SPDX-License-Identifier: MIT */
/* Where secrets come from, what is refused, and that nothing of one stays where others can read it. */
#include "tests/unit/runtime/test.h"

#include <sodium.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "runtime/secret.h"

#define CANARY "CANARY-7f3a/+\"q z"

static void assert_secret_is(const struct secret *secret, const char *expected)
{
    size_t len = 0;
    assert_non_null(secret);
    const char *bytes = secret_bytes(secret, &len);
    assert_int_equal(len, strlen(expected));
    assert_string_equal(bytes, expected);
}

/* secret NULL: refused, with a part of the error text */
static const struct {
    const char *bytes;
    size_t len;
    const char *secret, *error;
} files[] = {
#define BYTES(text) text, sizeof(text) - 1
    {BYTES("canary"), "canary", NULL},
    {BYTES("canary\n"), "canary", NULL},
    {BYTES("canary\r\n"), "canary", NULL},
    {BYTES(" \t canary  \n\n"), "canary", NULL},
    {BYTES("\xEF\xBB\xBF"
           "canary\r\n"),
     "canary", NULL},
    {BYTES("two words"), "two words", NULL},
    {BYTES("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F", NULL},
    {BYTES("canary\ncanary2"), NULL, "has a line break, NUL or other control character inside"},
    {BYTES("canary\r\nX-Header: 1\n"), NULL, "has a line break, NUL or other control character inside"},
    {BYTES("can\0ary"), NULL, "has a line break, NUL or other control character inside"},
    {BYTES("canary\0"), NULL, "has a line break, NUL or other control character inside"},
    {BYTES("can\tary"), NULL, "has a line break, NUL or other control character inside"},
    {BYTES("can\x7f"
           "ary"),
     NULL, "has a line break, NUL or other control character inside"},
    {BYTES(""), NULL, "is empty"},
    {BYTES(" \r\n"), NULL, "is empty"},
    {BYTES("\xEF\xBB\xBF\n"), NULL, "is empty"},
};

static void test_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        struct secret *secret = NULL;
        struct errbuf err = {""};
        write_file("token", files[i].bytes, files[i].len);
        bool done = secret_from_file("token", &secret, &err);
        if (done != !files[i].error) fail_msg("file %zu: %s", i, err.text);
        if (done) {
            assert_secret_is(secret, files[i].secret);
        } else {
            assert_null(secret);
            assert_contains(err.text, "token: ");
            assert_contains(err.text, files[i].error);
            assert_lacks(err.text, "can");
        }
        secret_free(&secret);
        assert_null(secret);
    }
}

static void test_file_sizes(void **state)
{
    (void)state;
    struct secret *secret = NULL;
    struct errbuf err;
    static char text[SECRET_MAX_BYTES + 1];
    memset(text, 'k', sizeof text);
    write_file("token", text, SECRET_MAX_BYTES);
    assert_true(secret_from_file("token", &secret, &err));
    secret_free(&secret);
    write_file("token", text, SECRET_MAX_BYTES + 1);
    assert_false(secret_from_file("token", &secret, &err));
    assert_contains(err.text, "token: longer than 16384 bytes");
    assert_false(secret_from_file("none", &secret, &err));
    assert_string_equal(err.text, "file: there is no such file; names are seen from the configuration's folder");
    assert_false(secret_from_file(".", &secret, &err));
    assert_string_equal(err.text, ".: cannot be read: Is a directory");
}

/* ---- the environment: the program runs itself anew, so that the variables stand where the kernel put them ---- */

static size_t read_own_environment(char *out, size_t size)
{
    int fd = open("/proc/self/environ", O_RDONLY);
    ssize_t len = fd < 0 ? 0 : read(fd, out, size);
    if (fd >= 0) close(fd);
    return len < 0 ? 0 : (size_t)len;
}

static bool own_environment_has(const char *text)
{
    static char bytes[64 * 1024];
    size_t len = read_own_environment(bytes, sizeof bytes);
    return memmem(bytes, len, text, strlen(text)) != NULL;
}

/* What the child checks, in two parts; its exit code is the number of the first check that failed. */
static int take_from_environment(void)
{
    struct secret *secret = NULL;
    struct secret *again = NULL;
    struct errbuf err;
    size_t len = 0;

    if (!own_environment_has("OTHER=stays") || !own_environment_has("CANARY-7f3a")) return 1;
    if (!secret_from_env("LANDFALL_TEST_TOKEN", &secret, &err) || !secret) return 2;
    if (strcmp(secret_bytes(secret, &len), "CANARY-7f3a") != 0) return 3; /* trimmed */
    if (getenv("LANDFALL_TEST_TOKEN")) return 4;
    if (own_environment_has("CANARY-7f3a")) return 5;
    if (!own_environment_has("OTHER=stays")) return 6;
    if (!secret_from_env("LANDFALL_TEST_TOKEN", &again, &err) || !secret_equal(secret, again))
        return 7; /* after a reload */
    secret_free(&again);
    secret_free(&secret);
    return 0;
}

static int refuse_from_environment(void)
{
    struct secret *secret = NULL;
    struct errbuf err;

    if (!secret_from_env("LANDFALL_TEST_NEVER_SET", &secret, &err) || secret) return 8;
    if (!own_environment_has("CANARY")) return 9;
    if (secret_from_env("LANDFALL_TEST_BROKEN", &secret, &err) || secret) return 10;
    if (!strstr(err.text, "LANDFALL_TEST_BROKEN: has a line break") || strstr(err.text, "CANARY")) return 11;
    if (getenv("LANDFALL_TEST_BROKEN") || own_environment_has("CANARY")) return 12;
    return 0;
}

static int child(void)
{
    int failed = take_from_environment();
    return failed ? failed : refuse_from_environment();
}

static void test_environment(void **state)
{
    (void)state;
    static char token[] = "LANDFALL_TEST_TOKEN= CANARY-7f3a\n";
    static char broken[] = "LANDFALL_TEST_BROKEN=CANARY\nX: 1";
    static char other[] = "OTHER=stays";
    static char name[] = "test";
    static char argument[] = "child";
    char *const environment[] = {token, other, broken, NULL};
    char *const arguments[] = {name, argument, NULL};
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execve("/proc/self/exe", arguments, environment);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- masking ---- */

static void masked(const char *text, char *out, size_t size)
{
    secret_mask(out, size, text, strlen(text));
}

static void test_masking_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text, *masked;
    } texts[] = {
        {"nothing here", "nothing here"},
        {"Bearer " CANARY ".", "Bearer ***."},
        {CANARY CANARY, "******"},
        {"?access_token=CANARY-7f3a%2F%2B%22q%20z&x=1", "?access_token=***&x=1"},
        {"?access_token=CANARY-7f3a%2f%2b%22q%20z", "?access_token=***"},
        {"{\"error\":\"bad token CANARY-7f3a/+\\\"q z\"}", "{\"error\":\"bad token ***\"}"},
        {"{\"error\":\"bad token CANARY-7f3a\\/+\\\"q z\"}", "{\"error\":\"bad token ***\"}"},
        {"/path/CANARY-7f3a/%2B%22q%20z/x", "/path/***/x"},
        {"token=CANARY-7f3a%2F%2B%22q+z&a", "token=***&a"},
        {"/?t=CANARY-7f3a/+%22q%20z", "/?t=***"},
        {"{\"e\":\"CANARY-7f3a/\\u002B\\u0022q z\"}", "{\"e\":\"***\"}"},
        {"<p>bad token CANARY-7f3a/+&quot;q z</p>", "<p>bad token ***</p>"},
        {"body cut here: CANARY-7f", "body cut here: ***"}, /* an excerpt's end */
        {"CANARY- is short", "CANARY- is short"},
        {"CANARY-7f3b", "CANARY-7f3b"},
        {"CANARY", "CANARY"}, /* as an end too short to tell */
    };
    struct secret *secret = secret_new(CANARY, strlen(CANARY));
    char out[256];
    for (size_t i = 0; i < COUNT(texts); i++) {
        masked(texts[i].text, out, sizeof out);
        assert_string_equal(out, texts[i].masked);
    }
    secret_free(&secret);
    masked("Bearer " CANARY, out, sizeof out);
    assert_string_equal(out, "Bearer " CANARY); /* it is no longer known */
}

/* Basic authentication and the like: base64 with anything in front and behind, in both alphabets. */
static void test_masking_base64(void **state)
{
    (void)state;
    static const int variants[] = {sodium_base64_VARIANT_ORIGINAL, sodium_base64_VARIANT_URLSAFE};
    static const char secret_text[] = "p>s?s>w?r~-0123";
    struct secret *secret = secret_new(secret_text, strlen(secret_text));
    for (size_t before = 0; before < 7; before++) {
        for (size_t after = 0; after < 4; after++) {
            for (size_t i = 0; i < COUNT(variants); i++) {
                char plain[64], encoded[128], out[128];
                (void)snprintf(plain, sizeof plain, "%.*s%s%.*s", (int)before, "user:xx", secret_text, (int)after,
                               "tail");
                sodium_bin2base64(encoded, sizeof encoded, (unsigned char *)plain, strlen(plain), variants[i]);
                masked(encoded, out, sizeof out);
                assert_contains(out, "***");
                assert_true(strlen(out) <= 3 + (before * 8 + 5) / 6 + 1 + (after * 8 + 5) / 6 + 3);
            }
        }
    }
    secret_free(&secret);
}

/* Signed for one request and forgotten: nobody knows them any more when a platform repeats them. */
static void test_masking_web_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *text, *masked;
    } texts[] = {
        {"Ghost eyJhbGciOiJIUzI1NiJ9.eyJpYXQiOjE3OX0.geSnhF_gUEr-f2qO, wrong", "Ghost ***, wrong"},
        {"{\"accessJwt\":\"eyJhbGciOiJIUzI1NiJ9.eyJpYXQiOjE3OX0.x\"}", "{\"accessJwt\":\"***\"}"},
        {"eyJhbGciOiJIUzI1NiJ9.eyJpYXQi", "***"}, /* cut */
        {"eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9"},
        {"eyJhbGciOiJIUzI1NiJ9. A sentence", "eyJhbGciOiJIUzI1NiJ9. A sentence"},
        {"eyJ.a", "eyJ.a"},
        {"eyJ", "eyJ"},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        char out[256];
        masked(texts[i].text, out, sizeof out);
        assert_string_equal(out, texts[i].masked);
    }
}

/* A fleet of ten thousand channels whose secrets begin alike, or are all the same one: a step for each of them and not
 * one for each two of them, else this takes minutes. */
static void test_masking_one_many_times(void **state)
{
    (void)state;
    static struct secret *secrets[20000];
    char out[64];
    for (size_t i = 0; i < COUNT(secrets); i++)
        secrets[i] = secret_new(CANARY, strlen(CANARY));
    for (size_t i = 0; i + 1 < COUNT(secrets); i++)
        secret_free(&secrets[i]);
    masked("a " CANARY " b", out, sizeof out);
    assert_string_equal(out, "a *** b"); /* one of them lives */
    secret_free(&secrets[COUNT(secrets) - 1]);
    masked("a " CANARY " b", out, sizeof out);
    assert_string_equal(out, "a " CANARY " b");
}

static void test_masking_many(void **state)
{
    (void)state;
    static struct secret *secrets[20000];
    char text[64], out[64];
    for (size_t i = 0; i < COUNT(secrets); i++) {
        (void)snprintf(text, sizeof text, "token-%zu-with-a-common-start", i);
        secrets[i] = secret_new(text, strlen(text));
    }
    masked("a token-1234-with-a-common-start", out, sizeof out);
    assert_string_equal(out, "a ***");
    struct secret *twice = secret_copy(secrets[7]);
    for (size_t i = 0; i < COUNT(secrets); i++)
        secret_free(&secrets[i]);
    masked("a token-7-with-a-common-start b", out, sizeof out);
    assert_string_equal(out, "a *** b"); /* the copy lives */
    secret_free(&twice);
    masked("a token-7-with-a-common-start b", out, sizeof out);
    assert_string_equal(out, "a token-7-with-a-common-start b");
}

/* It passes over most positions quickly, and over none that begins a secret. */
static void test_searching(void **state)
{
    (void)state;
    static const char *const pieces[] = {CANARY,    "eyJhbGciOiJIUzI1NiJ9.eyJpYXQi", "eyJ", "e", "CANA", "x", " ",
                                         "\xC3\xA4"};
    struct secret *secret = secret_new(CANARY, strlen(CANARY));
    unsigned long random = 1;
    for (int round = 0; round < 2000; round++) {
        char text[256];
        size_t len = 0;
        while (len < 200) {
            random = random * 6364136223846793005UL + 1442695040888963407UL;
            const char *piece = pieces[(random >> 33) % COUNT(pieces)];
            size_t piece_len = strlen(piece);
            if (len + piece_len > sizeof text) break;
            memcpy(text + len, piece, piece_len);
            len += piece_len;
        }
        size_t within = (random >> 20) % (len + 1), expected = 0;
        while (expected < within && secret_match(text + expected, len - expected) == 0)
            expected++;
        assert_int_equal(secret_search(text, len, within), expected);
    }
    secret_free(&secret);
}

static void test_masking_fits(void **state)
{
    (void)state;
    struct secret *secret = secret_new("secret-value", 12);
    char out[16];
    for (size_t size = 1; size <= sizeof out; size++) {
        memset(out, 'x', sizeof out);
        size_t len = secret_mask(out, size, "abcsecret-valuedefghijklmnop", 28);
        assert_true(len < size);
        assert_int_equal(strlen(out), len);
        assert_int_equal(strncmp(out, "abc***defghijklmnop", len), 0);
    }
    secret_free(&secret);
}

static void test_short_and_odd_secrets(void **state)
{
    (void)state;
    char out[64];
    struct secret *tiny = secret_new("abcd", 4);
    struct secret *binary = secret_new("\0\1\2\3\4\5\6\7\0\0", 10); /* a derived key */
    masked("abcd abcd", out, sizeof out);
    assert_string_equal(out, "abcd abcd");
    assert_int_equal(secret_match("\0\1\2\3\4\5\6\7\0\0zz", 12), 10);
    assert_int_equal(secret_match("", 0), 0);
    secret_free(&tiny);
    secret_free(&binary);
    secret_free(&binary); /* NULL by now */
}

static void test_equality(void **state)
{
    (void)state;
    struct secret *a = secret_new("one", 3);
    struct secret *b = secret_new("two", 3);
    struct secret *c = secret_copy(a);
    assert_true(secret_equal(a, c));
    assert_false(secret_equal(a, b));
    assert_false(secret_equal(a, NULL));
    assert_true(secret_equal(NULL, NULL));
    secret_free(&a);
    secret_free(&b);
    secret_free(&c);
}

static void test_protection(void **state)
{
    (void)state;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit cores;
        secret_protect_process();
        bool none = getrlimit(RLIMIT_CORE, &cores) == 0 && cores.rlim_cur == 0 && cores.rlim_max == 0;
        _exit(none && prctl(PR_GET_DUMPABLE) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "child") == 0) return child();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(test_file_sizes, enter_folder, leave_folder),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_masking_forms),
        cmocka_unit_test(test_masking_base64),
        cmocka_unit_test(test_masking_one_many_times),
        cmocka_unit_test(test_masking_many),
        cmocka_unit_test(test_masking_web_tokens),
        cmocka_unit_test(test_searching),
        cmocka_unit_test(test_masking_fits),
        cmocka_unit_test(test_short_and_odd_secrets),
        cmocka_unit_test(test_equality),
        cmocka_unit_test(test_protection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
