/* A bundle that reads to its end, written again, has the same bytes unless a header was blank. */
#include <stdint.h>
#include <string.h>

#include "common/base/log.h"
#include "common/bus/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { HEADERS_MAX = 64 };

/* False: it has more headers than fit. */
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
    return left.n == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct str all = {(const char *)data, n};
    struct bundle_writer writer = {.p = NULL};
    struct bundle_item item;
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
    must(bundle_count(all) == (rest.n == 0 && items <= BUNDLE_ITEMS_MAX ? items : 0));
    bundle_release(&writer);
    return 0;
}
