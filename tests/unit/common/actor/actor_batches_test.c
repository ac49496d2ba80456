/* Two batches of an actor at once: neither waits for the other or fails with it. */
#include <time.h>

#include "tests/unit/common/actor/actor_fixture.h"

#define SESSIONS "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
#define END_WHAT_SLEEPS                                                                            \
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"                                       \
    " WHERE datname = current_database() AND wait_event = 'PgSleep'"

static void setup_both(void)
{
    batches = 2;
    setup();
}

TestSuite(actor_batches, .init = setup_both, .fini = teardown);

static void put(const char *body)
{
    command_client_send(client, SAMPLE_PUT, body, COMMAND_NORMAL);
    push();
}

static void await_sleeping(void)
{
    postgres_await(url, SESSIONS " AND wait_event = 'PgSleep'");
}

Test(actor_batches, runs_one_while_another_waits)
{
    hold_back();
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    command_client_await(client, 10);
    cr_assert_eq(command_client_count(client, "created"), 10);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 10);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 10);
    open_gate();
    command_client_await(client, 10 + 1);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 10 + 1);
}

Test(actor_batches, runs_one_while_another_commits)
{
    put("slow-commit");
    await_sleeping();
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    command_client_await(client, 10);
    cr_assert_eq(command_client_count(client, "created"), 10);
    postgres_do(url, END_WHAT_SLEEPS);
    command_client_await(client, 10 + 1);
    cr_assert_eq(command_client_count(client, "uncertain"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 10);
    ask_until("then", "created then");
}

/* The command of the lost connection is not written; the other connection continues. */
Test(actor_batches, loses_one_connection_and_not_the_other)
{
    hold_back();
    put("long-60000");
    await_sleeping();
    postgres_do(url, END_WHAT_SLEEPS);
    command_client_await(client, 1);
    cr_assert_eq(command_client_count(client, "unavailable"), 1);
    put("item");
    command_client_await(client, 2);
    cr_assert_eq(command_client_count(client, "created"), 1);
    open_gate();
    command_client_await(client, 3);
    cr_assert_eq(command_client_count(client, "created"), 2);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 2);
}

Test(actor_batches, waits_for_the_rest_of_one_while_another_runs)
{
    hold_back();
    put("rest-long-60000");
    await_sleeping();
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    command_client_send(client, SAMPLE_PUT, "rest-item", COMMAND_NORMAL);
    push();
    open_gate();
    command_client_await(client, 12);
    cr_assert_eq(command_client_count(client, "created"), 12);
    postgres_do(url, END_WHAT_SLEEPS);
    command_client_await(client, 13);
    cr_assert_eq(command_client_count(client, "unavailable"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 1 + 10 + 2);
}

Test(actor_batches, finds_failures_in_one_while_another_runs)
{
    hold_back();
    command_client_send(client, SAMPLE_PUT, "bad", COMMAND_NORMAL);
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    command_client_await(client, 11);
    cr_assert_eq(command_client_count(client, "created"), 10);
    cr_assert_eq(command_client_count(client, "server_error"), 1);
    open_gate();
    command_client_await(client, 11 + 1);
}

static int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Both batches are blocked. A new command waits for one of them, and the actor sleeps. */
Test(actor_batches, begins_no_third_one_and_sleeps)
{
    int64_t start_us, cpu_before_us;

    hold_back();
    command_client_send(client, SAMPLE_BLOCK, "", COMMAND_NORMAL);
    push();
    postgres_await(url, "SELECT (count(*) = 2)::int FROM pg_stat_activity"
                        " WHERE datname = current_database() AND wait_event_type = 'Lock'");
    put("item");
    start_us = clock_mono_us();
    cpu_before_us = cpu_us();
    while (clock_mono_us() - start_us < 300 * 1000)
        usleep(10 * 1000);
    cr_assert_lt(cpu_us() - cpu_before_us, (clock_mono_us() - start_us) / 4);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 0);
    open_gate();
    command_client_await(client, 3);
    cr_assert_eq(command_client_count(client, "created"), 3);
}

/* The median time of 20 calls, one after the other. */
static int64_t time_of_calls(void)
{
    int64_t took_us[20];

    for (size_t i = 0; i < ARRAY_SIZE(took_us); i++) {
        const int64_t start_us = clock_mono_us();

        cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "item", COMMAND_NORMAL),
                         "created item");
        took_us[i] = clock_mono_us() - start_us;
    }
    return percentile(took_us, ARRAY_SIZE(took_us), 50);
}

/* The actor retries the second connection, and no command waits for that. Other work of the machine
   may lengthen all calls of an attempt. */
Test(actor_batches, works_with_one_connection_if_there_is_no_other)
{
    static char alone[POSTGRES_URL_MAX];
    const int64_t with_both_us = time_of_calls();
    int attempts = 1;

    actor_free(actor);
    actor = NULL;
    postgres_do(url, "CREATE ROLE alone LOGIN CONNECTION LIMIT 1;"
                     "GRANT ALL ON ALL TABLES IN SCHEMA audit, cell, public TO alone;"
                     "GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO alone;"
                     "GRANT USAGE ON SCHEMA audit, cell, migration TO alone");
    postgres_url_as(&database, "alone", alone);
    actor_url = alone;
    start_actor(0);
    while (time_of_calls() >= 5 * with_both_us)
        cr_assert_lt(attempts++, 3);
    cr_assert_eq(count(SESSIONS " AND usename = 'alone'"), 1);
}

Test(actor_batches, finishes_both_when_it_is_stopped)
{
    hold_back();
    put("long-1500");
    await_sleeping();
    actor_stop(actor);
    open_gate();
    command_client_await(client, 2);
    cr_assert_eq(command_client_count(client, "created"), 2);
}
