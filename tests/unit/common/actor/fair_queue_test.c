/* Which of a mailbox's waiting messages is next. */
#include "common/actor/fair_queue.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

enum { MAX = 64, MAX_BYTES = 10000, BATCH_MAX = 16, BATCH_BYTES = 4000 };

static struct fair_queue queue;
static struct waiting *batch[BATCH_MAX];
static size_t n_batch;
static int64_t now_us = 1000000000;

static void open_queue(void)
{
    fair_queue_init(&queue, MAX, MAX_BYTES, 2 * BATCH_MAX, BATCH_BYTES);
}

static void close_queue(void)
{
    fair_queue_release(&queue);
}

TestSuite(fair_queue, .init = open_queue, .fini = close_queue);

/* An organization is a letter. The queue never reads messages: each is an address in this array. */
static char messages['h'][100000];

static struct bus_message *message_of(char organization, int number)
{
    return (struct bus_message *)&messages[(int)organization][number];
}

static ptrdiff_t place_of(const struct waiting *waiting)
{
    return (const char *)waiting->message - &messages[0][0];
}

static char organization_of(const struct waiting *waiting)
{
    return (char)(place_of(waiting) / (ptrdiff_t)sizeof(messages[0]));
}

static int number_of(const struct waiting *waiting)
{
    return (int)(place_of(waiting) % (ptrdiff_t)sizeof(messages[0]));
}

static bool add_sized(char organization, int number, size_t bytes, struct waiting *excess)
{
    struct uuid id = {{(uint8_t)organization}};
    struct waiting waiting = {
        .message = message_of(organization, number), .bytes = bytes, .since_us = now_us};

    return fair_queue_add(&queue, &id, &waiting, excess);
}

/* Adds a message until it is in or turned away. Returns how many were; *excess is the last one. */
static size_t press_in(char organization, int number, size_t bytes, struct waiting *excess)
{
    size_t n = 0;

    while (add_sized(organization, number, bytes, excess)) {
        n++;
        if (excess->message == message_of(organization, number))
            break;
    }
    return n;
}

static void add(char organization, int n)
{
    struct waiting excess;

    for (int i = 0; i < n; i++)
        cr_assert_not(add_sized(organization, i, 1, &excess));
}

static void take(size_t max)
{
    n_batch = fair_queue_take(&queue, max, now_us, batch);
}

/* Charges each message of the batch with this cost and reply size. */
static void charge(uint32_t cost, size_t bytes)
{
    for (size_t i = 0; i < n_batch; i++)
        fair_queue_end(&queue, batch[i], cost, bytes, now_us);
}

static size_t count(char organization)
{
    size_t n = 0;

    for (size_t i = 0; i < n_batch; i++)
        n += organization_of(batch[i]) == organization;
    return n;
}

/* Runs one message of the organization with this cost and reply size. */
static void make_known(char organization, uint32_t cost, size_t bytes)
{
    add(organization, 1);
    take(1);
    cr_assert_eq(count(organization), 1);
    charge(cost, bytes);
}

static void expect_batch(const char *organizations)
{
    cr_assert_eq(n_batch, strlen(organizations), "%zu", n_batch);
    for (size_t i = 0; i < n_batch; i++)
        cr_assert_eq(organization_of(batch[i]), organizations[i], "%zu", i);
}

/* -- in turn --------------------------------------------------------------------------------- */

Test(fair_queue, returns_waiting_commands_in_order)
{
    make_known('a', 1, 0);
    add('a', 20);
    for (int expected = 0; expected < 20;) {
        take(BATCH_MAX);
        cr_assert_gt(n_batch, 0);
        for (size_t i = 0; i < n_batch; i++)
            cr_assert_eq(number_of(batch[i]), expected++);
        charge(1, 0);
    }
    take(BATCH_MAX);
    cr_assert_eq(n_batch, 0);
}

Test(fair_queue, takes_organizations_in_turn)
{
    make_known('a', 1, 0);
    make_known('b', 1, 0);
    make_known('c', 1, 0);
    add('a', 20);
    add('b', 2);
    add('c', 3);
    take(9);
    expect_batch("abcabcaca");
    charge(1, 0);
    take(4);
    expect_batch("aaaa");
}

Test(fair_queue, continues_with_the_organization_whose_turn_it_is)
{
    make_known('a', 1, 0);
    make_known('b', 1, 0);
    make_known('c', 1, 0);
    add('a', 5);
    add('b', 5);
    add('c', 5);
    take(2);
    expect_batch("ab");
    charge(1, 0);
    take(2);
    expect_batch("ca");
}

Test(fair_queue, gives_no_organization_more_than_half_of_a_batch_while_others_wait)
{
    make_known('a', 1, 0);
    make_known('b', 1, 0);
    add('a', 20);
    add('b', 1);
    take(BATCH_MAX);
    cr_assert_eq(count('a'), BATCH_MAX / 2);
    cr_assert_eq(count('b'), 1);
    charge(1, 0);
    take(BATCH_MAX);
    cr_assert_eq(count('a'), 12);
}

Test(fair_queue, takes_few_of_whom_it_does_not_know)
{
    add('a', 20);
    take(BATCH_MAX);
    cr_assert_lt(count('a'), 8);
    charge(1, 0);
    take(BATCH_MAX);
    cr_assert_eq(count('a'), BATCH_MAX);
}

/* -- bounds ---------------------------------------------------------------------------------- */

Test(fair_queue, rejects_the_newest_of_the_flow_with_most)
{
    struct waiting excess;

    add('a', MAX - 4);
    add('b', 4);
    cr_assert_eq(press_in('b', 4, 1, &excess), 1);
    cr_assert_eq(organization_of(&excess), 'a');
    cr_assert_eq(number_of(&excess), MAX - 5);
    cr_assert_eq(press_in('c', 0, 1, &excess), 1);
    cr_assert_eq(number_of(&excess), MAX - 6);
    cr_assert_eq(press_in('a', 99, 1, &excess), 1);
    cr_assert_eq(number_of(&excess), 99, "it is the newest itself");
    cr_assert_eq(fair_queue_waiting(&queue), MAX);
}

Test(fair_queue, bounds_bytes_too)
{
    struct waiting excess;

    cr_assert_not(add_sized('a', 0, 6000, &excess));
    cr_assert_not(add_sized('a', 1, 3000, &excess));
    for (int i = 0; i < 10; i++)
        cr_assert_not(add_sized('b', i, 100, &excess));
    cr_assert_eq(press_in('b', 10, 100, &excess), 1);
    cr_assert_eq(organization_of(&excess), 'a');
    cr_assert_eq(number_of(&excess), 1);
    cr_assert_not(add_sized('b', 11, 1000, &excess));
    cr_assert_eq(press_in('a', 2, 3000, &excess), 1);
    cr_assert_eq(number_of(&excess), 2);
    cr_assert_leq(queue.flows.bytes, MAX_BYTES);
}

/* The newest messages of the organization with the most may be much smaller than the new one. */
Test(fair_queue, makes_room_for_all_bytes_that_come)
{
    struct waiting excess;

    for (int i = 0; i < 3; i++)
        cr_assert_not(add_sized('a', i, 3000, &excess));
    for (int i = 3; i < 23; i++)
        cr_assert_not(add_sized('a', i, 10, &excess));
    cr_assert_eq(press_in('b', 0, 2000, &excess), 20 + 1);
    cr_assert_eq(number_of(&excess), 2);
    cr_assert_eq(queue.flows.bytes, 3000 + 3000 + 2000);
    for (int i = 1; i < 10; i++) {
        press_in('b', i, 1500, &excess);
        press_in('c', i, 1500, &excess);
        cr_assert_leq(queue.flows.bytes, MAX_BYTES);
    }
}

/* -- cost ------------------------------------------------------------------------------------ */

Test(fair_queue, makes_expensive_organizations_wait_until_others_had_as_much)
{
    size_t others = 0;

    make_known('b', 1, 0);
    make_known('a', 101, 0);
    add('a', 20);
    add('b', 40);
    for (take(4); count('a') == 0; take(4)) {
        others += n_batch;
        charge(1, 0);
        if (fair_queue_waiting(&queue) < 40)
            add('b', 20);
    }
    cr_assert_eq(others + count('b'), 100, "%zu", others + count('b'));
}

Test(fair_queue, ends_a_batch_that_is_expected_to_take_long)
{
    make_known('a', 100, 0);
    make_known('b', 1, 0);
    add('a', 20);
    take(BATCH_MAX);
    expect_batch("aa"); /* other organizations' debts do not matter: it is alone */
    charge(100, 0);
    add('b', 3);
    take(BATCH_MAX);
    expect_batch("bbb");
    charge(1, 0);
    make_known('c', 1000, 0);
    add('c', 3);
    for (size_t had = 0; had < 3; had += count('c')) {
        take(BATCH_MAX);
        cr_assert_leq(count('c'), 1);
        charge(count('c') > 0 ? 1000 : 100, 0);
    }
}

Test(fair_queue, ends_a_batch_that_would_hold_too_much)
{
    make_known('a', 1, BATCH_BYTES / 2 - 10);
    add('a', 5);
    take(BATCH_MAX);
    cr_assert_eq(n_batch, 2);
    charge(1, 2 * BATCH_BYTES);
    take(BATCH_MAX);
    cr_assert_eq(n_batch, 1);
    charge(1, 0);
}

Test(fair_queue, forgets_costs_slowly)
{
    make_known('a', 1000, 0);
    add('a', 40);
    take(BATCH_MAX);
    cr_assert_eq(n_batch, 1);
    for (int i = 0; n_batch < BATCH_MAX; i++) {
        cr_assert_lt(i, 30);
        charge(1, 0);
        add('a', (int)n_batch);
        take(BATCH_MAX);
    }
}

Test(fair_queue, ignores_commands_that_were_not_run)
{
    add('b', 20);
    take(BATCH_MAX);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(n_batch, 4, "it is not known");
        charge(0, 0);
        take(BATCH_MAX);
    }
    charge(1, 0);
}

Test(fair_queue, keeps_its_estimates_if_a_command_was_not_run)
{
    make_known('a', 1000, 2 * BATCH_BYTES);
    add('a', 40);
    for (int i = 0; i < 30; i++) {
        take(BATCH_MAX);
        cr_assert_leq(count('a'), 1);
        charge(0, 0);
    }
}

Test(fair_queue, uses_the_expected_cost_of_a_returned_command)
{
    make_known('a', 1, 0);
    add('a', 4);
    take(BATCH_MAX);
    cr_assert_eq(n_batch, 4);
    for (size_t i = n_batch; i-- > 0;) {
        fair_queue_expect(batch[i], BATCH_BYTES / 2 - 10);
        fair_queue_give_back(&queue, batch[i]);
    }
    take(BATCH_MAX);
    cr_assert_eq(n_batch, 2);
}

/* A batch may take longer than the sum of its costs. */
Test(fair_queue, takes_the_time_of_others_for_a_debt_too)
{
    const int64_t start_us = now_us;

    make_known('b', 1, 0);
    make_known('a', 50001, 0); /* a second */
    add('a', 1);
    do {
        now_us += 2000;
        cr_assert_leq(now_us - start_us, 2100000, "its half of the time");
        add('b', 1);
        take(2);
        charge(1, 0);
    } while (count('a') == 0);
    cr_assert_geq(now_us - start_us, 1900000);
}

static void add_due(char organization, int number, int64_t until_us)
{
    struct uuid id = {{(uint8_t)organization}};
    struct waiting excess, waiting = {.message = message_of(organization, number),
                                      .bytes = 1,
                                      .since_us = now_us,
                                      .until_us = until_us};

    cr_assert_not(fair_queue_add(&queue, &id, &waiting, &excess));
}

Test(fair_queue, hands_out_late_commands_even_of_organizations_in_debt)
{
    make_known('b', 1, 0);
    make_known('a', 10000, 0);
    add_due('a', 0, now_us + 1000);
    add_due('a', 1, now_us + 1000);
    add_due('a', 2, now_us + 5000);
    add('b', 3);
    take(BATCH_MAX);
    expect_batch("bbb");
    charge(1, 0);
    now_us += 1000;
    add('b', 1);
    take(BATCH_MAX);
    expect_batch("aab");
    charge(0, 0);
    add('b', 1);
    take(BATCH_MAX);
    expect_batch("b");
    charge(1, 0);
}

Test(fair_queue, takes_time_in_which_nothing_was_asked_for_a_debt)
{
    make_known('a', 101, 0);
    make_known('b', 1, 0);
    now_us += 100 * FAIR_UNIT_US;
    add('a', 1);
    add('b', 1);
    take(2);
    expect_batch("ab");
}

/* -- messages put back ----------------------------------------------------------------------- */

Test(fair_queue, tries_again_when_it_is_due_and_before_what_came_later)
{
    make_known('a', 1, 0);
    add('a', 3);
    take(1);
    batch[0]->n_tries = 1;
    batch[0]->due_us = now_us + 5000;
    cr_assert(fair_queue_put_back(&queue, batch[0]));
    cr_assert_eq(fair_queue_due_in(&queue, now_us), 0);
    take(2);
    cr_assert_eq(number_of(batch[0]), 1);
    cr_assert_eq(number_of(batch[1]), 2);
    charge(1, 0);
    cr_assert_eq(fair_queue_due_in(&queue, now_us), 5000);
    take(1);
    cr_assert_eq(n_batch, 0);
    add('a', 1);
    now_us += 5000;
    cr_assert_eq(fair_queue_due_in(&queue, now_us), 0);
    take(2);
    cr_assert_eq(n_batch, 2);
    cr_assert_eq(batch[0]->n_tries, 1);
    charge(1, 0);
    cr_assert_eq(fair_queue_due_in(&queue, now_us), -1);
}

Test(fair_queue, takes_what_was_given_back_before_what_came_later)
{
    make_known('a', 1, 0);
    add('a', 3);
    take(2);
    for (size_t i = n_batch; i-- > 0;)
        fair_queue_give_back(&queue, batch[i]);
    take(3);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(number_of(batch[i]), i);
    charge(1, 0);
}

/* Those of both batches, even if the queue has filled up in the meantime and commands wait to be
   retried. */
Test(fair_queue, has_room_for_returned_commands)
{
    struct waiting *taken[2 * BATCH_MAX];

    make_known('a', 1, 0);
    for (int i = 0; i < PUT_BACK_MAX; i++) {
        add('a', 1);
        take(1);
        batch[0]->due_us = INT64_MAX;
        cr_assert(fair_queue_put_back(&queue, batch[0]));
    }
    for (int i = 0; i < 2; i++) {
        add('a', BATCH_MAX);
        take(BATCH_MAX);
        cr_assert_eq(n_batch, BATCH_MAX);
        memcpy(&taken[i * BATCH_MAX], batch, sizeof(batch));
    }
    add('b', MAX);
    for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
        fair_queue_give_back(&queue, taken[i]);
    cr_assert_eq(fair_queue_waiting(&queue), PUT_BACK_MAX + MAX + 2 * BATCH_MAX);
}

/* Every message comes out once, whatever happens to it. */
Test(fair_queue, loses_nothing)
{
    enum { STEPS = 100000 };
    static bool is_there['h'][STEPS];
    size_t inside = 0, refused = 0;

    srand(7);
    for (int step = 0; step < STEPS; step++) {
        const char organization = (char)('a' + rand() % 7);
        struct waiting out;

        now_us += rand() % 200;
        is_there[(int)organization][step] = true;
        inside++;
        for (size_t bytes = (size_t)rand() % 300;
             is_there[(int)organization][step] && add_sized(organization, step, bytes, &out);) {
            cr_assert(is_there[(int)organization_of(&out)][number_of(&out)]);
            is_there[(int)organization_of(&out)][number_of(&out)] = false;
            inside--;
            refused++;
        }
        if (rand() % 8 > 0 && step < STEPS - 1)
            continue;
        do {
            take(1 + (size_t)rand() % BATCH_MAX);
            for (size_t i = 0; i < n_batch; i++) {
                struct waiting *one = batch[i];

                cr_assert(is_there[(int)organization_of(one)][number_of(one)]);
                one->due_us = now_us + rand() % 1000;
                if (rand() % 3 == 0 && one->n_tries++ < 3 && fair_queue_put_back(&queue, one))
                    continue;
                if (rand() % 9 == 0 && step < STEPS - 1) {
                    fair_queue_give_back(&queue, one);
                    continue;
                }
                is_there[(int)organization_of(one)][number_of(one)] = false;
                inside--;
                fair_queue_end(&queue, one, (uint32_t)rand() % 200, (size_t)rand() % 900, now_us);
            }
            cr_assert_eq(fair_queue_waiting(&queue), inside);
            now_us += 1000;
        } while (step == STEPS - 1 && fair_queue_due_in(&queue, now_us) >= 0);
    }
    cr_assert_eq(inside, 0);
    cr_assert_eq(queue.flows.bytes, 0);
    cr_assert_gt(refused, 1000);
}
