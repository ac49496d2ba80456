#include "services/search/page_token.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

/* How it is laid out inside a cursor; numbers are big-endian. */
struct page_token_bytes {
    uint64_t created_us;
    struct uuid id;
    uint32_t page;
    uint64_t total; /* left out where there is none */
} __attribute__((packed));

enum { WITHOUT_TOTAL = offsetof(struct page_token_bytes, total) };

_Static_assert(sizeof(struct page_token_bytes) <= CURSOR_POSITION_MAX, "a cursor must hold it");

void page_token_write(const struct page_token *token, const struct cursor_keys *keys,
                      struct str binding, int64_t now_us, char text[CURSOR_TEXT_MAX + 1])
{
    const struct page_token_bytes position = {.created_us = htobe64((uint64_t)token->created_us),
                                              .id = token->id,
                                              .page = htobe32(token->page),
                                              .total = htobe64(token->total)};
    const size_t n = token->has_total ? sizeof(position) : WITHOUT_TOTAL;

    cursor_make(keys, binding, (struct str){(const char *)&position, n}, now_us, text);
}

bool page_token_read(struct str text, const struct cursor_keys *keys, struct str binding,
                     int64_t now_us, struct page_token *out)
{
    uint8_t bytes[CURSOR_POSITION_MAX];
    struct page_token_bytes position = {0};
    size_t n;

    if (!cursor_read(keys, binding, text, now_us, bytes, &n) ||
        (n != sizeof(position) && n != WITHOUT_TOTAL))
        return false;
    memcpy(&position, bytes, n);
    *out = (struct page_token){.created_us = (int64_t)be64toh(position.created_us),
                               .id = position.id,
                               .page = be32toh(position.page),
                               .has_total = n == sizeof(position),
                               .total = be64toh(position.total)};
    return true;
}
