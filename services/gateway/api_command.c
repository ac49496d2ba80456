#include "services/gateway/api_request.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"

/* -- calls ----------------------------------------------------------------------------------- */

static void add_text(struct call_headers *headers, h2o_mem_pool_t *pool, const char *name,
                     struct str value)
{
    if (value.n > 0)
        call_headers_add(headers, name, h2o_strdup(pool, value.p, value.n).base);
}

static void add_caller(struct call_headers *headers, const struct api_request *request)
{
    call_headers_add(headers, HEADER_REQUEST_ID, request->http.id);
    call_headers_add(headers, HEADER_ORGANIZATION, request->key->record.organization_id);
    call_headers_add(headers, HEADER_API_KEY, request->key->record.api_key_id);
    if (request->http.traceparent[0] != '\0')
        call_headers_add(headers, HEADER_TRACEPARENT, request->http.traceparent);
}

static enum status start(struct api_request *request, const char *subject,
                         const struct call_headers *headers, struct str body,
                         enum edge_request_limit limit, call_fn on_end)
{
    struct call_request call = {.subject = subject,
                                .cell = request->key->record.cell,
                                .headers = *headers,
                                .body = body,
                                .timeout = CALL_TIMEOUT_OWNER,
                                .until_us = edge_request_until_us(&request->http, limit),
                                .on_end = on_end,
                                .owner = request};

    /* The deadline has passed: the service would not run the command. */
    if (call.until_us <= clock_mono_us())
        return ST_UNAVAILABLE;
    return edge_request_call(&request->http, &call);
}

/* -- command --------------------------------------------------------------------------------- */

static void end_command(struct api_request *request, enum outcome outcome, struct str body)
{
    const bool is_recorded = outcome_is_audited(outcome) &&
                             bus_message_header(request->reply, HEADER_RECORDED).p == NULL;

    api_request_end(request, outcome, body, is_recorded ? STAGE_RESPONDED : STAGE_RECORD);
}

static void on_reply(void *owner, enum call_end end, struct bus_message *message)
{
    struct api_request *request = owner;
    struct str body;
    const enum outcome outcome = call_outcome(end, message, request->route.writes, &body);

    request->reply = message;
    end_command(request, outcome, body);
}

void api_command_run(struct api_request *request)
{
    const struct api_route *route = &request->route;
    struct call_headers headers = {.n = 0};
    struct str body = STR("");

    add_caller(&headers, request);
    call_headers_add(&headers, HEADER_SCOPE, request->key->record.may_write ? "full" : "read");
    add_text(&headers, &request->http.req->pool, HEADER_RESOURCE, route->resource_id);
    if (route->takes_query)
        add_text(&headers, &request->http.req->pool, HEADER_QUERY, route->query);
    if (route->has_body)
        body = (struct str){request->http.req->entity.base, request->http.req->entity.len};
    if (start(request, route->subject, &headers, body, EDGE_REQUEST_LIMIT_COMMAND, on_reply) !=
            ST_OK &&
        !api_request_park(request))
        end_command(request, OUTCOME_UNAVAILABLE, STR_NONE);
}

/* A command that was never sent has certainly had no effect. */
void api_command_late(struct api_request *request)
{
    const bool was_sent = request->http.called;

    edge_request_cancel_call(&request->http);
    if (was_sent)
        on_reply(request, CALL_LATE, NULL);
    else
        end_command(request, OUTCOME_UNAVAILABLE, STR_NONE);
}

/* -- record ---------------------------------------------------------------------------------- */

/* Sends the response although the audit entry is not confirmed. Only a failure may go out like
   this. */
static void respond_unrecorded(struct api_request *request)
{
    enum outcome outcome = request->outcome;

    metric_add(gateway_metrics.unrecorded, 1);
    LOG(LOG_WARNING, "response without a confirmed audit entry",
        log_str("request_id", request->http.id), log_trace(str_of(request->http.traceparent)),
        log_str("outcome", outcome_name(outcome)),
        log_str("organization_id", request->key->record.organization_id));
    if (outcome_http_status(outcome) != 500)
        outcome = OUTCOME_UNAVAILABLE;
    api_request_end(request, outcome, STR_NONE, STAGE_RESPONDED);
}

static void on_recorded(void *owner, enum call_end end, struct bus_message *message)
{
    struct api_request *request = owner;
    enum outcome outcome = OUTCOME_UNAVAILABLE;

    if (end == CALL_REPLIED)
        (void)outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome);
    bus_message_free(message);
    if (outcome == OUTCOME_OK)
        api_request_move(request, STAGE_RESPONDED);
    else
        respond_unrecorded(request);
}

/* The contact found by a service that could not write the audit entry itself. */
static void add_contact(struct call_headers *headers, const struct api_request *request)
{
    struct str contact = STR_NONE;
    struct uuid id;

    if (request->reply != NULL)
        contact = bus_message_header(request->reply, HEADER_CONTACT);
    if (uuid_parse(contact, &id))
        add_text(headers, &request->http.req->pool, HEADER_CONTACT, contact);
}

void api_command_record(struct api_request *request)
{
    struct call_headers headers = {.n = 0};
    struct uuid conversation;
    char status[12];

    snprintf(status, sizeof(status), "%d", outcome_http_status(request->outcome));
    add_caller(&headers, request);
    call_headers_add(&headers, HEADER_OPERATION, operation_name(request->route.operation));
    call_headers_add(&headers, HEADER_STATUS, status);
    if (outcome_code(request->outcome) != NULL)
        call_headers_add(&headers, HEADER_CODE, outcome_code(request->outcome));
    if (uuid_parse(request->route.resource_id, &conversation))
        add_text(&headers, &request->http.req->pool, HEADER_RESOURCE, request->route.resource_id);
    add_contact(&headers, request);
    if (start(request, SUBJECT_AUDIT_APPEND, &headers, STR(""), EDGE_REQUEST_LIMIT_RECORD,
              on_recorded) != ST_OK &&
        !api_request_park(request))
        respond_unrecorded(request);
}

void api_command_record_late(struct api_request *request)
{
    edge_request_cancel_call(&request->http);
    respond_unrecorded(request);
}
