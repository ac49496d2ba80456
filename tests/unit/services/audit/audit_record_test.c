/* Changes that another service sends: which are accepted, which are refused, and what is written
   under the service's own role. */
#include "common/actor/operator_command.h"
#include "services/audit/audit.h"
#include "tests/unit/services/audit/seal_fixture.h"

#define NOW_US INT64_C(1800000000000000)
#define ID     "018bcfe5-6800-7000-8000-00000000000a" /* its time: 1700000000 s */
#define USER   "01920000-0000-4000-8000-000000000003"
#define HEAD                                                                                       \
    "{\"changes\":[{\"organization_id\":\"" ORG "\",\"id\":\"" ID "\",\"who\":\"operator\","
#define WHOLE HEAD "\"change\":\"key.create\",\"detail\":{\"name\":\"a \\\"key\\\"\"}"

struct recorded {
    struct arena arena;
    struct command command;
};

static enum status parse(struct recorded *recorded, struct str body)
{
    *recorded = (struct recorded){
        .command = {.handler = &audit_record, .received_us = NOW_US, .body = body}};
    arena_init(&recorded->arena, 64 << 20);
    recorded->command.arena = &recorded->arena;
    errors_init(&recorded->command.errors, &recorded->arena);
    return command_parse(&recorded->command, NULL);
}

static void refuses(const char *body, const char *code, const char *field)
{
    struct recorded recorded;
    const struct error *first = &recorded.command.errors.at[0];

    cr_assert_eq(parse(&recorded, str_of(body)), ST_REFUSED, "taken: %s", body);
    cr_expect_str_eq(first->code, code, "%s", body);
    cr_expect(field == NULL || (first->field != NULL && strcmp(first->field, field) == 0), "%s: %s",
              body, first->field);
    arena_release(&recorded.arena);
}

#define INVALID(members, field) refuses(HEAD members "}]}", "parameter_invalid", field)

Test(audit_record, refuses_an_invalid_list_of_changes)
{
    refuses("", "invalid_json", NULL);
    refuses("[]", "parameter_invalid", NULL);
    refuses("{}", "parameter_not_found", "changes");
    refuses("{\"changes\":[]}", "parameter_invalid", "changes");
    refuses("{\"changes\":{}}", "parameter_invalid", "changes");
    refuses("{\"changes\":[1]}", "parameter_invalid", "changes[0]");
    refuses("{\"changes\":[{}]}", "parameter_not_found", "changes[0].organization_id");
    refuses(WHOLE "}],\"more\":1}", "parameter_invalid", "more");
    refuses(WHOLE "},{}]}", "parameter_not_found", "changes[1].organization_id");
    refuses(WHOLE "}]} ]", "invalid_json", NULL);
}

Test(audit_record, names_the_member_that_is_wrong)
{
    INVALID("\"change\":\"key.created\",\"detail\":{}", "changes[0].change");
    INVALID("\"change\":\"\",\"detail\":{}", "changes[0].change");
    INVALID("\"change\":\"key.create\",\"detail\":[]", "changes[0].detail");
    INVALID("\"change\":\"key.create\",\"detail\":\"{}\"", "changes[0].detail");
    INVALID("\"change\":\"key.create\",\"detail\":{},\"user_id\":\"x\"", "changes[0].user_id");
    INVALID("\"change\":\"key.create\",\"detail\":{},\"user_id\":null", "changes[0].user_id");
    INVALID("\"change\":\"key.create\",\"detail\":{},\"address\":\"192.0.2.1/24\"",
            "changes[0].address");
    INVALID("\"change\":\"key.create\",\"detail\":{},\"target\":\"a\\u0000b\"",
            "changes[0].target");
    INVALID("\"change\":\"key.create\",\"detail\":{},\"created_at\":1", "changes[0].created_at");
    refuses("{\"changes\":[{\"organization_id\":\"01920000-0000-7000-8000-00000000000A\"}]}",
            "parameter_invalid", "changes[0].organization_id");
    refuses("{\"changes\":[{\"organization_id\":\"00000000-0000-0000-0000-000000000000\"}]}",
            "parameter_invalid", "changes[0].organization_id");
    refuses("{\"changes\":[{\"organization_id\":\"" ORG "\",\"id\":\"" ID "\",\"who\":\"\"}]}",
            "parameter_invalid", "changes[0].who");
}

#define DATED(id)                                                                                  \
    "{\"changes\":[{\"organization_id\":\"" ORG "\",\"id\":\"" id "\",\"who\":\"operator\","       \
    "\"change\":\"key.create\",\"detail\":{}}]}"

/* Readers of the log see the newest change first: one from the future would stay on top. */
Test(audit_record, refuses_an_id_without_a_time_or_with_a_future_one)
{
    struct recorded recorded;

    refuses(DATED("018bcfe5-6800-4000-8000-00000000000a"), "parameter_invalid", "changes[0].id");
    refuses(DATED("ffffffff-ffff-7fff-bfff-ffffffffffff"), "parameter_invalid", "changes[0].id");
    /* A day and a millisecond ahead is refused, exactly a day is not. */
    refuses(DATED("01a31d82-ac01-7000-8000-00000000000a"), "parameter_invalid", "changes[0].id");
    cr_expect_eq(parse(&recorded, STR(DATED("01a31d82-ac00-7000-8000-00000000000a"))), ST_OK);
    arena_release(&recorded.arena);
}

Test(audit_record, takes_so_many_at_most)
{
    struct recorded recorded;

    for (int n = 200; n <= 201; n++) {
        struct buf body;

        arena_init(&arena, 64 << 20);
        buf_init(&body, &arena, 65536);
        buf_add(&body, STR("{\"changes\":["));
        for (int i = 0; i < n; i++)
            buf_printf(&body, "%s%s}", i > 0 ? "," : "", WHOLE + sizeof("{\"changes\":[") - 1);
        buf_add(&body, STR("]}"));
        cr_expect_eq(parse(&recorded, buf_str(&body)), n == 200 ? ST_OK : ST_REFUSED, "%d", n);
        arena_release(&recorded.arena);
        arena_release(&arena);
    }
}

/* -- written ----------------------------------------------------------------------------------- */

static void record(const char *body)
{
    struct recorded recorded;

    cr_assert_eq(parse(&recorded, str_of(body)), ST_OK, "%s: %s",
                 recorded.command.errors.at[0].field, recorded.command.errors.at[0].message);
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    audit_record.query(&recorded.command, db, NULL);
    cr_assert_eq(db_commit(db), ST_OK, "%s", db_last_sqlstate(db));
    arena_release(&recorded.arena);
}

Test(audit_record, writes_each_once_with_its_time, .init = start, .fini = stop)
{
    for (int i = 0; i < 2; i++)
        record(WHOLE "},{\"organization_id\":\"" OTHER "\",\"id\":\"" ID "\",\"who\":"
                     "\"o'hara,\\\"{}\\\\@example.com\",\"user_id\":\"" USER "\",\"change\":"
                     "\"policy.set\",\"target\":\"\",\"detail\":{\"n\":1.5,\"is\":[true,null]},"
                     "\"address\":\"2001:db8::1\"}]}");
    cr_expect_eq(count("SELECT count(*) FROM audit.changes"), 2);
    cr_expect_eq(count("SELECT count(*) FROM audit.changes WHERE organization_id = '" ORG "'"
                       " AND who = 'operator' AND user_id IS NULL AND target IS NULL"
                       " AND address IS NULL AND change = 'key.create'"
                       " AND detail::text = '{\"name\":\"a \\\"key\\\"\"}'"
                       " AND created_at = to_timestamp(1700000000)"),
                 1);
    cr_expect_eq(count("SELECT count(*) FROM audit.changes WHERE organization_id = '" OTHER "'"
                       " AND who = 'o''hara,\"{}\\@example.com' AND user_id = '" USER "'"
                       " AND target = '' AND address = '2001:db8::1'"
                       " AND detail::text = '{\"n\":1.5,\"is\":[true,null]}'"),
                 1);
}

Test(audit_record, leaves_one_that_is_there_as_it_is, .init = start, .fini = stop)
{
    record(WHOLE "}]}");
    record(HEAD "\"change\":\"key.revoke\",\"detail\":{}}]}");
    cr_expect_eq(count("SELECT count(*) FROM audit.changes WHERE change = 'key.create'"), 1);
    cr_expect_eq(count("SELECT count(*) FROM audit.changes"), 1);
}

/* `n` zeros between two texts. */
static const char *filled(const char *before, int n, const char *behind)
{
    return arena_printf(&arena, "%s%0*d%s", before, n, 0, behind);
}

/* The table's bounds must not be narrower than the command's: a refused row would look like a
   failure of the service. */
Test(audit_record, takes_nothing_that_the_table_refuses, .init = start, .fini = stop)
{
    static const char behind[] = "\",\"change\":\"organization.create\",\"detail\":{}}]}";
    static const char who[] =
        "{\"changes\":[{\"organization_id\":\"" ORG "\",\"id\":\"" ID "\",\"who\":\"";
    static const char other[] = "{\"changes\":[{\"organization_id\":\"" OTHER "\",\"id\":\"" ID
                                "\",\"who\":\"x\",\"change\":\"key.create\",\"detail\":{\"a\":\"";

    record(filled(who, 1024, behind));
    refuses(filled(who, 1025, behind), "parameter_invalid", "changes[0].who");
    record(filled(other, 65536 - 8, "\"}}]}"));
    refuses(filled(other, 65536 - 7, "\"}}]}"), "parameter_invalid", "changes[0].detail");
    cr_expect_eq(count("SELECT count(*) FROM audit.changes"), 2);
}
