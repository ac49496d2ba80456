/* A bundle that reads to its end, written again, has the same bytes unless a header was blank or a body was
   compressed; and that expands to no more than it may. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/bus/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { HEADERS_MAX = 64 };

static void expand(const struct bundle_item *item)
{
    struct str body = bundle_expand(item, BUNDLE_COMPRESS_MAX);

    must(body.n <= BUNDLE_COMPRESS_MAX && (body.p == NULL) == (body.n == 0));
    free((char *)body.p);
}

/* False: it has more headers than fit, or is another one when it is written again. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct str all = {(const char *)data, n};
    struct bundle_writer writer = {.p = NULL};
    struct bundle_item item, read[BUNDLE_ITEMS_MAX];
    struct str rest = all;
    bool is_whole = true;
    size_t items = 0;

    while (bundle_next(&rest, &item)) {
        is_whole &= write_again(&writer, &item);
        items++;
    }
    must(writer.n_items == items && writer.n <= n);
    if (rest.n == 0 && is_whole && writer.n == n && n > 0)
        must(memcmp(writer.p, data, n) == 0);
    must(bundle_read(all, read) == (rest.n == 0 && items <= BUNDLE_ITEMS_MAX ? items : 0));
    bundle_release(&writer);
    return 0;
}
