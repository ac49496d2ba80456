#include "common/base/config.h"
#include "common/base/str.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
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
static char path[64];

static void name_file(void)
{
    snprintf(path, sizeof(path), "/tmp/config_test_%d", (int)getpid());
}

TestSuite(config, .init = name_file);

/* What was loaded before is forgotten: a program loads its settings once. */
static enum status load(void)
{
    config_forget((char *)config.url);
    config_forget((char *)config.key);
    config_forget((char *)config.note);
    config = (struct config){.url = NULL};
    return config_load(table, COUNT, &config, error);
}

#define STR_AND_SIZE(text) (text), sizeof(text) - 1

static void write_file(const char *content, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

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
    static const char *const bad[] = {"65536", "-2", "1x",  "1 1",
                                      "--1",   "-",  "1e3", "99999999999999999999"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        setenv("T_PORT", bad[i], 1);
        cr_assert_eq(config_load(&table[3], 1, &config, error), ST_REFUSED, "%s", bad[i]);
        cr_assert_str_eq(error, "setting T_PORT must be an integer from -1 to 65535");
    }
}

Test(config, takes_addresses_to_listen_on_and_no_names)
{
    static const struct setting address = {.name = "T_ADDRESS", .type = SETTING_ADDRESS};
    static const char *const good[] = {"127.0.0.1", "0.0.0.0", "::", "::1", "2001:db8::1"};
    static const char *const bad[] = {"localhost",  "*",          "127.1",   "[::]",
                                      "0.0.0.0:80", "10.0.0.0/8", "1.2.3.4."};
    const char *value;

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        setenv("T_ADDRESS", good[i], 1);
        cr_assert_eq(config_load(&address, 1, &value, error), ST_OK, "%s: %s", good[i], error);
        cr_assert_str_eq(value, good[i]);
        config_forget((char *)value);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        setenv("T_ADDRESS", bad[i], 1);
        cr_assert_eq(config_load(&address, 1, &value, error), ST_REFUSED, "%s", bad[i]);
        cr_assert_str_eq(error, "setting T_ADDRESS must be an IP address, such as 127.0.0.1, or :: "
                                "for all of IPv4 and IPv6");
    }
}

Test(config, refuses_what_is_neither_true_nor_false)
{
    setenv("T_URL", "a", 1);
    setenv("T_VERBOSE", "maybe", 1);
    cr_assert_eq(load(), ST_REFUSED);
    cr_assert_str_eq(error, "setting T_VERBOSE must be true or false");
}

/* What editors and tools on other systems write. */
Test(config, takes_the_line_in_a_file_without_its_line_ends)
{
    static const char *const same[] = {"one two", "one two\n", "one two\r\n", "one two\n\n\r\n"};

    setenv("T_URL_FILE", path, 1);
    for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
        write_file(same[i], strlen(same[i]));
        cr_assert_eq(load(), ST_OK, "%s", error);
        cr_assert_str_eq(config.url, "one two");
    }
    unlink(path);
}

static void expect_refused(const char *content, size_t n, const char *expected)
{
    write_file(content, n);
    cr_assert_eq(load(), ST_REFUSED, "%s", content);
    cr_expect_str_eq(error, expected);
}

Test(config, refuses_what_a_file_has_beside_one_line_and_says_what_to_do)
{
    setenv("T_URL_FILE", path, 1);
    expect_refused(STR_AND_SIZE("one\ntwo\n"),
                   "setting T_URL_FILE has more than one line; a value is one line");
    expect_refused(STR_AND_SIZE("one\rtwo"),
                   "setting T_URL_FILE has more than one line; a value is one line");
    expect_refused(STR_AND_SIZE("\xef\xbb\xbfone"),
                   "setting T_URL_FILE begins with a byte order mark; remove it");
    expect_refused(STR_AND_SIZE(" one\n"),
                   "setting T_URL_FILE begins or ends with a blank; remove it");
    expect_refused(STR_AND_SIZE("one\t\n"),
                   "setting T_URL_FILE begins or ends with a blank; remove it");
    expect_refused(STR_AND_SIZE("\"one\"\n"),
                   "setting T_URL_FILE is in quotation marks; remove them");
    expect_refused(STR_AND_SIZE("'one'"), "setting T_URL_FILE is in quotation marks; remove them");
    expect_refused(STR_AND_SIZE("\xff\xfeo\0n\0e\0"),
                   "setting T_URL_FILE has a zero byte; save it as UTF-8");
    expect_refused(STR_AND_SIZE("\n"), "setting T_URL_FILE is empty");
    unlink(path);
}

Test(config, takes_a_variable_in_the_same_way_as_a_file)
{
    setenv("T_URL", "one\r\n", 1);
    setenv("T_PORT", "8080\n", 1);
    cr_assert_eq(load(), ST_OK, "%s", error);
    cr_assert_str_eq(config.url, "one");
    cr_assert_eq(config.port, 8080);
    setenv("T_URL", "one ", 1);
    cr_assert_eq(load(), ST_REFUSED);
    cr_expect_str_eq(error, "setting T_URL begins or ends with a blank; remove it");
    setenv("T_URL", "one", 1);
    setenv("T_PORT", " 8080", 1);
    cr_assert_eq(load(), ST_REFUSED);
    cr_expect_str_eq(error, "setting T_PORT begins or ends with a blank; remove it");
    setenv("T_URL", "\n", 1);
    cr_assert_eq(load(), ST_REFUSED);
    cr_expect_str_eq(error, "setting T_URL is empty");
}

Test(config, refuses_files_that_are_absent)
{
    setenv("T_URL_FILE", "/nonexistent", 1);
    cr_assert_eq(load(), ST_REFUSED);
    cr_assert_str_eq(error, "setting T_URL_FILE cannot be read: No such file or directory");
}

/* -- files that are renewed --------------------------------------------------------------------- */

static void expect_current(const char *expected)
{
    char *text = config_current(config.url);

    cr_assert_str_eq(text, expected);
    config_forget(text);
}

Test(config, reads_a_renewed_file_and_keeps_its_text_while_the_file_has_a_fault)
{
    setenv("T_URL_FILE", path, 1);
    write_file(STR_AND_SIZE("first\r\n"));
    cr_assert_eq(load(), ST_OK, "%s", error);
    expect_current("first");
    write_file(STR_AND_SIZE("second\n"));
    expect_current("second");
    cr_redirect_stderr();
    write_file(STR_AND_SIZE("\n"));
    expect_current("second");
    expect_current("second");
    unlink(path);
    expect_current("second");
    write_file(STR_AND_SIZE("third"));
    expect_current("third");
    cr_assert_str_eq(config.url, "first");
    unlink(path);
}

static int count_faults(FILE *logged)
{
    char line[1024];
    int n = 0;

    fflush(stderr);
    rewind(logged);
    while (fgets(line, sizeof(line), logged) != NULL)
        n += strstr(line, "a setting's file has a fault") != NULL;
    return n;
}

Test(config, reports_the_fault_of_a_file_once_until_it_is_another)
{
    FILE *const logged = tmpfile();

    cr_assert_not_null(logged);
    cr_assert_geq(dup2(fileno(logged), STDERR_FILENO), 0);
    setenv("T_URL_FILE", path, 1);
    write_file(STR_AND_SIZE("first\n"));
    cr_assert_eq(load(), ST_OK, "%s", error);
    unlink(path);
    for (int i = 0; i < 3; i++)
        expect_current("first");
    cr_expect_eq(count_faults(logged), 1);
    write_file(STR_AND_SIZE("\n"));
    for (int i = 0; i < 3; i++)
        expect_current("first");
    cr_expect_eq(count_faults(logged), 2);
    write_file(STR_AND_SIZE("second\n"));
    expect_current("second");
    unlink(path);
    for (int i = 0; i < 3; i++)
        expect_current("second");
    cr_expect_eq(count_faults(logged), 3);
    fclose(logged);
}

Test(config, a_value_that_came_from_no_file_stays)
{
    setenv("T_URL", "here", 1);
    cr_assert_eq(load(), ST_OK);
    expect_current("here");
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
