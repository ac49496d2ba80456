/* Two sessions at once: the second meets uncommitted changes of the first without waiting. */
#include <pthread.h>

#include "common/db/params.h"
#include "tests/unit/services/conversation/conversation_fixture.h"

TestSuite(race, .init = start, .fini = stop);

/* The first session does not commit before the second returns: waiting would end in a timeout. */
enum { TIMEOUT_US = 10 * 1000 * 1000 };

static struct command *run_open(struct db *on, struct call call)
{
    struct command *command;

    db_open_batch(on, clock_us() + TIMEOUT_US);
    command = begin(on, &arena, call);
    cr_assert_eq(db_run(on), ST_OK, "%s waits or fails: %s", call.body, db_last_sqlstate(on));
    return command;
}

/* Runs `ours`, then all of `theirs` before ours commits; returns the status of theirs. */
static enum status race(struct call ours, struct call theirs)
{
    struct command *const first = run_open(db, ours);
    struct command *second;
    enum status told;

    cr_assert_eq(first->handler->reply(first, db, NULL), ST_OK);
    second = run_open(other_db, theirs);
    told = second->handler->reply(second, other_db, NULL);
    cr_assert_eq(db_commit(other_db), ST_OK);
    cr_assert_eq(db_commit(db), ST_OK);
    return told;
}

static struct call creating(const char *body)
{
    return (struct call){&conversation_create, ORG, NULL, body};
}

/* -- creates --------------------------------------------------------------------------------- */

Test(race, asks_to_be_run_again_when_another_transaction_takes_the_external_id)
{
    const struct call theirs = creating(CREATE("e1", USER("u2")));

    cr_assert_eq(race(creating(CREATE("e1", USER("u1"))), theirs), ST_RETRY);
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts"), 1);
    cr_assert_eq(count("SELECT count(*) FROM webhook.events"), 1);
    assert_outcome(run(theirs), OUTCOME_EXTERNAL_ID_CONFLICT, "external_id");
}

Test(race, is_run_again_when_another_transaction_creates_the_contact)
{
    const struct call theirs = creating(CREATE("e2", USER("u1")));

    cr_assert_eq(race(creating(CREATE("e1", USER("u1"))), theirs), ST_RETRY);
    cr_assert_eq(count("SELECT count(*) FROM conversation.conversations"), 1);
    assert_outcome(run(theirs), OUTCOME_CREATED, NULL);
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts"), 1);
}

Test(race, asks_to_be_run_again_when_another_transaction_takes_the_email_or_the_phone)
{
    static const struct {
        const char *ours, *theirs, *field;
    } pairs[] = {
        {CREATE("e1", USER("u1") ",\"email\":\"a@x\""),
         CREATE("e2", USER("u2") ",\"email\":\"a@x\""), "from.email"},
        {CREATE("e3", USER("u3") ",\"phone\":\"1\""), CREATE("e4", USER("u4") ",\"phone\":\"1\""),
         "from.phone"},
        /* an existing contact gets it */
        {CREATE("e5", USER("u1") ",\"email\":\"b@x\""),
         CREATE("e6", USER("u5") ",\"email\":\"b@x\""), "from.email"},
        {CREATE("e7", USER("u6") ",\"phone\":\"2\""), CREATE("e8", USER("u3") ",\"phone\":\"2\""),
         "from.phone"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        cr_expect_eq(race(creating(pairs[i].ours), creating(pairs[i].theirs)), ST_RETRY, "%s",
                     pairs[i].theirs);
        assert_outcome(run(creating(pairs[i].theirs)), OUTCOME_PROFILE_CONFLICT, pairs[i].field);
    }
}

Test(race, asks_to_be_run_again_when_another_transaction_changes_the_contact)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const by_id = arena_printf(&arena, CREATE("e3", "\"id\":\"%s\",\"name\":\"Bea\""),
                                           text_of(&made->contact_id));

    cr_assert_eq(race(creating(CREATE("e2", USER("u1") ",\"name\":\"Ann\"")), creating(by_id)),
                 ST_RETRY);
    assert_reply_has(run(creating(by_id)), "\"name\":\"Bea\"");
    assert_reply_has(run_create(CREATE("e4", USER("u1"))), "\"name\":\"Bea\"");
}

/* What the claim finds may have changed when the next statement reads it again. */
static void assert_claimed_for_more(const char *change)
{
    static const char *const create[] = {
        "{" ORG "}", "{e2}",   "{u1}",         "{NULL}",      "{NULL}",      "{a@x}",
        "{1}",       "{NULL}", "{" NOBODY "}", "{" OTHER "}", "{" OTHER "}",
    };
    static const size_t claimed[] = {0, 1, 2, 3, 5, 6};
    struct params params = {0}, claims = {0};
    size_t result;

    for (size_t i = 0; i < ARRAY_SIZE(create); i++)
        params_add(&params, str_of(create[i]));
    for (size_t i = 0; i < ARRAY_SIZE(claimed); i++)
        params_add_from(&claims, &params, claimed[i]);
    db_open_batch(db, clock_us() + TIMEOUT_US);
    result = db_add(db, SQL_CLAIM, &claims);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    cr_assert(str_equal(db_value(db_result(db, result), 0, CLAIM_CLAIMS), STR("{1}")));
    postgres_do(server.url, change);
    result = db_add(db, SQL_CREATE_CONVERSATIONS, &params);
    cr_assert_eq(db_run(db), ST_OK, "%s: %s", change, db_last_sqlstate(db));
    cr_expect_null(db_value(db_result(db, result), 0, CREATE_CONVERSATIONS_MADE_AT).p, "%s",
                   change);
    cr_assert_eq(db_commit(db), ST_OK);
    cr_expect_eq(count("SELECT count(*) FROM conversation.conversations"), 1, "%s", change);
}

Test(race, writes_nothing_that_it_has_not_claimed)
{
    static const char *const changes[] = {
        "UPDATE conversation.contacts SET email = NULL",
        "UPDATE conversation.contacts SET phone = NULL",
    };

    run_create(CREATE("e1", USER("u1") ",\"email\":\"a@x\",\"phone\":\"1\""));
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        assert_claimed_for_more(changes[i]);
        postgres_do(server.url, "UPDATE conversation.contacts SET email = 'a@x', phone = '1'");
    }
}

/* Creates that do not write the contact need no exclusive use of it. */
Test(race, creates_concurrently_for_an_existing_contact)
{
    const char *const same = ",\"name\":\"Ann\",\"email\":\"a@x\",\"phone\":\"1\"";

    run_create(arena_printf(&arena, CREATE("e1", USER("u1") "%s"), same));
    cr_assert_eq(race(creating(CREATE("e2", USER("u1"))), creating(CREATE("e3", USER("u1")))),
                 ST_OK);
    cr_assert_eq(race(creating(arena_printf(&arena, CREATE("e4", USER("u1") "%s"), same)),
                      creating(arena_printf(&arena, CREATE("e5", USER("u1") "%s"), same))),
                 ST_OK);
    cr_assert_eq(race(creating(CREATE("e6", USER("u1") ",\"name\":\"Bea\"")),
                      creating(CREATE("e7", USER("u1")))),
                 ST_OK);
    cr_assert_eq(race((struct call){&conversation_create, OTHER, NULL, CREATE("e8", USER("u8"))},
                      creating(CREATE("e8", USER("u8")))),
                 ST_OK, "of another organization");
}

Test(race, delays_no_other_command_of_its_batch)
{
    static const char *const bodies[] = {CREATE("e2", USER("u2")), CREATE("e1", USER("u3")),
                                         CREATE("e4", USER("u4"))};
    struct command *commands[3];

    (void)run_open(db, creating(CREATE("e1", USER("u1"))));
    for (size_t i = 0; i < 3; i++)
        commands[i] = parse(&arena, creating(bodies[i]));
    db_open_batch(other_db, clock_us() + TIMEOUT_US);
    conversation_create.query_together(commands, 3, other_db, NULL);
    cr_assert_eq(db_run(other_db), ST_OK);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(conversation_create.reply(commands[i], other_db, NULL),
                     i == 1 ? ST_RETRY : ST_OK);
    cr_assert_eq(db_commit(other_db), ST_OK);
    db_abandon(db);
    assert_outcome(read_back(commands[0]), OUTCOME_OK, NULL);
    assert_outcome(read_back(commands[2]), OUTCOME_OK, NULL);
    assert_outcome(run(creating(bodies[1])), OUTCOME_CREATED, NULL);
}

/* -- channels -------------------------------------------------------------------------------- */

Test(race, opens_for_one_new_contact_once)
{
    static const char *const bodies[] = {
        "{\"channel\":\"email\",\"contact_external_id\":\"u1\"}",
        "{\"channel\":\"email\",\"contact_email\":\"a@x\"}",
        "{\"channel\":\"email\",\"contact_external_id\":\"u2\",\"contact_email\":\"b@x\"}",
    };

    for (size_t i = 0; i < 3; i++) {
        const struct call opening = {&conversation_open, ORG, NULL, bodies[i]};

        cr_expect_eq(race(opening, opening), ST_RETRY, "%s", bodies[i]);
        assert_outcome(run(opening), OUTCOME_OK, NULL);
    }
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts"), 3);
    cr_assert_eq(race((struct call){&conversation_open, ORG, NULL, "{\"channel\":\"voice\"}"},
                      (struct call){&conversation_open, ORG, NULL, "{\"channel\":\"voice\"}"}),
                 ST_OK, "for nobody");
    cr_assert_eq(race(creating(CREATE("e1", USER("u3") ",\"email\":\"c@x\"")),
                      (struct call){&conversation_open, ORG, NULL,
                                    "{\"channel\":\"email\",\"contact_email\":\"c@x\"}"}),
                 ST_RETRY, "beside a create");
}

/* -- one conversation ------------------------------------------------------------------------ */

Test(race, merges_concurrent_updates_of_one_conversation)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const id = text_of(&made->conversation_id);
    const struct call theirs = {&conversation_update, ORG, id, "{\"custom_attributes\":{\"b\":2}}"};

    cr_assert_eq(
        race((struct call){&conversation_update, ORG, id, "{\"custom_attributes\":{\"a\":1}}"},
             theirs),
        ST_RETRY);
    assert_reply_has(run(theirs), "\"custom_attributes\":{\"a\":1,\"b\":2}");
}

Test(race, checks_the_limit_after_another_transaction)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const id = text_of(&made->conversation_id);
    const struct call theirs = {&conversation_update, ORG, id, "{\"custom_attributes\":{\"b\":2}}"};

    postgres_do(server.url, "UPDATE conversation.conversations SET custom_attributes = "
                            "(SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 19) i)");
    cr_assert_eq(
        race((struct call){&conversation_update, ORG, id, "{\"custom_attributes\":{\"a\":1}}"},
             theirs),
        ST_RETRY);
    assert_outcome(run(theirs), OUTCOME_PARAMETER_INVALID, "custom_attributes");
}

Test(race, of_any_two_changes_of_one_conversation_the_second_is_run_again)
{
    const char *const id =
        text_of(&run_on(&conversation_open, "{\"channel\":\"widget\"}")->conversation_id);
    const struct call changes[] = {
        {&conversation_update, ORG, id, "{\"custom_attributes\":{\"a\":1}}"},
        {&conversation_append, ORG, NULL,
         arena_printf(&arena, "{\"id\":\"%s\",\"body\":\"hello\"}", id)},
        {&conversation_set_status, ORG, NULL,
         arena_printf(&arena, "{\"id\":\"%s\",\"status\":\"active\"}", id)},
        {&conversation_delete, ORG, NULL, arena_printf(&arena, "{\"id\":\"%s\"}", id)},
    };

    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 4; k++)
            cr_expect_eq(race(changes[i], changes[k]), ST_RETRY, "%zu %zu", i, k);
    }
    cr_assert_eq(count("SELECT count(*) FROM conversation.messages"), 4);
    for (size_t k = 0; k < 4; k++) {
        struct command *const gone = run_open(db, changes[3]), *theirs;

        cr_expect_eq(conversation_delete.reply(gone, db, NULL), ST_OK);
        theirs = run_open(other_db, changes[k]);
        cr_expect_eq(theirs->handler->reply(theirs, other_db, NULL), ST_RETRY, "%zu", k);
        cr_assert_eq(db_commit(other_db), ST_OK);
        db_abandon(db);
    }
    run(changes[3]);
    cr_assert_eq(count("SELECT count(*) FROM conversation.messages"), 0);
    for (size_t k = 0; k < 4; k++)
        assert_outcome(run(changes[k]), OUTCOME_NOT_FOUND, NULL);
}

/* -- erasing --------------------------------------------------------------------------------- */

Test(race, erases_only_without_concurrent_changes_of_the_contact)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const body = arena_printf(&arena, "{\"id\":\"%s\"}", text_of(&made->contact_id));
    const struct call erasing = {&conversation_erase_contact, ORG, NULL, body};
    const struct call theirs = creating(CREATE("e2", USER("u1") ",\"email\":\"a@x\""));

    cr_assert_eq(race(theirs, erasing), ST_RETRY);
    cr_assert_eq(race(erasing, erasing), ST_RETRY);
    cr_assert_eq(race(erasing, creating(CREATE("e3", USER("u1") ",\"email\":\"b@x\""))), ST_OK,
                 "whose contact is another one now");
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts "
                       "WHERE erased_at IS NOT NULL AND email IS NULL"),
                 1);
}

Test(race, takes_no_profile_to_a_contact_that_is_being_erased)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const body = arena_printf(&arena, "{\"id\":\"%s\"}", text_of(&made->contact_id));
    const struct call theirs = creating(CREATE("e2", USER("u1") ",\"email\":\"a@x\""));
    struct command *again;

    cr_assert_eq(race((struct call){&conversation_erase_contact, ORG, NULL, body}, theirs),
                 ST_RETRY);
    again = run(theirs);
    assert_outcome(again, OUTCOME_CREATED, NULL);
    cr_assert_not(uuid_equal(&again->contact_id, &made->contact_id));
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts "
                       "WHERE erased_at IS NOT NULL AND email IS NULL"),
                 1);
}

/* Erasing a contact does not delete its row. */
Test(race, creates_while_the_contact_is_erased)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const body = arena_printf(&arena, "{\"id\":\"%s\"}", text_of(&made->contact_id));

    cr_assert_eq(race((struct call){&conversation_erase_contact, ORG, NULL, body},
                      creating(CREATE("e2", USER("u1")))),
                 ST_OK);
    cr_assert_eq(count("SELECT count(*) FROM conversation.conversations"), 2);
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts"), 1);
}

/* -- a race that goes on ----------------------------------------------------------------------- */

enum { WRITES = 300 };

struct writer {
    struct db *db;
    struct arena arena;
    struct call call;
    int failed, written, again;
    pthread_t thread;
};

static void *keep_writing(void *closure)
{
    struct writer *const writer = closure;

    while (writer->written < WRITES && writer->failed == 0) {
        struct command *command;
        enum status told = ST_INTERNAL;

        arena_clear(&writer->arena);
        db_open_batch(writer->db, clock_us() + TIMEOUT_US);
        command = begin(writer->db, &writer->arena, writer->call);
        if (db_run(writer->db) == ST_OK)
            told = command->handler->reply(command, writer->db, NULL);
        writer->written += told == ST_OK;
        writer->again += told == ST_RETRY;
        writer->failed += (told != ST_OK && told != ST_RETRY) || db_commit(writer->db) != ST_OK;
    }
    return NULL;
}

/* Two threads write at once, WRITES times each. */
static void write_at_once(struct call ours, struct call theirs)
{
    struct writer writers[2] = {{.db = db, .call = ours}, {.db = other_db, .call = theirs}};

    for (int i = 0; i < 2; i++) {
        arena_init(&writers[i].arena, 16 << 20);
        cr_assert_eq(pthread_create(&writers[i].thread, NULL, keep_writing, &writers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(pthread_join(writers[i].thread, NULL), 0);
        cr_expect_eq(writers[i].failed, 0, "%s", db_last_sqlstate(writers[i].db));
        arena_release(&writers[i].arena);
    }
}

/* A lock is taken on the row as the other transaction left it, whatever the snapshot shows. */
Test(race, loses_no_line_of_concurrent_writers)
{
    const struct uuid id = run_on(&conversation_open, "{\"channel\":\"widget\"}")->conversation_id;
    const struct call appending = {&conversation_append, ORG, NULL,
                                   arena_printf(&arena, "{\"id\":\"%s\"}", text_of(&id))};

    write_at_once(appending, appending);
    cr_expect_eq(count("SELECT message_count FROM conversation.conversations"), 2 * WRITES);
    cr_expect_eq(count("SELECT count(*) FROM conversation.messages"), 2 * WRITES);
}

/* Every answered update has moved updated_at: by a microsecond if updated_at is in the future. */
Test(race, loses_neither_of_two_concurrent_updates)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const id = text_of(&made->conversation_id);

    postgres_do(server.url, "UPDATE conversation.conversations SET updated_at = '2100-01-01Z'");
    write_at_once(
        (struct call){&conversation_update, ORG, id, "{\"custom_attributes\":{\"a\":1}}"},
        (struct call){&conversation_update, ORG, id, "{\"custom_attributes\":{\"b\":2}}"});
    cr_expect_eq(count("SELECT (extract(epoch FROM updated_at - '2100-01-01Z') * 1000000)::bigint "
                       "FROM conversation.conversations"),
                 2 * WRITES);
    assert_reply_has(read_back(made), "\"custom_attributes\":{\"a\":1,\"b\":2}");
}

/* -- crafted orders -------------------------------------------------------------------------- */

enum { ROUNDS = 60, EACH = 64 };

/* A replica that creates the same conversations in another order until all exist. */
struct replica {
    struct db *db;
    bool is_backwards;
    struct arena arena;
    int failed, made, found;
    pthread_t thread;
};

/* External ids ascend while contacts descend: e0..e63 of u64..u1. The backward replica gives every
   other conversation of the same contacts another external id. */
static struct command *parse_one(struct replica *replica, int round, int i)
{
    const int number = replica->is_backwards ? EACH - 1 - i : i;
    const char *const body = arena_printf(
        &replica->arena,
        "{\"external_id\":\"e%d-%d%s\",\"from\":{\"external_id\":\"u%d-%d\",\"name\":\"%s\"}}",
        round, number, number % 2 == 0 || !replica->is_backwards ? "" : "b", round, EACH - number,
        replica->is_backwards ? "Ann" : "Bea");

    return parse(&replica->arena, creating(body));
}

/* Moves the creates that must run again to the front; returns how many. */
static size_t run_all(struct replica *replica, struct command **commands, size_t n)
{
    size_t n_again = 0;

    db_open_batch(replica->db, clock_us() + TIMEOUT_US);
    conversation_create.query_together(commands, n, replica->db, NULL);
    if (db_run(replica->db) != ST_OK) {
        replica->failed++;
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (conversation_create.reply(commands[i], replica->db, NULL) == ST_RETRY)
            commands[n_again++] = commands[i];
        else if (commands[i]->outcome == OUTCOME_CREATED)
            replica->made++;
        else
            replica->found += commands[i]->outcome == OUTCOME_REPLAYED;
    }
    replica->failed += db_commit(replica->db) != ST_OK;
    return n_again;
}

static void *create_rounds(void *closure)
{
    struct replica *const replica = closure;

    for (int round = 0; round < ROUNDS && replica->failed == 0; round++) {
        struct command *commands[EACH];
        size_t n = EACH;

        arena_clear(&replica->arena);
        for (int i = 0; i < EACH; i++)
            commands[i] = parse_one(replica, round, i);
        while (n > 0 && replica->failed == 0)
            n = run_all(replica, commands, n);
    }
    return NULL;
}

Test(race, batches_in_crafted_orders_neither_fail_nor_wait_in_a_circle)
{
    struct replica replicas[2] = {{.db = db}, {.db = other_db, .is_backwards = true}};

    for (int i = 0; i < 2; i++) {
        arena_init(&replicas[i].arena, 64 << 20);
        cr_assert_eq(pthread_create(&replicas[i].thread, NULL, create_rounds, &replicas[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(pthread_join(replicas[i].thread, NULL), 0);
        cr_expect_eq(replicas[i].failed, 0, "%s", db_last_sqlstate(replicas[i].db));
        cr_expect_eq(replicas[i].made + replicas[i].found, ROUNDS * EACH);
        arena_release(&replicas[i].arena);
    }
    cr_expect_eq(replicas[0].made + replicas[1].made, ROUNDS * EACH * 3 / 2);
    cr_expect_eq(count("SELECT count(*) FROM conversation.conversations"), ROUNDS * EACH * 3 / 2);
    cr_expect_eq(count("SELECT count(*) FROM conversation.contacts"), ROUNDS * EACH);
}
