#include "common/base/config.h"
#include "common/base/str.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config {
    const char *url, *key, *note;
    int64_t port;
    bool verbose;
};

static const struct setting table[] = {
    {"T_URL", SETTING_STRING, offsetof(struct config, url), NULL, 0, 0, false, "Where."},
    {"T_KEY", SETTING_STRING, offsetof(struct config, key), "", 0, 0, true, "A|B."},
    {"T_NOTE", SETTING_STRING, offsetof(struct config, note), "none", 0, 0, false, "What."},
    {"T_PORT", SETTING_INT, offsetof(struct config, port), "80", -1, 65535, false, "Port."},
    {"T_VERBOSE", SETTING_BOOL, offsetof(struct config, verbose), "false", 0, 0, false, "More."},
};

#define COUNT ARRAY_SIZE(table)

static struct config config;
static char error[256];
static char path[] = "/tmp/config_test_XXXXXX";

static enum status load(void)
{
    return config_load(table, COUNT, &config, error);
}

static void write_file(const char *content, size_t n)
{
    int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, content, n), (ssize_t)n);
    close(fd);
}

Test(config, takes_defaults_for_what_is_absent_or_empty)
{
    setenv("T_URL", "nats://x", 1);
    setenv("T_NOTE", "", 1);
    cr_assert_eq(load(), ST_OK, "%s", error);
    cr_assert_str_eq(config.url, "nats://x");
    cr_assert_str_eq(config.key, "");
    cr_assert_str_eq(config.note, "none");
    cr_assert_eq(config.port, 80);
    cr_assert_not(config.verbose);
}

Test(config, takes_what_the_environment_says)
{
    setenv("T_URL", "a", 1);
    setenv("T_PORT", "-1", 1);
    setenv("T_VERBOSE", "true", 1);
    cr_assert_eq(load(), ST_OK);
    cr_assert_eq(config.port, -1);
    cr_assert(config.verbose);
}

Test(config, names_a_setting_that_is_missing)
{
    cr_assert_eq(load(), ST_REFUSED);
    cr_assert_str_eq(error, "setting T_URL is required");
}

Test(config, refuses_numbers_that_are_malformed_or_out_of_range)
{
    static const char *const bad[] = {"65536", "-2", "1x",  " 1",
                                      "--1",   "-",  "1e3", "99999999999999999999"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        setenv("T_PORT", bad[i], 1);
        cr_assert_eq(config_load(&table[3], 1, &config, error), ST_REFUSED, "%s", bad[i]);
        cr_assert_str_eq(error, "setting T_PORT must be an integer from -1 to 65535");
    }
}

Test(config, refuses_what_is_neither_true_nor_false)
{
    setenv("T_URL", "a", 1);
    setenv("T_VERBOSE", "maybe", 1);
    cr_assert_eq(load(), ST_REFUSED);
    cr_assert_str_eq(error, "setting T_VERBOSE must be true or false");
}

Test(config, reads_a_file_without_its_last_newline)
{
    write_file("one\ntwo\n", 8);
    setenv("T_URL_FILE", path, 1);
    cr_assert_eq(load(), ST_OK, "%s", error);
    cr_assert_str_eq(config.url, "one\ntwo");
    unlink(path);
}

Test(config, refuses_files_that_are_absent_or_hold_a_nul)
{
    setenv("T_URL_FILE", "/nonexistent", 1);
    cr_assert_eq(load(), ST_REFUSED);
    cr_assert_str_eq(error, "setting T_URL_FILE cannot be read: No such file or directory");
    write_file("a\0b", 3);
    setenv("T_URL_FILE", path, 1);
    cr_assert_eq(load(), ST_REFUSED);
    unlink(path);
}

Test(config, refuses_files_that_are_too_large)
{
    static char large[64 * 1024 + 1];

    memset(large, 'x', sizeof(large));
    write_file(large, sizeof(large));
    setenv("T_URL_FILE", path, 1);
    cr_assert_eq(load(), ST_REFUSED);
    unlink(path);
}

Test(config, refuses_a_setting_given_twice)
{
    setenv("T_URL", "topsecret", 1);
    setenv("T_URL_FILE", "/nonexistent", 1);
    cr_assert_eq(load(), ST_REFUSED);
    cr_assert_null(strstr(error, "topsecret"));
}

Test(config, prints_values_but_no_secret)
{
    cr_redirect_stdout();
    setenv("T_URL", "a", 1);
    setenv("T_KEY", "topsecret", 1);
    cr_assert_eq(load(), ST_OK);
    config_print(table, COUNT, &config);
    fflush(stdout);
    cr_assert_stdout_eq_str("T_URL=a\nT_KEY=********\nT_NOTE=none\nT_PORT=80\nT_VERBOSE=false\n");
}

Test(config, describes_itself_as_a_table)
{
    cr_redirect_stdout();
    config_describe(table, COUNT, "program");
    fflush(stdout);
    cr_assert_stdout_eq_str("## program\n\n"
                            "| setting | default | values | meaning |\n"
                            "| --- | --- | --- | --- |\n"
                            "| `T_URL` | required | text | Where. |\n"
                            "| `T_KEY` | empty | secret text | A\\|B. |\n"
                            "| `T_NOTE` | `none` | text | What. |\n"
                            "| `T_PORT` | `80` | -1 to 65535 | Port. |\n"
                            "| `T_VERBOSE` | `false` | true, false | More. |\n\n");
}
