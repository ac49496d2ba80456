/*
 * audit - the service of the audit log: it appends the entries of requests that ended in the
 * gateway and the changes that access has made, and serves GET /audit and the log of changes.
 *
 * Owns     main.c has the only struct audit; handlers and upkeep get it as `service`. The data of a
 *          command lives in its arena.
 * Threads  Handlers run on the actors' threads. struct audit is read-only once the service has
 *          started, except for its last members: only the first actor's thread runs audit_upkeep().
 * Fails    The actor handles failed statements (common/actor/actor.h); upkeep is retried later.
 */
#ifndef SERVICES_AUDIT_AUDIT_H
#define SERVICES_AUDIT_AUDIT_H

#include "common/actor/actor.h"
#include "common/audit_log/audit_log.h"
#include "common/base/metrics.h"
#include "common/crypto/cursor.h"
#include "services/audit/chain.h"

#define RETENTION_MONTHS_MIN 3
#define RETENTION_MONTHS_MAX 1200

struct audit {
    struct cursor_keys keys;   /* sign the cursors of its lists */
    struct audit_keys signing; /* sign and check blocks and notes */
    int64_t retention_months;  /* 0 = keep for ever; organizations may have a longer minimum */

    /* For audit_upkeep(): when it next creates partitions, and when it next counts the entries in
       the default partition; clock_mono_us(). */
    int64_t partitions_due_us, unpartitioned_due_us;
    struct metric *unpartitioned; /* the gauge of that count */
};

extern const struct command_handler audit_append;
extern const struct command_handler audit_record;
extern const struct command_handler audit_list;
extern const struct command_handler audit_entries;
extern const struct command_handler audit_changes;
extern const struct command_handler audit_verify;
extern const struct command_handler audit_export;
extern const struct command_handler audit_set_retention;

/* One INSERT per batch, for the entries that append receives and those of the lists themselves. */
extern const struct audit_sink audit_service_sink;

/* What the gateway reports about a request that it answered itself; as sent. */
struct audit_append_fields {
    struct str operation;   /* HEADER_OPERATION */
    struct str http_status; /* HEADER_STATUS */
    struct str code;        /* HEADER_CODE; STR_NONE = none */
    struct str resource_id; /* HEADER_RESOURCE; STR_NONE = none */
    struct str contact_id;  /* HEADER_CONTACT; STR_NONE = none */
};

/* NULL, or the name of the header that is missing or malformed; *out is then untouched. */
const char *audit_append_read(const struct caller *caller, const struct audit_append_fields *fields,
                              struct audit_log_entry *out);

/* Creates the partitions of coming months, and counts the rows of the default partition.
   audit_upkeep_open() is called once, before the actors start. */
void audit_upkeep_open(struct audit *audit);
void audit_upkeep(struct db *db, struct arena *arena, void *service);

#endif
