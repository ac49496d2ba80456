#include "services/audit/page.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/json.h"

bool page_read(const struct cursor_keys *keys, struct str binding, struct str cursor,
               struct uuid *behind)
{
    uint8_t position[CURSOR_POSITION_MOST];
    size_t n;

    if (!cursor_read(keys, binding, cursor, clock_us(), position, &n) || n != sizeof(behind->b))
        return false;
    memcpy(behind->b, position, n);
    return true;
}

enum status page_refuse(struct command *command)
{
    return command_refuse(command, OUTCOME_INVALID_CURSOR, "starting_after",
                          "is not a cursor of this list, or has expired");
}

void page_write(const struct cursor_keys *keys, struct str binding, int per_page, struct str last,
                struct buf *out)
{
    char text[CURSOR_TEXT_MOST + 1];
    struct uuid id;

    json_add_key(out, "pages");
    buf_printf(out, "{\"type\":\"pages\",\"per_page\":%d", per_page);
    if (last.p != NULL) {
        must(uuid_parse(last, &id));
        cursor_make(keys, binding, (struct str){(const char *)id.b, sizeof(id.b)}, clock_us(),
                    text);
        buf_printf(out, ",\"next\":{\"starting_after\":\"%s\"}", text);
    }
    buf_char(out, '}');
}
