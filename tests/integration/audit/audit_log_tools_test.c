/* What operators do with an audit log besides verifying it: export it, set how long it is kept. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/never_free.h"
#include "tests/support/sealed_log.h"
#include "tests/support/sql.h"
#include "tests/support/stack.h"

TestSuite(audit_log_tools, .init = stack_share);

/* -- export ----------------------------------------------------------------------------------- */

/* The lines of an export with these options. */
static size_t export(const struct sealed_log *sealed, const char *options, json_t *lines[],
                     size_t max)
{
    FILE *from = popen(
        format("'%s' audit export --org %s %s", stack_program("convctl"), sealed->org.id, options),
        "r");
    char line[4096];
    size_t n = 0;

    cr_assert_not_null(from);
    for (; fgets(line, sizeof(line), from) != NULL; n++) {
        cr_assert_lt(n, max);
        lines[n] = never_free(json_loads(line, 0, NULL));
        cr_assert_not_null(lines[n], "%s", line);
    }
    cr_assert_eq(pclose(from), 0);
    return n;
}

static void expect_ids(json_t *lines[], size_t n, const char *const *ids)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_str_eq(json_string_value(json_object_get(lines[i], "request_id")), ids[i]);
}

Test(audit_log_tools, exports_the_audit_log_oldest_first_and_continues_after_an_entry)
{
    struct sealed_log sealed;
    json_t *lines[SEALED_LOG_ENTRIES + 1];

    sealed_log_make(&sealed);
    cr_assert_eq(export(&sealed, "", lines, SEALED_LOG_ENTRIES + 1), SEALED_LOG_ENTRIES);
    expect_ids(lines, SEALED_LOG_ENTRIES, sealed.ids);
    expect_members(lines[0], "type id request_id api_key_id operation http_status outcome "
                             "denial_reason conversation_id contact_id created_at");
    cr_assert_eq(export(&sealed, format("--from %s", sealed.ids[9]), lines, SEALED_LOG_ENTRIES),
                 SEALED_LOG_ENTRIES - 10);
    expect_ids(lines, SEALED_LOG_ENTRIES - 10, sealed.ids + 10);
    cr_assert_eq(export(&sealed, format("--from %s", sealed.ids[SEALED_LOG_ENTRIES - 1]), lines, 1),
                 0);
}

Test(audit_log_tools, exports_entries_between_two_times)
{
    struct sealed_log sealed;
    json_t *lines[SEALED_LOG_ENTRIES + 1];
    long long first;

    sealed_log_make(&sealed);
    cr_assert_eq(export(&sealed, "", lines, SEALED_LOG_ENTRIES + 1), SEALED_LOG_ENTRIES);
    first = sealed_log_integer(lines[0], "created_at");
    cr_assert_eq(export(&sealed, format("--before %lld", first), lines, 1), 0);
    cr_assert_eq(export(&sealed, format("--after %lld", first - 1), lines, SEALED_LOG_ENTRIES),
                 SEALED_LOG_ENTRIES);
    for (size_t i = export(&sealed, format("--after %lld --before %lld", first, first + 2), lines,
                           SEALED_LOG_ENTRIES);
         i > 0; i--)
        cr_assert_eq(sealed_log_integer(lines[i - 1], "created_at"), first + 1);
}

Test(audit_log_tools, exports_more_than_one_step_takes)
{
    enum { MANY = 2345 };
    static json_t *lines[MANY + 1];
    struct sealed_log sealed;

    org_new(&sealed.org);
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO audit.entries (organization_id, created_at,"
                    " request_id, api_key_id, operation, http_status, outcome) SELECT $1::uuid,"
                    " audit.time_of(id), id, $1::uuid, 'ping', 200, 'allowed' FROM"
                    " generate_series(1, $2::int) AS n, LATERAL (SELECT (lpad(to_hex((extract(epoch"
                    " FROM now()) * 1000)::bigint), 12, '0') || '7000' || '8000' ||"
                    " lpad(to_hex(n), 12, '0'))::uuid AS id) AS made RETURNING 1)"
                    " SELECT count(*) FROM made",
                    sealed.org.id, format("%d", MANY), NULL),
        MANY);
    cr_assert_eq(export(&sealed, "", lines, MANY + 1), MANY);
    for (size_t i = 1; i < MANY; i++)
        cr_assert_lt(strcmp(json_string_value(json_object_get(lines[i - 1], "id")),
                            json_string_value(json_object_get(lines[i], "id"))),
                     0);
    sealed_log_await_seal(&sealed.org);
    sealed_log_expect_sound(&sealed);
    cr_assert_eq(sealed_log_integer(sealed_log_verify(&sealed), "sealed"), MANY);
}

/* -- retention -------------------------------------------------------------------------------- */

Test(audit_log_tools, keeps_the_longest_minimum_that_was_asked_for)
{
    struct sealed_log sealed;
    char code[64];

    org_new(&sealed.org);
    cr_assert_eq(sealed_log_integer(never_free(convctl("audit", "retain", "--org", sealed.org.id,
                                                       "--months", "24", NULL)),
                                    "minimum_months"),
                 24);
    cr_assert_eq(sealed_log_integer(never_free(convctl("audit", "retain", "--org", sealed.org.id,
                                                       "--months", "6", NULL)),
                                    "minimum_months"),
                 24);
    cr_assert_eq(
        convctl_fails(code, "audit", "retain", "--org", sealed.org.id, "--months", "0", NULL), 1);
    cr_assert_str_eq(code, "parameter_invalid");
}
