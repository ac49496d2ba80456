/* Organizations that another cell serves or is about to serve: this cell leaves their rows alone,
 * and they take no turns from other organizations. */
#include "tests/unit/services/webhook/webhook_fixture.h"

TestSuite(moving, .init = start, .fini = stop);

#define LAST    "01920000-0000-7000-8000-000000000003"
#define WEBHOOK "01920000-0000-7000-8000-00000000000b"

static void set_moving(const char *organization, const char *state)
{
    char text[256];

    snprintf(text, sizeof(text),
             "INSERT INTO cell.moves VALUES ('%s', '%s') ON CONFLICT (organization_id)"
             " DO UPDATE SET state = excluded.state, since = clock_timestamp()",
             organization, state);
    postgres_do(server.url, text);
}

static void open_all(void)
{
    postgres_do(server.url, "TRUNCATE cell.moves");
}

static const char *const organizations[] = {ORG, OTHER, LAST};

/* A fan-out gives turns to two organizations, never to moving ones, wherever the turns start. */
Test(moving, leaves_the_turns_of_fan_out_to_others)
{
    for (int i = 0; i < 3; i++)
        make_events(organizations[i], 1, 0, false);
    set_moving(ORG, "arriving");
    set_moving(OTHER, "leaving");
    cr_expect_eq(RUN_INT(SQL_FAN_OUT, "100", "64", "2", NOBODY, "1000", FAN_OUT_ALL), 1);
    make_events(LAST, 1, 0, false);
    cr_expect_eq(RUN_INT(SQL_FAN_OUT, "100", "64", "2", LAST, "1000", FAN_OUT_ALL), 1);
    open_all();
    cr_expect_eq(RUN_INT(SQL_FAN_OUT, "100", "64", "2", NOBODY, "1000", FAN_OUT_ALL), 2);
}

static void make_resend(const char *organization)
{
    char text[512];

    make_endpoint(organization, ENDPOINT);
    snprintf(text, sizeof(text),
             "INSERT INTO webhook.resends (organization_id, endpoint_id, event_id, event_type,"
             " previous_id) VALUES ('%s', '" ENDPOINT "', gen_random_uuid(), 't',"
             " gen_random_uuid())",
             organization);
    postgres_do(server.url, text);
}

Test(moving, leaves_the_turns_of_resends_to_others)
{
    for (int i = 0; i < 3; i++)
        make_resend(organizations[i]);
    set_moving(ORG, "gone");
    set_moving(OTHER, "closed");
    cr_expect_eq(RUN_INT(SQL_QUEUE_RESENDS, "100", "2", NOBODY, "1000"), 1);
    cr_expect_eq(queued_of(LAST), 1);
    open_all();
    cr_expect_eq(RUN_INT(SQL_QUEUE_RESENDS, "100", "2", LAST, "1000"), 2);
}

Test(moving, keeps_old_rows_of_a_moving_organization)
{
    make_events(ORG, 2, 40, true);
    make_events(OTHER, 1, 40, true);
    postgres_do(server.url,
                "INSERT INTO webhook.statistics SELECT id, now() - interval '9 days', 1, 1"
                "  FROM (VALUES ('" ORG "'::uuid), ('" OTHER "')) AS old (id)");
    set_moving(ORG, "arriving");
    cr_expect_eq(RUN_INT(SQL_DROP_EVENTS, "1"), 1);
    cr_expect_eq(RUN_INT(SQL_DROP_EVENTS, "1"), 0);
    cr_expect_eq(RUN_INT(SQL_DROP_STATISTICS, "1"), 1);
    cr_expect_eq(RUN_INT(SQL_DROP_STATISTICS, "1"), 0);
    set_moving(ORG, "leaving");
    cr_expect_eq(RUN_INT(SQL_DROP_EVENTS, "9"), 2);
    cr_expect_eq(RUN_INT(SQL_DROP_STATISTICS, "9"), 1);
}

Test(moving, reports_no_endpoint)
{
    make_endpoint(ORG, ENDPOINT);
    make_endpoint(OTHER, WEBHOOK);
    postgres_do(server.url, "UPDATE webhook.progress SET consecutive_failures = 9,"
                            " failing_since = now() - interval '6 days'");
    set_moving(ORG, "closed");
    cr_expect_eq(db_rows_count(RUN(SQL_REPORT_FAILING, "1")), 1);
    cr_expect_eq(db_rows_count(RUN(SQL_REPORT_FAILING, "1")), 0);
    open_all();
    cr_expect_eq(db_rows_count(RUN(SQL_REPORT_FAILING, "1")), 1);
}
