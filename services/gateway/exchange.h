/*
 * exchange - one HTTP request on its way to its answer.
 *
 *     IDENTIFY   who asks: key cache, else wait for a look-up
 *     ADMIT      take one from the key's quota, else wait for a lease
 *     CHECK      the order of checks; a refusal goes to RECORD
 *     COMMAND    one command on the bus, wait for its reply
 *     RECORD     what no service has recorded: append the audit entry, wait for its commit
 *     ANSWERED   exactly one answer was sent
 *
 * What     No answer to an authenticated request leaves before its audit entry is committed. Where
 *          that cannot be, a 500 stays a 500 and everything else becomes a 503; it is counted and
 *          logged with the request id.
 * Owns     Itself, as a visit does (common/edge/visit.h).
 * Threads  The gateway's loop.
 *
 * exchange.c   begins and ends
 * admission.c  identifies, admits and checks
 * command.c    asks a service, and records with the audit service
 */
#ifndef GATEWAY_EXCHANGE_H
#define GATEWAY_EXCHANGE_H

#include "common/edge/visit.h"
#include "proto/outcome.h"
#include "services/gateway/answer.h"
#include "services/gateway/checks.h"
#include "services/gateway/gateway.h"
#include "services/gateway/head.h"
#include "services/gateway/lookup.h"
#include "services/gateway/route.h"

enum stage {
    STAGE_IDENTIFY,
    STAGE_ADMIT,
    STAGE_CHECK,
    STAGE_COMMAND,
    STAGE_RECORD,
    STAGE_ANSWERED
};

struct exchange {
    struct visit visit; /* first: the two are one */
    struct gateway *gateway;
    enum stage stage;
    struct route route;
    bool accepts_json, sends_json;

    struct key *key; /* held; NULL before IDENTIFY */
    struct waiter waiter;
    bool has_view;
    struct quota_view view;

    enum outcome outcome;
    struct str body; /* of the answer, or STR_NONE: the gateway's own words */
    struct bus_message *reply;
};

/* The handler of all requests. */
int exchange_begin(h2o_handler_t *handler, h2o_req_t *req);

/* From here on for these three files only. */
void exchange_authorize(struct exchange *x, const struct head *head);
void exchange_resume(struct waiter *waiter); /* the key, the lease or the bus is there, or not */
void exchange_command(struct exchange *x);
void exchange_record(struct exchange *x);
void exchange_answer(struct exchange *x); /* with outcome and body */
/* An answer to nobody in particular: there is no key, so there is no entry in the trail. */
void exchange_answer_plainly(struct exchange *x, enum outcome outcome, unsigned retry_after);

#endif
