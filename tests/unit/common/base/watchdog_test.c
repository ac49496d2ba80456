#include "common/base/watchdog.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "common/base/clock.h"

#define SECOND INT64_C(1000000)

Test(watchdog, does_not_miss_a_thread_that_reports)
{
    watchdog_begin("loop");
    watchdog_kick();
    cr_expect_eq(watchdog_overdue(SECOND, NULL), 0);
    watchdog_end();
}

Test(watchdog, does_not_miss_a_thread_that_waits_for_work)
{
    watchdog_begin("loop");
    watchdog_kick_at(clock_mono_us() + 60 * SECOND);
    cr_expect_eq(watchdog_overdue(0, NULL), 0);
    watchdog_end();
}

Test(watchdog, that_is_missing_names_its_thread_and_for_how_long)
{
    char reason[128] = "";

    watchdog_begin("conversation-0");
    watchdog_kick_at(clock_mono_us() - 4 * SECOND);
    cr_expect_eq(watchdog_overdue(5 * SECOND, reason), 0);
    cr_expect_str_empty(reason);
    cr_expect_eq(watchdog_overdue(WATCHDOG_READY_US, reason), 1);
    cr_expect_str_eq(reason, "thread conversation-0 has not responded for 4 s");
    watchdog_kick();
    cr_expect_eq(watchdog_overdue(WATCHDOG_READY_US, reason), 0);
}

Test(watchdog, is_not_expected_of_ended_threads)
{
    watchdog_begin("turns");
    watchdog_kick_at(clock_mono_us() - 20 * SECOND);
    cr_expect_eq(watchdog_overdue(WATCHDOG_LIVE_US, NULL), 1);
    watchdog_end();
    cr_expect_eq(watchdog_overdue(0, NULL), 0);
    watchdog_kick_at(0); /* a no-op: the thread has not begun */
    cr_expect_eq(watchdog_overdue(0, NULL), 0);
}

static void *stand(void *unused)
{
    watchdog_begin("a name that is longer than the kernel's room for one");
    watchdog_kick_at(clock_mono_us() - 20 * SECOND);
    return NULL;
}

Test(watchdog, is_counted_for_each_thread)
{
    char reason[128] = "";
    pthread_t thread;

    watchdog_begin("loop");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(pthread_create(&thread, NULL, stand, NULL), 0);
        cr_assert_eq(pthread_join(thread, NULL), 0);
    }
    cr_expect_eq(watchdog_overdue(WATCHDOG_LIVE_US, reason), 2);
    cr_expect(strstr(reason, "a name that is longer than the kernel's room for one"), "%s", reason);
}
