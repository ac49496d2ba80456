#include "tests/support/supervisor_log.h"

#include <criterion/criterion.h>
#include <string.h>

#define AT(s, text) "2026-11-26T00:13:" s "Z supervisor: " text

static const struct supervisor_log_kills kills[] = {{"gateway-1", 1}, {"postgres", 1}};
static char line[256];

static bool finds_crash(const char *text)
{
    line[0] = '\0';
    return supervisor_log_find_crash(
        text,
        &(struct supervisor_log_done){.kills = kills, .n_kills = sizeof(kills) / sizeof(kills[0])},
        line);
}

Test(supervisor_log, takes_no_crash_for_what_the_test_has_done)
{
    cr_expect_not(finds_crash(""));
    cr_expect_not(finds_crash(
        AT("01", "migrate: exited with status 0\n") AT("02", "gateway-1: exited with status 0\n")
            AT("02", "gateway-1: started, pid 4805\n") AT("03", "gateway-1: ended by signal 9\n")
                AT("03", "gateway-1: started, pid 4806")));
}

Test(supervisor_log, finds_a_signal_that_the_test_has_not_sent)
{
    cr_expect(finds_crash(AT("01", "gateway-1: ended by signal 9\n") AT(
        "02", "gateway-1: ended by signal 11\n") AT("03", "gateway-1: started, pid 4805\n")));
    cr_expect_str_eq(line, AT("02", "gateway-1: ended by signal 11"));
    cr_expect(finds_crash(AT("01", "gateway-1: ended by signal 6\n")));
}

Test(supervisor_log, finds_a_kill_more_than_the_test_has_sent)
{
    cr_expect(finds_crash(AT("01", "gateway-1: ended by signal 9\n")
                              AT("02", "gateway-1: ended by signal 9")));
    cr_expect_str_eq(line, AT("02", "gateway-1: ended by signal 9"));
    cr_expect(finds_crash(AT("01", "gateway-0: ended by signal 9\n")));
}

Test(supervisor_log, finds_a_status_other_than_0)
{
    cr_expect(finds_crash(AT("01", "audit-0: exited with status 3\n")));
    cr_expect(finds_crash(AT("01", "gateway-1: ended by signal 9\n")
                              AT("01", "gateway-1: exited with status 1\n")));
}

/* Its old processes hold its shared memory for a moment. */
Test(supervisor_log, allows_postgresql_to_fail_to_start_only_right_after_a_kill)
{
    cr_expect_not(finds_crash(AT("01", "postgres: ended by signal 9\n") AT(
        "01", "postgres: exited with status 1\n") AT("09", "postgres: exited with status 1\n")));
    cr_expect(finds_crash(AT("01", "postgres: exited with status 1\n")));
    cr_expect(finds_crash(AT("01", "postgres: ended by signal 9\n")
                              AT("59", "postgres: exited with status 1\n")));
    cr_expect(finds_crash(AT("01", "postgres: ended by signal 9\n")
                              AT("01", "postgres: exited with status 2\n")));
}

/* From 00:13:02 to 00:13:04, and again from 00:13:50 on. */
Test(supervisor_log, allows_postgresql_to_end_only_while_its_disk_is_full_and_right_after)
{
    static const struct supervisor_log_span spans[] = {{1795651982, 1795651984}, {1795652030, 0}};
    static const struct supervisor_log_done full = {.full = spans, .n_full = 2};

    cr_expect_not(supervisor_log_find_crash(AT("02", "postgres: exited with status 1\n")
                                                AT("09", "postgres: exited with status 1\n")
                                                    AT("59", "postgres: exited with status 1\n"),
                                            &full, line));
    cr_expect(supervisor_log_find_crash(AT("01", "postgres: exited with status 1\n"), &full, line));
    cr_expect(supervisor_log_find_crash(AT("20", "postgres: exited with status 1\n"), &full, line));
    cr_expect(supervisor_log_find_crash(AT("03", "audit-0: exited with status 1\n"), &full, line));
    cr_expect(supervisor_log_find_crash(AT("03", "postgres: ended by signal 6\n"), &full, line));
}
