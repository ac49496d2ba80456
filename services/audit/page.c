#include "services/audit/page.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/wire/json.h"

/* A position is an id; with its time behind it, where that is not the one in the id. */
enum { ID_BYTES = sizeof(struct uuid), PLACE_BYTES = ID_BYTES + sizeof(int64_t) };

static int64_t own_us(const struct uuid *id)
{
    return uuid_v7_ms(id) * 1000;
}

/* The last microsecond that an entry can have: before the year 10900. */
#define US_MAX (INT64_C(281803795199) * 1000000 + 999999)

bool page_read_text(struct str text, struct page_place *out)
{
    const struct str id = str_cut(&text, '@');
    uint64_t us;

    if (!uuid_parse(id, &out->id))
        return false;
    out->us = own_us(&out->id);
    if (text.n == 0)
        return true;
    if (!str_to_u64(text, US_MAX, &us))
        return false;
    out->us = (int64_t)us;
    return true;
}

void page_write_us(const struct page_place *place, struct buf *out)
{
    if (place->us != own_us(&place->id) && place->us >= 0 && place->us <= US_MAX)
        json_add_integer(out, "from_us", place->us);
}

bool page_read(const struct cursor_keys *keys, struct str binding, struct str cursor,
               struct page_place *behind)
{
    uint8_t position[CURSOR_POSITION_MAX];
    size_t n;

    if (!cursor_read(keys, binding, cursor, clock_us(), position, &n) ||
        (n != ID_BYTES && n != PLACE_BYTES))
        return false;
    memcpy(&behind->id, position, ID_BYTES);
    behind->us = own_us(&behind->id);
    if (n == PLACE_BYTES)
        memcpy(&behind->us, position + ID_BYTES, sizeof(behind->us));
    return true;
}

enum status page_refuse(struct command *command)
{
    return command_refuse(command, OUTCOME_INVALID_CURSOR, "starting_after",
                          "is not a cursor of this list, or has expired");
}

void page_write(const struct cursor_keys *keys, struct str binding, int per_page,
                const struct page_place *last, struct buf *out)
{
    uint8_t position[PLACE_BYTES];
    char text[CURSOR_TEXT_MAX + 1];

    json_add_key(out, "pages");
    buf_printf(out, "{\"type\":\"pages\",\"per_page\":%d", per_page);
    if (last != NULL) {
        const bool has_own_time = last->us == own_us(&last->id);

        memcpy(position, &last->id, ID_BYTES);
        memcpy(position + ID_BYTES, &last->us, sizeof(last->us));
        cursor_make(keys, binding,
                    (struct str){(const char *)position, has_own_time ? ID_BYTES : PLACE_BYTES},
                    clock_us(), text);
        buf_printf(out, ",\"next\":{\"starting_after\":\"%s\"}", text);
    }
    buf_char(out, '}');
}
