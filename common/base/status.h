/*
 * status - how a fallible function ended.
 *
 * What     One closed enum for the whole program. A refusal is the caller's fault and is described
 *          in the reply; everything else is ours and is described in the log.
 * Threads  Plain values.
 *
 * Callers must distinguish ST_UNAVAILABLE from ST_UNCERTAIN: after the first, nothing was written
 * and a retry is safe; after the second, something may have been written.
 */
#ifndef COMMON_BASE_STATUS_H
#define COMMON_BASE_STATUS_H

enum status {
    ST_OK = 0,
    ST_REFUSED,     /* the caller's fault; outcome and errors say why */
    ST_RETRY,       /* lost a race with another transaction; nothing was written; run it again */
    ST_UNAVAILABLE, /* a dependency is unreachable; certain that nothing was written */
    ST_UNCERTAIN,   /* the link was lost while committing; it may have been written */
    ST_INTERNAL,    /* our fault: unexpected answer or broken invariant; nothing was written */
};

/* Marks a result that must be checked. */
#define MUST_CHECK __attribute__((warn_unused_result))

/* "ok", "refused", ...: for logs. */
const char *status_name(enum status st);

#endif
