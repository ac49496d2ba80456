#include "common/edge/visit.h"

#include <string.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/edge/edge_meter.h"
#include "common/edge/program.h"

static h2o_socket_t *socket_of(const struct visit *visit)
{
    return visit->req->conn->callbacks->get_socket(visit->req->conn);
}

static void on_dispose(void *self)
{
    struct visit *visit = self;

    if (visit->on_end != NULL)
        visit->on_end(visit);
    h2o_timeout_unlink(&visit->send_timer);
    held_drop(&visit->edge->held, &visit->held);
    if (visit->called)
        calls_cancel(&visit->edge->calls, visit->call);
    if (visit->fault != FRAMING_SOUND)
        linger(&visit->edge->lingerers, socket_of(visit));
    visit->edge->requests--;
    metric_add(edge_meter.in_flight, -1);
}

static void cut_off(struct visit *visit)
{
    metric_add(edge_meter.slow_readers, 1);
    (void)shutdown(h2o_socket_get_fd(socket_of(visit)), SHUT_RDWR);
}

static void on_send_timeout(h2o_timeout_entry_t *timer)
{
    cut_off(H2O_STRUCT_FROM_MEMBER(struct visit, send_timer, timer));
}

struct visit *visit_begin(h2o_req_t *req, size_t size, void (*on_end)(struct visit *visit))
{
    enum framing_fault fault = framing_take();
    struct visit *visit = h2o_mem_alloc_shared(&req->pool, size, on_dispose);
    struct uuid id = uuid_v7(clock_us());

    memset(visit, 0, size);
    visit->edge = H2O_STRUCT_FROM_MEMBER(struct edge, context, req->conn->ctx);
    visit->req = req;
    visit->on_end = on_end;
    visit->started_us = clock_mono_us();
    visit->fault = fault;
    visit->send_timer.cb = on_send_timeout;
    uuid_format(&id, visit->id);
    if (fault != FRAMING_SOUND) {
        metric_add(edge_meter.framing_faults, 1);
        req->http1_is_persistent = 0;
    }
    visit->edge->requests++;
    metric_add(edge_meter.in_flight, 1);
    return visit;
}

void visit_meet(struct visit *visit, const struct str *forwarded_for, size_t n,
                struct str forwarded_proto)
{
    const struct networks *trusted = &program_facts.trusted;
    struct sockaddr_storage storage = {.ss_family = AF_UNSPEC};
    h2o_conn_t *conn = visit->req->conn;
    struct address peer;

    (void)conn->callbacks->get_peername(conn, (struct sockaddr *)&storage);
    peer = address_of((const struct sockaddr *)&storage);
    visit->client = client_address(&peer, trusted, forwarded_for, n);
    visit->is_https = client_is_https(visit->req->input.scheme == &H2O_URL_SCHEME_HTTPS, &peer,
                                      trusted, forwarded_proto);
}

void visit_trace(struct visit *visit, struct str traceparent)
{
    struct trace_context context;

    if (span_begin(&visit->span, traceparent, true))
        trace_context_format(&visit->span.context, visit->traceparent);
    else if (trace_context_parse(traceparent, &context))
        trace_context_format(&context, visit->traceparent);
}

void visit_end_span(struct visit *visit, int status)
{
    struct span *span = &visit->span;

    if (!span->context.is_sampled)
        return;
    span->end_us = clock_us();
    span->start_us = span->end_us - (clock_mono_us() - visit->started_us);
    span->http_status = status;
    span->has_failed = status >= 500;
    (void)uuid_parse(str_of(visit->id), &span->request_id);
    span_end(span);
}

enum status visit_call(struct visit *visit, struct call_request *request)
{
    enum status st = calls_start(&visit->edge->calls, request, &visit->call);

    visit->called |= st == ST_OK;
    return st;
}

void visit_sending(struct visit *visit)
{
    if (visit->edge->stopping)
        visit->req->http1_is_persistent = 0;
    h2o_timeout_unlink(&visit->send_timer);
    h2o_timeout_link(visit->edge->context.loop, &visit->edge->send_timeout, &visit->send_timer);
}

void visit_sending_whole(struct visit *visit, size_t n)
{
    struct held *held = &visit->edge->held;
    struct held_answer *excess;

    visit_sending(visit);
    held_add(held, &visit->held, n);
    while ((excess = held_excess(held)) != NULL) {
        struct visit *slowest = H2O_STRUCT_FROM_MEMBER(struct visit, held, excess);

        h2o_timeout_unlink(&slowest->send_timer);
        cut_off(slowest);
    }
}
