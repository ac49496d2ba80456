/*
 * discovery - answers NATS's own service discovery for a process.
 *
 * What     For stock tools (`nats micro list`): $SRV.PING, $SRV.INFO and $SRV.STATS, each also as
 *          .NAME and .NAME.ID, in the formats of the micro protocol (ADR-32), with the cell in the
 *          metadata. One actor answers for its whole process. Each command is an endpoint. The
 *          figures are those of the metrics: an error is a failure of ours (5xx), time runs from a
 *          command's arrival to its reply. STATS also carries `data`: whether the process has its
 *          database, and how far behind it is with other work. Replies carry the time, and that of
 *          the database, for the clock checks of the askers.
 * Owns     Free it with discovery_free(). The bus and the options outlive it.
 * Threads  The actor's.
 * Fails    Never; a reply that cannot be sent is counted.
 */
#ifndef COMMON_ACTOR_DISCOVERY_H
#define COMMON_ACTOR_DISCOVERY_H

#include "common/actor/actor_metrics.h"
#include "common/bus/bus.h"

struct discovery;

/* Makes this process visible. `metrics` are those of all mailboxes of the process, `instance` is a
   name such as "conversation-0", `cell` NULL for main. */
struct discovery *discovery_open(struct bus *bus, const struct actor_metrics *metrics,
                                 const char *instance, const char *cell);
void discovery_free(struct discovery *discovery); /* NULL is fine; here and below */
/* Replies to the requests that have arrived. */
void discovery_reply(struct discovery *discovery, bool has_database);
/* What the database's clock shows now, in Unix milliseconds. It is passed on for ten seconds. */
void discovery_note_database_clock(struct discovery *discovery, int64_t now_ms);

#endif
