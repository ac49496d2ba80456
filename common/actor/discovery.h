/*
 * discovery - NATS's own service discovery, as stock tools ask for it (`nats micro list`). Private
 * to common/actor.
 *
 * What     Answers $SRV.PING, $SRV.INFO and $SRV.STATS, each also as .NAME and .NAME.ID, in the
 *          shapes of the micro protocol (ADR-32). One actor answers for its process, beside the
 *          others' work; an endpoint is a command. The figures are those of the metrics: an error
 *          is a failure of ours (5xx), time runs from a command's arrival to its reply.
 * Threads  That actor's.
 */
#ifndef COMMON_ACTOR_DISCOVERY_H
#define COMMON_ACTOR_DISCOVERY_H

#include "common/actor/actor.h"
#include "common/base/uuid.h"

struct bus;
struct bus_mailbox;

enum { DISCOVERY_SUBJECTS = 5 }; /* three for all services, one by name, one by id */

struct discovery {
    const struct actor_metrics *metrics; /* of all mailboxes of the process */
    const char *instance;                /* "conversation-0" */
    struct bus *bus;
    struct bus_mailbox *asked[DISCOVERY_SUBJECTS]; /* NULL: not open */
    char id[UUID_TEXT + 1];                        /* of this process, until it ends */
    int64_t started_us;
};

/* From here on it is there for who asks. `instance` is kept. */
void discovery_open(struct discovery *discovery, struct bus *bus,
                    const struct actor_metrics *metrics, const char *instance);
/* Answers what has come since; does nothing before it is open. */
void discovery_reply(struct discovery *discovery, struct arena *arena);

#endif
