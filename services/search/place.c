#include "services/search/place.h"

#include <endian.h>
#include <string.h>

/* How it is laid out inside a cursor; numbers are big-endian. */
struct position {
    uint64_t created_us;
    struct uuid id;
    uint32_t page;
} __attribute__((packed));

_Static_assert(sizeof(struct position) <= CURSOR_POSITION_MOST, "a cursor must hold it");

void place_write(const struct place *place, const struct cursor_keys *keys, struct str binding,
                 int64_t now_us, char text[CURSOR_TEXT_MOST + 1])
{
    const struct position position = {.created_us = htobe64((uint64_t)place->created_us),
                                      .id = place->id,
                                      .page = htobe32(place->page)};

    cursor_make(keys, binding, (struct str){(const char *)&position, sizeof(position)}, now_us,
                text);
}

bool place_read(struct str text, const struct cursor_keys *keys, struct str binding, int64_t now_us,
                struct place *out)
{
    uint8_t bytes[CURSOR_POSITION_MOST];
    struct position position;
    size_t n;

    if (!cursor_read(keys, binding, text, now_us, bytes, &n) || n != sizeof(position))
        return false;
    memcpy(&position, bytes, sizeof(position));
    *out = (struct place){.created_us = (int64_t)be64toh(position.created_us),
                          .id = position.id,
                          .page = be32toh(position.page)};
    return true;
}
