/*
 * page - where a page of a list begins and the next one does: behind the row of an id.
 *
 * Threads  Any; pure but for the clock.
 */
#ifndef SERVICES_AUDIT_LIST_H
#define SERVICES_AUDIT_LIST_H

#include "common/actor/command.h"
#include "common/crypto/cursor.h"

/* The last row of a page. */
struct page_place {
    struct uuid id;
    int64_t us; /* its time, which need not be the one in its id */
};

/* As operators type it and convctl shows it: the id; with `@` and Unix microseconds, where its time is
   not the one in its id. */
#define PAGE_TEXT_MAX (UUID_TEXT + 1 + 18)
MUST_CHECK bool page_read_text(struct str text, struct page_place *out);
/* Appends that time as the member `from_us`, if it is not the one in the id. */
void page_write_us(const struct page_place *place, struct buf *out);

/* False: `cursor` is not ours for that binding, or has expired. */
bool page_read(const struct cursor_keys *keys, struct str binding, struct str cursor,
               struct page_place *behind);
/* Refuses such a cursor. */
enum status page_refuse(struct command *command);
/* Appends the member `pages`. `last` is what the next page begins behind; NULL = none. */
void page_write(const struct cursor_keys *keys, struct str binding, int per_page,
                const struct page_place *last, struct buf *out);

#endif
