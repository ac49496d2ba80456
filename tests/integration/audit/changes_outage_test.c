/* Every change that access makes is logged exactly once, even if access or audit is killed. */
#include <criterion/criterion.h>
#include <signal.h>

#include "proto/subject.h"
#include "tests/support/changes.h"
#include "tests/support/replica.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"

#define SUPERVISOR "../lock"

enum { TIMEOUT_MS = 30000, CHANGES = 40, CHANGES_MAX = 1000 };

static void open_alone(void)
{
    stack_have_alone();
    service_connection = service_client_open();
}

/* However a test ends, the next one finds everything running. */
static void restore(void)
{
    stack_signal("audit-0", SIGCONT);
    stack_signal(SUPERVISOR, SIGCONT);
    service_connection_close();
    cr_assert(replicas_of_stack_await_ready(TIMEOUT_MS), "the stack did not come back");
}

TestSuite(changes_outage, .init = open_alone, .fini = restore);

static void require_https(const struct org *org, bool on)
{
    cr_assert_eq(service_client_call(service_connection, SUBJECT_ACCESS_POLICY_SET, org->id,
                                     "{\"require_https\":%s}", on ? "true" : "false")
                     .outcome,
                 OUTCOME_OK);
}

static int64_t waiting(const struct org *org)
{
    return sql_integer("SELECT count(*) FROM access.outbox WHERE organization_id = $1::uuid",
                       org->id, NULL);
}

static int64_t logged(const struct org *org)
{
    return sql_integer("SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid"
                       " AND change = 'policy.set'",
                       org->id, NULL);
}

static long long sent_by(const struct replica *access)
{
    return replica_metric(access, "conversations_access_outbox_sent_total");
}

/* Makes an organization and waits until the changes that made it are in the log. */
static void open_org(struct org *org)
{
    org_new(org);
    changes_await(org->id);
}

static void end_audit(void)
{
    stack_signal(SUPERVISOR, SIGSTOP);
    stack_signal("audit-0", SIGKILL);
}

static bool was_tried(void *closure)
{
    return replica_metric(closure, "conversations_access_outbox_retries_total") > 0;
}

Test(changes_outage, are_made_while_audit_is_down_and_logged_afterwards)
{
    struct replica access = replica_of_stack("access-0");
    struct org org;

    open_org(&org);
    end_audit();
    for (int i = 0; i < 5; i++)
        require_https(&org, i % 2 == 0);
    cr_assert(stack_wait(was_tried, &access, TIMEOUT_MS));
    cr_expect_eq(waiting(&org), 5);
    cr_expect_eq(logged(&org), 0);
    stack_signal(SUPERVISOR, SIGCONT);
    cr_expect_eq(changes_count(org.id, "change = 'policy.set'"), 5);
    cr_expect_eq(changes_count(org.id, "change = 'policy.set' AND created_at > now() -"
                                       " interval '1 minute' AND detail::text ~ 'require_https'"),
                 5);
}

Test(changes_outage, of_a_process_that_is_killed_before_it_sends_them_are_logged)
{
    struct org org;

    open_org(&org);
    end_audit();
    require_https(&org, true);
    stack_signal("access-0", SIGKILL);
    cr_expect_eq(waiting(&org), 1);
    stack_signal(SUPERVISOR, SIGCONT);
    cr_expect_eq(changes_count(org.id, "change = 'policy.set'"), 1);
}

static bool is_under_way(void *closure)
{
    return sql_integer("SELECT count(*) FROM access.outbox WHERE organization_id = $1::uuid"
                       " AND due_at > now() + interval '1 second'",
                       ((const struct org *)closure)->id, NULL) == 1;
}

/* The message has reached the halted audit service, which takes it when it resumes. The update of
   due_at frees the killed process's claim, instead of waiting for it to expire. */
Test(changes_outage, of_a_process_that_is_killed_before_the_answer_are_logged_once)
{
    struct org org;

    open_org(&org);
    stack_halt("audit-0");
    require_https(&org, true);
    cr_assert(stack_wait(is_under_way, &org, TIMEOUT_MS));
    stack_end("access-0", SIGKILL);
    stack_signal("audit-0", SIGCONT);
    cr_assert_str_eq(sql_state_as(NULL, "UPDATE access.outbox SET due_at = now()"), "00000");
    cr_expect_eq(changes_count(org.id, "change = 'policy.set'"), 1);
}

Test(changes_outage, are_sent_once_by_two_replicas)
{
    struct replica first = replica_of_stack("access-0"), second;
    long long before;
    struct org org;
    int n = 0;

    open_org(&org);
    replica_start_of(&second, "access", (const char *const[]){NULL});
    before = sent_by(&first) + sent_by(&second);
    /* Each sends what it finds, so a busy machine may leave the second one nothing for long. */
    for (; n < CHANGES || (sent_by(&second) == 0 && n < CHANGES_MAX); n++)
        require_https(&org, n % 2 == 0);
    cr_expect_eq(changes_count(org.id, "change = 'policy.set'"), n);
    cr_expect_eq(sent_by(&first) + sent_by(&second), before + n);
    cr_expect_gt(sent_by(&second), 0);
    replica_stop(&second);
}

/* -- what the audit service refuses ----------------------------------------------------------- */

static bool shows_one(void *closure)
{
    return replica_metric(closure, "conversations_access_outbox_set_aside") == 1;
}

Test(changes_outage, that_are_refused_are_set_aside_and_others_go_on)
{
    struct replica access = replica_of_stack("access-0");
    struct org org, other;

    open_org(&org);
    open_org(&other);
    cr_assert_str_eq(
        sql_state_as(NULL, format("INSERT INTO access.outbox (organization_id, id, who, change,"
                                  " detail) VALUES ('%s', '01920000-0000-7000-8000-000000000001',"
                                  " 'operator', 'made.up', '{}')",
                                  other.id)),
        "00000");
    cr_assert(stack_wait(shows_one, &access, TIMEOUT_MS));
    cr_expect_geq(replica_metric(&access, "conversations_access_outbox_refused_total"), 1);
    cr_expect_str_eq(sql_text("SELECT refusal FROM access.outbox WHERE organization_id = $1::uuid",
                              other.id, NULL),
                     "parameter_invalid");
    require_https(&org, true);
    cr_expect_eq(changes_count(org.id, "change = 'policy.set'"), 1);
    cr_expect_eq(sql_integer("SELECT count(*) FROM audit.changes WHERE change = 'made.up'", NULL),
                 0);
    cr_assert_str_eq(sql_state_as(NULL, "DELETE FROM access.outbox"), "00000");
}
