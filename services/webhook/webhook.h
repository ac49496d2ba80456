/*
 * webhook - the service that knows where an organization wants its events, and brings them there.
 *
 * What     Two halves in one process, which share the database alone. Operators' commands are an
 *          actor like any other: each is one statement that answers with a result and the finished
 *          JSON, or with no row when the named object does not exist. The sender (sender.h) is a
 *          thread beside it.
 * Threads  struct webhook is read-only after start, except for what webhook_upkeep() keeps, which
 *          only the first actor's thread touches.
 */
#ifndef SERVICES_WEBHOOK_WEBHOOK_H
#define SERVICES_WEBHOOK_WEBHOOK_H

#include "common/actor/operator_command.h"
#include "common/base/ip.h"
#include "common/base/metrics.h"
#include "services/webhook/secret.h"
#include "webhook_sql.h"

#define WEBHOOK_HEALTHS 3 /* healthy, degraded, failing */

struct webhook {
    struct secret_keys keys;
    struct networks allowed;
    int64_t endpoints_max; /* of an organization */
    struct {
        int64_t partitions_due_us, tidy_due_us, report_due_us; /* clock_mono_us() */
    } upkeep;
    struct metric *unpartitioned; /* deliveries for which no partition was made */
    struct metric *expired;       /* those that had waited for too long */
    int64_t outbox_stats_due_us;  /* clock_mono_us() */
    struct metric *outbox_age, *endpoints[WEBHOOK_HEALTHS], *failing, *retries;
    struct webhook_rekey {
        bool is_done;
        struct uuid organization_id, endpoint_id; /* the last one that was looked at */
        int64_t rekeyed;
    } rekey;
};

/* -- the commands ------------------------------------------------------------------------------ */

extern const struct command_handler webhook_endpoint_create;
extern const struct command_handler webhook_endpoint_list;
extern const struct command_handler webhook_endpoint_set;
extern const struct command_handler webhook_rotate_secret;
extern const struct command_handler webhook_endpoint_delete;
extern const struct command_handler webhook_deliveries;
extern const struct command_handler webhook_resend;
extern const struct command_handler webhook_resend_failed;
extern const struct command_handler webhook_test;
extern const struct command_handler webhook_publish;
extern const struct command_handler webhook_statistics;

/* -- query and reply --------------------------------------------------------------------------- */

enum status webhook_reply(struct command *command, struct db *db, void *service);
/* The same; and the sender is told that there is something to do. */
enum status webhook_reply_work(struct command *command, struct db *db, void *service);

/* -- for the parse hooks ----------------------------------------------------------------------- */

/* The statement works on the queue, and so takes its lock. It is run behind those of its batch that
   do not: the queue is not blocked by them. */
void webhook_use_queue(struct command *command, struct operator_query *query);

/* Once an hour: partitions made ahead and dropped in time, old events and old waits deleted. Large
   amounts go in steps, one every time that the actor is idle. During a long read of the log,
   a day is dropped later: nothing waits for more than a moment. */
void webhook_upkeep(struct db *db, struct arena *arena, void *service);

/* While there is a key that was used before: one step of sealing with the new key what that one
   sealed. */
void webhook_rekey(struct db *db, struct arena *arena, struct webhook *self);

/* Gauges over all organizations, renewed every few seconds. */
void webhook_outbox_stats_open(struct webhook *self);
void webhook_outbox_stats(struct db *db, struct arena *arena, struct webhook *self);

/* Every few minutes: the log names endpoints that have failed for 5 days, each once a day. */
void webhook_report_failing(struct db *db, struct arena *arena, struct webhook *self);

#endif
