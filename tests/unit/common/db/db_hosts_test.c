/* Which host is tried next. */
#include "common/db/db_hosts.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/db/db.h"

enum { SECOND = 1000 * 1000 };

static struct db_hosts hosts;

static void open_hosts(const char *url)
{
    db_hosts_init(&hosts, url, false);
}

static void close_hosts(void)
{
    db_hosts_release(&hosts);
}

TestSuite(db_hosts, .fini = close_hosts);

static void expect_host(size_t i, const char *host, const char *port)
{
    cr_expect_str_eq(hosts.all[i].host, host);
    cr_expect_str_eq(hosts.all[i].port, port);
    cr_expect_null(hosts.all[i].hostaddr);
}

Test(db_hosts, reads_the_lists_of_a_url)
{
    open_hosts("postgresql://u:p@a:1,[::1]:2,c/d");
    cr_assert_eq(hosts.n, 3);
    expect_host(0, "a", "1");
    expect_host(1, "::1", "2");
    expect_host(2, "c", "5432");
}

Test(db_hosts, takes_one_port_for_all)
{
    open_hosts("host=a,b port=7 dbname=d");
    cr_assert_eq(hosts.n, 2);
    cr_expect_str_eq(hosts.all[1].host, "b");
    cr_expect_null(hosts.all[1].port);
}

Test(db_hosts, leaves_the_port_of_one_host_to_libpq)
{
    open_hosts("postgresql://u@a:1/d");
    cr_assert_eq(hosts.n, 1);
    cr_expect_str_eq(hosts.all[0].host, "a");
    cr_expect_null(hosts.all[0].port);
}

static void expect_at(size_t at)
{
    cr_assert_eq(db_hosts_current(&hosts), &hosts.all[at], "it is host %d", (int)hosts.at);
}

Test(db_hosts, tries_each_once_a_round_from_the_one_that_served_last)
{
    open_hosts("host=a,b,c");
    cr_assert_not(db_hosts_fail(&hosts, false, 0));
    expect_at(1);
    db_hosts_succeed(&hosts);
    cr_assert_not(db_hosts_fail(&hosts, false, 0));
    expect_at(2);
    cr_assert_not(db_hosts_fail(&hosts, false, 0));
    expect_at(0);
    cr_assert(db_hosts_fail(&hosts, false, 0));
    expect_at(1);
}

/* A host that was silent for a second rests for four; the next time for two, then eight. */
Test(db_hosts, leaves_a_silent_one_out_for_four_fifths_of_the_time)
{
    open_hosts("host=a,b");
    cr_assert_eq(db_hosts_limit_us(&hosts), SECOND);
    cr_assert_not(db_hosts_fail(&hosts, true, SECOND));
    expect_at(1);
    cr_assert(db_hosts_fail(&hosts, false, SECOND));
    expect_at(1);
    cr_assert(db_hosts_fail(&hosts, false, 5 * SECOND - 1));
    expect_at(1);
    cr_assert_not(db_hosts_fail(&hosts, false, 5 * SECOND));
    expect_at(0);
    cr_assert_eq(db_hosts_limit_us(&hosts), 2 * SECOND);
    cr_assert(db_hosts_fail(&hosts, true, 7 * SECOND));
    expect_at(1);
    cr_assert(db_hosts_fail(&hosts, false, 15 * SECOND - 1));
    expect_at(1);
}

/* Otherwise each statement that timed out would also wait for the silent host. */
Test(db_hosts, does_not_turn_to_one_that_rests)
{
    open_hosts("host=a,b,c");
    cr_assert_not(db_hosts_fail(&hosts, true, SECOND));
    cr_assert_not(db_hosts_fail(&hosts, false, SECOND));
    expect_at(2);
    db_hosts_succeed(&hosts);
    db_hosts_turn(&hosts, 5 * SECOND - 1);
    expect_at(1);
    cr_assert_not(db_hosts_fail(&hosts, true, 5 * SECOND - 1));
    expect_at(2);
    db_hosts_succeed(&hosts);
    db_hosts_turn(&hosts, 5 * SECOND);
    expect_at(0);
    cr_assert_not(db_hosts_fail(&hosts, true, 6 * SECOND));
    expect_at(2);
    db_hosts_succeed(&hosts);
    db_hosts_turn(&hosts, 6 * SECOND);
    expect_at(2);
}

Test(db_hosts, does_not_wait_if_all_are_silent)
{
    open_hosts("host=a,b");
    cr_assert_not(db_hosts_fail(&hosts, true, 1 * SECOND));
    expect_at(1);
    cr_assert(db_hosts_fail(&hosts, true, 2 * SECOND));
    expect_at(0);
    cr_assert(db_hosts_fail(&hosts, true, 4 * SECOND));
    expect_at(1);
}

Test(db_hosts, gives_a_silent_one_five_seconds_at_most)
{
    open_hosts("host=a,b");
    for (int i = 0; i < 10; i++)
        (void)db_hosts_fail(&hosts, true, i * SECOND);
    cr_assert_eq(db_hosts_limit_us(&hosts), 5 * SECOND);
    db_hosts_succeed(&hosts);
    cr_assert_eq(db_hosts_limit_us(&hosts), SECOND);
}

Test(db_hosts, gives_the_only_one_five_seconds)
{
    open_hosts("host=127.0.0.1");
    cr_assert(db_hosts_fail(&hosts, true, SECOND));
    expect_at(0);
    cr_assert_eq(db_hosts_limit_us(&hosts), 5 * SECOND);
    cr_assert_eq(hosts.all[0].turn.rests_until_us, 0);
}

/* -- addresses of a name ----------------------------------------------------------------------- */

static struct address v6, v4;

static void find_both(int64_t now_us)
{
    cr_assert(address_parse(STR("::1"), &v6) && address_parse(STR("127.0.0.1"), &v4));
    cr_assert_not_null(db_hosts_name(&hosts));
    db_hosts_found(&hosts, (const struct address[]){v6, v4}, 2, now_us);
    cr_assert_null(db_hosts_name(&hosts));
}

static void expect_address(const struct address *ip)
{
    cr_assert(db_hosts_address(&hosts) != NULL && address_equal(db_hosts_address(&hosts), ip));
}

Test(db_hosts, looks_up_names_only)
{
    static const char *const others[] = {"host=127.0.0.1", "host=::1", "host=fe80::1%eth0",
                                         "host=/run",      "host=@db", "host=a hostaddr=127.0.0.1",
                                         "dbname=d"};

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        open_hosts(others[i]);
        cr_expect_null(db_hosts_name(&hosts), "%s", others[i]);
        cr_expect_null(db_hosts_address(&hosts), "%s", others[i]);
        close_hosts();
    }
    open_hosts("host=a");
    cr_expect_str_eq(db_hosts_name(&hosts), "a");
}

Test(db_hosts, passes_over_a_silent_address_and_leaves_it_out_for_a_while)
{
    open_hosts("host=a");
    find_both(0);
    expect_address(&v6);
    cr_assert_eq(db_hosts_limit_us(&hosts), SECOND);
    cr_assert_not(db_hosts_fail(&hosts, true, SECOND));
    expect_address(&v4);
    cr_assert(db_hosts_fail(&hosts, false, SECOND));
    find_both(SECOND);
    expect_address(&v4);
    cr_assert(db_hosts_fail(&hosts, false, 5 * SECOND - 1));
    find_both(5 * SECOND);
    expect_address(&v6);
    cr_assert_eq(db_hosts_limit_us(&hosts), 2 * SECOND);
    cr_assert_not(db_hosts_fail(&hosts, true, 7 * SECOND));
    expect_address(&v4);
}

Test(db_hosts, begins_with_the_address_that_served_last)
{
    open_hosts("host=a");
    find_both(0);
    cr_assert_not(db_hosts_fail(&hosts, false, 0));
    db_hosts_succeed(&hosts);
    find_both(0);
    expect_address(&v4);
    cr_assert_not(db_hosts_fail(&hosts, false, 0));
    expect_address(&v6);
    cr_assert(db_hosts_fail(&hosts, false, 0));
}

Test(db_hosts, tries_all_addresses_of_a_host_before_the_next_host)
{
    open_hosts("host=a,b");
    find_both(0);
    cr_assert_not(db_hosts_fail(&hosts, false, 0));
    expect_at(0);
    cr_assert_not(db_hosts_fail(&hosts, false, 0));
    expect_at(1);
    cr_assert_str_eq(db_hosts_name(&hosts), "b");
    cr_assert(db_hosts_fail(&hosts, true, SECOND), "the lookup is silent");
    expect_at(0);
}

/* -- roles ----------------------------------------------------------------------------------- */

Test(db_hosts, requires_writes_by_default)
{
    open_hosts("host=a");
    cr_expect_null(db_hosts_objection(&hosts, "off", "off"));
    cr_expect_null(db_hosts_objection(&hosts, NULL, NULL));
    cr_expect_str_eq(db_hosts_objection(&hosts, "on", "off"), "it is a standby");
    cr_expect_str_eq(db_hosts_objection(&hosts, "off", "on"), "its sessions are read-only");
}

Test(db_hosts, settles_for_any_in_a_round_that_found_no_standby)
{
    open_hosts("host=a,b target_session_attrs=prefer-standby");
    for (int i = 0; i < 2; i++) {
        cr_assert_not_null(db_hosts_objection(&hosts, "off", "off"));
        cr_assert_not(db_hosts_fail(&hosts, false, 0), "the round is not over");
    }
    expect_at(0);
    cr_assert_null(db_hosts_objection(&hosts, "off", "off"));
    cr_assert_not(db_hosts_fail(&hosts, false, 0));
    cr_assert(db_hosts_fail(&hosts, false, 0));
    cr_assert_not_null(db_hosts_objection(&hosts, "off", "off"));
    db_hosts_succeed(&hosts);
    cr_assert_not_null(db_hosts_objection(&hosts, "off", "off"));
}

Test(db_hosts, distinguishes_unreachable_from_the_wrong_role)
{
    open_hosts("host=a");
    cr_expect_str_eq(db_hosts_trouble(&hosts), "the database is unreachable");
    (void)db_hosts_objection(&hosts, "on", "off");
    (void)db_hosts_fail(&hosts, false, 0);
    cr_expect_str_eq(db_hosts_trouble(&hosts), "no server of the database takes writes");
    (void)db_hosts_fail(&hosts, false, 0);
    cr_expect_str_eq(db_hosts_trouble(&hosts), "the database is unreachable");
    close_hosts();
    /* The primary is up, but its schema does not fit. */
    open_hosts("host=a,b");
    (void)db_hosts_objection(&hosts, "off", "off");
    (void)db_hosts_fail(&hosts, false, 0);
    (void)db_hosts_objection(&hosts, "on", "off");
    (void)db_hosts_fail(&hosts, false, 0);
    cr_expect_str_eq(db_hosts_trouble(&hosts), "the database is unreachable");
}
