/*
 * webhook - the service that stores the endpoints of organizations and delivers events to them.
 *
 * What     Two halves in one process, which share only the database. Operators' commands run in an
 *          actor like any other: each is one statement that returns a result and the finished JSON,
 *          or no row if the named object does not exist. Beside it runs the sender (sender.h).
 * Threads  struct webhook is read-only after start, except for the state of webhook_upkeep(), which
 *          only the first actor's thread uses.
 */
#ifndef SERVICES_WEBHOOK_WEBHOOK_H
#define SERVICES_WEBHOOK_WEBHOOK_H

#include "common/actor/operator_command.h"
#include "common/base/ip.h"
#include "common/base/metrics.h"
#include "services/webhook/address_policy.h"
#include "services/webhook/secret.h"
#include "webhook_sql.h"

#define WEBHOOK_HEALTHS 3 /* healthy, degraded, failing */

struct webhook {
    struct secret_keys keys;
    struct address_rules rules;
    int64_t endpoints_max; /* of an organization */
    struct {
        int64_t partitions_due_us, tidy_due_us, report_due_us; /* clock_mono_us() */
    } upkeep;
    struct metric *unpartitioned; /* deliveries in the log's default partition */
    struct metric *expired;       /* deliveries that waited for too long */
    int64_t outbox_stats_due_us;  /* clock_mono_us() */
    int64_t outbox_oldest;        /* read_outbox_stats.sql begins there */
    int64_t outbox_all_due_us;    /* when it begins at 0 (clock_mono_us()) */
    struct metric *outbox_age, *endpoints[WEBHOOK_HEALTHS], *failing, *retries;
    struct webhook_rekey {
        bool is_done;
        struct uuid organization_id, endpoint_id; /* the last endpoint that was looked at */
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
/* The same, with a notice that wakes the sender. */
enum status webhook_reply_work(struct command *command, struct db *db, void *service);

/* -- for the parse hooks ----------------------------------------------------------------------- */

/* The statement changes the queue and so takes its lock. It runs after the commands of its batch
   that do not, so that they do not prolong the lock. */
void webhook_use_queue(struct command *command, struct operator_query *query);

/* Once an hour: creates partitions ahead, drops old ones, and deletes old events, old statistics
   and deliveries that waited too long. Large amounts are deleted in steps, one each time the actor
   is idle. A long read of the log delays dropping a partition, so that nothing waits for long. */
void webhook_upkeep(struct db *db, struct arena *arena, void *service);

/* While a previous key is configured: one step of sealing its secrets with the current key. */
void webhook_rekey(struct db *db, struct arena *arena, struct webhook *self);

/* Gauges over all organizations, renewed every few seconds. */
void webhook_outbox_stats_open(struct webhook *self);
void webhook_outbox_stats(struct db *db, struct arena *arena, struct webhook *self);

/* Every few minutes: logs endpoints that have failed for 5 days, each once a day. */
void webhook_report_failing(struct db *db, struct arena *arena, struct webhook *self);

#endif
