/* What operators do with a trail besides verifying it: export it, say how long it is kept. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/keep.h"
#include "tests/support/sql.h"
#include "tests/support/trail.h"

TestSuite(trail_tools, .init = api_open, .timeout = 120);

/* -- export ----------------------------------------------------------------------------------- */

/* The lines of an export with these options. */
static size_t export(const struct trail *trail, const char *options, json_t *lines[], size_t most)
{
    const char *directory = getenv("BIN_DIR");
    FILE *from = popen(format("'%s/convctl' audit export --org %s %s",
                              directory != NULL ? directory : "build/bin", trail->org.id, options),
                       "r");
    char line[4096];
    size_t n = 0;

    cr_assert_not_null(from);
    for (; fgets(line, sizeof(line), from) != NULL; n++) {
        cr_assert_lt(n, most);
        lines[n] = keep(json_loads(line, 0, NULL));
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

Test(trail_tools, exports_the_trail_oldest_first_and_goes_on_behind_an_entry)
{
    struct trail trail;
    json_t *lines[TRAIL_ENTRIES + 1];

    trail_make(&trail);
    cr_assert_eq(export(&trail, "", lines, TRAIL_ENTRIES + 1), TRAIL_ENTRIES);
    expect_ids(lines, TRAIL_ENTRIES, trail.ids);
    expect_members(lines[0], "type id request_id api_key_id operation http_status outcome "
                             "denial_reason conversation_id contact_id created_at");
    cr_assert_eq(export(&trail, format("--from %s", trail.ids[9]), lines, TRAIL_ENTRIES),
                 TRAIL_ENTRIES - 10);
    expect_ids(lines, TRAIL_ENTRIES - 10, trail.ids + 10);
    cr_assert_eq(export(&trail, format("--from %s", trail.ids[TRAIL_ENTRIES - 1]), lines, 1), 0);
}

Test(trail_tools, exports_what_lies_between_two_times)
{
    struct trail trail;
    json_t *lines[TRAIL_ENTRIES + 1];
    long long first;

    trail_make(&trail);
    cr_assert_eq(export(&trail, "", lines, TRAIL_ENTRIES + 1), TRAIL_ENTRIES);
    first = trail_integer(lines[0], "created_at");
    cr_assert_eq(export(&trail, format("--before %lld", first), lines, 1), 0);
    cr_assert_eq(export(&trail, format("--after %lld", first - 1), lines, TRAIL_ENTRIES),
                 TRAIL_ENTRIES);
    for (size_t i = export(&trail, format("--after %lld --before %lld", first, first + 2), lines,
                           TRAIL_ENTRIES);
         i > 0; i--)
        cr_assert_eq(trail_integer(lines[i - 1], "created_at"), first + 1);
}

Test(trail_tools, exports_more_than_one_step_takes)
{
    enum { MANY = 2345 };
    static json_t *lines[MANY + 1];
    struct trail trail;

    org_new(&trail.org);
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO audit.entries (organization_id, created_at,"
                    " request_id, api_key_id, operation, http_status, outcome) SELECT $1::uuid,"
                    " audit.time_of(id), id, $1::uuid, 'ping', 200, 'allowed' FROM"
                    " generate_series(1, $2::int) AS n, LATERAL (SELECT (lpad(to_hex((extract(epoch"
                    " FROM now()) * 1000)::bigint), 12, '0') || '7000' || '8000' ||"
                    " lpad(to_hex(n), 12, '0'))::uuid AS id) AS made RETURNING 1)"
                    " SELECT count(*) FROM made",
                    trail.org.id, format("%d", MANY), NULL),
        MANY);
    cr_assert_eq(export(&trail, "", lines, MANY + 1), MANY);
    for (size_t i = 1; i < MANY; i++)
        cr_assert_lt(strcmp(json_string_value(json_object_get(lines[i - 1], "id")),
                            json_string_value(json_object_get(lines[i], "id"))),
                     0);
    trail_await_seal(&trail.org);
    trail_expect_sound(&trail);
    cr_assert_eq(trail_integer(trail_verify(&trail), "sealed"), MANY);
}

/* -- retention -------------------------------------------------------------------------------- */

Test(trail_tools, keeps_the_longest_minimum_that_was_asked_for)
{
    struct trail trail;
    char code[64];

    org_new(&trail.org);
    cr_assert_eq(trail_integer(keep(convctl("audit", "retain", "--org", trail.org.id, "--months",
                                            "24", NULL)),
                               "minimum_months"),
                 24);
    cr_assert_eq(trail_integer(
                     keep(convctl("audit", "retain", "--org", trail.org.id, "--months", "6", NULL)),
                     "minimum_months"),
                 24);
    cr_assert_eq(
        convctl_fails(code, "audit", "retain", "--org", trail.org.id, "--months", "0", NULL), 1);
    cr_assert_str_eq(code, "parameter_invalid");
}
