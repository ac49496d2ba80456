#include "common/http/edge_request.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/client_address.h"
#include "common/http/edge.h"
#include "common/http/edge_metrics.h"
#include "proto/headers.h"

#define ARENA_MAX ((size_t)256 * 1024)

/* -- beginning and end ----------------------------------------------------------------------- */

static h2o_socket_t *socket_of(const struct edge_request *request)
{
    return connection_socket(request->req->conn);
}

static void on_dispose(void *self)
{
    struct edge_request *request = self;

    if (request->on_end != NULL)
        request->on_end(request);
    timer_stop(&request->send_timer);
    timer_stop(&request->limit_timer);
    send_budget_remove(&request->edge->send_budget, &request->unsent);
    edge_request_cancel_call(request);
    if (request->fault != FRAMING_SOUND)
        lingering_close_begin(&request->edge->lingering, socket_of(request));
    arena_release(&request->arena);
    connection_rests(socket_of(request));
    request->edge->requests--;
    metric_add(edge_metrics.in_flight, -1);
}

static void cut_off(struct edge_request *request)
{
    metric_add(edge_metrics.slow_readers, 1);
    (void)shutdown(h2o_socket_get_fd(socket_of(request)), SHUT_RDWR);
}

static void on_send_timeout(struct timer *timer)
{
    cut_off(H2O_STRUCT_FROM_MEMBER(struct edge_request, send_timer, timer));
}

static void on_limit(struct timer *timer)
{
    struct edge_request *request = H2O_STRUCT_FROM_MEMBER(struct edge_request, limit_timer, timer);

    request->on_late(request);
}

struct edge_request *edge_request_begin(h2o_req_t *req, size_t size,
                                        void (*on_end)(struct edge_request *request))
{
    enum framing_fault fault = framing_take();
    struct edge_request *request = h2o_mem_alloc_shared(&req->pool, size, on_dispose);
    struct uuid id = uuid_v7(clock_us());

    memset(request, 0, size);
    request->edge = H2O_STRUCT_FROM_MEMBER(struct edge, context, req->conn->ctx);
    request->req = req;
    request->on_end = on_end;
    request->started_us = request->limited_us = clock_mono_us();
    request->fault = fault;
    uuid_format(&id, request->id);
    arena_init(&request->arena, ARENA_MAX);
    if (fault != FRAMING_SOUND) {
        metric_add(edge_metrics.framing_errors, 1);
        req->http1_is_persistent = 0;
    }
    request->edge->requests++;
    connection_busy(socket_of(request));
    metric_add(edge_metrics.in_flight, 1);
    return request;
}

/* -- its headers ---------------------------------------------------------------------------- */

static void set_client(struct edge_request *request, const struct request_headers *headers)
{
    const struct networks *trusted = request->edge->options->connections.trusted;
    struct sockaddr_storage storage = {.ss_family = AF_UNSPEC};
    h2o_conn_t *conn = request->req->conn;
    struct address peer;

    (void)conn->callbacks->get_peername(conn, (struct sockaddr *)&storage);
    peer = address_of((const struct sockaddr *)&storage);
    request->client =
        client_address(&peer, trusted, headers->forwarded_for.at, headers->forwarded_for.n);
    request->is_https = client_is_https(request->req->input.scheme == &H2O_URL_SCHEME_HTTPS, &peer,
                                        trusted, headers->forwarded_proto.value);
}

static void begin_trace(struct edge_request *request, struct str traceparent)
{
    struct trace_context context;

    if (span_begin(&request->span, traceparent, true))
        trace_context_format(&request->span.context, request->traceparent);
    else if (trace_context_parse(traceparent, &context))
        trace_context_format(&context, request->traceparent);
}

void edge_request_read(struct edge_request *request, struct request_headers *headers)
{
    request_headers_read(&request->req->headers, headers);
    set_client(request, headers);
    begin_trace(request, str_trim_ows(request_header_once(&headers->traceparent)));
}

/* -- its time -------------------------------------------------------------------------------- */

void edge_request_limit(struct edge_request *request, enum edge_request_limit limit,
                        void (*on_late)(struct edge_request *request))
{
    request->on_late = on_late;
    timer_start(&request->edge->timers, &request->limit_timer,
                limit == EDGE_REQUEST_LIMIT_COMMAND
                    ? request->edge->options->command_timeout_ms + CALL_GRACE_MS
                    : EDGE_REQUEST_RECORD_MS,
                on_limit);
}

void edge_request_restart_limit(struct edge_request *request)
{
    request->limited_us = clock_mono_us();
    edge_request_limit(request, EDGE_REQUEST_LIMIT_COMMAND, request->on_late);
}

int64_t edge_request_until_us(const struct edge_request *request, enum edge_request_limit limit)
{
    int64_t ms = request->edge->options->command_timeout_ms;

    if (limit == EDGE_REQUEST_LIMIT_RECORD)
        ms += EDGE_REQUEST_RECORD_MS;
    return request->limited_us + ms * 1000;
}

/* -- its calls ------------------------------------------------------------------------------- */

void edge_request_cancel_call(struct edge_request *request)
{
    if (request->called)
        calls_cancel(&request->edge->calls, request->call);
    request->called = false;
}

enum status edge_request_call(struct edge_request *request, const struct call_request *call)
{
    enum status st = calls_start(&request->edge->calls, call, &request->call);

    request->called |= st == ST_OK;
    return st;
}

static enum outcome read_outcome(enum call_end end, struct bus_message *message, struct str *body)
{
    enum outcome outcome = OUTCOME_UNCERTAIN;

    *body = STR_NONE;
    if (end == CALL_NOBODY)
        return OUTCOME_UNAVAILABLE;
    if (end != CALL_REPLIED || !outcome_of(bus_message_header(message, HEADER_OUTCOME), &outcome))
        return OUTCOME_UNCERTAIN;
    /* The actor could not read our headers: it did nothing, and the fault is here. */
    if (outcome == OUTCOME_UNKNOWN_COMMAND) {
        LOG(LOG_WARNING, "a service cannot read the headers of our command");
        return OUTCOME_UNAVAILABLE;
    }
    *body = bus_message_body(message);
    /* A success without its resource cannot be trusted. */
    return outcome_code(outcome) == NULL && body->n == 0 ? OUTCOME_UNCERTAIN : outcome;
}

enum outcome call_outcome(enum call_end end, struct bus_message *message, bool writes,
                          struct str *body)
{
    const enum outcome outcome = read_outcome(end, message, body);

    return outcome == OUTCOME_UNCERTAIN && !writes ? OUTCOME_UNAVAILABLE : outcome;
}

/* -- its response ---------------------------------------------------------------------------- */

void edge_request_end_span(struct edge_request *request, int status)
{
    struct span *span = &request->span;

    if (!span->context.is_sampled)
        return;
    span->end_us = clock_us();
    span->start_us = span->end_us - (clock_mono_us() - request->started_us);
    span->http_status = status;
    span->has_failed = status >= 500;
    (void)uuid_parse(str_of(request->id), &span->request_id);
    span_end(span);
}

void edge_request_sending(struct edge_request *request)
{
    if (request->edge->stopping)
        request->req->http1_is_persistent = 0;
    timer_stop(&request->limit_timer);
    timer_start(&request->edge->timers, &request->send_timer, EDGE_REQUEST_SEND_MS,
                on_send_timeout);
}

void edge_request_sending_whole(struct edge_request *request, size_t n)
{
    struct send_budget *send_budget = &request->edge->send_budget;
    struct send_budget_entry *excess;

    edge_request_sending(request);
    send_budget_add(send_budget, &request->unsent, n);
    while ((excess = send_budget_excess(send_budget)) != NULL) {
        struct edge_request *slowest = H2O_STRUCT_FROM_MEMBER(struct edge_request, unsent, excess);

        timer_stop(&slowest->send_timer);
        cut_off(slowest);
    }
}

/* h2o has no call for it, and closes the connection of a request only once it is answered. The
   socket is shut down, so the response, which h2o cannot write, ends it. */
void edge_request_drop(struct edge_request *request)
{
    static h2o_generator_t generator = {NULL, NULL};
    h2o_req_t *req = request->req;

    edge_request_sending(request);
    (void)shutdown(h2o_socket_get_fd(socket_of(request)), SHUT_RDWR);
    req->http1_is_persistent = 0;
    req->res.status = 429;
    req->res.content_length = 0;
    h2o_start_response(req, &generator);
    h2o_send(req, NULL, 0, H2O_SEND_STATE_FINAL);
}
