/*
 * audit_append - what the gateway reports of a request that it answered by itself.
 *
 * Threads  Any; pure.
 */
#ifndef SERVICES_AUDIT_AUDIT_APPEND_H
#define SERVICES_AUDIT_AUDIT_APPEND_H

#include "common/actor/command.h"
#include "common/audit_log/audit_log.h"

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

#endif
