/*
 * audit_query - what GET /audit is asked for, read strictly: from the query string, or from the
 * body of v1.audit.entries.
 *
 * What     per_page (1 to 100, default 50), starting_after, and the filters operation, outcome,
 *          api_key_id, conversation_id, created_at_after and created_at_before (Unix seconds, both
 *          strict: an entry of that very second is left out). Names and values are
 *          percent-decoded, `+` is a space. In a body they are members: texts, or numbers for
 *          what is one. Anything else is an error that names the parameter.
 * Owns     Decoded values live in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_AUDIT_AUDIT_QUERY_H
#define SERVICES_AUDIT_AUDIT_QUERY_H

#include "common/base/arena.h"
#include "common/base/uuid.h"
#include "common/json/fields.h"
#include "proto/outcome.h"

#define AUDIT_PER_PAGE_DEFAULT 50
#define AUDIT_PER_PAGE_MAX     100
#define AUDIT_SECONDS_MAX      253402300799 /* the end of the year 9999 */

struct audit_query {
    int per_page;
    struct str starting_after; /* as sent; STR_NONE = the first page */
    struct str operation;      /* STR_NONE = any, as in the next three */
    struct str outcome;
    struct str api_key_id; /* a canonical UUID */
    struct str conversation_id;
    int64_t after_s;  /* entries of later seconds only; -1 = from the beginning */
    int64_t before_s; /* entries of earlier seconds only; AUDIT_SECONDS_MAX + 1 = to the end */
};

/* `text` may be STR_NONE. Problems are added in the order of the query string; true = none. */
bool audit_query_read(struct str text, struct arena *arena, struct audit_query *out,
                      struct errors *errors);

/* The same from a JSON object; an empty body asks for everything. */
bool audit_query_read_body(struct str body, struct arena *arena, struct audit_query *out,
                           struct errors *errors);

/* What a cursor of this list is bound to: organization, filters and page size. */
struct str audit_query_binding(const struct audit_query *query, const struct uuid *organization_id,
                               struct arena *arena);

#endif
