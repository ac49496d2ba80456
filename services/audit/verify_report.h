/*
 * verify_report - what verifying has found: how many of each kind, with details of the first.
 *
 * What     A report goes with the position to the client and back between two steps, so it is
 *          written and read as JSON: a finding has `count`, `request_id`, `block`, `detail`, and
 *          `age` if it has one.
 * Owns     Nothing: texts are literals, or live in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_AUDIT_VERIFY_REPORT_H
#define SERVICES_AUDIT_VERIFY_REPORT_H

#include "common/base/buf.h"
#include "common/base/uuid.h"
#include "common/json/fields.h"

enum verify_kind {
    VERIFY_CHANGED,      /* the entry differs from the sealed one */
    VERIFY_REMOVED,      /* it was sealed and does not exist */
    VERIFY_INSERTED,     /* it exists, was never sealed, and cannot be waiting for its seal */
    VERIFY_REWRITTEN,    /* the chain itself differs, from this block on */
    VERIFY_IMPLAUSIBLE,  /* it was sealed as found, but no service can have appended it so */
    VERIFY_MISDATED,     /* likewise, unless its clock was wrong */
    VERIFY_NOT_SEALED,   /* it has waited longer for its seal than possible if sealing works */
    VERIFY_NOT_COMPARED, /* nothing was found, but the block of a given head has been dropped */
    VERIFY_FORGED_NOTE,  /* a retention note that we have not made as it is */
    VERIFY_KINDS
};

const char *verify_kind_name(enum verify_kind kind);

struct verify_finding {
    int64_t count;
    /* Of the first: */
    struct uuid request_id; /* nil = no entry in particular */
    int64_t block;          /* 0 = none */
    struct str detail;
    int64_t age_s; /* of the oldest; 0 = not given for this kind */
};

struct verify_report {
    struct verify_finding of[VERIFY_KINDS];
    enum verify_kind first; /* of the first finding of all, if there is any */
};

bool verify_is_fine(const struct verify_report *report);
void verify_find(struct verify_report *report, enum verify_kind kind, const struct uuid *request_id,
                 int64_t block, const char *detail);

/* The member `found` of a position; for a FIELD_CUSTOM whose slot is a report. */
void verify_report_read(json_t *value, const char *path, void *slot, struct errors *errors);

/* Writes an object with all findings, without its last brace. */
void verify_report_write(struct buf *out, const struct verify_report *report);
/* Adds the first finding as the member `first`. */
void verify_report_write_first(struct buf *out, const struct verify_report *report);

#endif
