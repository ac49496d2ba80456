/* NATS's own service discovery, queried as standard tools do. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/bus/bus.h"
#include "proto/subject.h"
#include "tests/support/api_client.h"
#include "tests/support/never_free.h"

/* Alone: tests that listen to the whole bus expect commands only, and these queries are none. */
TestSuite(discovery, .init = stack_have_alone);

enum { TIMEOUT_US = 10 * 1000 * 1000, TURN_MS = 20 };

static const char *const services[] = {"access", "audit", "conversation", "search", "webhook"};
enum { SERVICES = ARRAY_SIZE(services) };

static struct bus *bus;
static struct bus_mailbox *inbox;

static void open_bus(void)
{
    bus = bus_connect(&(struct bus_options){.url = stack_setting("NATS_URL"), .name = "discovery"});
    inbox = bus_serve(bus, "_INBOX.discovery", NULL);
    while (!bus_is_up(bus))
        bus_wait(bus, TURN_MS);
}

/* Waits for n answers. */
static json_t *ask(const char *subject, size_t n)
{
    json_t *responses = never_free(json_array());
    int64_t until_us = clock_mono_us() + TIMEOUT_US;

    if (bus == NULL)
        open_bus();
    cr_assert_eq(bus_publish(bus, subject, "_INBOX.discovery", NULL, 0, STR("")), ST_OK);
    (void)bus_flush(bus);
    while (json_array_size(responses) < n) {
        struct bus_message *message;

        cr_assert_lt(clock_mono_us(), until_us, "%s: too few answer", subject);
        bus_wait(bus, TURN_MS);
        while ((message = bus_take(inbox)) != NULL) {
            struct str body = bus_message_body(message);
            json_t *response = json_loadb(body.p, body.n, 0, NULL);

            cr_assert_not_null(response, "%s: %.*s", subject, STR_ARG(body));
            json_array_append_new(responses, response);
            bus_message_free(message);
        }
    }
    return responses;
}

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    cr_assert_not_null(text, "%s", name);
    return text;
}

static const json_t *of_name(const json_t *responses, const char *name)
{
    const json_t *found = NULL;

    for (size_t i = 0; i < json_array_size(responses); i++)
        if (strcmp(member(json_array_get(responses, i), "name"), name) == 0)
            found = json_array_get(responses, i);
    cr_assert_not_null(found, "%s does not answer", name);
    return found;
}

/* NULL: the service has no endpoint with that subject. */
static const json_t *find_endpoint(const json_t *response, const char *subject)
{
    const json_t *all = json_object_get(response, "endpoints");

    for (size_t i = 0; i < json_array_size(all); i++)
        if (strcmp(member(json_array_get(all, i), "subject"), subject) == 0)
            return json_array_get(all, i);
    return NULL;
}

static const json_t *endpoint(const json_t *response, const char *subject)
{
    const json_t *found = find_endpoint(response, subject);

    cr_assert_not_null(found, "%s is not an endpoint", subject);
    return found;
}

Test(discovery, finds_every_service)
{
    json_t *responses = ask("$SRV.PING", SERVICES);

    for (size_t i = 0; i < SERVICES; i++) {
        const json_t *response = of_name(responses, services[i]);

        expect_members(response, "type name id version metadata");
        cr_expect_str_eq(member(response, "type"), "io.nats.micro.v1.ping_response");
        cr_expect_str_eq(member(response, "version"), stack_version_of("convctl"));
        cr_expect_str_eq(member(json_object_get(response, "metadata"), "instance"),
                         format("%s-0", services[i]));
    }
}

Test(discovery, asks_all_of_a_name_or_one_process)
{
    static const char *const verbs[] = {"PING", "INFO", "STATS"};

    for (size_t i = 0; i < SERVICES; i++) {
        const char *id = NULL;

        for (size_t v = 0; v < ARRAY_SIZE(verbs); v++) {
            const json_t *named = ask(format("$SRV.%s.%s", verbs[v], services[i]), 1), *one;
            const char *own = member(of_name(named, services[i]), "id");

            cr_expect(id == NULL || strcmp(id, own) == 0, "a process has one id");
            id = own;
            one = ask(format("$SRV.%s.%s.%s", verbs[v], services[i], id), 1);
            cr_expect_eq(json_array_size(one), 1);
            cr_expect_str_eq(member(of_name(one, services[i]), "id"), id);
        }
    }
}

Test(discovery, says_which_commands_a_service_takes)
{
    const json_t *responses = ask("$SRV.INFO", SERVICES);
    const json_t *sign_in = endpoint(of_name(responses, "access"), "v1.session.sign-in");

    expect_members(of_name(responses, "audit"),
                   "type name id version metadata description endpoints");
    cr_expect_str_eq(member(of_name(responses, "audit"), "type"), "io.nats.micro.v1.info_response");
    expect_members(sign_in, "name subject queue_group");
    cr_expect_str_eq(member(sign_in, "name"), "sign-in");
    cr_expect_str_eq(member(sign_in, "queue_group"), "access");
    for (size_t i = 0; i < n_bus_permissions; i++) {
        size_t n = 0;

        for (size_t at = 0; at < json_array_size(responses); at++)
            n += find_endpoint(json_array_get(responses, at), bus_permissions[i].subject) != NULL;
        cr_expect_eq(n, bus_permissions[i].kind == BUS_COMMAND, "%s", bus_permissions[i].subject);
    }
}

static json_int_t figure(const char *subject, const char *name)
{
    const json_t *response = of_name(ask("$SRV.STATS.conversation", 1), "conversation");

    expect_members(response, "type name id version metadata started data endpoints");
    expect_members(endpoint(response, subject),
                   "name subject queue_group num_requests num_errors "
                   "last_error processing_time average_processing_time");
    return json_integer_value(json_object_get(endpoint(response, subject), name));
}

Test(discovery, counts_requests_and_measures_their_time)
{
    static const char create[] = "v1.conversation.create";
    json_int_t requests = figure(create, "num_requests"), time = figure(create, "processing_time");
    json_int_t errors = figure(create, "num_errors"); /* from earlier tests */
    struct org org;

    org_new(&org);
    (void)new_conversation(&org, "found-1", "somebody");
    cr_expect_eq(figure(create, "num_requests"), requests + 1);
    cr_expect_eq(figure(create, "num_errors"), errors);
    cr_expect_gt(figure(create, "processing_time"), time);
}

Test(discovery, reports_whether_a_service_can_work_and_its_lag)
{
    json_t *responses = ask("$SRV.STATS", SERVICES);

    for (size_t i = 0; i < SERVICES; i++) {
        const json_t *data = json_object_get(of_name(responses, services[i]), "data");
        const bool lags = strcmp(services[i], "audit") == 0 || strcmp(services[i], "webhook") == 0;

        expect_members(data, lags ? "database lag_s" : "database");
        cr_expect(json_is_true(json_object_get(data, "database")), "%s", services[i]);
        if (lags)
            cr_expect(json_is_integer(json_object_get(data, "lag_s")), "%s", services[i]);
    }
}

/* -- convctl --------------------------------------------------------------------------------------
 */

static void expect_services(const json_t *list)
{
    cr_assert_eq(json_array_size(list), SERVICES);
    for (size_t i = 0; i < SERVICES; i++) {
        const json_t *line = json_array_get(list, i);

        expect_members(line, "name instance cell id version started requests errors");
        cr_expect_str_eq(member(line, "name"), services[i]);
        cr_expect_str_eq(member(line, "version"), stack_version_of("convctl"));
        expect_uuid(member(line, "id"));
    }
}

Test(discovery, is_used_by_convctl_to_list_services)
{
    expect_services(never_free(convctl("service", "list", NULL)));
}

static const char *const foreign[] = {
    "nothing of JSON",
    "[]",
    "\"audit\"",
    "{}",
    "{\"name\":7}",
    "{\"type\":\"io.nats.micro.v1.stats_response\",\"name\":\"stranger\",\"id\":\"1\"}",
};
enum { FOREIGN = ARRAY_SIZE(foreign) };

struct foreign_services {
    struct bus *bus;
    struct bus_mailbox *asked;
    atomic_bool is_over;
    size_t responses;
};

static void *run_foreign_services(void *closure)
{
    struct foreign_services *self = closure;

    while (!atomic_load(&self->is_over)) {
        struct bus_message *message;

        bus_wait(self->bus, TURN_MS);
        while ((message = bus_take(self->asked)) != NULL) {
            char to[256];

            snprintf(to, sizeof(to), "%.*s", STR_ARG(bus_message_reply_to(message)));
            for (size_t i = 0; i < FOREIGN; i++)
                self->responses +=
                    bus_publish(self->bus, to, NULL, NULL, 0, str_of(foreign[i])) == ST_OK;
            (void)bus_flush(self->bus);
            bus_message_free(message);
        }
    }
    return NULL;
}

Test(discovery, of_other_systems_is_not_listed_by_convctl)
{
    struct foreign_services others = {.bus = NULL};
    pthread_t thread;
    json_t *list;

    open_bus();
    others.bus = bus;
    others.asked = bus_serve(bus, "$SRV.STATS", NULL);
    (void)bus_flush(bus);
    cr_assert_eq(pthread_create(&thread, NULL, run_foreign_services, &others), 0);
    list = never_free(convctl("service", "list", NULL));
    atomic_store(&others.is_over, true);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(others.responses, FOREIGN);
    expect_services(list);
}
