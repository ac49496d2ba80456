/* The two calls of an API request: the command to a service, and the entry for the audit log. */

#include "services/gateway/api_request.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/uuid.h"
#include "common/http/media.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/gateway/gateway_metrics.h"

/* -- the end --------------------------------------------------------------------------------- */

static void on_request_end(struct edge_request *http)
{
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);

    wait_list_remove(&request->wait_entry);
    bus_message_free(request->reply);
    if (request->key != NULL)
        key_cache_put(request->gateway->keys, request->key);
}

/* Refused at the door because there is too much of it: counted, not logged one by one. */
static bool is_shed(const struct api_request *request)
{
    return request->outcome == OUTCOME_BUSY && request->stage <= STAGE_AUTHENTICATE;
}

static void log_response(const struct api_request *request, int status, int64_t took_us)
{
    char client[ADDRESS_TEXT];

    if ((status < 500 || is_shed(request)) && !request->http.edge->options->logs_all)
        return;
    address_format(&request->http.client, client);
    LOG(status >= 500 ? LOG_WARNING : LOG_DEBUG, "answer", log_str("request_id", request->http.id),
        log_trace(str_of(request->http.traceparent)),
        log_str("operation", operation_name(request->route.operation)), log_int("status", status),
        log_str("outcome", outcome_name(request->outcome)), log_int("took_us", took_us),
        log_str("organization_id",
                request->key != NULL ? request->key->record.organization_id : NULL),
        log_str("client", client));
}

static void end_span(struct api_request *request, int status)
{
    struct span *span = &request->http.span;

    if (!span->context.is_sampled)
        return;
    span->name =
        request->route.operation != OP_NONE ? operation_name(request->route.operation) : "outside";
    span->outcome = outcome_name(request->outcome);
    if (request->key != NULL)
        (void)uuid_parse(str_of(request->key->record.organization_id), &span->organization_id);
    edge_request_end_span(&request->http, status);
}

static void send_response(struct api_request *request, struct api_response *response)
{
    int64_t took_us = clock_mono_us() - request->http.started_us;

    must(request->stage != STAGE_RESPONDED);
    response->request_id = request->http.id;
    response->view = request->has_view ? &request->view : NULL;
    gateway_metrics_count(request->route.operation, response->status, took_us);
    log_response(request, response->status, took_us);
    end_span(request, response->status);
    if (request->has_view)
        key_usage_count(request->gateway, request->key, response->status, took_us);
    request->stage = STAGE_RESPONDED;
    edge_request_sending_whole(&request->http, response->body.n);
    api_response_send(request->http.req, response);
}

/* Seconds until the window ends, at least 1. */
static unsigned wait_of(const struct api_request *request)
{
    int64_t left_s = request->view.reset_s - clock_us() / 1000000;

    return left_s > 1 ? (unsigned)left_s : 1;
}

void api_request_respond(struct api_request *request)
{
    struct api_response response = {
        .status = outcome_http_status(request->outcome),
        .body = request->body,
        .replayed = request->outcome == OUTCOME_REPLAYED,
        .allow = request->outcome == OUTCOME_METHOD_NOT_ALLOWED ? request->route.allow : NULL,
        .retry_after = request->outcome == OUTCOME_RATE_LIMITED ? wait_of(request) : 0,
    };

    if (response.body.n == 0)
        response.body = api_response_error(&request->http.req->pool, outcome_code(request->outcome),
                                           api_response_message(request->outcome));
    send_response(request, &response);
}

void api_request_respond_unaudited(struct api_request *request, enum outcome outcome,
                                   unsigned retry_after)
{
    struct api_response response = {
        .status = outcome_http_status(outcome),
        .body = api_response_error(&request->http.req->pool, outcome_code(outcome),
                                   api_response_message(outcome)),
        .retry_after = retry_after,
    };

    request->outcome = outcome;
    request->has_view = false;
    send_response(request, &response);
}

static void respond_fault(struct api_request *request, enum framing_fault fault)
{
    struct api_response response = {
        .status = framing_status(fault),
        .body = api_response_error(&request->http.req->pool,
                                   outcome_code(OUTCOME_PARAMETER_INVALID), framing_message(fault)),
    };

    request->outcome = OUTCOME_PARAMETER_INVALID;
    send_response(request, &response);
}

/* -- too late -------------------------------------------------------------------------------- */

static void on_late(struct edge_request *http)
{
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);

    if (request->is_late) {
        api_request_give_up_record(request);
        return;
    }
    request->is_late = true;
    edge_request_limit(http, EDGE_REQUEST_LIMIT_RECORD, on_late);
    switch (request->stage) {
    case STAGE_COMMAND:
        api_request_give_up_command(request);
        return;
    case STAGE_RECORD:
        return;
    case STAGE_QUOTA:
        wait_list_remove(&request->wait_entry);
        request->outcome = OUTCOME_UNAVAILABLE;
        api_request_record(request);
        return;
    default:
        wait_list_remove(&request->wait_entry);
        api_request_respond_unaudited(request, OUTCOME_UNAVAILABLE, 0);
    }
}

/* -- the beginning --------------------------------------------------------------------------- */

static void read_request(struct api_request *request, const struct api_headers *headers)
{
    const h2o_req_t *req = request->http.req;

    request->route = api_route_find((struct str){req->input.method.base, req->input.method.len},
                                    (struct str){req->input.path.base, req->input.path.len});
    request->accepts_json = media_accepts_json(headers->accept, headers->n_accept);
    request->sends_json = headers->n_content_type == 1 && media_is_json(headers->content_type);
}

int api_request_begin(h2o_handler_t *handler, h2o_req_t *req)
{
    struct edge_request *http = edge_request_begin(req, sizeof(struct api_request), on_request_end);
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);
    struct api_headers headers;

    request->gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, edge, http->edge);
    request->wait_entry.resume = api_request_resume;
    edge_request_limit(http, EDGE_REQUEST_LIMIT_COMMAND, on_late);
    api_headers_read(req, &headers);
    edge_request_set_client(http, headers.forwarded_for, headers.n_forwarded_for,
                            headers.forwarded_proto);
    edge_request_trace(http, headers.traceparent);
    if (http->fault != FRAMING_SOUND && http->fault != FRAMING_BODY_TOO_LARGE) {
        respond_fault(request, http->fault);
        return 0;
    }
    read_request(request, &headers);
    if (request->route.end == API_ROUTE_OUTSIDE)
        api_request_respond_unaudited(request, OUTCOME_NOT_FOUND, 0);
    else if (http->edge->requests > API_REQUESTS_MAX)
        api_request_respond_unaudited(request, OUTCOME_BUSY, 0);
    else
        api_request_authenticate(request, &headers);
    return 0;
}

static void note_by_name(struct api_headers *headers, struct str name, struct str value)
{
    if (str_equal(name, STR("x-forwarded-proto")))
        headers->forwarded_proto = value;
    else if (str_equal(name, STR("traceparent")))
        headers->traceparent = headers->n_traceparent++ == 0 ? str_trim_ows(value) : STR_NONE;
}

void api_headers_read(const h2o_req_t *req, struct api_headers *headers)
{
    headers->n_authorization = headers->n_content_type = 0;
    headers->n_accept = headers->n_forwarded_for = headers->n_traceparent = 0;
    headers->authorization = headers->content_type = STR_NONE;
    headers->forwarded_proto = headers->traceparent = STR_NONE;

    for (size_t i = 0; i < req->headers.size && i < API_HEADERS_MAX; i++) {
        const h2o_header_t *header = &req->headers.entries[i];
        struct str value = {header->value.base, header->value.len};

        if (header->name == &H2O_TOKEN_AUTHORIZATION->buf) {
            headers->authorization = value;
            headers->n_authorization++;
        } else if (header->name == &H2O_TOKEN_CONTENT_TYPE->buf) {
            headers->content_type = value;
            headers->n_content_type++;
        } else if (header->name == &H2O_TOKEN_ACCEPT->buf) {
            headers->accept[headers->n_accept++] = value;
        } else if (header->name == &H2O_TOKEN_X_FORWARDED_FOR->buf) {
            headers->forwarded_for[headers->n_forwarded_for++] = value;
        } else {
            note_by_name(headers, (struct str){header->name->base, header->name->len}, value);
        }
    }
}

/* Headers in the making; values must live until the call has been started. */
struct command_headers {
    struct bus_header at[CALL_HEADERS_MAX];
    size_t n;
};

static void add(struct command_headers *headers, const char *name, const char *value)
{
    headers->at[headers->n++] = (struct bus_header){name, value};
}

static void add_text(struct command_headers *headers, h2o_mem_pool_t *pool, const char *name,
                     struct str value)
{
    if (value.n > 0)
        add(headers, name, h2o_strdup(pool, value.p, value.n).base);
}

static void add_caller(struct command_headers *headers, const struct api_request *request)
{
    add(headers, HEADER_REQUEST_ID, request->http.id);
    add(headers, HEADER_ORGANIZATION, request->key->record.organization_id);
    add(headers, HEADER_API_KEY, request->key->record.api_key_id);
    if (request->http.traceparent[0] != '\0')
        add(headers, HEADER_TRACEPARENT, request->http.traceparent);
}

static enum status start(struct api_request *request, const char *subject,
                         struct command_headers *headers, struct str body,
                         enum edge_request_limit limit, call_fn on_end)
{
    struct call_request call = {.subject = subject,
                                .headers = headers->at,
                                .n_headers = headers->n,
                                .body = body,
                                .timeout = CALL_TIMEOUT_OWNER,
                                .until_us = edge_request_until_us(&request->http, limit),
                                .on_end = on_end,
                                .owner = request};

    /* A service that got it now would not run it. */
    if (call.until_us <= clock_mono_us())
        return ST_UNAVAILABLE;
    return edge_request_call(&request->http, &call);
}

bool api_request_park(struct api_request *request)
{
    if (!calls_may_wait(&request->http.edge->calls))
        return false;
    metric_add(gateway_metrics.parked, 1);
    wait_list_add(&request->wait_entry, &request->gateway->parked);
    return true;
}

/* -- command --------------------------------------------------------------------------------- */

static void end_command(struct api_request *request, enum outcome outcome, struct str body)
{
    request->outcome = outcome;
    request->body = body;
    if (outcome_is_audited(outcome) &&
        bus_message_header(request->reply, HEADER_RECORDED).p == NULL)
        api_request_respond(request);
    else
        api_request_record(request);
}

static void on_reply(void *owner, enum call_end end, struct bus_message *message)
{
    struct api_request *request = owner;
    enum outcome outcome = OUTCOME_UNCERTAIN;
    struct str body = STR_NONE;

    request->reply = message;
    if (end == CALL_NOBODY)
        outcome = OUTCOME_UNAVAILABLE;
    if (end == CALL_REPLIED && outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome))
        body = bus_message_body(message);
    /* An older service, in the middle of an upgrade: it did nothing. */
    if (outcome == OUTCOME_UNKNOWN_COMMAND)
        outcome = OUTCOME_UNAVAILABLE;
    /* A success without its resource cannot be trusted. */
    if (outcome_code(outcome) == NULL && body.n == 0)
        outcome = OUTCOME_UNCERTAIN;
    end_command(request, outcome, body);
}

void api_request_command(struct api_request *request)
{
    const struct api_route *route = &request->route;
    struct command_headers headers = {.n = 0};
    struct str body = STR("");

    request->stage = STAGE_COMMAND;
    add_caller(&headers, request);
    add(&headers, HEADER_SCOPE, request->key->record.may_write ? "full" : "read");
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

/* One that was never sent has certainly done nothing. */
void api_request_give_up_command(struct api_request *request)
{
    const bool was_sent = request->http.called;

    wait_list_remove(&request->wait_entry);
    edge_request_cancel_call(&request->http);
    if (was_sent)
        on_reply(request, CALL_LATE, NULL);
    else
        end_command(request, OUTCOME_UNAVAILABLE, STR_NONE);
}

/* -- record ---------------------------------------------------------------------------------- */

/* The response goes out although no entry is known to be there. Only a failure may. */
static void respond_unrecorded(struct api_request *request)
{
    metric_add(gateway_metrics.unrecorded, 1);
    LOG(LOG_WARNING, "response without a confirmed audit entry",
        log_str("request_id", request->http.id), log_trace(str_of(request->http.traceparent)),
        log_str("outcome", outcome_name(request->outcome)),
        log_str("organization_id", request->key->record.organization_id));
    if (outcome_http_status(request->outcome) != 500)
        request->outcome = OUTCOME_UNAVAILABLE;
    request->body = STR_NONE;
    api_request_respond(request);
}

static void on_recorded(void *owner, enum call_end end, struct bus_message *message)
{
    struct api_request *request = owner;
    enum outcome outcome = OUTCOME_UNAVAILABLE;

    if (end == CALL_REPLIED)
        (void)outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome);
    bus_message_free(message);
    if (outcome == OUTCOME_OK)
        api_request_respond(request);
    else
        respond_unrecorded(request);
}

/* What the service found that could not record it. */
static void add_contact(struct command_headers *headers, const struct api_request *request)
{
    struct str contact = STR_NONE;
    struct uuid id;

    if (request->reply != NULL)
        contact = bus_message_header(request->reply, HEADER_CONTACT);
    if (uuid_parse(contact, &id))
        add_text(headers, &request->http.req->pool, HEADER_CONTACT, contact);
}

void api_request_record(struct api_request *request)
{
    struct command_headers headers = {.n = 0};
    struct uuid conversation;
    char status[12];

    request->stage = STAGE_RECORD;
    snprintf(status, sizeof(status), "%d", outcome_http_status(request->outcome));
    add_caller(&headers, request);
    add(&headers, HEADER_OPERATION, operation_name(request->route.operation));
    add(&headers, HEADER_STATUS, status);
    if (outcome_code(request->outcome) != NULL)
        add(&headers, HEADER_CODE, outcome_code(request->outcome));
    if (uuid_parse(request->route.resource_id, &conversation))
        add_text(&headers, &request->http.req->pool, HEADER_RESOURCE, request->route.resource_id);
    add_contact(&headers, request);
    if (start(request, SUBJECT_AUDIT_APPEND, &headers, STR(""), EDGE_REQUEST_LIMIT_RECORD,
              on_recorded) != ST_OK &&
        !api_request_park(request))
        respond_unrecorded(request);
}

void api_request_give_up_record(struct api_request *request)
{
    wait_list_remove(&request->wait_entry);
    edge_request_cancel_call(&request->http);
    respond_unrecorded(request);
}
