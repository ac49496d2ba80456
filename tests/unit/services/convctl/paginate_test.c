/* A call of many steps, answered by a fake service in this test. */
#include "services/convctl/paginate.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/bus/bus.h"
#include "tests/support/nats_server.h"

#define SUBJECT "v1.audit.verify"

static struct nats_server server;
static struct bus *bus;
static struct bus_mailbox *mailbox;
static pthread_t service;
static atomic_bool is_ending;
static const char *const *_Atomic answers; /* one for each step; NULL: `unavailable` */

static void answer(struct bus_message *message)
{
    const char *const *const next = atomic_load(&answers);
    const struct bus_header outcome = {"Outcome", *next != NULL ? "ok" : "unavailable"};
    const struct str body = *next != NULL ? str_of(*next) : STR("[]");

    cr_assert_eq(bus_reply(bus, message, &outcome, 1, body), ST_OK);
    atomic_store(&answers, next + (*next != NULL));
}

static void *serve(void *unused)
{
    while (!is_ending) {
        struct bus_message *message;

        bus_wait(bus, 1000);
        while ((message = bus_take(mailbox)) != NULL) {
            answer(message);
            bus_message_free(message);
        }
        (void)bus_flush(bus);
    }
    return NULL;
}

/* The subscription exists once a message of our own arrives through it. */
static void await_subscription(void)
{
    struct bus_message *message;

    while (!bus_is_up(bus))
        bus_wait(bus, 10);
    cr_assert_eq(bus_publish(bus, SUBJECT, NULL, NULL, 0, STR("")), ST_OK);
    while ((message = bus_take(mailbox)) == NULL)
        bus_wait(bus, 10);
    bus_message_free(message);
}

static void start(void)
{
    nats_server_prepare(&server, NULL);
    nats_server_start(&server);
    bus = bus_connect(&(struct bus_options){.url = server.url, .name = "service"});
    cr_assert_not_null(bus);
    mailbox = bus_serve(bus, SUBJECT, "service");
    await_subscription();
    cr_assert_eq(pthread_create(&service, NULL, serve, NULL), 0);
}

static void stop(void)
{
    is_ending = true;
    bus_wake(bus);
    pthread_join(service, NULL);
    bus_free(bus);
    nats_server_stop(&server);
}

TestSuite(paginate, .init = start, .fini = stop);

/* Returns what was printed; *failed: the call did not complete. */
static json_t *verify(const char *from, const char *const *said, bool *failed)
{
    const struct bus_client_request request = {
        .nats_url = server.url, .subject = SUBJECT, .only_reads = true};
    struct arena arena = {.cap = 1 << 20};
    struct convctl_failure failure = {0};
    FILE *const out = tmpfile();
    const int own = dup(STDOUT_FILENO);
    json_t *body = from != NULL ? json_pack("{s:s}", "from", from) : json_object(), *printed;

    atomic_store(&answers, said);
    cr_assert(out != NULL && own >= 0);
    (void)fflush(stdout);
    cr_assert_geq(dup2(fileno(out), STDOUT_FILENO), 0);
    *failed = paginate(&request, body, CONVCTL_READS_LAST, &arena, &failure) != ST_OK;
    cr_assert_geq(dup2(own, STDOUT_FILENO), 0);
    (void)close(own);
    json_decref(body);
    if (*failed)
        cr_expect(strstr(failure.message, "continue with --from 12") != NULL, "%s",
                  failure.message);
    arena_release(&arena);
    rewind(out);
    printed = json_loadf(out, JSON_DISABLE_EOF_CHECK, NULL);
    (void)fclose(out);
    cr_assert_not_null(printed);
    return printed;
}

Test(paginate, prints_the_last_reply_and_where_the_run_began)
{
    static const char *const said[] = {"{\"ok\":true,\"blocks\":12,\"position\":{\"from\":\"12\"}}",
                                       "{\"ok\":true,\"blocks\":14}", NULL};
    bool failed;
    json_t *printed = verify("11", said, &failed);

    cr_expect_not(failed);
    cr_expect_eq(json_integer_value(json_object_get(printed, "blocks")), 14);
    cr_expect_str_eq(json_string_value(json_object_get(printed, "from")), "11");
    cr_expect_null(json_object_get(printed, "complete"));
    json_decref(printed);
}

Test(paginate, prints_its_findings_when_it_is_interrupted)
{
    static const char *const said[] = {
        "{\"ok\":false,\"findings\":{\"changed\":{\"count\":2}},\"position\":{\"from\":\"12\"}}",
        NULL};
    bool failed;
    json_t *printed = verify(NULL, said, &failed);

    cr_expect(failed);
    cr_expect(json_is_false(json_object_get(printed, "ok")));
    cr_expect(json_is_false(json_object_get(printed, "complete")));
    cr_expect_not_null(json_object_get(json_object_get(printed, "findings"), "changed"));
    cr_expect_null(json_object_get(printed, "position"));
    json_decref(printed);
}

Test(paginate, makes_no_claim_about_unchecked_entries)
{
    static const char *const said[] = {"{\"ok\":true,\"position\":{\"from\":\"12\"}}", NULL};
    bool failed;
    json_t *printed = verify(NULL, said, &failed);

    cr_expect(failed);
    cr_expect(json_is_null(json_object_get(printed, "ok")));
    json_decref(printed);
}
