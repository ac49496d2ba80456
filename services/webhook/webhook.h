/*
 * webhook - the service that knows where an organization wants its events, and brings them there.
 *
 * What     Two halves in one process, which share the database alone. Operators' commands are an
 *          actor like any other: each is one statement that answers with a verdict and the finished
 *          JSON, or with no row when what it names does not exist. The sender (sender.h) is a
 *          thread beside it.
 * Threads  struct webhook is read-only after start, except for what webhook_upkeep() keeps, which
 *          only the first actor's thread touches.
 */
#ifndef SERVICES_WEBHOOK_WEBHOOK_H
#define SERVICES_WEBHOOK_WEBHOOK_H

#include "common/actor/actor.h"
#include "common/base/metrics.h"
#include "common/base/network.h"
#include "common/db/params.h"
#include "services/webhook/secret.h"
#include "webhook_sql.h"

#define WEBHOOK_ENDPOINTS_MOST 2000 /* of an organization */

#define WEBHOOK_HEALTHS 3 /* healthy, degraded, failing */

struct webhook {
    struct secret_keys keys;
    struct networks allowed;
    int64_t upkeep_due_us; /* clock_mono_us() */
    struct metric *stray;  /* deliveries for which no partition was made */
    int64_t survey_due_us; /* clock_mono_us() */
    struct metric *outbox_age, *endpoints[WEBHOOK_HEALTHS];
    struct webhook_reseal {
        bool is_done;
        struct uuid organization_id, endpoint_id; /* the last one that was looked at */
        int64_t resealed;
    } reseal;
};

/* A judged command: what to ask the database, and what its answer alone does not hold. */
struct webhook_ask {
    enum webhook_sql statement;
    struct params params;
    bool uses_queue;   /* the statement works on the queue */
    struct str secret; /* told to the caller this once; STR_NONE = there is none */
    size_t index;      /* of the statement in the batch */
};

/* -- judge: one a subject ------------------------------------------------------------------------
 */

enum status endpoint_create_judge(struct command *command, void *service);
enum status endpoint_list_judge(struct command *command, void *service);
enum status endpoint_set_judge(struct command *command, void *service);
enum status endpoint_delete_judge(struct command *command, void *service);
enum status deliveries_judge(struct command *command, void *service);
enum status resend_judge(struct command *command, void *service);
enum status resend_failed_judge(struct command *command, void *service);
enum status test_judge(struct command *command, void *service);
enum status statistics_judge(struct command *command, void *service);
enum status publish_judge(struct command *command, void *service);

/* -- ask and tell --------------------------------------------------------------------------------
 */

void webhook_ask(struct command *command, struct db *db, void *service);
enum status webhook_tell(struct command *command, struct db *db, void *service);
/* The same; and the sender is told that there is something to do. */
enum status webhook_tell_work(struct command *command, struct db *db, void *service);

/* -- for the judges ------------------------------------------------------------------------------
 */

/* A new ask with the organization as its first parameter; NULL when the header was missing, and the
   command is refused then. */
struct webhook_ask *webhook_for_organization(struct command *command, enum webhook_sql statement);
/* An id as a caller wrote it: one in capitals names nothing, and the nil UUID finds nothing. */
void webhook_param_id(struct webhook_ask *ask, struct arena *arena, struct str text);

/* Once an hour: partitions made ahead and dropped in time, old events and old waits let go. What is
   much goes in steps, one every time that the actor is idle. */
void webhook_upkeep(struct db *db, struct arena *arena, void *service);

/* While there is a key that was used before: a step in sealing anew what that one sealed. */
void webhook_reseal(struct db *db, struct arena *arena, struct webhook *self);

/* Gauges over all organizations, renewed every few seconds. */
void webhook_survey_open(struct webhook *self);
void webhook_survey(struct db *db, struct webhook *self);

#endif
