/* Fan-out: events become deliveries, by organization in turn and within budgets. */
#include "tests/unit/services/webhook/webhook_fixture.h"

TestSuite(fan_out, .init = start, .fini = stop);

struct fanned {
    int64_t events, deliveries, disabled, expired, over_budget, unrecorded;
    bool has_more;
    char served[37];
};

/* Looks at 64 events of each of 4 organizations at most. */
static struct fanned fan_out(const char *work, const char *after, const char *budget)
{
    const struct db_rows *const rows =
        RUN(SQL_FAN_OUT, work, "64", "4", after, budget, FAN_OUT_ALL);
    struct fanned fanned = {
        .events = db_value_int(rows, 0, 0),
        .deliveries = db_value_int(rows, 0, 1),
        .disabled = db_value_int(rows, 0, 2),
        .expired = db_value_int(rows, 0, 3),
        .over_budget = db_value_int(rows, 0, 4),
        .unrecorded = db_value_int(rows, 0, 5),
        .has_more = db_value_bool(rows, 0, 6),
    };

    snprintf(fanned.served, sizeof(fanned.served), "%.*s", STR_ARG(db_value(rows, 0, 7)));
    return fanned;
}

/* Expects a fan-out with these counts; `more`: events are left for the next one. */
static void expect_fan_out(const char *work, int events, int deliveries, bool more)
{
    const struct fanned fanned = fan_out(work, NOBODY, "100000");

    cr_assert_eq(fanned.events, events, "%s: %d", work, (int)fanned.events);
    cr_assert_eq(fanned.deliveries, deliveries, "%s: %d", work, (int)fanned.deliveries);
    cr_assert_eq(fanned.has_more, more);
}

static void make_endpoints(const char *organization, int n)
{
    char endpoint[37];

    for (int i = 0; i < n; i++) {
        snprintf(endpoint, sizeof(endpoint), "01920000-0000-7000-8000-%012x", 16 + i);
        make_endpoint(organization, endpoint);
    }
}

/* The endpoint was made when the database's clock was an hour ahead. */
Test(fan_out, to_endpoints_of_earlier_transactions_whatever_clocks_show)
{
    make_events(ORG, 1, 0, false);
    make_endpoint(ORG, ENDPOINT);
    postgres_do(server.url, "UPDATE webhook.endpoints SET created_at = now() + interval '1 h'");
    make_events(ORG, 2, 0, false);
    expect_fan_out("100", 3, 2, false);
}

/* ORG has many older events, each of which is more work than one fan-out may do. */
Test(fan_out, to_organizations_in_turn)
{
    struct fanned fanned;

    make_endpoints(ORG, 30);
    make_endpoints(OTHER, 1);
    make_events(ORG, 50, 0, false);
    make_events(OTHER, 2, 0, false);
    fanned = fan_out("10", NOBODY, "100000");
    cr_expect_eq(fanned.deliveries, 30);
    cr_expect_str_eq(fanned.served, ORG);
    cr_expect(fanned.has_more);
    fanned = fan_out("10", fanned.served, "100000");
    cr_expect_eq(fanned.deliveries, 1);
    cr_expect_str_eq(fanned.served, OTHER);
    fanned = fan_out("10", fanned.served, "100000");
    cr_expect_eq(fanned.deliveries, 30, "round again");
    fanned = fan_out("40", fanned.served, "100000");
    cr_expect_eq(fanned.deliveries, 31, "one of each");
    cr_expect_eq(queued_of(OTHER), 2);
    /* An organization gets a quarter of the work at most, but its last event is completed. */
    fanned = fan_out("1000", fanned.served, "100000");
    cr_expect_eq(fanned.events, 9);
    expect_fan_out("100000", 38, 38 * 30, false);
    expect_fan_out("100000", 0, 0, false);
}

/* More organizations than one fan-out looks at, each with more work than one fan-out does. */
Test(fan_out, to_each_of_many_organizations_within_a_round)
{
    enum { ORGANIZATIONS = 9, LOOKED_AT = 4 };
    char served[37] = NOBODY, organization[37];

    for (int i = 0; i < ORGANIZATIONS; i++) {
        snprintf(organization, sizeof(organization), "01920000-0000-7000-8000-%012x", 1 + i);
        make_endpoints(organization, 2);
        make_events(organization, 64, 0, false);
    }
    for (int i = 0; i < (ORGANIZATIONS + LOOKED_AT - 1) / LOOKED_AT; i++)
        snprintf(served, sizeof(served), "%s", fan_out("40", served, "100000").served);
    cr_expect_eq(count("SELECT count(DISTINCT organization_id) FROM webhook.queue"), ORGANIZATIONS);
}

Test(fan_out, reports_that_an_organization_may_have_more_events)
{
    make_events(ORG, 65, 0, false);
    expect_fan_out("100000", 64, 0, true);
    expect_fan_out("100000", 1, 0, false);
}

Test(fan_out, within_a_budget_a_minute)
{
    struct fanned fanned;

    make_endpoints(ORG, 3);
    make_events(ORG, 2, 0, false);
    await_room_in_minute();
    fanned = fan_out("100000", NOBODY, "4");
    cr_expect_eq(fanned.deliveries, 6);
    cr_expect_eq(fanned.over_budget, 2);
    cr_expect_eq(fanned.unrecorded, 0);
    cr_expect_eq(queued_of(ORG), 4);
    cr_expect_eq(count(SKIPPED("over_budget")), 2);

    /* The log takes as many skipped deliveries again; the rest are only counted and cost little. */
    make_events(ORG, 40, 0, false);
    fanned = fan_out("400", NOBODY, "4");
    cr_expect_eq(fanned.deliveries, 3 * fanned.events);
    cr_expect_eq(fanned.over_budget, fanned.deliveries);
    cr_expect_eq(fanned.unrecorded, fanned.deliveries - 2);
    cr_expect_eq(count(SKIPPED("over_budget")), 4);
    (void)fan_out("400", NOBODY, "4");
    cr_expect_eq(count("SELECT count(*) FROM webhook.events WHERE NOT dispatched"), 0);
    cr_expect_eq(count("SELECT sum(skipped) FROM webhook.statistics"), 2 + 120);

    postgres_do(server.url, "UPDATE webhook.statistics SET minute = minute - interval '1 minute'");
    make_events(ORG, 1, 0, false);
    cr_expect_eq(fan_out("400", NOBODY, "4").over_budget, 0, "another minute");
    cr_expect_eq(queued_of(ORG), 7);
}

/* Each event is checked against each endpoint, even if nothing is written for it. */
Test(fan_out, weighs_counted_events_by_their_endpoints)
{
    struct fanned fanned;

    make_endpoints(ORG, 64);
    make_events(ORG, 2, 0, false);
    await_room_in_minute();
    (void)fan_out("100000", NOBODY, "1");
    make_events(ORG, 64, 0, false);
    fanned = fan_out("64", NOBODY, "1");
    cr_expect_eq(fanned.unrecorded, fanned.deliveries);
    cr_expect_gt(fanned.events, 0);
    cr_expect_leq(fanned.deliveries, 8 * 64 / 4, "a quarter of the work: %d",
                  (int)fanned.deliveries);
}

Test(fan_out, skips_events_that_have_waited_for_a_day)
{
    struct fanned fanned;

    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 3, 2, false);
    make_events(ORG, 1, 0, false);
    fanned = fan_out("100", NOBODY, "100");
    cr_expect_eq(fanned.events, 4);
    cr_expect_eq(fanned.expired, 3);
    cr_expect_eq(queued_of(ORG), 1);
    cr_expect_eq(count(SKIPPED("expired")), 3);
}

/* -- bounds of an event ------------------------------------------------------------------------- */

/* Inserts an event as the role that writes events; raises if the table accepts it. */
#define REFUSED(values)                                                                            \
    "DO $$ BEGIN INSERT INTO webhook.events (organization_id, id, type, data, created_at) VALUES " \
    "('" ORG "', gen_random_uuid(), " values                                                       \
    "); RAISE 'the event was accepted'; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$"

Test(fan_out, is_given_no_event_beyond_its_bounds)
{
    static const char *const beyond[] = {
        REFUSED("'t', '{}', 'infinity'"),
        REFUSED("'t', '{}', '-infinity'"),
        REFUSED("repeat('t', 65), '{}', now()"),
        REFUSED("'t', jsonb_build_array(repeat('d', 65536)), now()"),
    };
    static const char *const roles[] = {"conv_conversation", "conv_webhook"};
    char url[POSTGRES_URL_MAX];

    for (size_t role = 0; role < 2; role++) {
        postgres_url_as(&server, roles[role], url);
        postgres_do(url, "INSERT INTO webhook.events (organization_id, id, type, data, created_at)"
                         " VALUES ('" ORG "', gen_random_uuid(), repeat('t', 64),"
                         " jsonb_build_array(repeat('d', 65000)), now())");
        for (size_t i = 0; i < ARRAY_SIZE(beyond); i++)
            postgres_do(url, beyond[i]);
    }
    cr_assert_eq(count("SELECT count(*) FROM webhook.events"), 2);
}
