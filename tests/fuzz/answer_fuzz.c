/* Replies of services, as read by programs that do not trust them: gateway, dashboard and convctl.
   The input is a reply's headers and body. */
#include <stdlib.h>
#include <string.h>

#include "common/http/edge_request.h"
#include "proto/headers.h"
#include "services/convctl/bus_client.h"
#include "services/dashboard/backend.h"
#include "services/dashboard/dashboard_export.h"
#include "services/dashboard/deployment.h"
#include "services/dashboard/identity.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/quota_lease.h"
#include "tests/fuzz/fuzz.h"

static struct arena arena = {.cap = 64 << 20};

static void check_outcome(struct bus_message *reply)
{
    struct str body;
    enum outcome outcome = call_outcome(CALL_REPLIED, reply, true, &body);

    must(outcome < OUTCOME_COUNT && outcome != OUTCOME_UNKNOWN_COMMAND);
    must(outcome_code(outcome) != NULL || body.n > 0);
}

/* -- the gateway ------------------------------------------------------------------------------- */

static void add_truth(struct buf *text, const char *name, bool value)
{
    json_add_bool(text, name, value);
}

/* The record as access writes it. */
static struct str written(const struct key_record *record)
{
    char address[ADDRESS_TEXT];
    struct buf text;

    buf_init(&text, &arena, 512);
    buf_char(&text, '{');
    json_add_text(&text, "organization_id", str_of(record->organization_id));
    json_add_text(&text, "api_key_id", str_of(record->api_key_id));
    json_add_text(&text, "scope", record->may_write ? STR("full") : STR("read"));
    json_add_integer(&text, "expires_at", record->expires_at);
    add_truth(&text, "plan_has_api", record->plan_has_api);
    add_truth(&text, "require_https", record->require_https);
    add_truth(&text, "ip_allowlist_enabled", record->ip_allowlist_enabled);
    json_add_integer(&text, "key_limit", record->limits.key);
    json_add_integer(&text, "organization_limit", record->limits.organization);
    json_add_text(&text, "cell", str_of(record->cell));
    json_add_key(&text, "ip_allowlist");
    buf_char(&text, '[');
    for (size_t i = 0; i < record->n_addresses; i++) {
        address_format(&record->addresses[i], address);
        if (i > 0)
            buf_char(&text, ',');
        json_add_string(&text, str_of(address));
    }
    buf_add(&text, STR("]}"));
    return buf_str(&text);
}

static void check_key(struct str body)
{
    struct key_record record = {.n_addresses = 0}, again = {.n_addresses = 0};

    if (!key_record_read(body, &record))
        return;
    must(record.n_addresses <= KEY_ADDRESSES_MAX);
    must(key_record_read(written(&record), &again));
    must(strcmp(record.organization_id, again.organization_id) == 0);
    must(strcmp(record.cell, again.cell) == 0);
    must(record.n_addresses == again.n_addresses && record.expires_at == again.expires_at);
    for (size_t i = 0; i < record.n_addresses; i++)
        must(key_record_lists(&again, &record.addresses[i]));
    key_record_release(&record);
    key_record_release(&again);
}

static void check_grant(struct str body)
{
    struct quota quota = {.window = 7};
    struct quota_limits left;
    uint32_t granted;

    if (!quota_grant_read(body, &granted, &left))
        return;
    quota_grant(&quota, 7, granted, left);
    must(quota.leased == granted && quota.over == (granted == 0));
    must(quota_want(&quota, 3) >= 1);
    (void)quota_view(&quota);
}

/* -- the dashboard ----------------------------------------------------------------------------- */

/* The value is sent in a header on the bus. */
static void check_header(const char *value)
{
    must(value != NULL && value[0] != '\0' && value[strcspn(value, "\r\n")] == '\0');
}

static void check_identity(struct str body)
{
    struct identity identity = {.answer = NULL};
    struct uuid id;

    if (!identity_read(body, &identity))
        return;
    check_header(identity.email);
    must(uuid_parse(str_of(identity.user_id), &id));
    must(uuid_parse(str_of(identity.organization_id), &id));
    must(identity.role <= ROLE_OWNER);
    identity_release(&identity);
    must(identity.answer == NULL);
}

/* Only scheme and host are left of each URL. */
static void check_endpoints(struct str body)
{
    char *text = endpoints_without_paths(body), *again;
    json_t *list;

    if (text == NULL)
        return;
    must(json_read(str_of(text), &list, NULL) && json_is_array(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct str url = json_member_text(json_array_get(list, i), "url");

        if (str_starts(url, STR("https://"))) {
            struct str path = str_skip(url, 8);

            (void)str_cut(&path, '/');
            must(str_equal(path, STR("…")));
        }
    }
    again = endpoints_without_paths(str_of(text));
    must(again != NULL && strcmp(again, text) == 0);
    free(text);
    free(again);
    json_free(list);
}

/* Each line feed outside quotes ends a row. */
static size_t rows_of(struct str csv)
{
    bool is_quoted = false;
    size_t n = 0;

    for (size_t i = 0; i < csv.n; i++) {
        is_quoted ^= csv.p[i] == '"';
        n += csv.p[i] == '\n' && !is_quoted;
    }
    must(!is_quoted);
    return n;
}

static void check_part(const json_t *part)
{
    const json_t *entries = json_object_get(part, "entries");
    struct buf rows, lines;
    size_t n = 0;

    if (!export_part_is_sound(part))
        return;
    buf_init(&rows, &arena, 1024);
    buf_init(&lines, &arena, 1024);
    if (export_add_rows(&rows, entries))
        must(rows_of(buf_str(&rows)) == json_array_size(entries));
    if (export_add_lines(&lines, entries)) {
        for (struct str rest = buf_str(&lines); rest.n > 0; n++)
            fuzz_must_be_json(str_cut(&rest, '\n'));
        must(n == json_array_size(entries));
    }
    must(rows.n <= EXPORT_TEXT_MAX && lines.n <= EXPORT_TEXT_MAX);
}

/* A replica that replies twice is counted once. */
static void check_deployment(struct str body)
{
    struct deployment_state state;
    size_t n = 0;
    char *text;

    deployment_state_init(&state);
    deployment_state_note(&state, body);
    deployment_state_note(&state, body);
    for (size_t i = 0; i < state.n_services; i++) {
        must(state.services[i].ready <= state.services[i].replicas);
        n += state.services[i].replicas;
    }
    must(n <= 1 && n == state.n_replicas);
    text = deployment_state_write(&state, 1);
    fuzz_must_be_json(str_of(text));
    free(text);
}

/* -- convctl ----------------------------------------------------------------------------------- */

static void check_shown(struct bus_message *reply, struct str body)
{
    struct convctl_failure failure = {NULL, NULL};
    struct str answer = STR_NONE;
    enum status st = bus_client_classify(bus_message_header(reply, HEADER_OUTCOME), body, &arena,
                                         &answer, &failure);

    must((st == ST_OK) == (answer.p != NULL) && (st == ST_OK) == (failure.code == NULL));
    must(st != ST_OK || str_equal(answer, body));
    must(st == ST_OK || failure.message != NULL);
}

/* A service that replies twice is listed twice, in order. */
static void check_services(struct str body)
{
    json_t *list = json_array();

    services_hear(list, body);
    services_hear(list, STR("{\"name\":\"audit\",\"id\":\"a\"}"));
    services_hear(list, body);
    must(json_array_size(list) == 1 || json_array_size(list) == 3);
    for (size_t i = 1; i < json_array_size(list); i++)
        must(strcmp(json_string_value(json_object_get(json_array_get(list, i - 1), "name")),
                    json_string_value(json_object_get(json_array_get(list, i), "name"))) <= 0);
    json_decref(list);
}

/* -- all --------------------------------------------------------------------------------------- */

static void check_not_json(struct str body)
{
    struct key_record record = {.n_addresses = 0};
    struct quota_limits left;
    uint32_t granted;

    must(!key_record_read(body, &record) && record.addresses == NULL);
    must(!quota_grant_read(body, &granted, &left));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct bus_message *reply = fuzz_message_open((struct str){(const char *)data, n});
    struct str body = bus_message_body(reply);
    json_t *value;

    fuzz_quiet();
    check_outcome(reply);
    check_shown(reply, body);
    if (json_read(body, &value, NULL)) { /* all readers below begin with json_read() */
        check_key(body);
        check_grant(body);
        check_identity(body);
        check_endpoints(body);
        check_part(value);
        check_deployment(body);
        check_services(body);
        json_free(value);
    } else {
        check_not_json(body);
    }
    arena_clear(&arena);
    return 0;
}
