#include "services/gateway/exchange.h"

#include <string.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/edge/edge_meter.h"
#include "common/edge/media.h"
#include "services/gateway/meter.h"

static h2o_socket_t *socket_of(const struct exchange *x)
{
    return x->req->conn->callbacks->get_socket(x->req->conn);
}

/* -- the end --------------------------------------------------------------------------------- */

/* The request is done with: answered, or its client is gone. */
static void on_dispose(void *self)
{
    struct exchange *x = self;

    waiter_leave(&x->waiter);
    h2o_timeout_unlink(&x->send_timer);
    if (x->calling)
        calls_cancel(&x->gateway->calls, x->call);
    bus_message_free(x->reply);
    if (x->key != NULL)
        key_cache_put(x->gateway->keys, x->key);
    if (x->linger)
        linger(&x->gateway->lingerers, socket_of(x));
    x->gateway->exchanges--;
    metric_add(edge_meter.in_flight, -1);
}

/* The answer has not been taken: h2o waits for ever, so the connection is broken for it. */
static void on_send_timeout(h2o_timeout_entry_t *timer)
{
    struct exchange *x = H2O_STRUCT_FROM_MEMBER(struct exchange, send_timer, timer);

    metric_add(edge_meter.slow_readers, 1);
    (void)shutdown(h2o_socket_get_fd(socket_of(x)), SHUT_RDWR);
}

/* Refused at the door because there is too much of it: counted, not logged one by one. */
static bool is_shed(const struct exchange *x)
{
    return x->outcome == OUTCOME_BUSY && x->stage <= STAGE_IDENTIFY;
}

static void log_answer(const struct exchange *x, int status, int64_t took_us)
{
    char client[ADDRESS_TEXT];

    if ((status < 500 || is_shed(x)) && !x->gateway->common->logs_all)
        return;
    address_format(&x->client, client);
    LOG(status >= 500 ? LOG_WARNING : LOG_DEBUG, "answer", log_str("request_id", x->request_id),
        log_str("operation", operation_name(x->route.operation)), log_int("status", status),
        log_str("outcome", outcome_name(x->outcome)), log_int("took_us", took_us),
        log_str("organization_id", x->key != NULL ? x->key->record.organization_id : NULL),
        log_str("client", client));
}

static void send_answer(struct exchange *x, struct answer *answer)
{
    int64_t took_us = clock_mono_us() - x->started_us;

    must(x->stage != STAGE_ANSWERED);
    answer->request_id = x->request_id;
    answer->view = x->has_view ? &x->view : NULL;
    meter_answer(x->route.operation, answer->status, took_us);
    log_answer(x, answer->status, took_us);
    x->stage = STAGE_ANSWERED;
    if (x->gateway->stopping)
        x->req->http1_is_persistent = 0;
    h2o_timeout_link(x->gateway->context.loop, &x->gateway->send_timeout, &x->send_timer);
    answer_send(x->req, answer);
}

/* Seconds until the window ends, at least 1. */
static unsigned wait_of(const struct exchange *x)
{
    int64_t left_s = x->view.reset_s - clock_us() / 1000000;

    return left_s > 1 ? (unsigned)left_s : 1;
}

void exchange_answer(struct exchange *x)
{
    struct answer answer = {
        .status = outcome_http_status(x->outcome),
        .body = x->body,
        .replayed = x->outcome == OUTCOME_REPLAYED,
        .allow = x->outcome == OUTCOME_METHOD_NOT_ALLOWED ? x->route.allow : NULL,
        .retry_after = x->outcome == OUTCOME_RATE_LIMITED ? wait_of(x) : 0,
    };

    if (answer.body.n == 0)
        answer.body =
            answer_problem(&x->req->pool, outcome_code(x->outcome), answer_message(x->outcome));
    send_answer(x, &answer);
}

void exchange_answer_plainly(struct exchange *x, enum outcome outcome, unsigned retry_after)
{
    struct answer answer = {
        .status = outcome_http_status(outcome),
        .body = answer_problem(&x->req->pool, outcome_code(outcome), answer_message(outcome)),
        .retry_after = retry_after,
    };

    x->outcome = outcome;
    x->has_view = false;
    send_answer(x, &answer);
}

static void answer_fault(struct exchange *x, enum framing_fault fault)
{
    struct answer answer = {
        .status = framing_status(fault),
        .body = answer_problem(&x->req->pool, outcome_code(OUTCOME_PARAMETER_INVALID),
                               framing_message(fault)),
    };

    x->outcome = OUTCOME_PARAMETER_INVALID;
    send_answer(x, &answer);
}

/* -- the beginning --------------------------------------------------------------------------- */

static struct exchange *exchange_new(struct gateway *gateway, h2o_req_t *req)
{
    struct exchange *x = h2o_mem_alloc_shared(&req->pool, sizeof(*x), on_dispose);
    struct uuid id = uuid_v7(clock_us());

    memset(x, 0, sizeof(*x));
    x->gateway = gateway;
    x->req = req;
    x->started_us = clock_mono_us();
    x->waiter.resume = exchange_resume;
    x->send_timer.cb = on_send_timeout;
    uuid_format(&id, x->request_id);
    gateway->exchanges++;
    metric_add(edge_meter.in_flight, 1);
    return x;
}

static void read_peer(struct exchange *x, const struct head *head)
{
    const struct networks *trusted = &x->gateway->common->trusted;
    struct sockaddr_storage storage = {.ss_family = AF_UNSPEC};
    struct address peer;

    (void)x->req->conn->callbacks->get_peername(x->req->conn, (struct sockaddr *)&storage);
    peer = address_of((const struct sockaddr *)&storage);
    x->client = client_address(&peer, trusted, head->forwarded_for, head->n_forwarded_for);
    x->is_https = client_is_https(x->req->input.scheme == &H2O_URL_SCHEME_HTTPS, &peer, trusted,
                                  head->forwarded_proto);
}

static void read_request(struct exchange *x, const struct head *head)
{
    const h2o_req_t *req = x->req;

    x->route = route_find((struct str){req->input.method.base, req->input.method.len},
                          (struct str){req->input.path.base, req->input.path.len});
    x->accepts_json = media_accepts_json(head->accept, head->n_accept);
    x->sends_json = head->n_content_type == 1 && media_is_json(head->content_type);
    x->traceparent = head->traceparent;
}

int exchange_begin(h2o_handler_t *handler, h2o_req_t *req)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, context, req->conn->ctx);
    enum framing_fault fault = framing_take();
    struct exchange *x = exchange_new(gateway, req);
    struct head head;

    head_read(req, &head);
    read_peer(x, &head);
    if (fault != FRAMING_SOUND) {
        metric_add(edge_meter.framing_faults, 1);
        req->http1_is_persistent = 0;
        x->linger = true;
    }
    if (fault != FRAMING_SOUND && fault != FRAMING_BODY_TOO_LARGE) {
        answer_fault(x, fault);
        return 0;
    }
    read_request(x, &head);
    x->too_large = fault == FRAMING_BODY_TOO_LARGE;
    if (x->route.end == ROUTE_OUTSIDE)
        exchange_answer_plainly(x, OUTCOME_NOT_FOUND, 0);
    else if (gateway->exchanges > EXCHANGES_MOST)
        exchange_answer_plainly(x, OUTCOME_BUSY, 0);
    else
        exchange_authorize(x, &head);
    return 0;
}
