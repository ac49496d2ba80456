#include "tests/support/user_client.h"

#include <criterion/criterion.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"
#include "proto/headers.h"

enum { TIMEOUT_MS = 30000 };

const struct signed_in_user ada = {"01890a5d-ac96-774b-bcce-b302099a8057", "ada@example.com",
                                   "192.0.2.7"};

json_t *user_client_call(const struct signed_in_user *user, const struct org *org,
                         const char *subject, const char *body, enum outcome *outcome)
{
    const struct bus_options options = {.url = stack_setting("NATS_URL"), .name = "user_client"};
    struct bus *bus = bus_connect(&options);
    const struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1];
    const struct bus_header headers[] = {
        {HEADER_REQUEST_ID, id_text},   {HEADER_ORGANIZATION, org->id},
        {HEADER_USER, user->user_id},   {HEADER_USER_EMAIL, user->email},
        {HEADER_CLIENT, user->address},
    };
    struct bus_message *reply = NULL;
    json_t *value;

    uuid_format(&id, id_text);
    while (!bus_is_up(bus))
        bus_wait(bus, 10);
    cr_assert_eq(bus_call(bus, subject, headers, 5, str_of(body), TIMEOUT_MS, &reply), ST_OK);
    cr_assert(outcome_of(bus_message_header(reply, HEADER_OUTCOME), outcome));
    value = json_loadb(bus_message_body(reply).p, bus_message_body(reply).n, 0, NULL);
    bus_message_free(reply);
    bus_free(bus);
    return value;
}

enum outcome user_client_outcome(const struct signed_in_user *user, const struct org *org,
                                 const char *subject, const char *body)
{
    enum outcome outcome;

    json_decref(user_client_call(user, org, subject, body, &outcome));
    return outcome;
}

json_t *user_client_read(const struct org *org, const char *subject, const char *body)
{
    enum outcome outcome;
    json_t *value = user_client_call(&ada, org, subject, body, &outcome);

    cr_assert_eq(outcome, OUTCOME_OK, "%s: %s", subject, outcome_name(outcome));
    return value;
}
