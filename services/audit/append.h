/*
 * append - what the gateway reports of a request that it answered by itself.
 *
 * Threads  Any; pure.
 */
#ifndef SERVICES_AUDIT_APPEND_H
#define SERVICES_AUDIT_APPEND_H

#include "common/actor/command.h"
#include "common/trail/trail.h"

struct append_fields {
    struct str operation;   /* HEADER_OPERATION */
    struct str http_status; /* HEADER_STATUS */
    struct str code;        /* HEADER_CODE; STR_NONE = none */
    struct str resource_id; /* HEADER_RESOURCE; STR_NONE = none */
    struct str contact_id;  /* HEADER_CONTACT; STR_NONE = none */
};

/* NULL, or the name of the header that is missing or malformed; *out is then untouched. */
const char *append_read(const struct caller *caller, const struct append_fields *fields,
                        struct trail_entry *out);

#endif
