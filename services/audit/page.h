/*
 * page - where a page of a list begins and the next one does: behind the row of an id.
 *
 * Threads  Any; pure but for the clock.
 */
#ifndef SERVICES_AUDIT_PAGE_H
#define SERVICES_AUDIT_PAGE_H

#include "common/actor/command.h"
#include "common/crypto/cursor.h"

/* False: `cursor` is none of ours for that binding, or has expired. */
bool page_read(const struct cursor_keys *keys, struct str binding, struct str cursor,
               struct uuid *behind);
/* Refuses such a cursor. */
enum status page_refuse(struct command *command);
/* Appends the member `pages`. `last` is the id behind which the next page begins; STR_NONE = there
   is none. */
void page_write(const struct cursor_keys *keys, struct str binding, int per_page, struct str last,
                struct buf *out);

#endif
