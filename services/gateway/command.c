/* An exchange's two calls: the command to a service, and the entry for the audit trail. */
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/uuid.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/gateway/exchange.h"
#include "services/gateway/meter.h"

/* Headers in the making; values must live until the call has been started. */
struct headers {
    struct bus_header at[CALL_HEADERS_MOST];
    size_t n;
};

static void add(struct headers *headers, const char *name, const char *value)
{
    headers->at[headers->n++] = (struct bus_header){name, value};
}

static void add_text(struct headers *headers, h2o_mem_pool_t *pool, const char *name,
                     struct str value)
{
    if (value.n > 0)
        add(headers, name, h2o_strdup(pool, value.p, value.n).base);
}

static void add_caller(struct headers *headers, const struct exchange *x)
{
    add(headers, HEADER_REQUEST_ID, x->visit.id);
    add(headers, HEADER_ORGANIZATION, x->key->record.organization_id);
    add(headers, HEADER_API_KEY, x->key->record.api_key_id);
    if (x->visit.traceparent[0] != '\0')
        add(headers, HEADER_TRACEPARENT, x->visit.traceparent);
}

static enum status start(struct exchange *x, const char *subject, struct headers *headers,
                         struct str body, call_fn on_end)
{
    struct call_request request = {.subject = subject,
                                   .headers = headers->at,
                                   .n_headers = headers->n,
                                   .body = body,
                                   .patience = PATIENCE_LONG,
                                   .on_end = on_end,
                                   .owner = x};

    return visit_call(&x->visit, &request);
}

/* True: the bus may only have been kept waiting for a processor. The stage begins anew when that is
   known, which is within 75 ms. */
static bool hold(struct exchange *x)
{
    if (!calls_may_wait(&x->visit.edge->calls))
        return false;
    metric_add(meter.held, 1);
    waiter_wait(&x->waiter, &x->gateway->on_hold);
    return true;
}

/* -- command --------------------------------------------------------------------------------- */

static void end_command(struct exchange *x, enum outcome outcome, struct str body)
{
    x->outcome = outcome;
    x->body = body;
    if (outcome_is_audited(outcome) && bus_message_header(x->reply, HEADER_RECORDED).p == NULL)
        exchange_answer(x);
    else
        exchange_record(x);
}

static void on_reply(void *owner, enum call_end end, struct bus_message *message)
{
    struct exchange *x = owner;
    enum outcome outcome = OUTCOME_UNCERTAIN;
    struct str body = STR_NONE;

    x->reply = message;
    if (end == CALL_NOBODY)
        outcome = OUTCOME_UNAVAILABLE;
    if (end == CALL_ANSWERED && outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome))
        body = bus_message_body(message);
    /* An older service, in the middle of an upgrade: it did nothing. */
    if (outcome == OUTCOME_UNKNOWN_COMMAND)
        outcome = OUTCOME_UNAVAILABLE;
    /* A success without its resource is none that can be vouched for. */
    if (outcome_code(outcome) == NULL && body.n == 0)
        outcome = OUTCOME_UNCERTAIN;
    end_command(x, outcome, body);
}

void exchange_command(struct exchange *x)
{
    const struct route *route = &x->route;
    struct headers headers = {.n = 0};
    struct str body = STR("");

    x->stage = STAGE_COMMAND;
    add_caller(&headers, x);
    add(&headers, HEADER_SCOPE, x->key->record.may_write ? "full" : "read");
    add_text(&headers, &x->visit.req->pool, HEADER_RESOURCE, route->resource_id);
    if (route->takes_query)
        add_text(&headers, &x->visit.req->pool, HEADER_QUERY, route->query);
    if (route->has_body)
        body = (struct str){x->visit.req->entity.base, x->visit.req->entity.len};
    if (start(x, route->subject, &headers, body, on_reply) != ST_OK && !hold(x))
        end_command(x, OUTCOME_UNAVAILABLE, STR_NONE);
}

/* -- record ---------------------------------------------------------------------------------- */

/* The answer goes out without an entry that is known to be there. Only a failure may. */
static void answer_unrecorded(struct exchange *x)
{
    metric_add(meter.unrecorded, 1);
    LOG(LOG_WARNING, "answer without a confirmed audit entry", log_str("request_id", x->visit.id),
        log_trace(str_of(x->visit.traceparent)), log_str("outcome", outcome_name(x->outcome)),
        log_str("organization_id", x->key->record.organization_id));
    if (outcome_http_status(x->outcome) != 500)
        x->outcome = OUTCOME_UNAVAILABLE;
    x->body = STR_NONE;
    exchange_answer(x);
}

static void on_recorded(void *owner, enum call_end end, struct bus_message *message)
{
    struct exchange *x = owner;
    enum outcome outcome = OUTCOME_UNAVAILABLE;

    if (end == CALL_ANSWERED)
        (void)outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome);
    bus_message_free(message);
    if (outcome == OUTCOME_OK)
        exchange_answer(x);
    else
        answer_unrecorded(x);
}

/* What the service found that could not record it. */
static void add_contact(struct headers *headers, const struct exchange *x)
{
    struct str contact = STR_NONE;
    struct uuid id;

    if (x->reply != NULL)
        contact = bus_message_header(x->reply, HEADER_CONTACT);
    if (uuid_parse(contact, &id))
        add_text(headers, &x->visit.req->pool, HEADER_CONTACT, contact);
}

void exchange_record(struct exchange *x)
{
    struct headers headers = {.n = 0};
    struct uuid conversation;
    char status[12];

    x->stage = STAGE_RECORD;
    snprintf(status, sizeof(status), "%d", outcome_http_status(x->outcome));
    add_caller(&headers, x);
    add(&headers, HEADER_OPERATION, operation_name(x->route.operation));
    add(&headers, HEADER_STATUS, status);
    if (outcome_code(x->outcome) != NULL)
        add(&headers, HEADER_CODE, outcome_code(x->outcome));
    if (uuid_parse(x->route.resource_id, &conversation))
        add_text(&headers, &x->visit.req->pool, HEADER_RESOURCE, x->route.resource_id);
    add_contact(&headers, x);
    if (start(x, SUBJECT_AUDIT_APPEND, &headers, STR(""), on_recorded) != ST_OK && !hold(x))
        answer_unrecorded(x);
}
