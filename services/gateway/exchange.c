#include "services/gateway/exchange.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/edge/media.h"
#include "services/gateway/meter.h"

/* -- the end --------------------------------------------------------------------------------- */

static void on_end(struct visit *visit)
{
    struct exchange *x = H2O_STRUCT_FROM_MEMBER(struct exchange, visit, visit);

    waiter_leave(&x->waiter);
    bus_message_free(x->reply);
    if (x->key != NULL)
        key_cache_put(x->gateway->keys, x->key);
}

/* Refused at the door because there is too much of it: counted, not logged one by one. */
static bool is_shed(const struct exchange *x)
{
    return x->outcome == OUTCOME_BUSY && x->stage <= STAGE_IDENTIFY;
}

static void log_answer(const struct exchange *x, int status, int64_t took_us)
{
    char client[ADDRESS_TEXT];

    if ((status < 500 || is_shed(x)) && !program_facts.logs_all)
        return;
    address_format(&x->visit.client, client);
    LOG(status >= 500 ? LOG_WARNING : LOG_DEBUG, "answer", log_str("request_id", x->visit.id),
        log_trace(str_of(x->visit.traceparent)),
        log_str("operation", operation_name(x->route.operation)), log_int("status", status),
        log_str("outcome", outcome_name(x->outcome)), log_int("took_us", took_us),
        log_str("organization_id", x->key != NULL ? x->key->record.organization_id : NULL),
        log_str("client", client));
}

static void end_span(struct exchange *x, int status)
{
    struct span *span = &x->visit.span;

    if (!span->context.is_sampled)
        return;
    span->name = x->route.operation != OP_NONE ? operation_name(x->route.operation) : "outside";
    span->outcome = outcome_name(x->outcome);
    if (x->key != NULL)
        (void)uuid_parse(str_of(x->key->record.organization_id), &span->organization_id);
    visit_end_span(&x->visit, status);
}

static void send_answer(struct exchange *x, struct answer *answer)
{
    int64_t took_us = clock_mono_us() - x->visit.started_us;

    must(x->stage != STAGE_ANSWERED);
    answer->request_id = x->visit.id;
    answer->view = x->has_view ? &x->view : NULL;
    meter_answer(x->route.operation, answer->status, took_us);
    log_answer(x, answer->status, took_us);
    end_span(x, answer->status);
    if (x->has_view)
        usage_count(x->gateway, x->key, answer->status, took_us);
    x->stage = STAGE_ANSWERED;
    visit_sending_whole(&x->visit, answer->body.n);
    answer_send(x->visit.req, answer);
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
        answer.body = answer_problem(&x->visit.req->pool, outcome_code(x->outcome),
                                     answer_message(x->outcome));
    send_answer(x, &answer);
}

void exchange_answer_plainly(struct exchange *x, enum outcome outcome, unsigned retry_after)
{
    struct answer answer = {
        .status = outcome_http_status(outcome),
        .body = answer_problem(&x->visit.req->pool, outcome_code(outcome), answer_message(outcome)),
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
        .body = answer_problem(&x->visit.req->pool, outcome_code(OUTCOME_PARAMETER_INVALID),
                               framing_message(fault)),
    };

    x->outcome = OUTCOME_PARAMETER_INVALID;
    send_answer(x, &answer);
}

/* -- the beginning --------------------------------------------------------------------------- */

static void read_request(struct exchange *x, const struct head *head)
{
    const h2o_req_t *req = x->visit.req;

    x->route = route_find((struct str){req->input.method.base, req->input.method.len},
                          (struct str){req->input.path.base, req->input.path.len});
    x->accepts_json = media_accepts_json(head->accept, head->n_accept);
    x->sends_json = head->n_content_type == 1 && media_is_json(head->content_type);
}

int exchange_begin(h2o_handler_t *handler, h2o_req_t *req)
{
    struct visit *visit = visit_begin(req, sizeof(struct exchange), on_end);
    struct exchange *x = H2O_STRUCT_FROM_MEMBER(struct exchange, visit, visit);
    struct head head;

    x->gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, edge, visit->edge);
    x->waiter.resume = exchange_resume;
    head_read(req, &head);
    visit_meet(visit, head.forwarded_for, head.n_forwarded_for, head.forwarded_proto);
    visit_trace(visit, head.traceparent);
    if (visit->fault != FRAMING_SOUND && visit->fault != FRAMING_BODY_TOO_LARGE) {
        answer_fault(x, visit->fault);
        return 0;
    }
    read_request(x, &head);
    if (x->route.end == ROUTE_OUTSIDE)
        exchange_answer_plainly(x, OUTCOME_NOT_FOUND, 0);
    else if (visit->edge->requests > EXCHANGES_MOST)
        exchange_answer_plainly(x, OUTCOME_BUSY, 0);
    else
        exchange_authorize(x, &head);
    return 0;
}
