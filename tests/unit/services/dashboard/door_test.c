#include "services/dashboard/door.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* -- shares ---------------------------------------------------------------------------------- */

#define SECOND 1000000

static const struct share_limit limit = {.per_second = 10, .burst = 25, .at_once = 4};
static struct shares *shares;

static void make_shares(void)
{
    shares = shares_new(&limit, 12345);
}

static void free_shares(void)
{
    shares_free(shares);
}

TestSuite(share, .init = make_shares, .fini = free_shares);

/* How many requests are let in one after the other. */
static unsigned enter_all(const char *whose, int64_t now_us, unsigned *wait_s)
{
    struct share *share;
    unsigned n = 0;

    while ((share = shares_enter(shares, str_of(whose), now_us, wait_s)) != NULL) {
        share_leave(share);
        n++;
    }
    return n;
}

#define ANN "ann-ann-ann-ann-ann"
#define BOB "bob-bob-bob-bob-bob"

Test(share, is_a_burst_and_then_so_many_a_second)
{
    unsigned wait_s;

    cr_expect_eq(enter_all(ANN, SECOND, &wait_s), 25);
    cr_expect_eq(wait_s, 1);
    cr_expect_eq(enter_all(BOB, SECOND, &wait_s), 25,
                 "requests of one do not count against another");
    cr_expect_eq(enter_all(ANN, 2LL * SECOND, &wait_s), 10);
    cr_expect_eq(enter_all(ANN, 3600LL * SECOND, &wait_s), 25);
}

Test(share, is_not_used_up_by_a_time_that_is_past)
{
    unsigned wait_s;

    cr_expect_not_null(shares_enter(shares, STR(ANN), 4LL * SECOND, &wait_s));
    cr_expect_not_null(shares_enter(shares, STR(ANN), SECOND, &wait_s));
    cr_expect_eq(enter_all(ANN, 4LL * SECOND, &wait_s), 23, "nor has it grown since then");
}

Test(share, limits_requests_in_flight)
{
    struct share *entered[4];
    unsigned wait_s;

    for (size_t i = 0; i < 4; i++)
        cr_assert_not_null(entered[i] = shares_enter(shares, STR(ANN), SECOND, &wait_s));
    cr_expect_null(shares_enter(shares, STR(ANN), SECOND, &wait_s));
    cr_expect_eq(wait_s, 1);
    share_leave(entered[0]);
    cr_expect_not_null(shares_enter(shares, STR(ANN), SECOND, &wait_s));
}

Test(share, in_use_is_not_forgotten_however_many_others_come)
{
    struct share *own[4];
    unsigned wait_s;

    for (size_t i = 0; i < 4; i++)
        cr_assert_not_null(own[i] = shares_enter(shares, STR(ANN), SECOND, &wait_s));
    for (int i = 0; i < 100000; i++) {
        char whose[32];
        struct str name = {whose, (size_t)snprintf(whose, sizeof(whose), "%-20d", i)};
        struct share *share = shares_enter(shares, name, SECOND + i, &wait_s);

        cr_assert_not_null(share);
        cr_assert_not(share->is_known, "a place was given to no client");
        share->is_known = true;
        share_leave(share);
    }
    cr_expect_null(shares_enter(shares, STR(ANN), SECOND, &wait_s));
    cr_expect_eq(own[0]->under_way, 4);
}

Test(share, is_not_there_for_more_than_there_are_places)
{
    unsigned wait_s, n = 0;

    for (int i = 0; i < 100000; i++) {
        char whose[32];
        struct str name = {whose, (size_t)snprintf(whose, sizeof(whose), "%-20d", i)};

        n += shares_enter(shares, name, SECOND, &wait_s) != NULL;
    }
    cr_expect_leq(n, 8192);
    cr_expect_gt(n, 7000);
}

/* -- the door -------------------------------------------------------------------------------- */

/* Requests that were let in ('a', 'b', ...) or turned away ('A', 'B', ...), in order. */
static char seen[512];
static struct door door;
static struct door_place places[300];

static struct door_place *coming; /* set until door_come() returns */

static void note(const struct door_place *place, bool is_let_in)
{
    char name[] = {(char)((is_let_in ? 'a' : 'A') + (place - places) % 26), '\0'};

    strcat(seen, name);
}

static void on_turn(struct door_place *place, bool is_let_in)
{
    cr_assert_neq(place, coming);
    note(place, is_let_in);
}

static struct timers timers;

static void set_up(void)
{
    timers_init(&timers, h2o_evloop_create());
    door_init(&door, &timers, 12345);
}

TestSuite(door, .init = set_up);

static void come(int i, const char *address)
{
    struct address client;

    enum door_turn turn;

    cr_assert(address_parse(str_of(address), &client));
    coming = &places[i];
    turn = door_come(&door, coming, &client, on_turn);
    coming = NULL;
    if (turn != DOOR_WAITS)
        note(&places[i], turn == DOOR_LET_IN);
}

Test(door, admits_a_few_and_fewer_of_one_network)
{
    come(0, "192.0.2.1");
    come(1, "192.0.2.2");
    come(2, "192.0.2.3");
    cr_expect_str_eq(seen, "ab", "two of a network");
    come(3, "198.51.100.1");
    come(4, "2001:db8::1");
    come(5, "203.0.113.1");
    cr_expect_str_eq(seen, "abde", "four in all");
    door_leave(&places[3]);
    cr_expect_str_eq(seen, "abdef");
    door_leave(&places[0]);
    cr_expect_str_eq(seen, "abdefc");
}

Test(door, admits_users_of_the_network_with_the_fewest_tries_first)
{
    char address[INET6_ADDRSTRLEN];

    for (int i = 0; i < 20; i++) { /* four networks try repeatedly */
        snprintf(address, sizeof(address), "192.0.%d.%d", i % 4, i);
        come(i, address);
    }
    cr_expect_str_eq(seen, "abcd");
    come(20, "2001:db8::1");
    come(21, "2001:db8:0:ffff::1");
    door_leave(&places[0]);
    cr_expect_str_eq(seen, "abcdu", "the first time, before sixteen who came earlier");
    door_leave(&places[1]);
    door_leave(&places[2]);
    cr_expect_str_eq(seen, "abcduef", "the second time as all who have tried once, by turn");
}

Test(door, rejects_a_client_behind_too_many_others)
{
    char address[INET6_ADDRSTRLEN];

    for (int i = 0; i < DOOR_OF_NETWORK + DOOR_WAITING_OF_NETWORK; i++)
        come(i, "192.0.2.1");
    cr_expect_eq(strlen(seen), DOOR_OF_NETWORK);
    come(40, "192.0.2.99");
    cr_expect_eq(strlen(seen), DOOR_OF_NETWORK + 1);
    cr_expect_eq(seen[DOOR_OF_NETWORK], 'A' + 40 % 26);
    for (int i = 0; i < 258; i++) {
        snprintf(address, sizeof(address), "198.51.%d.1", i % 250);
        come(41 + i, address);
    }
    cr_expect_eq(door.n_inside, DOOR_AT_ONCE);
    cr_expect_eq(door.n_waiting, DOOR_WAITING);
}

Test(door, makes_room_for_a_network_with_fewer_places_when_full)
{
    char address[INET6_ADDRSTRLEN];
    int n = 0;

    for (int network = 0; network < 8; network++) /* the first two have two inside each */
        for (int i = 0; i < DOOR_WAITING_OF_NETWORK + (network < 2 ? DOOR_OF_NETWORK : 0); i++) {
            snprintf(address, sizeof(address), "192.0.%d.%d", network, i);
            come(n++, address);
        }
    cr_assert_str_eq(seen, "abij");
    cr_assert_eq(door.n_waiting, DOOR_WAITING);
    come(n, "2001:db8::1");
    cr_expect_str_eq(seen, "abijP", "not the newcomer, but the last of the second network");
    cr_expect_eq(door.n_waiting, DOOR_WAITING);
    come(n + 1, "192.0.1.99");
    cr_expect_str_eq(seen, "abijPB", "all clients of that network have the same weight");
    memset(seen, 0, sizeof(seen));
    for (int i = 0; i < 2; i++) {
        door_leave(&places[i]);
        door_leave(&places[34 + i]);
    }
    for (int i = 68; i <= 68 + 2 * 32; i += 32) /* the first of the third network and the next */
        door_leave(&places[i]);
    cr_expect_eq(strlen(seen), 7);
    cr_expect_eq(seen[6], 'a' + n % 26, "after six networks that had not tried either: %s", seen);
}

Test(door, keeps_the_place_of_a_client_that_disconnects_for_a_while)
{
    come(0, "192.0.2.1");
    come(1, "192.0.2.2");
    come(2, "192.0.2.3");
    door_abandon(&places[0]);
    cr_expect_str_eq(seen, "ab");
    while (seen[2] == '\0')
        (void)h2o_evloop_run(timers.loop, 100);
    cr_expect_str_eq(seen, "abc");
}

Test(door, rejects_clients_that_waited_too_long_and_forgets_those_that_left)
{
    come(0, "192.0.2.1");
    come(1, "192.0.2.2");
    come(2, "192.0.2.3");
    come(3, "192.0.2.4");
    door_leave(&places[2]);
    while (seen[2] == '\0')
        (void)h2o_evloop_run(timers.loop, 100);
    cr_expect_str_eq(seen, "abD");
    door_leave(&places[3]);
    door_leave(&places[0]);
    cr_expect_str_eq(seen, "abD");
    cr_expect_eq(door.n_waiting, 0);
}
