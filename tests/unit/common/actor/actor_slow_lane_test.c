/* Which commands an actor leaves to its slow lane, and how the lane runs them. */
#include <fcntl.h>
#include <stdlib.h>

#include "tests/unit/common/actor/actor_fixture.h"

enum { LANE_MAX = 8, LARGE_BODY = 900 * 1024 };

static void setup_lane(void)
{
    open_all();
    start_lane_of(&sample_service, 0);
    start_actor(0);
}

TestSuite(actor_slow_lane, .init = setup_lane, .fini = teardown);

static void start_again(const struct service *service, size_t lane_max)
{
    actor_free(actor);
    actor_free(lane);
    start_lane_of(service, lane_max);
    start_actor_of(service, 0);
}

/* From now on the organization's commands go to the lane. */
static void be_slow(void)
{
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "costs-5000", COMMAND_NORMAL),
                     "created costs-5000");
    command_client_reset(client);
}

static void block_lane(void)
{
    close_gate();
    command_client_send(client, SAMPLE_BLOCK, "", COMMAND_NORMAL);
    push();
    AWAIT_BLOCKED("sample-slow-0");
}

static int64_t in_lane(void)
{
    return metric_read(metrics->slow_lane);
}

Test(actor_slow_lane, runs_what_a_slow_organization_asks_for)
{
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "one", COMMAND_NORMAL), "created one");
    cr_assert_eq(in_lane(), 0);
    be_slow();
    cr_assert_eq(in_lane(), 0);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "two", COMMAND_NORMAL), "created two");
    cr_assert_str_eq(command_client_call(client, SAMPLE_COUNT, "", COMMAND_NORMAL), "ok 3");
    cr_assert_eq(in_lane(), 2);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "three", COMMAND_OTHER_ORGANIZATION),
                     "created three");
    cr_assert_eq(in_lane(), 2);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 5);
}

/* The lane may not answer them. */
Test(actor_slow_lane, leaves_commands_of_stock_clients_to_the_actor)
{
    be_slow();
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "two", COMMAND_PLAIN), "created two");
    cr_assert_eq(in_lane(), 0);
}

Test(actor_slow_lane, does_not_keep_other_commands_waiting)
{
    be_slow();
    block_lane();
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    push();
    for (int i = 0; i < 10; i++)
        command_client_send(client, SAMPLE_PUT, "other", COMMAND_OTHER_ORGANIZATION);
    command_client_await(client, 10);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id = 'other'"), 10);
    cr_assert_eq(count("SELECT count(*) FROM sample WHERE id LIKE 'item-%'"), 0);
    open_gate();
    command_client_await(client, 1 + 20);
    cr_assert_eq(command_client_count(client, "created"), 1 + 20);
    cr_assert_eq(in_lane(), 1 + 10);
}

static void hold_back_one_by_one(void)
{
    static struct service one_by_one;

    one_by_one = sample_service;
    one_by_one.batch_max = 1;
    start_again(&one_by_one, 0);
    hold_back();
}

Test(actor_slow_lane, takes_commands_that_already_wait)
{
    hold_back_one_by_one();
    command_client_send(client, SAMPLE_PUT, "costs-5000", COMMAND_NORMAL);
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    let_go();
    command_client_await(client, 2 + 10);
    cr_assert_eq(command_client_count(client, "created"), 2 + 10);
    cr_assert_eq(in_lane(), 10);
}

Test(actor_slow_lane, takes_no_commands_of_stock_clients_that_already_wait)
{
    static const char *const bodies[] = {"costs-5000", "one", "two", "three"};

    hold_back_one_by_one();
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        command_client_send(client, SAMPLE_PUT, bodies[i], i == 2 ? COMMAND_PLAIN : COMMAND_NORMAL);
        push();
    }
    let_go();
    command_client_await(client, 1 + 4);
    cr_assert_eq(command_client_count(client, "created"), 1 + 4);
    cr_assert_eq(in_lane(), 1, "the one before it");
}

Test(actor_slow_lane, takes_commands_with_large_bodies)
{
    char *const body = malloc(LARGE_BODY + 1);

    memset(body, 'x', LARGE_BODY);
    body[LARGE_BODY] = '\0';
    command_client_send(client, SAMPLE_PUT, body, COMMAND_NORMAL);
    command_client_await(client, 1);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "then", COMMAND_NORMAL),
                     "created then");
    cr_assert_eq(in_lane(), 1);
    free(body);
}

Test(actor_slow_lane, takes_commands_that_exceed_their_time)
{
    static struct service hasty;

    hasty = sample_service;
    hasty.statement_ms = 1000;
    start_again(&hasty, 0);
    cr_assert(strstr(command_client_call(client, SAMPLE_PUT, "long-20000", COMMAND_NORMAL),
                     "unavailable ") != NULL);
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "then", COMMAND_NORMAL),
                     "created then");
    cr_assert_eq(in_lane(), 1);
}

Test(actor_slow_lane, rests_for_as_long_as_its_batch_took)
{
    int64_t start_us;

    be_slow();
    start_us = clock_mono_us();
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "long-400", COMMAND_NORMAL),
                     "created long-400");
    cr_assert_str_eq(command_client_call(client, SAMPLE_PUT, "then", COMMAND_NORMAL),
                     "created then");
    cr_assert_gt(clock_mono_us() - start_us, 800000);
    cr_assert_eq(in_lane(), 2);
}

Test(actor_slow_lane, rejects_what_it_cannot_hold)
{
    start_again(&sample_service, LANE_MAX);
    be_slow();
    block_lane();
    for (int i = 0; i < 50; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    command_client_await(client, 50 - LANE_MAX);
    cr_assert_eq(command_client_count(client, "busy"), 50 - LANE_MAX);
    open_gate();
    command_client_await(client, 1 + 50);
    cr_assert_eq(command_client_count(client, "created"), 1 + LANE_MAX);
}

Test(actor_slow_lane, finishes_its_commands_before_the_actor_ends)
{
    be_slow();
    block_lane();
    for (int i = 0; i < 10; i++)
        command_client_send_number(client, SAMPLE_PUT, "item-%d", i);
    push();
    actor_stop(actor);
    open_gate();
    command_client_await(client, 1 + 10);
    actor_free(actor);
    actor_free(lane);
    actor = lane = NULL;
    cr_assert_eq(command_client_count(client, "created"), 1 + 10);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 2 + 10);
}

static bool has_logged(FILE *logged, const char *message, const char *field)
{
    char line[1024];
    bool has = false;

    rewind(logged);
    while (!has && fgets(line, sizeof(line), logged) != NULL)
        has = strstr(line, message) != NULL && strstr(line, field) != NULL;
    return has;
}

Test(actor_slow_lane, logs_which_request_has_lost_its_reply)
{
    FILE *const logged = tmpfile();

    cr_assert_not_null(logged);
    cr_assert_eq(fcntl(fileno(logged), F_SETFL, O_APPEND), 0);
    cr_assert_geq(dup2(fileno(logged), STDERR_FILENO), 0);
    be_slow();
    block_lane();
    nats_server_kill(&nats);
    while (actor_bus_trouble(actor) == NULL)
        usleep(1000);
    open_gate();
    while (!has_logged(logged, "could not send a reply", "\"request_id\":\"0"))
        usleep(1000);
    cr_expect_not(has_logged(logged, "could not send a reply", "00000000-0000"));
    fclose(logged);
}
