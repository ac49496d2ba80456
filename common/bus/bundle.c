#include "common/bus/bundle.h"

#include <endian.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

enum {
    HANDLE_BYTES = 8,
    LENGTH_BYTES = 4,
    HEAD_BYTES = HANDLE_BYTES + 2 * LENGTH_BYTES,
    GAIN_SHARE = 8, /* compression must save this share of a body, one in eight */
    RATIO_MAX = 255 /* of LZ4 */
};

#define IS_COMPRESSED UINT32_C(0x80000000)

static bool wipes; /* set before there are threads */

void bundle_wipe_what_is_freed(void)
{
    wipes = true;
}

void bundle_wipe(void *p, size_t n)
{
    if (wipes && n > 0)
        explicit_bzero(p, n);
}

/* -- writing --------------------------------------------------------------------------------- */

struct str bus_trimmed(const char *value)
{
    struct str s = str_of(value + strspn(value, " \t\n\v\f\r"));

    while (s.n > 0 && strchr(" \t\n\v\f\r", s.p[s.n - 1]) != NULL)
        s.n--;
    return s;
}

static void reserve(struct bundle_writer *writer, size_t n)
{
    char *p;

    if (writer->capacity - writer->n >= n)
        return;
    writer->capacity = writer->n == 0 ? n : (writer->n + n) * 2;
    p = wipes ? malloc(writer->capacity) : realloc(writer->p, writer->capacity);
    must(p != NULL);
    if (wipes && writer->n > 0) {
        memcpy(p, writer->p, writer->n);
        bundle_wipe(writer->p, writer->n);
    }
    if (wipes)
        free(writer->p);
    writer->p = p;
}

static void put(struct bundle_writer *writer, const void *p, size_t n)
{
    if (n > 0)
        memcpy(writer->p + writer->n, p, n);
    writer->n += n;
}

static void put_length(char *at, uint32_t n)
{
    const uint32_t length = htobe32(n);

    memcpy(at, &length, LENGTH_BYTES);
}

size_t bundle_item_size(const struct bus_header *headers, size_t n_headers, struct str body)
{
    size_t n = HEAD_BYTES + body.n;

    for (size_t i = 0; i < n_headers; i++)
        n += strlen(headers[i].name) + strlen(headers[i].value) + 2;
    return n;
}

/* Adds an item except for its body and the body's length; returns the position of the latter. */
static size_t add_head(struct bundle_writer *writer, uint64_t handle,
                       const struct bus_header *headers, size_t n_headers)
{
    const uint64_t sent = htobe64(handle);
    const size_t begin = writer->n;

    put(writer, &sent, HANDLE_BYTES);
    writer->n += 2 * (size_t)LENGTH_BYTES;
    for (size_t i = 0; i < n_headers; i++) {
        const struct str value = bus_trimmed(headers[i].value);

        if (value.n == 0)
            continue;
        put(writer, headers[i].name, strlen(headers[i].name) + 1);
        put(writer, value.p, value.n);
        put(writer, "", 1);
    }
    put_length(writer->p + begin + HANDLE_BYTES, (uint32_t)(writer->n - begin - HEAD_BYTES));
    writer->n_items++;
    return begin + HANDLE_BYTES + LENGTH_BYTES;
}

static void add_body(struct bundle_writer *writer, size_t length_at, struct str body)
{
    put_length(writer->p + length_at, (uint32_t)body.n);
    put(writer, body.p, body.n);
}

void bundle_add(struct bundle_writer *writer, uint64_t handle, const struct bus_header *headers,
                size_t n_headers, struct str body)
{
    must(body.n < IS_COMPRESSED);
    reserve(writer, bundle_item_size(headers, n_headers, body));
    add_body(writer, add_head(writer, handle, headers, n_headers), body);
}

/* False: compression would save too little, and nothing was added. */
static bool add_block(struct bundle_writer *writer, size_t length_at, struct str body)
{
    const size_t max = body.n - body.n / GAIN_SHARE;
    char *const out = writer->p + writer->n;
    const int n = LZ4_compress_default(body.p, out + LENGTH_BYTES, (int)body.n, (int)max);

    if (n <= 0)
        return false;
    put_length(out, (uint32_t)body.n);
    put_length(writer->p + length_at, IS_COMPRESSED | (uint32_t)(LENGTH_BYTES + n));
    writer->n += LENGTH_BYTES + (size_t)n;
    return true;
}

void bundle_add_compressed(struct bundle_writer *writer, uint64_t handle,
                           const struct bus_header *headers, size_t n_headers, struct str body)
{
    size_t length_at;

    if (body.n < BUNDLE_COMPRESS_MIN || body.n > BUNDLE_COMPRESS_MAX) {
        bundle_add(writer, handle, headers, n_headers, body);
        return;
    }
    reserve(writer, bundle_item_size(headers, n_headers, body));
    length_at = add_head(writer, handle, headers, n_headers);
    if (!add_block(writer, length_at, body))
        add_body(writer, length_at, body);
}

void bundle_append(struct bundle_writer *writer, const struct bundle_writer *other)
{
    reserve(writer, other->n);
    put(writer, other->p, other->n);
    writer->n_items += other->n_items;
}

void bundle_clear(struct bundle_writer *writer)
{
    bundle_wipe(writer->p, writer->n);
    writer->n = 0;
    writer->n_items = 0;
}

void bundle_release(struct bundle_writer *writer)
{
    bundle_wipe(writer->p, writer->n);
    free(writer->p);
    *writer = (struct bundle_writer){.p = NULL};
}

/* -- reading --------------------------------------------------------------------------------- */

static uint32_t length_at(const char *p)
{
    uint32_t length;

    memcpy(&length, p, LENGTH_BYTES);
    return be32toh(length);
}

/* True: names and values alternate, each with its zero byte, and contain nothing that is invalid in
   a header. */
static bool is_sound(struct str headers)
{
    struct bus_header header;

    if (headers.n == 0)
        return true;
    if (headers.p[headers.n - 1] != '\0' || memchr(headers.p, '\r', headers.n) != NULL ||
        memchr(headers.p, '\n', headers.n) != NULL)
        return false;
    while (headers.n > 0) {
        if (strlen(headers.p) + 1 == headers.n)
            return false; /* a name without a value */
        (void)bundle_next_header(&headers, &header);
        if (header.name[0] == '\0')
            return false;
    }
    return true;
}

bool bundle_next(struct str *rest, struct bundle_item *out)
{
    uint64_t handle;
    uint32_t length;
    size_t n_headers, n_body;

    if (rest->n < HEAD_BYTES)
        return false;
    memcpy(&handle, rest->p, HANDLE_BYTES);
    n_headers = length_at(rest->p + HANDLE_BYTES);
    length = length_at(rest->p + HANDLE_BYTES + LENGTH_BYTES);
    n_body = length & ~IS_COMPRESSED;
    if (rest->n - HEAD_BYTES < n_headers || rest->n - HEAD_BYTES - n_headers < n_body)
        return false;
    *out = (struct bundle_item){.handle = be64toh(handle),
                                .headers = {rest->p + HEAD_BYTES, n_headers},
                                .body = {rest->p + HEAD_BYTES + n_headers, n_body},
                                .is_compressed = (length & IS_COMPRESSED) != 0};
    if (!is_sound(out->headers) || (out->is_compressed && n_body < LENGTH_BYTES))
        return false;
    rest->p += HEAD_BYTES + n_headers + n_body;
    rest->n -= HEAD_BYTES + n_headers + n_body;
    return true;
}

/* A bundle made as bundle.h says is never refused: it has one body, of BUNDLE_COMPRESS_MAX at most,
   or BUNDLE_BYTES_MAX at most, which is no more even at LZ4's highest ratio. */
_Static_assert(BUNDLE_COMPRESS_MAX / RATIO_MAX >= BUNDLE_BYTES_MAX,
               "a full bundle expands to BUNDLE_COMPRESS_MAX at most");

struct str bundle_expand(const struct bundle_item *item, size_t max)
{
    const struct str block = {item->body.p + LENGTH_BYTES, item->body.n - LENGTH_BYTES};
    const size_t n = length_at(item->body.p);
    char *p;

    must(item->is_compressed);
    /* An impossible length allocates nothing. */
    if (n == 0 || n > max || n / RATIO_MAX > block.n)
        return STR_NONE;
    p = malloc(n);
    must(p != NULL);
    if (LZ4_decompress_safe(block.p, p, (int)block.n, (int)n) == (int)n)
        return (struct str){p, n};
    free(p);
    return STR_NONE;
}

size_t bundle_read(struct str bundle, struct bundle_item items[BUNDLE_ITEMS_MAX])
{
    size_t n = 0;

    while (n < BUNDLE_ITEMS_MAX && bundle_next(&bundle, &items[n]))
        n++;
    return bundle.n == 0 ? n : 0;
}

bool bundle_next_header(struct str *rest, struct bus_header *out)
{
    size_t n;

    if (rest->n == 0)
        return false;
    out->name = rest->p;
    out->value = out->name + strlen(out->name) + 1;
    n = (size_t)(out->value - rest->p) + strlen(out->value) + 1;
    rest->p += n;
    rest->n -= n;
    return true;
}

struct str bundle_header(const struct bundle_item *item, const char *name)
{
    struct str rest = item->headers;
    struct bus_header header;

    while (bundle_next_header(&rest, &header))
        if (strcmp(header.name, name) == 0)
            return str_of(header.value);
    return STR_NONE;
}
