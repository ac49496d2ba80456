/* What an actor does with its commands. */
#include "tests/unit/common/actor/acting.h"

TestSuite(actor, .init = setup, .fini = teardown, .timeout = 120);

/* -- batches ----------------------------------------------------------------------------------- */

Test(actor, answers_a_command_and_records_it)
{
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "one", ASKER_NORMAL), "created one");
    cr_assert_eq(asker_count_unrecorded(asker), 0);
    cr_assert_eq(count("SELECT count(*) FROM toy WHERE id = 'one'"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 201"
                       " AND operation = 'conversation.create' AND outcome = 'allowed'"
                       " AND denial_reason IS NULL AND contact_id IS NULL"
                       " AND conversation_id IS NOT NULL"),
                 1);
}

Test(actor, lets_a_command_ask_for_more_in_the_same_transaction)
{
    hold_back();
    asker_send(asker, TOY_PUT, "one", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "more-bad", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "more-two", ASKER_NORMAL);
    let_go();
    asker_await(asker, 4);
    cr_assert_eq(asker_count(asker, "created"), 3);
    cr_assert_eq(asker_count(asker, "server_error"), 1);
    cr_assert_eq(count("SELECT count(*) FROM toy WHERE id IN ('one', 'more-two', 'two')"), 3);
    cr_assert_eq(count("SELECT count(*) FROM toy WHERE id = 'more-bad'"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 4);
}

Test(actor, says_that_it_recorded_nothing_without_a_ledger)
{
    static struct service reader;

    reader = toy_service;
    reader.ledger = NULL;
    actor_free(actor);
    start_actor_of(&reader, 0);
    int before = asker_count_unrecorded(asker);
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "one", ASKER_NORMAL), "created one");
    cr_assert_eq(asker_count_unrecorded(asker), before + 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
}

Test(actor, commits_what_waits_together_with_its_entries)
{
    hold_back();
    for (int i = 0; i < 100; i++)
        asker_send_number(asker, TOY_PUT, "item-%d", i);
    let_go();
    asker_await(asker, 101);
    cr_assert_eq(asker_count(asker, "created"), 101);
    cr_assert_eq(count("SELECT count(*) FROM toy"), 101);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 101);
    /* The one that held the others back, and few more: each with its entries. */
    cr_assert_leq(count("SELECT count(DISTINCT xmin::text) FROM toy"), 10);
    cr_assert_eq(count("SELECT count(*) FROM (SELECT xmin::text FROM toy EXCEPT"
                       " SELECT xmin::text FROM audit.entries) AS t"),
                 0);
}

Test(actor, runs_commands_in_the_order_of_their_locks)
{
    hold_back();
    asker_send(asker, TOY_PUT, "order-3", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "order-1", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "order-2", ASKER_NORMAL);
    let_go();
    asker_await(asker, 4);
    cr_assert_eq(count("SELECT count(*) FROM (SELECT string_agg(id, ',' ORDER BY seq) AS ids"
                       " FROM toy WHERE id LIKE 'order-%') AS t"
                       " WHERE ids = 'order-1,order-2,order-3'"),
                 1);
}

Test(actor, keeps_a_bad_command_from_harming_its_neighbours)
{
    hold_back();
    for (int i = 0; i < 10; i++)
        asker_send_number(asker, TOY_PUT, "before-%d", i);
    asker_send(asker, TOY_PUT, "bad", ASKER_NORMAL);
    for (int i = 0; i < 10; i++)
        asker_send_number(asker, TOY_PUT, "after-%d", i);
    let_go();
    asker_await(asker, 22);
    cr_assert_eq(asker_count(asker, "created"), 21);
    cr_assert_eq(asker_count(asker, "server_error"), 1);
    cr_assert_eq(count("SELECT count(*) FROM toy"), 21);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 22);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 500"
                       " AND outcome = 'error'"),
                 1);
}

Test(actor, records_refusals_and_writes_nothing_else)
{
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "", ASKER_NORMAL),
                     "parameter_not_found [{\"code\":\"parameter_not_found\","
                     "\"message\":\"must not be empty\",\"field\":\"body\"}]");
    cr_assert_eq(count("SELECT count(*) FROM toy"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 400"
                       " AND outcome = 'rejected'"),
                 1);
}

Test(actor, rings_the_doorbell_after_the_commit)
{
    asker_listen(asker, TOY_DOORBELL);
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "ring", ASKER_NORMAL), "created ring");
    asker_await_notice(asker);
}

/* -- running again --------------------------------------------------------------------------- */

Test(actor, runs_a_command_again_that_lost_a_race)
{
    hold_back();
    asker_send(asker, TOY_PUT, "retry-2", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "neighbour", ASKER_NORMAL);
    let_go();
    asker_await(asker, 3);
    cr_assert_eq(asker_count(asker, "created"), 3);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 3);
}

Test(actor, gives_up_on_a_race_that_never_settles_and_records_it)
{
    cr_assert(strstr(asker_ask_one(asker, TOY_PUT, "retry-99", ASKER_NORMAL), "server_error "));
    cr_assert_eq(count("SELECT count(*) FROM toy"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE http_status = 500"), 1);
}

Test(actor, drops_a_command_whose_request_is_on_record_already)
{
    hold_back();
    asker_send(asker, TOY_PUT, "mine", ASKER_NORMAL);
    asker_send(asker, TOY_PUT, "late", ASKER_SAME_REQUEST);
    asker_send(asker, TOY_PUT, "last", ASKER_NORMAL);
    let_go();
    asker_await(asker, 3);
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "behind", ASKER_NORMAL), "created behind");
    cr_assert_eq(asker_count(asker, "created"), 4);
    cr_assert_eq(count("SELECT count(*) FROM toy WHERE id = 'late'"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 4);
}

/* -- commands that are not run --------------------------------------------------------------- */

Test(actor, drops_a_command_past_its_deadline)
{
    asker_send(asker, TOY_PUT, "late", ASKER_EXPIRED);
    cr_assert_str_eq(asker_ask_one(asker, TOY_PUT, "behind", ASKER_NORMAL), "created behind");
    cr_assert_eq(count("SELECT count(*) FROM toy"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1);
}

Test(actor, knows_no_other_commands)
{
    cr_assert(strstr(asker_ask_one(asker, "v1.toy.other", "", ASKER_NORMAL), "unknown_command "));
    cr_assert(strstr(asker_ask_one(asker, TOY_PUT, "x", ASKER_ANONYMOUS), "unknown_command "));
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
}

Test(actor, lets_no_reading_key_write)
{
    cr_assert(strstr(asker_ask_one(asker, TOY_PUT, "x", ASKER_READS), "insufficient_scope "));
    cr_assert_str_eq(asker_ask_one(asker, TOY_COUNT, "", ASKER_READS), "ok 0");
}

Test(actor, turns_away_what_its_mailbox_cannot_hold)
{
    actor_free(actor);
    start_actor(8);
    hold_back();
    for (int i = 0; i < 50; i++)
        asker_send_number(asker, TOY_PUT, "item-%d", i);
    let_go();
    asker_await(asker, 51);
    cr_assert_gt(asker_count(asker, "busy"), 0);
    cr_assert_gt(asker_count(asker, "created"), 8);
    cr_assert_eq(asker_count(asker, "busy") + asker_count(asker, "created"), 51);
    cr_assert_eq(count("SELECT count(*) FROM toy"), asker_count(asker, "created"));
}

/* 4.2 s of work in one batch, which is cut off a second past its deadline of 3 s. */
static void send_eight_long(void)
{
    hold_back();
    for (int i = 0; i < 8; i++)
        asker_send(asker, TOY_PUT, "long-520", ASKER_HASTY);
    let_go();
}

Test(actor, takes_fewer_at_once_after_a_batch_that_was_too_much)
{
    send_eight_long();
    asker_await(asker, 1 + 8);
    cr_assert_eq(asker_count(asker, "unavailable"), 8);
    ask_until("then", "created then");
    asker_forget(asker);
    send_eight_long();
    asker_await(asker, 1 + 4);
    cr_assert_eq(asker_count(asker, "created"), 1 + 4);
}

Test(actor, does_not_begin_what_would_be_late)
{
    static struct service few;

    few = toy_service;
    few.batch_most = 2;
    actor_free(actor);
    start_actor_of(&few, 0);
    hold_back();
    /* The first two take two seconds of three. */
    for (int i = 0; i < 6; i++)
        asker_send(asker, TOY_PUT, "long-1000", ASKER_HASTY);
    let_go();
    asker_await(asker, 1 + 6);
    cr_assert_eq(asker_count(asker, "created"), 1 + 2);
    cr_assert_eq(asker_count(asker, "busy"), 4);
}

/* -- stopping -------------------------------------------------------------------------------- */

Test(actor, finishes_what_waits_when_it_is_stopped)
{
    hold_back();
    for (int i = 0; i < 10; i++)
        asker_send_number(asker, TOY_PUT, "item-%d", i);
    asker_round_trip(asker);
    actor_stop(actor);
    open_gate();
    asker_await(asker, 11);
    actor_free(actor);
    actor = NULL;
    cr_assert_eq(asker_count(asker, "created"), 11);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 11);
}
