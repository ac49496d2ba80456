/*
 * audit_query - the parameters of GET /audit, read strictly from the query string or from the body
 * of v1.audit.entries; and the pages of this service's lists.
 *
 * What     per_page (1 to 100, default 50), starting_after, and the filters operation, outcome,
 *          api_key_id, conversation_id, created_at_after and created_at_before (Unix seconds, both
 *          exclusive: an entry of that very second is left out). Names and values are
 *          percent-decoded, with `+` for a space. In a body they are members: integers if numeric,
 *          otherwise strings. Anything else is an error that names the parameter.
 * Owns     Decoded values live in the arena.
 * Threads  Any; pure, except that cursors expire by the clock.
 */
#ifndef SERVICES_AUDIT_AUDIT_QUERY_H
#define SERVICES_AUDIT_AUDIT_QUERY_H

#include "common/actor/command.h"
#include "common/crypto/cursor.h"
#include "common/json/fields.h"

#define AUDIT_PER_PAGE_DEFAULT 50
#define AUDIT_PER_PAGE_MAX     100

struct audit_query {
    int per_page;              /* entries of a page, 1 to AUDIT_PER_PAGE_MAX */
    struct str starting_after; /* the cursor as sent, not yet checked; STR_NONE = the first page */
    struct str operation;  /* a name of proto/operation.def; STR_NONE = any, as in the next three */
    struct str outcome;    /* allowed, denied, rejected or error */
    struct str api_key_id; /* a UUID in lower case, as is the next one */
    struct str conversation_id;
    /* Unix seconds. */
    int64_t after_s;  /* entries of later seconds only; -1 = from the beginning */
    int64_t before_s; /* entries of earlier seconds only; UNIX_SECONDS_MAX + 1 = to the end */
};

/* `text` may be STR_NONE. Errors are added in the order of the query string; true = no errors. */
bool audit_query_read(struct str text, struct arena *arena, struct audit_query *out,
                      struct errors *errors);

/* The same from a JSON object; an empty body asks for everything. */
bool audit_query_read_body(struct str body, struct arena *arena, struct audit_query *out,
                           struct errors *errors);

/* What a cursor of this list is bound to: organization, filters and page size. */
struct str audit_query_binding(const struct audit_query *query, const struct uuid *organization_id,
                               struct arena *arena);

/* -- pages ------------------------------------------------------------------------------------- */

/* The last row of a page, after which the next page begins. */
struct page_place {
    struct uuid id;
    int64_t us; /* its time, which need not be the one in its id */
};

/* The text that convctl prints and operators type: the id, followed by `@` and Unix microseconds if
   its time is not the one in its id. */
#define PAGE_TEXT_MAX (UUID_TEXT + 1 + 18)
MUST_CHECK bool page_read_text(struct str text, struct page_place *out);
/* Appends the time as the member `from_us`, if it is not the one in the id. */
void page_write_us(const struct page_place *place, struct buf *out);

/* False: `cursor` is not ours for that binding, or has expired. */
bool page_read(const struct cursor_keys *keys, struct str binding, struct str cursor,
               struct page_place *behind);
/* Refuses such a cursor. */
enum status page_refuse(struct command *command);
/* Appends the member `pages`. `last` is the last row of this page; NULL = there is no next page. */
void page_write(const struct cursor_keys *keys, struct str binding, int per_page,
                const struct page_place *last, struct buf *out);

#endif
