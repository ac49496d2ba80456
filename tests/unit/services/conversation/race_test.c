/* Two sessions at once: the second runs into what the first has not committed. */
#include <pthread.h>

#include "tests/unit/services/conversation/stored.h"

TestSuite(race, .init = start, .fini = stop, .timeout = 120);

/* A command that a second session runs while the first has not committed. */
struct rival {
    struct arena arena;
    struct ask ask;
    struct command *command;
    enum status run, told;
    pthread_t thread;
};

static void *run_rival(void *closure)
{
    struct rival *const rival = closure;

    db_open_batch(neighbour, clock_us() + 30 * INT64_C(1000000));
    rival->command = begin(neighbour, &rival->arena, rival->ask);
    rival->run = db_run(neighbour);
    if (rival->run != ST_OK)
        return NULL;
    rival->told = rival->command->route->tell(rival->command, neighbour, NULL);
    rival->run = db_commit(neighbour);
    return NULL;
}

/* Runs `ours`, lets `theirs` run into it, commits ours, and waits for the end of theirs. */
static struct command *race(struct ask ours, struct rival *theirs)
{
    struct command *command;

    arena_init(&theirs->arena, 16 << 20);
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    command = begin(db, &arena, ours);
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(command->route->tell(command, db, NULL), ST_OK);
    cr_assert_eq(pthread_create(&theirs->thread, NULL, run_rival, theirs), 0);
    postgres_await(server.url, "SELECT count(*) FROM pg_stat_activity "
                               "WHERE application_name = 'test' AND wait_event_type = 'Lock' "
                               "AND datname = current_database()");
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert_eq(pthread_join(theirs->thread, NULL), 0);
    return command;
}

Test(race, asks_to_be_run_again_when_a_neighbour_took_the_external_id)
{
    struct rival theirs = {.ask = {&create, ORG, NULL, CREATE("e1", USER("u2"))}};

    race((struct ask){&create, ORG, NULL, CREATE("e1", USER("u1"))}, &theirs);
    cr_assert_eq(theirs.run, ST_OK);
    cr_assert_eq(theirs.told, ST_RETRY);
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts"), 1);
    cr_assert_eq(count("SELECT count(*) FROM webhook.events"), 1);
    assert_outcome(run(theirs.ask), OUTCOME_EXTERNAL_ID_CONFLICT, "external_id");
    arena_release(&theirs.arena);
}

Test(race, lets_the_database_refuse_a_contact_that_a_neighbour_just_made)
{
    struct rival theirs = {.ask = {&create, ORG, NULL, CREATE("e2", USER("u1"))}};
    struct command *const ours =
        race((struct ask){&create, ORG, NULL, CREATE("e1", USER("u1"))}, &theirs);
    struct command *again;

    cr_assert_eq(theirs.run, ST_RETRY);
    cr_assert_eq(count("SELECT count(*) FROM conversation.conversations"), 1);
    again = run(theirs.ask);
    assert_outcome(again, OUTCOME_CREATED, NULL);
    cr_assert(uuid_equal(&again->contact_id, &ours->contact_id));
    arena_release(&theirs.arena);
}

Test(race, merges_concurrent_updates_of_one_conversation)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const id = text_of(&made->conversation_id);
    struct rival theirs = {.ask = {&update, ORG, id, "{\"custom_attributes\":{\"b\":2}}"}};

    race((struct ask){&update, ORG, id, "{\"custom_attributes\":{\"a\":1}}"}, &theirs);
    cr_assert_eq(theirs.told, ST_OK);
    assert_reply_has(theirs.command, "\"custom_attributes\":{\"a\": 1, \"b\": 2}");
    arena_release(&theirs.arena);
}

Test(race, judges_the_limit_on_what_a_neighbour_left)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const id = text_of(&made->conversation_id);
    struct rival theirs = {.ask = {&update, ORG, id, "{\"custom_attributes\":{\"b\":2}}"}};

    postgres_do(server.url, "UPDATE conversation.conversations SET custom_attributes = "
                            "(SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 19) i)");
    race((struct ask){&update, ORG, id, "{\"custom_attributes\":{\"a\":1}}"}, &theirs);
    cr_assert_eq(theirs.told, ST_RETRY);
    assert_outcome(run(theirs.ask), OUTCOME_PARAMETER_INVALID, "custom_attributes");
    arena_release(&theirs.arena);
}

Test(race, leaves_an_erased_contact_without_profile_when_a_create_comes_crosswise)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const body = arena_printf(&arena, "{\"id\":\"%s\"}", text_of(&made->contact_id));
    struct rival theirs = {
        .ask = {&create, ORG, NULL, CREATE("e2", USER("u1") ",\"email\":\"a@x\"")}};

    race((struct ask){&erase, ORG, NULL, body}, &theirs);
    cr_assert_eq(theirs.told, ST_OK);
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts "
                       "WHERE erased_at IS NOT NULL AND email IS NULL"),
                 1);
    assert_reply_has(read_back(theirs.command), "\"contact\":null");
    arena_release(&theirs.arena);
}

/* A create takes its contact by the foreign key alone. Did it wait for an erasing, then two batches
   that erase a contact each and create for the other's would wait for each other. */
Test(race, creates_beside_an_erasing_of_the_contact)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const body = arena_printf(&arena, "{\"id\":\"%s\"}", text_of(&made->contact_id));
    struct command *command;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    (void)begin(db, &arena, (struct ask){&erase, ORG, NULL, body});
    cr_assert_eq(db_run(db), ST_OK);
    db_open_batch(neighbour, clock_us() + 30 * INT64_C(1000000));
    command = begin(neighbour, &arena, (struct ask){&create, ORG, NULL, CREATE("e2", USER("u1"))});
    cr_assert_eq(db_run(neighbour), ST_OK, "it waits");
    cr_assert_eq(command->route->tell(command, neighbour, NULL), ST_OK);
    cr_assert_eq(db_commit(neighbour), ST_OK);
    cr_assert_eq(db_commit(db), ST_OK);
    assert_reply_has(read_back(command), "\"contact\":null");
}

Test(race, asks_to_be_run_again_when_a_neighbour_deleted_the_conversation)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const id = text_of(&made->conversation_id);
    const char *const body = arena_printf(&arena, "{\"id\":\"%s\"}", id);
    struct rival theirs = {.ask = {&update, ORG, id, "{\"custom_attributes\":{\"b\":2}}"}};

    race((struct ask){&delete, ORG, NULL, body}, &theirs);
    cr_assert_eq(theirs.told, ST_RETRY);
    assert_outcome(run(theirs.ask), OUTCOME_NOT_FOUND, NULL);
    arena_release(&theirs.arena);
}

Test(race, removes_with_a_conversation_the_message_that_a_neighbour_just_appended)
{
    struct command *const made = run_on(&open_, "{\"channel\":\"widget\"}");
    const char *const body =
        arena_printf(&arena, "{\"id\":\"%s\"}", text_of(&made->conversation_id));
    struct rival theirs = {.ask = {&delete, ORG, NULL, body}};

    race((struct ask){&append, ORG, NULL, body}, &theirs);
    cr_assert_eq(theirs.told, ST_OK);
    cr_assert_eq(count("SELECT count(*) FROM conversation.messages"), 0);
    arena_release(&theirs.arena);
}
