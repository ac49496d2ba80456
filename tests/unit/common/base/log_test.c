#include "common/base/log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/base/version.h"

static int ends[2];
static char line[2 * PIPE_BUF];

/* Standard error becomes a pipe that the test reads. */
static void setup(void)
{
    cr_assert_eq(pipe2(ends, O_NONBLOCK), 0);
    cr_assert_geq(dup2(ends[1], STDERR_FILENO), 0);
    log_open("testing", "3", NULL, LOG_INFO);
}

TestSuite(log, .init = setup);

/* The output, which must be one line with one JSON object. */
static json_t *written(void)
{
    ssize_t n = read(ends[0], line, sizeof(line) - 1);
    json_t *object;

    cr_assert_gt(n, 0);
    cr_assert_leq(n, PIPE_BUF);
    line[n] = '\0';
    cr_assert_eq(strchr(line, '\n'), line + n - 1);
    object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(json_is_object(object), "%s", line);
    return object;
}

static const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

Test(log, writes_one_object_with_its_fields)
{
    json_t *object;

    LOG(LOG_WARNING, "link lost", log_str("a", "x"), log_int("b", INT64_MIN), log_bool("c", true),
        log_str("d", NULL), log_slice("e", STR("yz")), log_str(NULL, "left out"));
    object = written();
    cr_assert_str_eq(text(object, "level"), "warning");
    cr_assert_str_eq(text(object, "service"), "testing");
    cr_assert_str_eq(text(object, "instance"), "3");
    cr_assert_str_eq(text(object, "version"), version_text);
    cr_assert_str_eq(text(object, "message"), "link lost");
    cr_assert_str_eq(text(object, "a"), "x");
    cr_assert_eq(json_integer_value(json_object_get(object, "b")), INT64_MIN);
    cr_assert(json_is_true(json_object_get(object, "c")));
    cr_assert(json_is_null(json_object_get(object, "d")));
    cr_assert_str_eq(text(object, "e"), "yz");
    cr_assert_eq(strlen(text(object, "time")), strlen("2024-01-01T00:00:00.000Z"));
    json_decref(object);
}

Test(log, writes_nothing_when_it_is_off)
{
    enum log_level level;

    log_open("testing", "3", NULL, LOG_OFF);
    LOG(LOG_ERROR, "unheard");
    cr_assert_eq(read(ends[0], line, sizeof(line)), -1);
    cr_assert_not(log_level_parse("off", &level));
}

Test(log, needs_no_fields_and_leaves_errno)
{
    errno = EDOM;
    LOG(LOG_ERROR, "bare");
    cr_assert_eq(errno, EDOM);
    json_decref(written());
}

Test(log, says_nothing_below_its_level)
{
    LOG(LOG_DEBUG, "quiet");
    cr_assert_eq(read(ends[0], line, sizeof(line)), -1);
    cr_assert_eq(errno, EAGAIN);
}

Test(log, escapes_whatever_is_in_a_string)
{
    json_t *object;

    LOG(LOG_INFO, "m", log_slice("s", STR("\"\\\n\x01\xC3\xA4\xFF<")));
    object = written();
    cr_assert_str_eq(text(object, "s"), "\"\\\n\x01\xC3\xA4\xEF\xBF\xBD<");
    json_decref(object);
}

/* A terminal that shows the log would execute them: U+009B is the same as ESC [. */
Test(log, escapes_the_control_characters_of_all_ranges)
{
    LOG(LOG_INFO, "m", log_str("s", "\x1B[2J \x7F \xC2\x9B, \xC2\xA0"));
    json_decref(written());
    cr_assert(strstr(line, "\"\\u001b[2J \\u007f \\u009b, \xC2\xA0\""), "%s", line);
}

Test(log, cuts_long_strings_between_characters)
{
    static char wide[3001];
    json_t *object;
    size_t n;

    for (size_t i = 0; i < 1000; i++)
        memcpy(wide + 3 * i, "\xE2\x82\xAC", 3);
    LOG(LOG_INFO, "m", log_str("s", wide));
    object = written();
    n = strlen(text(object, "s"));
    cr_assert_eq(n, 999);
    json_decref(object);
}

Test(log, leaves_out_fields_that_do_not_fit)
{
    static char full[1001];
    json_t *object;

    memset(full, 'x', 1000);
    LOG(LOG_INFO, "m", log_str("a", full), log_str("b", full), log_str("c", full),
        log_str("d", full), log_int("e", 1));
    object = written();
    cr_assert_not_null(json_object_get(object, "c"));
    cr_assert_null(json_object_get(object, "d"));
    cr_assert_not_null(json_object_get(object, "e"));
    json_decref(object);
}

Test(log, counts_lines_that_cannot_be_written)
{
    uint64_t before = log_dropped();

    close(STDERR_FILENO);
    LOG(LOG_INFO, "lost");
    cr_assert_eq(log_dropped(), before + 1);
}

Test(log, a_broken_invariant_aborts, .signal = SIGABRT)
{
    must(1 + 1 == 3);
}
