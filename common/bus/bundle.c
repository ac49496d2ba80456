#include "common/bus/bundle.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

enum { HANDLE_BYTES = 8, LENGTH_BYTES = 4, HEAD_BYTES = HANDLE_BYTES + 2 * LENGTH_BYTES };

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
    if (writer->capacity - writer->n >= n)
        return;
    writer->capacity = writer->n == 0 ? n : (writer->n + n) * 2;
    writer->p = realloc(writer->p, writer->capacity);
    must(writer->p != NULL);
}

static void put(struct bundle_writer *writer, const void *p, size_t n)
{
    if (n > 0)
        memcpy(writer->p + writer->n, p, n);
    writer->n += n;
}

static void put_length(char *at, size_t n)
{
    const uint32_t length = htobe32((uint32_t)n);

    memcpy(at, &length, LENGTH_BYTES);
}

size_t bundle_item_size(const struct bus_header *headers, size_t n_headers, struct str body)
{
    size_t n = HEAD_BYTES + body.n;

    for (size_t i = 0; i < n_headers; i++)
        n += strlen(headers[i].name) + strlen(headers[i].value) + 2;
    return n;
}

void bundle_add(struct bundle_writer *writer, uint64_t handle, const struct bus_header *headers,
                size_t n_headers, struct str body)
{
    const uint64_t sent = htobe64(handle);
    const size_t begin = writer->n;

    must(body.n <= UINT32_MAX);
    reserve(writer, bundle_item_size(headers, n_headers, body));
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
    put_length(writer->p + begin + HANDLE_BYTES, writer->n - begin - HEAD_BYTES);
    put_length(writer->p + begin + HANDLE_BYTES + LENGTH_BYTES, body.n);
    put(writer, body.p, body.n);
    writer->n_items++;
}

void bundle_clear(struct bundle_writer *writer)
{
    writer->n = 0;
    writer->n_items = 0;
}

void bundle_release(struct bundle_writer *writer)
{
    free(writer->p);
    *writer = (struct bundle_writer){.p = NULL};
}

/* -- reading --------------------------------------------------------------------------------- */

static size_t length_at(const char *p)
{
    uint32_t length;

    memcpy(&length, p, LENGTH_BYTES);
    return be32toh(length);
}

/* Names and values in turn, each with its zero byte, and nothing that a header of its own could not
   have. */
static bool is_sound(struct str headers)
{
    size_t n_zeros = 0;

    if (headers.n == 0)
        return true;
    if (headers.p[headers.n - 1] != '\0')
        return false;
    for (size_t i = 0; i < headers.n; i++) {
        const bool is_end = headers.p[i] == '\0';

        if (headers.p[i] == '\r' || headers.p[i] == '\n')
            return false;
        if (is_end && n_zeros % 2 == 0 && (i == 0 || headers.p[i - 1] == '\0'))
            return false; /* a name without a letter */
        n_zeros += is_end;
    }
    return n_zeros % 2 == 0;
}

bool bundle_next(struct str *rest, struct bundle_item *out)
{
    uint64_t handle;
    size_t n_headers, n_body;

    if (rest->n < HEAD_BYTES)
        return false;
    memcpy(&handle, rest->p, HANDLE_BYTES);
    n_headers = length_at(rest->p + HANDLE_BYTES);
    n_body = length_at(rest->p + HANDLE_BYTES + LENGTH_BYTES);
    if (rest->n - HEAD_BYTES < n_headers || rest->n - HEAD_BYTES - n_headers < n_body)
        return false;
    *out = (struct bundle_item){.handle = be64toh(handle),
                                .headers = {rest->p + HEAD_BYTES, n_headers},
                                .body = {rest->p + HEAD_BYTES + n_headers, n_body}};
    if (!is_sound(out->headers))
        return false;
    rest->p += HEAD_BYTES + n_headers + n_body;
    rest->n -= HEAD_BYTES + n_headers + n_body;
    return true;
}

size_t bundle_count(struct str bundle)
{
    struct bundle_item item;
    size_t n = 0;

    while (n <= BUNDLE_ITEMS_MAX && bundle_next(&bundle, &item))
        n++;
    return bundle.n == 0 && n <= BUNDLE_ITEMS_MAX ? n : 0;
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
