/* A bundle that can be read to its end and is written again has the same bytes, unless a header was
   blank or a body compressed. A compressed body expands within its bound. As a message of the bus
   the bundle has the same items. */
#include <stdlib.h>
#include <string.h>

#include "common/bus/bus.h"
#include "common/bus/message.h"
#include "tests/fuzz/fuzz.h"

enum { HEADERS_MAX = 64 };

static void expand(const struct bundle_item *item)
{
    struct str body = bundle_expand(item, BUNDLE_COMPRESS_MAX);

    must(body.n <= BUNDLE_COMPRESS_MAX && (body.p == NULL) == (body.n == 0));
    free((char *)body.p);
}

/* False: the item has more headers than fit, or differs when it is written again. */
static bool write_again(struct bundle_writer *writer, const struct bundle_item *item)
{
    struct bus_header headers[HEADERS_MAX];
    struct str left = item->headers;
    size_t n = 0;

    while (n < HEADERS_MAX && bundle_next_header(&left, &headers[n])) {
        must(bundle_header(item, headers[n].name).p != NULL);
        n++;
    }
    must(bundle_header(item, "Request-Id").p == NULL || n > 0);
    bundle_add(writer, item->handle, headers, n, item->body);
    if (item->is_compressed)
        expand(item);
    return left.n == 0 && !item->is_compressed;
}

static void check_parcel(struct bus_parcel *parcel)
{
    const size_t n = parcel->n_messages;
    size_t left = BUNDLE_COMPRESS_MAX;

    for (size_t i = 0; i < n; i++) {
        struct bus_message *const message = &parcel->messages[i];
        const size_t before = left;

        if (message_expand(message, &left) && left != before)
            must(bus_message_body(message).n == before - left);
        must(left <= before);
        (void)bus_message_header(message, "Outcome");
        bus_message_free(message);
    }
    message_free_deferred();
}

static natsMsg *message_with(struct str all, const char *reply_to)
{
    natsMsg *nats;

    must(natsMsg_Create(&nats, "fuzz", reply_to, all.p, (int)all.n) == NATS_OK);
    return nats;
}

/* As a hostile program's request or reply. Requests may not be compressed. */
static void check_message(struct str all, size_t items, bool is_compressed)
{
    struct bus_parcel *request = parcel_of_request(message_with(all, "inbox.fuzz.1"), NULL, NULL);
    struct bus_parcel *reply = parcel_of_replies(message_with(all, NULL));
    const bool is_fine = !is_compressed && (items == 1 || all.n <= BUNDLE_BYTES_MAX);

    must(reply->n_messages == items && (request != NULL) == is_fine);
    check_parcel(reply);
    if (request != NULL)
        check_parcel(request);
}

/* Opens nats.c, one of whose threads frees messages. */
static void set_up(void)
{
    static bool is_ready;

    if (is_ready)
        return;
    is_ready = true;
    fuzz_quiet();
    must(nats_Open(-1) == NATS_OK);
    message_defer_frees();
    bus_wipe_what_is_freed();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct str all = {(const char *)data, n};
    struct bundle_writer writer = {.p = NULL};
    struct bundle_item item, read[BUNDLE_ITEMS_MAX];
    struct str rest = all;
    bool is_whole = true, is_compressed = false;
    size_t items = 0;

    set_up();
    while (bundle_next(&rest, &item)) {
        is_whole &= write_again(&writer, &item);
        is_compressed |= item.is_compressed;
        items++;
    }
    must(writer.n_items == items && writer.n <= n);
    if (rest.n == 0 && is_whole && writer.n == n && n > 0)
        must(memcmp(writer.p, data, n) == 0);
    if (rest.n > 0 || items > BUNDLE_ITEMS_MAX)
        items = 0;
    must(bundle_read(all, read) == items);
    if (items > 0)
        check_message(all, items, is_compressed);
    bundle_release(&writer);
    return 0;
}
