/* What an actor does with its commands. */
#include <poll.h>
#include <sys/resource.h>

#include "tests/unit/common/actor/actor_fixture.h"

enum { PAGES = 8 };

TestSuite(actor, .init = setup, .fini = teardown);

/* -- batches ----------------------------------------------------------------------------------- */

Test(actor, answers_a_command_and_records_it)
{
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "one", COMMAND_NORMAL), "created one");
    cr_assert_eq(command_client_count_unrecorded(client), 0);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id = 'one'"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 201"
                       " AND operation = 'conversation.create' AND outcome = 'allowed'"
                       " AND denial_reason IS NULL AND contact_id IS NULL"
                       " AND conversation_id IS NOT NULL"),
                 1);
}

Test(actor, lets_a_command_ask_for_more_in_the_same_transaction)
{
    hold_back();
    command_client_send(client, SAMPLE_PUT, "one", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "more-bad", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "more-two", COMMAND_NORMAL);
    let_go();
    command_client_await(client, 4);
    cr_assert_eq(command_client_count(client, "created"), 3);
    cr_assert_eq(command_client_count(client, "server_error"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id IN ('one', 'more-two', 'two')"), 3);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id = 'more-bad'"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 4);
}

Test(actor, asks_for_the_rest_of_a_batch_together_in_the_same_transaction)
{
    hold_back();
    command_client_send(client, SAMPLE_PUT, "one", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "rest-bad", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "rest-two", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "rest-three", COMMAND_NORMAL);
    let_go();
    command_client_await(client, 5);
    cr_assert_eq(command_client_count(client, "created"), 4);
    cr_assert_eq(command_client_count(client, "server_error"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample"
                       " WHERE id IN ('one', 'rest-two', 'two', 'rest-three', 'three')"),
                 5);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id = 'rest-bad'"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 5);
}

Test(actor, says_that_it_recorded_nothing_without_an_audit_sink)
{
    static struct service reader;

    reader = sample_service;
    reader.audit_sink = NULL;
    actor_free(actor);
    start_actor_of(&reader, 0);
    int before = command_client_count_unrecorded(client);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "one", COMMAND_NORMAL), "created one");
    cr_assert_eq(command_client_count_unrecorded(client), before + 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
}

Test(actor, commits_waiting_commands_together_with_their_entries)
{
    hold_back();
    for (int i = 0; i < 100; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    let_go();
    command_client_await(client, 101);
    cr_assert_eq(command_client_count(client, "created"), 101);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 101);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 101);
    /* The transaction that held the others back, and few more, each with its entries. */
    cr_assert_leq(count("SELECT count(DISTINCT xmin::text) FROM sample"), 10);
    cr_assert_eq(count("SELECT count(*) FROM (SELECT xmin::text FROM sample EXCEPT"
                       " SELECT xmin::text FROM audit.entries) AS t"),
                 0);
}

Test(actor, runs_commands_in_the_order_of_their_locks)
{
    hold_back();
    command_client_send(client, SAMPLE_PUT, "order-3", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "order-1", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "order-2", COMMAND_NORMAL);
    let_go();
    command_client_await(client, 4);
    cr_assert_eq(count("SELECT count(*) FROM (SELECT string_agg(id, ',' ORDER BY seq) AS ids"
                       " FROM sample WHERE id LIKE 'order-%') AS t"
                       " WHERE ids = 'order-1,order-2,order-3'"),
                 1);
}

Test(actor, keeps_a_bad_command_from_harming_its_neighbours)
{
    hold_back();
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "before-%d", i);
    command_client_send(client, SAMPLE_PUT, "bad", COMMAND_NORMAL);
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "after-%d", i);
    let_go();
    command_client_await(client, 22);
    cr_assert_eq(command_client_count(client, "created"), 21);
    cr_assert_eq(command_client_count(client, "server_error"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 21);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 22);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 500"
                       " AND outcome = 'error'"),
                 1);
    /* Not one transaction for each command. */
    cr_assert_leq(count("SELECT count(DISTINCT xmin::text) FROM sample"), 2);
    cr_assert_eq(metric_read(metrics->fallbacks), 1);
}

Test(actor, refuses_only_organizations_that_another_cell_serves)
{
    postgres_do(url, "INSERT INTO cell.moves VALUES ('" OTHER_ORGANIZATION "', 'gone')");
    hold_back();
    for (int i = 0; i < 40; i++)
        command_client_send(client, SAMPLE_PUT_ALL, i % 4 == 0 ? "closed" : "open",
                            i % 4 == 0 ? COMMAND_OTHER_ORGANIZATION : COMMAND_NORMAL);
    let_go();
    command_client_await(client, 41);
    cr_assert_eq(command_client_count(client, "created"), 31);
    cr_assert_eq(command_client_count(client, "unavailable"), 10);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id = 'closed'"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 31);
    cr_assert_leq(metric_read(metrics->fallbacks), 3, "all of a batch at once");

    command_client_reset(client);
    postgres_do(url, "UPDATE cell.moves SET state = 'leaving'");
    command_client_send(client, SAMPLE_PUT_ALL, "leaving", COMMAND_OTHER_ORGANIZATION);
    command_client_await(client, 1);
    cr_assert_eq(command_client_count(client, "created"), 1);
}

Test(actor, finds_the_failing_ones_among_many_of_one_statement)
{
    hold_back();
    for (int i = 0; i < 60; i++)
        if (i % 20 == 0)
            command_client_send(client, SAMPLE_PUT_ALL, "bad", COMMAND_NORMAL);
        else
            command_client_send_number(client, SAMPLE_PUT_ALL, "item-%d", i);
    command_client_send(client, SAMPLE_PUT, "other", COMMAND_NORMAL);
    let_go();
    command_client_await(client, 1 + 60 + 1);
    cr_assert_eq(command_client_count(client, "created"), 1 + 57 + 1);
    cr_assert_eq(command_client_count(client, "server_error"), 3);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 1 + 57 + 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1 + 60 + 1);
    cr_assert_leq(count("SELECT count(DISTINCT xmin::text) FROM sample"), 1 + 3 * 6 + 1);
}

static void start_actor_whose_statements_may_take(int ms)
{
    static struct service hurried;

    hurried = sample_service;
    hurried.statement_ms = ms;
    actor_free(actor);
    start_actor_of(&hurried, 0);
}

static void cut_off_one_of_many(int ms)
{
    start_actor_whose_statements_may_take(ms);
    hold_back();
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "before-%d", i);
    command_client_send(client, SAMPLE_PUT, "long-60000", COMMAND_NORMAL);
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "after-%d", i);
    let_go();
    command_client_await(client, 22);
    cr_assert_eq(command_client_count(client, "created"), 21);
    cr_assert_eq(command_client_count(client, "unavailable"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 21);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 21);
    cr_assert_eq(metric_read(metrics->fallbacks), 1);
}

Test(actor, runs_the_others_when_a_statement_takes_too_long)
{
    cut_off_one_of_many(200);
}

/* The statement takes longer than the search for the failing command may take. */
Test(actor, runs_the_others_when_a_statement_has_taken_all_the_time)
{
    cut_off_one_of_many(1500);
}

Test(actor, runs_commands_that_waited_behind_one_that_was_cut_off)
{
    start_actor_whose_statements_may_take(1600);
    hold_back();
    command_client_send(client, SAMPLE_PUT, "long-60000", COMMAND_NORMAL);
    for (int i = 0; i < 10; i++)
        command_client_send(client, SAMPLE_PUT, "item", COMMAND_SHORT_DEADLINE);
    let_go();
    command_client_await(client, 12);
    cr_assert_eq(command_client_count(client, "created"), 11);
}

Test(actor, treats_commands_that_were_cut_off_as_expensive)
{
    start_actor_whose_statements_may_take(200);
    command_client_call(client, SAMPLE_PUT, "long-60000", COMMAND_NORMAL);
    cr_assert_eq(command_client_count(client, "unavailable"), 1);
    hold_back();
    for (int i = 0; i < 5; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    let_go();
    command_client_await(client, 1 + 1 + 5);
    /* The organization's next commands are expected to take as long, so each runs alone. */
    cr_assert_eq(count("SELECT count(DISTINCT xmin::text) FROM sample"), 1 + 5);
}

Test(actor, answers_committed_commands_before_it_retries_others)
{
    hold_back();
    command_client_send(client, SAMPLE_PUT, "one", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT_ALL, "bad", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT_ALL, "long-2000", COMMAND_NORMAL);
    let_go();
    command_client_await(client, 2);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id LIKE 'long-%'"), 0);
    command_client_await(client, 4);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id LIKE 'long-%'"), 1);
}

static void ask_for_pages(const char *bytes)
{
    /* The organization is known, with small replies so far. */
    command_client_call(client, SAMPLE_FILL, "10", COMMAND_NORMAL);
    postgres_do(url, "DELETE FROM audit.entries");
    hold_back();
    for (int i = 0; i < PAGES; i++)
        command_client_send(client, SAMPLE_FILL, bytes, COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "one", COMMAND_NORMAL);
    let_go();
    command_client_await(client, 1 + 1 + PAGES + 1);
    cr_assert_eq(command_client_count(client, "ok"), 1 + PAGES);
    cr_assert_eq(command_client_count(client, "created"), 2);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1 + PAGES + 1);
}

Test(actor, leaves_commands_that_do_not_fit_to_the_next_batch)
{
    ask_for_pages("3000000");
    /* At most three pages in a batch, and one that goes beyond the bound. */
    cr_assert_geq(count("SELECT count(DISTINCT xmin::text) FROM audit.entries"), 1 + PAGES / 4);
    /* The size is unexpected only once. */
    cr_assert_leq(metric_read(metrics->deferred), PAGES);
    cr_assert_eq(metric_read(metrics->fallbacks), 0);
}

Test(actor, answers_one_of_the_largest_with_each_batch)
{
    ask_for_pages("8000000");
    cr_assert_geq(count("SELECT count(DISTINCT xmin::text) FROM audit.entries"), 1 + PAGES / 2);
}

/* 8 MiB, which the bus takes, without 4 KiB for the headers. */
Test(actor, fails_a_command_whose_reply_is_too_large_for_the_bus)
{
    command_client_send(client, SAMPLE_FILL, "8384512", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_FILL, "8384513", COMMAND_NORMAL);
    command_client_await(client, 2);
    cr_assert_eq(command_client_count(client, "ok"), 1);
    cr_assert_eq(command_client_count(client, "server_error"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 500"), 1);
}

/* How often threads other than the test's have gone to sleep. */
static long sleeps(void)
{
    struct rusage all, own;

    cr_assert_eq(getrusage(RUSAGE_SELF, &all), 0);
    cr_assert_eq(getrusage(RUSAGE_THREAD, &own), 0);
    return all.ru_nvcsw - own.ru_nvcsw;
}

Test(actor, sleeps_while_its_replies_wait_for_the_bus)
{
    enum { OTHERS = 200 /* more than a batch takes */, SLEEPS = 20 };
    int64_t until_us;
    long before;

    hold_back();
    for (int i = 0; i < PAGES; i++)
        command_client_send(client, SAMPLE_FILL, "8000000", COMMAND_NORMAL);
    for (int i = 0; i < OTHERS; i++)
        command_client_send(client, SAMPLE_PUT, "nothing", COMMAND_OTHER_ORGANIZATION);
    push();
    nats_server_pause(&nats);
    open_gate();
    postgres_await(url, "SELECT (count(*) > 1)::integer FROM audit.entries");
    before = sleeps();
    until_us = clock_mono_us() + limit_scaled(5 * 1000 * 1000);
    while (sleeps() < before + SLEEPS) {
        cr_assert_lt(clock_mono_us(), until_us);
        poll(NULL, 0, 1);
    }
    nats_server_resume(&nats);
    command_client_await(client, 1 + PAGES + OTHERS);
    cr_assert_eq(command_client_count(client, "ok"), PAGES);
}

/* -- locks ----------------------------------------------------------------------------------- */

Test(actor, makes_no_command_wait_for_the_lock_of_another)
{
    close_gate();
    command_client_send(client, SAMPLE_PUT, "lock-1", COMMAND_NORMAL);
    push();
    for (int i = 0; i < 20; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    command_client_await(client, 21);
    cr_assert_eq(command_client_count(client, "created"), 20);
    cr_assert_eq(command_client_count(client, "unavailable"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 20);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 20);
    cr_assert_gt(metric_read(metrics->deferred), 1);
    /* Each transaction that failed, and the command that was refused in the end. */
    cr_assert_eq(metric_read(metrics->lock_refusals), metric_read(metrics->fallbacks) + 1);
}

/* One after the other they take longer than the search for failing commands may take. */
Test(actor, refuses_no_command_for_the_many_locks_of_others)
{
    enum { LOCKS = 50, FIRST = 100 };
    char lock[32];

    PQclear(PQexec(gate, "SELECT pg_advisory_lock(i) FROM generate_series(100, 149) i"));
    hold_back();
    for (int i = 0; i < LOCKS; i++) {
        snprintf(lock, sizeof(lock), "lock-%d", FIRST + i);
        command_client_send(client, SAMPLE_PUT, lock, COMMAND_NORMAL);
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    }
    let_go();
    command_client_await(client, 1 + 2 * LOCKS);
    cr_assert_eq(command_client_count(client, "created"), 1 + LOCKS);
    cr_assert_eq(command_client_count(client, "unavailable"), LOCKS);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id LIKE 'item-%'"), LOCKS);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1 + LOCKS);
}

/* Commands that failed for good still get their entries, however long the others took. */
Test(actor, records_failures_after_the_deadline)
{
    start_actor_whose_statements_may_take(700);
    hold_back();
    command_client_send(client, SAMPLE_PUT, "bad", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "long-60000", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "item", COMMAND_NORMAL);
    let_go();
    command_client_await(client, 1 + 3);
    cr_assert_eq(command_client_count(client, "created"), 1 + 1);
    cr_assert_eq(command_client_count(client, "server_error"), 1);
    cr_assert_eq(command_client_count(client, "unavailable"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1 + 2);
}

/* The actor retries for half a second, which may pass while this test waits for a CPU. */
Test(actor, runs_a_command_when_its_lock_is_free_again)
{
    for (int tries = 0; command_client_count(client, "created") == 0; tries++) {
        int64_t before = metric_read(metrics->deferred);

        cr_assert_lt(tries, 100);
        command_client_reset(client);
        close_gate();
        command_client_send(client, SAMPLE_PUT, "lock-1", COMMAND_NORMAL);
        push();
        while (metric_read(metrics->deferred) == before)
            usleep(1000);
        open_gate();
        command_client_await(client, 1);
    }
    cr_assert_eq(count("SELECT count(*) FROM sample"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1);
}

Test(actor, searches_for_failing_commands_for_a_limited_time)
{
    int64_t start_us;

    close_gate();
    start_us = clock_mono_us();
    for (int i = 0; i < 100; i++)
        command_client_send(client, SAMPLE_PUT_ALL, "lock-1", COMMAND_NORMAL);
    command_client_await(client, 100);
    cr_assert_eq(command_client_count(client, "unavailable"), 100);
    /* One after the other they would take at least 2 s, or 30 s with long lock timeouts. */
    cr_assert_lt(clock_mono_us() - start_us, 2000000 * limit_scaled(1));
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
}

Test(actor, records_refusals_and_writes_nothing_else)
{
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "", COMMAND_NORMAL),
                     "parameter_not_found [{\"code\":\"parameter_not_found\","
                     "\"message\":\"must not be empty\",\"field\":\"body\"}]");
    cr_assert_eq(count("SELECT count(*) FROM sample"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 400"
                       " AND outcome = 'rejected'"),
                 1);
}

Test(actor, publishes_the_notice_after_the_commit)
{
    command_client_subscribe(client, SAMPLE_NOTICE);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "notify", COMMAND_NORMAL),
                     "created notify");
    command_client_await_notice(client);
}

/* -- running again --------------------------------------------------------------------------- */

Test(actor, runs_a_command_again_that_lost_a_race)
{
    hold_back();
    command_client_send(client, SAMPLE_PUT, "retry-2", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "neighbour", COMMAND_NORMAL);
    let_go();
    command_client_await(client, 3);
    cr_assert_eq(command_client_count(client, "created"), 3);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 3);
}

Test(actor, gives_up_on_a_race_that_never_settles)
{
    command_client_send(client, SAMPLE_PUT, "retry-9999", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "neighbour", COMMAND_NORMAL);
    command_client_await(client, 2);
    cr_assert_eq(command_client_count(client, "created"), 1);
    cr_assert_eq(command_client_count(client, "unavailable"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1);
    cr_assert_gt(metric_read(metrics->deferred), 2);
}

Test(actor, drops_a_command_whose_request_is_already_recorded)
{
    hold_back();
    command_client_send(client, SAMPLE_PUT, "mine", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "late", COMMAND_SAME_REQUEST);
    command_client_send(client, SAMPLE_PUT, "last", COMMAND_NORMAL);
    let_go();
    command_client_await(client, 3);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "behind", COMMAND_NORMAL),
                     "created behind");
    cr_assert_eq(command_client_count(client, "created"), 4);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id = 'late'"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 4);
}

/* -- commands that are not run --------------------------------------------------------------- */

Test(actor, does_not_run_a_command_past_its_deadline)
{
    command_client_send(client, SAMPLE_PUT, "late", COMMAND_EXPIRED);
    command_client_await(client, 1);
    cr_assert_eq(command_client_count(client, "busy"), 1);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "behind", COMMAND_NORMAL),
                     "created behind");
    cr_assert_eq(count("SELECT count(*) FROM sample"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1);
}

/* Its audit entry would have a time that the seal marks. */
Test(actor, does_not_run_a_command_of_a_sender_whose_clock_is_far_ahead)
{
    command_client_send(client, SAMPLE_PUT, "ahead", COMMAND_AHEAD);
    command_client_await(client, 1);
    cr_assert_eq(command_client_count(client, "busy"), 1);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "behind", COMMAND_NORMAL),
                     "created behind");
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1);
}

Test(actor, runs_of_a_bundle_what_is_not_past_its_deadline)
{
    command_client_send(client, SAMPLE_PUT, "late", COMMAND_EXPIRED);
    command_client_send(client, SAMPLE_PUT, "in time", COMMAND_NORMAL);
    command_client_send(client, SAMPLE_PUT, "later", COMMAND_EXPIRED);
    command_client_await(client, 3);
    cr_assert_eq(command_client_count(client, "busy"), 2);
    cr_assert_eq(command_client_count(client, "created"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id = 'in time'"), 1);
    cr_assert_eq(count("SELECT count(*) FROM sample"), 1);
}

Test(actor, knows_no_other_commands)
{
    cr_assert_str_eq(command_client_call(client, "v1.sample.other", "", COMMAND_NORMAL),
                     "no responders");
    command_client_reset(client);
    cr_assert(strstr(command_client_call(client, SAMPLE_PUT, "x", COMMAND_WITHOUT_KEY),
                     "unknown_command "));
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
}

Test(actor, refuses_writes_with_a_read_only_key)
{
    cr_assert(strstr(command_client_call(client, SAMPLE_PUT, "x", COMMAND_READ_ONLY),
                     "insufficient_scope "));
    cr_assert_str_eq(command_client_call(client, SAMPLE_COUNT, "", COMMAND_READ_ONLY), "ok 0");
}

Test(actor, rejects_what_its_mailbox_cannot_hold)
{
    actor_free(actor);
    start_actor(8);
    hold_back();
    for (int i = 0; i < 50; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    let_go();
    command_client_await(client, 51);
    cr_assert_gt(command_client_count(client, "busy"), 0);
    cr_assert_gt(command_client_count(client, "created"), 8);
    cr_assert_eq(command_client_count(client, "busy") + command_client_count(client, "created"),
                 51);
    cr_assert_eq(count("SELECT count(*) FROM sample"), command_client_count(client, "created"));
}

Test(actor, accepts_a_limited_number_of_commands_while_it_waits_for_the_database)
{
    actor_free(actor);
    start_actor(8);
    hold_back();
    for (int i = 0; i < 50; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    command_client_await(client, 50 - 8);
    cr_assert_eq(command_client_count(client, "busy"), 50 - 8);
    let_go();
    command_client_await(client, 51);
    cr_assert_eq(command_client_count(client, "created"), 1 + 8);
}

/* 4.2 s of work in one batch with a deadline after 3 s. */
static void send_eight_long(void)
{
    hold_back();
    for (int i = 0; i < 8; i++)
        command_client_send(client, SAMPLE_PUT, "long-520", COMMAND_SHORT_DEADLINE);
    let_go();
}

Test(actor, takes_fewer_at_once_after_a_batch_that_was_too_much)
{
    send_eight_long();
    command_client_await(client, 1 + 8);
    cr_assert_eq(command_client_count(client, "unavailable"), 8);
    ask_until("then", "created then");
    command_client_reset(client);
    send_eight_long();
    command_client_await(client, 1 + 4);
    cr_assert_eq(command_client_count(client, "created"), 1 + 4);
}

/* -- stopping -------------------------------------------------------------------------------- */

Test(actor, finishes_waiting_commands_when_it_is_stopped)
{
    hold_back();
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    command_client_flush(client);
    actor_stop(actor);
    open_gate();
    command_client_await(client, 11);
    actor_free(actor);
    actor = NULL;
    cr_assert_eq(command_client_count(client, "created"), 11);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 11);
}
