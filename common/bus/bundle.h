/*
 * bundle - several requests of one subject, or the replies to them, as the body of one message.
 *
 * What     A bundle is items one behind the other. An item is the handle that ties a reply to its
 *          request, its headers, and its body:
 *
 *              8 bytes  handle
 *              4 bytes  length of the headers
 *              4 bytes  length of the body; the highest bit: it is compressed
 *              headers  NAME, a zero byte, VALUE, a zero byte; as often as there are headers
 *              body
 *
 *          A compressed body is 4 bytes, the length that it had, and one LZ4 block. Numbers have their
 *          highest byte first. A bundle has 1 to BUNDLE_ITEMS_MAX items.
 * Owns     A writer owns its bytes until bundle_release(). What is read points into the bundle.
 * Threads  One thread at a time.
 * Fails    Writing never. Reading stops at what is malformed, whatever the bytes are.
 */
#ifndef COMMON_BUS_BUNDLE_H
#define COMMON_BUS_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"
#include "common/bus/bus.h"

enum {
    BUNDLE_ITEMS_MAX = 64,
    /* All of a bundle is kept for as long as one of its items is: by an actor where a request waits, by
       the gateway where a client reads slowly. So this bounds what an item may hold. A reply that
       travels alone may be larger. */
    BUNDLE_BYTES_MAX = 64 * 1024,
    /* A larger body travels alone: it gains nothing. */
    BUNDLE_BODY_MAX = 16 * 1024,
    /* From here on compressing pays: a page of a search, 32 KB, becomes 3 KB in 8 us and is itself again in 2,
       where carrying it over two sockets and through the server costs 60. */
    BUNDLE_COMPRESS_MIN = 4 * 1024,
    /* A larger body is not compressed, so no reader allots more for those of a bundle. */
    BUNDLE_COMPRESS_MAX = 16 * 1024 * 1024,
};

struct bundle_item {
    uint64_t handle;
    struct str headers, body;
    bool is_compressed; /* the body: bundle_expand() */
};

/* Zeroed: empty. */
struct bundle_writer {
    char *p;
    size_t n, capacity;
    unsigned n_items;
};

/* Blanks at the ends of values are left out, and headers without a value, as in bus_publish(). */
void bundle_add(struct bundle_writer *writer, uint64_t handle, const struct bus_header *headers,
                size_t n_headers, struct str body);
/* The same for a reader that takes compressed bodies: compressed if that makes it an eighth smaller. */
void bundle_add_compressed(struct bundle_writer *writer, uint64_t handle,
                           const struct bus_header *headers, size_t n_headers, struct str body);
/* Adds what another writer holds. */
void bundle_append(struct bundle_writer *writer, const struct bundle_writer *other);
/* Without those blanks; as nats.c reads a header. */
struct str bus_trimmed(const char *value);
/* Bytes that it takes at most. */
size_t bundle_item_size(const struct bus_header *headers, size_t n_headers, struct str body);
static inline struct str bundle_bytes(const struct bundle_writer *writer)
{
    return (struct str){writer->p, writer->n};
}
/* Empties it and keeps its memory. */
void bundle_clear(struct bundle_writer *writer);
void bundle_release(struct bundle_writer *writer);

/* The item at the beginning of *rest, which goes on behind it. False: *rest is empty, or malformed
   from there on. */
bool bundle_next(struct str *rest, struct bundle_item *out);
/* The body of an item that is compressed, as it was: the caller's, to be freed. STR_NONE: it is malformed, or
   longer than `max`: BUNDLE_COMPRESS_MAX, less what was expanded of the bundle before. */
struct str bundle_expand(const struct bundle_item *item, size_t max);
/* All of its items; returns how many, 0: it is malformed, or has none or too many. */
size_t bundle_read(struct str bundle, struct bundle_item items[BUNDLE_ITEMS_MAX]);
/* Zero-terminated; STR_NONE: the item has none of that name. */
struct str bundle_header(const struct bundle_item *item, const char *name);
/* The header at the beginning of *rest, an item's headers at first, which goes on behind it. */
bool bundle_next_header(struct str *rest, struct bus_header *out);

#endif
