#include "services/gateway/api_request.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/edge/media.h"
#include "services/gateway/gateway_metrics.h"

/* -- the end ----------------------------------------------------------------------------------- */

static void on_end(struct edge_request *http)
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

    if ((status < 500 || is_shed(request)) && !program_facts.logs_all)
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

/* -- too late ---------------------------------------------------------------------------------- */

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

/* -- the beginning ----------------------------------------------------------------------------- */

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
    struct edge_request *http = edge_request_begin(req, sizeof(struct api_request), on_end);
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
