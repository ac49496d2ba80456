/*
 * bundle - one or more requests for one subject, or replies to them, as the body of one message.
 *
 * What     A bundle is a sequence of items. An item is the handle that ties a reply to its request,
 *          its headers, and its body:
 *
 *              8 bytes  handle
 *              4 bytes  length of the headers
 *              4 bytes  length of the body; the highest bit: it is compressed
 *              headers  for each: NAME, a zero byte, VALUE, a zero byte
 *              body
 *
 *          A compressed body is its original length in 4 bytes and one LZ4 block. Numbers are
 *          big-endian. A bundle has 1 to BUNDLE_ITEMS_MAX items.
 * Owns     A writer owns its bytes until bundle_release(). Items that are read point into the bundle.
 * Threads  One thread at a time.
 * Fails    Writing never fails. Reading stops at anything malformed; any bytes are safe to read.
 */
#ifndef COMMON_BUS_BUNDLE_H
#define COMMON_BUS_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"

enum {
    BUNDLE_ITEMS_MAX = 64,
    /* A bundle stays in memory as long as any of its items: in an actor while a request waits, in
       the gateway while a client reads slowly. This limit bounds what one item can keep. An item
       that travels alone may be larger. */
    BUNDLE_BYTES_MAX = 64 * 1024,
    /* A larger body travels alone: a bundle would gain nothing. */
    BUNDLE_BODY_MAX = 16 * 1024,
    /* From this size on compression pays: a page of a search, 32 KB, is compressed to 3 KB in 8 us
       and decompressed in 2 us; sending it uncompressed over two sockets and through the server
       costs 60 us. */
    BUNDLE_COMPRESS_MIN = 4 * 1024,
    /* A larger body is not compressed, so no reader allocates more for the bodies of a bundle. */
    BUNDLE_COMPRESS_MAX = 16 * 1024 * 1024,
};

struct bus_header {
    const char *name; /* from proto/headers.h */
    /* NUL-terminated, no CR or LF. Leading and trailing blanks are dropped. A header whose value is
       empty or only blanks is left out, since nats.c would read the next header as its value. */
    const char *value;
};

struct bundle_item {
    uint64_t handle;
    struct str headers, body;
    bool is_compressed; /* the body: bundle_expand() */
};

/* Empty when zeroed. */
struct bundle_writer {
    char *p;
    size_t n, capacity;
    unsigned n_items;
};

void bundle_add(struct bundle_writer *writer, uint64_t handle, const struct bus_header *headers,
                size_t n_headers, struct str body);
/* The same for a reply, whose body may be compressed: if that makes it an eighth smaller. */
void bundle_add_compressed(struct bundle_writer *writer, uint64_t handle,
                           const struct bus_header *headers, size_t n_headers, struct str body);
/* Adds the items of another writer. */
void bundle_append(struct bundle_writer *writer, const struct bundle_writer *other);
/* The value without those blanks, as nats.c reads it. */
struct str bus_trimmed(const char *value);
/* The most bytes that the item takes. */
size_t bundle_item_size(const struct bus_header *headers, size_t n_headers, struct str body);
static inline struct str bundle_bytes(const struct bundle_writer *writer)
{
    return (struct str){writer->p, writer->n};
}
/* Empties it and keeps its memory. */
void bundle_clear(struct bundle_writer *writer);
void bundle_release(struct bundle_writer *writer);

/* From now on what items held is overwritten before it is freed. Call before threads start. */
void bundle_wipe_what_is_freed(void);
/* Overwrites it, if that is so: before what held items is freed. */
void bundle_wipe(void *p, size_t n);

/* Reads the item at the beginning of *rest and moves *rest past it. False: *rest is empty, or
   malformed from there on. */
bool bundle_next(struct str *rest, struct bundle_item *out);
/* Decompresses an item's body; the result is the caller's to free. STR_NONE: it is malformed, or
   longer than `max`, which is BUNDLE_COMPRESS_MAX minus what was decompressed of the bundle
   before. */
struct str bundle_expand(const struct bundle_item *item, size_t max);
/* Reads all of its items; returns how many. 0: it is malformed, or has none or too many. */
size_t bundle_read(struct str bundle, struct bundle_item items[BUNDLE_ITEMS_MAX]);
/* The header's value, zero-terminated; STR_NONE: the item has no header of that name. */
struct str bundle_header(const struct bundle_item *item, const char *name);
/* Reads the header at the beginning of *rest, which is at first an item's headers, and moves *rest
   past it. */
bool bundle_next_header(struct str *rest, struct bus_header *out);

#endif
