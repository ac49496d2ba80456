/*
 * talk - one request over the bus, and what to print of its answer.
 *
 * Threads  One thread.
 * Fails    ST_REFUSED, with `failure` filled: what went wrong, for people and for programs.
 */
#ifndef SERVICES_CONVCTL_TALK_H
#define SERVICES_CONVCTL_TALK_H

#include "common/base/arena.h"
#include "common/base/status.h"
#include "common/base/str.h"
#include "common/bus/bus.h"

struct talk_request {
    const char *nats_url;
    const struct bus_tls *bus_tls;
    const char *subject;
    const char *organization; /* NULL = none */
    struct str body;
    bool only_reads; /* without an answer there is nothing to worry about */
};

struct failure {
    const char *code;
    const char *message;
};

struct talk;

/* Waits for the link that the request names; NULL, with `failure` filled, when there is none. */
struct talk *talk_open(const struct talk_request *request, struct failure *failure);
void talk_close(struct talk *talk);
/* One request over an open link. *answer and the texts of *failure live in the arena. */
MUST_CHECK enum status talk_ask(struct talk *talk, const struct talk_request *request,
                                struct arena *arena, struct str *answer, struct failure *failure);

/* Asks everybody at once; `hear` gets each body until nothing more has come for a while. */
MUST_CHECK enum status talk_ask_all(struct talk *talk, const char *subject,
                                    void (*hear)(void *closure, struct str body), void *closure,
                                    struct failure *failure);

/* One request, with a link of its own. */
MUST_CHECK enum status talk(const struct talk_request *request, struct arena *arena,
                            struct str *answer, struct failure *failure);

/* The pure half: what an answer with this outcome and this body means. */
MUST_CHECK enum status talk_judge(struct str outcome, struct str body, struct arena *arena,
                                  struct str *answer, struct failure *failure);

#endif
