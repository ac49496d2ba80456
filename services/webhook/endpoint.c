/*
 * endpoint-create, endpoint-list, endpoint-set, endpoint-rotate-secret, endpoint-delete - manage
 * the endpoints of an organization.
 *
 * Answer   ok: the endpoint, with its secret only when it is created and its next secret only when
 *          a rotation begins; or an array; or {id, deleted}; or parameter_invalid,
 *          parameter_not_found, not_found, conflict
 * Retry    endpoint-create creates another endpoint each time; if the reply is lost, the endpoint
 *          is useless and can be deleted. Beginning a rotation again makes another secret;
 *          finishing it again is a conflict. The others are idempotent
 */
#include "common/base/clock.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "proto/subject.h"
#include "services/webhook/address_policy.h"
#include "services/webhook/webhook.h"
#include "services/webhook/webhook_url.h"

/* -- what all commands of the service share ---------------------------------------------------- */

static const struct operator_result results[] = {
    {STR("too_many"), OUTCOME_CONFLICT, NULL,
     "The organization has reached its limit of endpoints"},
    {STR("disabled"), OUTCOME_CONFLICT, NULL, "The endpoint is disabled; enable it first"},
    {STR("gone"), OUTCOME_CONFLICT, NULL, "The endpoint has been deleted"},
    {STR("unsigned"), OUTCOME_CONFLICT, NULL, "The endpoint does not sign"},
    {STR("no_rotation"), OUTCOME_CONFLICT, NULL, "The secret is not being rotated; begin first"},
};

void webhook_use_queue(struct command *command, struct operator_query *query)
{
    query->has_lock = true;
    query->lock_statement = SQL_LOCK_QUEUE;
    command->lock_order = 1;
}

enum status webhook_reply(struct command *command, struct db *db, void *service)
{
    return operator_reply(
        command, db,
        &(struct operator_results){results, ARRAY_SIZE(results), OUTCOME_NOT_FOUND, "Not found"});
}

enum status webhook_reply_work(struct command *command, struct db *db, void *service)
{
    const enum status st = webhook_reply(command, db, service);

    if (st == ST_OK)
        command->notice = SUBJECT_NOTICE_EVENTS;
    return st;
}

/* -- endpoints --------------------------------------------------------------------------------- */

struct endpoint_create {
    struct str url;
    struct str events; /* in PostgreSQL's array syntax */
    struct field_bool signing;
    struct str retries;
};

/* Retry schedules; complete.sql has their delays. */
static const char *const schedules[] = {"none", "standard", NULL};

static void read_url(json_t *value, const char *path, void *slot, struct errors *errors)
{
    const struct str url = json_text(value);
    struct webhook_url parsed_url;
    const char *wrong = url.p == NULL ? "must be a string" : webhook_url_read(url, &parsed_url);

    if (wrong != NULL)
        errors_add(errors, "parameter_invalid", path, "%s", wrong);
    else
        *(struct str *)slot = arena_str(errors->arena, url);
}

#define EVENT_TYPE_NAMES "conversation.created, ticket.created, ticket.resolved or ai.handoff"

/* The events that an endpoint can receive. */
static const struct str event_types[] = {
    STR("conversation.created"),
    STR("ticket.created"),
    STR("ticket.resolved"),
    STR("ai.handoff"),
};
enum { EVENT_TYPES = ARRAY_SIZE(event_types) };

static bool add_event(struct buf *list, struct str name, bool seen[EVENT_TYPES])
{
    size_t i = 0;

    while (i < EVENT_TYPES && !str_equal(event_types[i], name))
        i++;
    if (i == EVENT_TYPES)
        return false;
    if (!seen[i])
        array_add_plain(list, name);
    seen[i] = true;
    return true;
}

static void read_events(json_t *value, const char *path, void *slot, struct errors *errors)
{
    const size_t n = json_array_size(value);
    bool seen[EVENT_TYPES] = {false};
    struct buf list;

    if (!json_is_array(value) || n == 0 || n > ERRORS_MAX) {
        errors_add(errors, "parameter_invalid", path, "must be an array of 1 to %d events",
                   ERRORS_MAX);
        return;
    }
    array_open(&list, errors->arena, 128);
    for (size_t i = 0; i < n; i++) {
        if (!add_event(&list, json_text(json_array_get(value, i)), seen))
            errors_add(errors, "parameter_invalid", arena_printf(errors->arena, "%s[%zu]", path, i),
                       "must be " EVENT_TYPE_NAMES);
    }
    *(struct str *)slot = array_close(&list);
}

static const struct field create_fields[] = {
    {.name = "url",
     .kind = FIELD_CUSTOM,
     .required = true,
     .read = read_url,
     .offset = offsetof(struct endpoint_create, url)},
    {.name = "events",
     .kind = FIELD_CUSTOM,
     .required = true,
     .read = read_events,
     .offset = offsetof(struct endpoint_create, events)},
    {.name = "signing", .kind = FIELD_BOOL, .offset = offsetof(struct endpoint_create, signing)},
    {.name = "retries",
     .kind = FIELD_CHOICE,
     .choices = schedules,
     .offset = offsetof(struct endpoint_create, retries)},
    FIELDS_END,
};

/* A host that is an address is checked now; a name is checked when it resolves. */
static bool is_reachable(const struct webhook *self, const struct webhook_url *parsed_url)
{
    struct address_policy policy = {.rules = &self->rules};

    if (!parsed_url->is_literal)
        return true;
    address_policy_refresh(&policy);
    return address_policy_allows(&policy, &parsed_url->address);
}

static enum status endpoint_create_parse(struct command *command, void *service)
{
    const struct webhook *self = service;
    struct operator_query *query = operator_query_for(command, SQL_CREATE_ENDPOINT);
    const struct uuid id = uuid_v7(clock_us());
    const struct endpoint_create *body = command->input;
    struct webhook_url parsed_url;
    bool signs;

    if (webhook_url_read(body->url, &parsed_url) != NULL || !is_reachable(self, &parsed_url))
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "url",
                              "must point to a public address");
    signs = !body->signing.given || body->signing.value;
    query->secret_name = "secret";
    query->secret = secret_new(command->arena);
    params_add_id(&query->params, command->arena, &id);
    params_add(&query->params, body->url);
    command_note(command, "host", parsed_url.host); /* the rest of a URL can hold a secret */
    params_add(&query->params, body->events);
    params_add_bool(&query->params, signs);
    params_add(&query->params, secret_seal(&self->keys, command->arena,
                                           &command->caller.organization_id, &id, query->secret));
    params_add_int(&query->params, command->arena, self->endpoints_max);
    params_add(&query->params, body->retries.p != NULL ? body->retries : str_of(schedules[0]));
    return ST_OK;
}

const struct command_handler webhook_endpoint_create = {
    .subject = SUBJECT_WEBHOOK_ENDPOINT_CREATE,
    .change = CHANGE_ENDPOINT_CREATE,
    .writes = true,
    .needs_organization = true,
    .fields = create_fields,
    .input_size = sizeof(struct endpoint_create),
    .parse = endpoint_create_parse,
    .query = operator_query,
    .reply = webhook_reply,
};

static enum status endpoint_list_parse(struct command *command, void *service)
{
    struct operator_query *query = operator_query_for(command, SQL_LIST_ENDPOINTS);
    const struct operator_list *body = command->input;

    params_add(&query->params, body->before);
    return ST_OK;
}

const struct command_handler webhook_endpoint_list = {
    .subject = SUBJECT_WEBHOOK_ENDPOINT_LIST,
    .needs_organization = true,
    .fields = operator_list_fields,
    .input_size = sizeof(struct operator_list),
    .may_be_empty = true,
    .parse = endpoint_list_parse,
    .query = operator_query,
    .reply = webhook_reply,
};

struct endpoint_set {
    struct str id;
    struct field_bool enabled;
    struct str retries;
};

static const struct field set_fields[] = {
    {.name = "id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct endpoint_set, id)},
    {.name = "enabled", .kind = FIELD_BOOL, .offset = offsetof(struct endpoint_set, enabled)},
    {.name = "retries",
     .kind = FIELD_CHOICE,
     .choices = schedules,
     .offset = offsetof(struct endpoint_set, retries)},
    FIELDS_END,
};

struct rotate_secret {
    struct str id, step;
};

static const char *const steps[] = {"begin", "finish", "cancel", NULL};

static const struct field rotate_fields[] = {
    {.name = "id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct rotate_secret, id)},
    {.name = "step",
     .kind = FIELD_CHOICE,
     .required = true,
     .choices = steps,
     .offset = offsetof(struct rotate_secret, step)},
    FIELDS_END,
};

/* A new secret is sealed for the endpoint, so it needs a valid id. With any other id, the statement
   finds no endpoint: see operator_param_id(). */
static enum status rotate_secret_parse(struct command *command, void *service)
{
    struct operator_query *query = operator_query_for(command, SQL_ROTATE_SECRET);
    const struct rotate_secret *body = command->input;
    const struct webhook *self = service;
    struct uuid id = {0};

    webhook_use_queue(command, query);
    operator_param_id(query, command->arena, body->id);
    params_add(&query->params, body->step);
    if (!str_equal(body->step, str_of(steps[0])) || !uuid_parse(body->id, &id)) {
        params_add(&query->params, STR_NONE);
        return ST_OK;
    }
    query->secret_name = "next_secret";
    query->secret = secret_new(command->arena);
    params_add(&query->params, secret_seal(&self->keys, command->arena,
                                           &command->caller.organization_id, &id, query->secret));
    return ST_OK;
}

const struct command_handler webhook_rotate_secret = {
    .subject = SUBJECT_WEBHOOK_ENDPOINT_ROTATE_SECRET,
    .change = CHANGE_ENDPOINT_ROTATE_SECRET,
    .writes = true,
    .needs_organization = true,
    .fields = rotate_fields,
    .input_size = sizeof(struct rotate_secret),
    .parse = rotate_secret_parse,
    .query = operator_query,
    .reply = webhook_reply,
};

static const struct field delete_fields[] = {
    {.name = "id",
     .kind = FIELD_UUID,
     .required = true,
     .offset = offsetof(struct endpoint_set, id)},
    FIELDS_END,
};

static enum status endpoint_set_parse(struct command *command, void *service)
{
    struct operator_query *query = operator_query_for(command, SQL_SET_ENDPOINT);
    const struct endpoint_set *body = command->input;

    if (!body->enabled.given && body->retries.p == NULL)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, NULL,
                              "enabled or retries is required");
    webhook_use_queue(command, query);
    operator_param_id(query, command->arena, body->id);
    if (body->enabled.given)
        params_add_bool(&query->params, body->enabled.value);
    else
        params_add(&query->params, STR_NONE);
    params_add(&query->params, body->retries);
    return ST_OK;
}

static enum status endpoint_delete_parse(struct command *command, void *service)
{
    struct operator_query *query = operator_query_for(command, SQL_DELETE_ENDPOINT);
    const struct endpoint_set *body = command->input;

    webhook_use_queue(command, query);
    operator_param_id(query, command->arena, body->id);
    return ST_OK;
}

const struct command_handler webhook_endpoint_set = {
    .subject = SUBJECT_WEBHOOK_ENDPOINT_SET,
    .change = CHANGE_ENDPOINT_SET,
    .writes = true,
    .needs_organization = true,
    .fields = set_fields,
    .input_size = sizeof(struct endpoint_set),
    .parse = endpoint_set_parse,
    .query = operator_query,
    .reply = webhook_reply,
};

const struct command_handler webhook_endpoint_delete = {
    .subject = SUBJECT_WEBHOOK_ENDPOINT_DELETE,
    .change = CHANGE_ENDPOINT_DELETE,
    .writes = true,
    .needs_organization = true,
    .fields = delete_fields,
    .input_size = sizeof(struct endpoint_set),
    .parse = endpoint_delete_parse,
    .query = operator_query,
    .reply = webhook_reply,
};
