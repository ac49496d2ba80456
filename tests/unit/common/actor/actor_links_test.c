/* An actor whose database comes and goes. */
#include "tests/unit/common/actor/acting.h"

#define KILL_BACKEND                                                                               \
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"                                \
    " WHERE application_name = 'toy-0' AND datname = current_database()"

TestSuite(actor_links, .init = setup, .fini = teardown, .timeout = 120);

Test(actor_links, writes_nothing_of_a_batch_whose_backend_is_killed)
{
    hold_back();
    asker_round_trip(asker);
    postgres_do(url, KILL_BACKEND);
    asker_await(asker, 1);
    open_gate();
    cr_assert_eq(asker_count(asker, "unavailable"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
    ask_until("then", "created then");
    cr_assert_eq(count("SELECT count(*) FROM toy"), 1);
}

Test(actor_links, is_uncertain_only_of_what_may_have_been_written)
{
    hold_back();
    asker_send(asker, TOY_PUT, "slow-commit", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "", ASKER_NORMAL);
    asker_send(asker, TOY_COUNT, "", ASKER_NORMAL);
    let_go();
    postgres_await(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'toy-0'"
                        " AND wait_event = 'PgSleep' AND datname = current_database()");
    postgres_do(url, KILL_BACKEND);
    asker_await(asker, 4);
    cr_assert_eq(asker_count(asker, "uncertain"), 1);
    cr_assert_eq(asker_count(asker, "unavailable"), 2);
}

static bool has_answer(const char *answer)
{
    return strstr(asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL), answer) != NULL;
}

Test(actor_links, answers_at_once_while_the_database_is_down_and_heals_by_itself)
{
    struct postgres_server own;
    const char *answer;
    int64_t start_us;

    actor_free(actor);
    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_do(own.url, toy_schema);
    snprintf(database.url, sizeof(database.url), "%s", own.url);
    start_actor(0);

    postgres_server_crash(&own);
    do {
        asker_forget(asker);
        answer = asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL);
        cr_assert(strstr(answer, "unavailable ") != NULL ||
                      (!actor_database_is_up(actor) && strcmp(answer, "no responders") == 0),
                  "%s", answer);
    } while (actor_database_is_up(actor));
    ask_until("x", "no responders");
    /* Who waited for an answer would do so until the deadline. */
    start_us = clock_mono_us();
    for (int i = 0; i < 5; i++)
        cr_assert(has_answer("no responders"));
    cr_assert_lt(clock_mono_us() - start_us, ASKER_PATIENCE_MS * 1000 / 2);
    postgres_server_start(&own);
    ask_until("x", "created x");
    cr_assert(actor_database_is_up(actor));
    cr_assert_eq(count("SELECT count(*) FROM toy"), 1);
    PQfinish(gate);
    gate = NULL;
    actor_free(actor);
    actor = NULL;
    postgres_server_stop(&own);
}

/* A backend that is killed is no reason: it is there again within milliseconds. */
Test(actor_links, stays_in_the_queue_group_while_its_link_is_made_anew)
{
    for (int i = 0; i < 20; i++) {
        const char *answer;
        int64_t start_us = clock_mono_us();

        postgres_do(url, KILL_BACKEND);
        answer = asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL);
        if (clock_mono_us() - start_us < 250000)
            cr_assert_str_neq(answer, "no responders");
        /* Killed again in the middle of that, it would be away for as long as both took. */
        ask_until("x", "created x");
    }
}

/* The one that is cut off refuses what it is given, until it is given nothing any more. Somebody is
   always there. */
static void expect_only_the_other_to_answer(const struct actor *cut)
{
    const int64_t until_us = clock_mono_us() + HEALED_US;

    for (int in_a_row = 0; in_a_row < 100 || actor_database_is_up(cut); asker_forget(asker)) {
        const char *answer = asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL);

        cr_assert_str_neq(answer, "no responders");
        cr_assert_lt(clock_mono_us(), until_us, "%d in a row, then %s", in_a_row, answer);
        in_a_row = strcmp(answer, "created x") == 0 ? in_a_row + 1 : 0;
    }
}

Test(actor_links, leaves_commands_to_others_while_its_database_is_away)
{
    struct postgres_server own;
    struct actor *cut;
    int64_t start_us;

    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_do(own.url, toy_schema);
    cut = actor_start(&(struct actor_options){.service = &toy_service,
                                              .meters = meters,
                                              .name = "toy-1",
                                              .bus_url = nats.url,
                                              .database_url = own.url});
    for (int round = 0; round < 3; round++) {
        int64_t before;

        if (round > 0)
            postgres_server_start(&own);
        before = postgres_integer(own.url, "SELECT count(*) FROM toy");
        for (; postgres_integer(own.url, "SELECT count(*) FROM toy") == before; asker_forget(asker))
            cr_assert(has_answer("created x"));
        postgres_server_crash(&own);
        expect_only_the_other_to_answer(cut);
    }
    start_us = clock_mono_us();
    actor_free(cut);
    cr_assert_lt(clock_mono_us() - start_us, 8 * 1000000,
                 "without its database it does not end but when its patience does, after 10 s");
    postgres_server_stop(&own);
}

/* -- starting -------------------------------------------------------------------------------- */

Test(actor_links, leaves_commands_to_others_until_its_database_is_there)
{
    struct postgres_server own;
    int64_t until_us;

    actor_free(actor);
    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_do(own.url, toy_schema);
    postgres_server_crash(&own);
    actor = actor_start(&(struct actor_options){.service = &toy_service,
                                                .meters = meters,
                                                .name = "toy-0",
                                                .bus_url = nats.url,
                                                .database_url = own.url});
    while (!actor_bus_is_up(actor))
        usleep(1000);
    until_us = clock_mono_us() + 300000; /* in which it turns more than once */
    while (clock_mono_us() < until_us) {
        asker_forget(asker);
        cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL), "no responders");
    }
    postgres_server_start(&own);
    do
        asker_forget(asker);
    while (strcmp(asker_ask_one(asker, TOY_PUT, "x", ASKER_NORMAL), "no responders") == 0);
    cr_assert(actor_database_is_up(actor));
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "y", ASKER_NORMAL), "created y");
    actor_free(actor);
    actor = NULL;
    postgres_server_stop(&own);
}
