/* The format of a bundle: what was written reads back the same, and nothing malformed is read. */
#include "common/bus/bundle.h"

#include <criterion/criterion.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

static const struct bus_header two[] = {{"Request-Id", "r1"}, {"Scope", "full"}};

/* An allocation of the exact size, so that sanitizers find a read beyond its end. */
static struct str copy_of(struct str s)
{
    char *p = malloc(s.n);

    cr_assert_not_null(p);
    memcpy(p, s.p, s.n);
    return (struct str){p, s.n};
}

static size_t count_of(struct str bundle)
{
    struct bundle_item items[BUNDLE_ITEMS_MAX];

    return bundle_read(bundle, items);
}

Test(bundle, brings_items_as_they_were_written)
{
    struct bundle_writer writer = {.p = NULL};
    struct bundle_item item;
    struct str rest;

    bundle_add(&writer, UINT64_MAX, two, 2, STR("{\"a\":1}"));
    bundle_add(&writer, 7, NULL, 0, STR(""));
    bundle_add(&writer, 8, two, 1, (struct str){"a\0b", 3});
    rest = bundle_bytes(&writer);
    cr_assert_eq(count_of(rest), 3);
    cr_assert(bundle_next(&rest, &item));
    cr_assert_eq(item.handle, UINT64_MAX);
    cr_assert_str_eq(bundle_header(&item, "Request-Id").p, "r1");
    cr_assert_str_eq(bundle_header(&item, "Scope").p, "full");
    cr_assert_null(bundle_header(&item, "scope").p);
    cr_assert_null(bundle_header(&item, "r1").p, "a value is not a name");
    cr_assert(str_equal(item.body, STR("{\"a\":1}")));
    cr_assert(bundle_next(&rest, &item));
    cr_assert_eq(item.handle, 7);
    cr_assert_null(bundle_header(&item, "Request-Id").p);
    cr_assert_eq(item.body.n, 0);
    cr_assert(bundle_next(&rest, &item));
    cr_assert(str_equal(item.body, (struct str){"a\0b", 3}));
    cr_assert_not(bundle_next(&rest, &item));
    cr_assert_eq(rest.n, 0);
    bundle_release(&writer);
}

Test(bundle, stays_within_its_estimate)
{
    struct bundle_writer writer = {.p = NULL};

    bundle_add(&writer, 1, two, 2, STR("body"));
    cr_assert_eq(writer.n, bundle_item_size(two, 2, STR("body")));
    bundle_clear(&writer);
    cr_assert_eq(count_of(bundle_bytes(&writer)), 0);
    cr_assert_eq(writer.n_items, 0);
    bundle_release(&writer);
}

Test(bundle, leaves_out_headers_without_a_value)
{
    const struct bus_header blank[] = {{"Query", ""}, {"Resource", " \t"}, {"Scope", "read"}};
    struct bundle_writer writer = {.p = NULL};
    struct bundle_item item;
    struct str rest;

    bundle_add(&writer, 1, blank, 3, STR(""));
    rest = bundle_bytes(&writer);
    cr_assert(bundle_next(&rest, &item));
    cr_assert_null(bundle_header(&item, "Query").p);
    cr_assert_null(bundle_header(&item, "Resource").p);
    cr_assert_str_eq(bundle_header(&item, "Scope").p, "read");
    bundle_release(&writer);
}

Test(bundle, is_not_read_when_cut_off_anywhere)
{
    struct bundle_writer writer = {.p = NULL};

    bundle_add(&writer, 1, two, 2, STR("body"));
    for (size_t n = 1; n < writer.n; n++) {
        struct str cut = copy_of((struct str){writer.p, n});

        cr_assert_eq(count_of(cut), 0, "%zu bytes", n);
        free((char *)cut.p);
    }
    bundle_release(&writer);
}

/* Each of the zero bytes in headers counts. */
Test(bundle, is_not_read_with_headers_that_do_not_pair)
{
    struct bundle_writer writer = {.p = NULL};
    size_t begin = 16;

    bundle_add(&writer, 1, two, 1, STR(""));
    cr_assert_eq(count_of(bundle_bytes(&writer)), 1);
    writer.p[begin + strlen("Request-Id")] = 'x'; /* one zero less */
    cr_assert_eq(count_of(bundle_bytes(&writer)), 0);
    writer.p[begin + strlen("Request-Id")] = '\0';
    writer.p[writer.n - 1] = 'x'; /* no zero at the end */
    cr_assert_eq(count_of(bundle_bytes(&writer)), 0);
    bundle_release(&writer);
}

Test(bundle, is_not_read_with_a_length_beyond_its_end)
{
    struct bundle_writer writer = {.p = NULL};

    for (size_t at = 8; at < 16; at++) {
        bundle_clear(&writer);
        bundle_add(&writer, 1, two, 2, STR("body"));
        writer.p[at] = (char)0xff;
        cr_assert_eq(count_of(bundle_bytes(&writer)), 0, "byte %zu", at);
    }
    bundle_release(&writer);
}

/* -- compressed bodies ----------------------------------------------------------------------- */

enum { LARGE = 32 * 1024, HEAD = 16 };

/* Fills with bytes that repeat or do not. */
static void fill(char *p, size_t n, bool repeats)
{
    uint32_t state = 1;

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        p[i] = repeats ? (char)('a' + i % 64) : (char)(state >> 24);
    }
}

static struct bundle_item only_item(const struct bundle_writer *writer)
{
    struct str rest = bundle_bytes(writer);
    struct bundle_item item;

    cr_assert_eq(count_of(rest), 1);
    cr_assert(bundle_next(&rest, &item));
    return item;
}

Test(bundle, brings_a_compressed_body_as_it_was)
{
    static char large[LARGE];
    const struct str body = {large, LARGE};
    struct bundle_writer writer = {.p = NULL};
    struct bundle_item item;
    struct str expanded;

    fill(large, LARGE, true);
    bundle_add_compressed(&writer, 7, two, 2, body);
    cr_assert_lt(writer.n, LARGE / 10);
    item = only_item(&writer);
    cr_assert_eq(item.handle, 7);
    cr_assert_str_eq(bundle_header(&item, "Scope").p, "full");
    cr_assert(item.is_compressed);
    expanded = bundle_expand(&item, BUNDLE_COMPRESS_MAX);
    cr_assert(str_equal(expanded, body));
    free((char *)expanded.p);
    bundle_release(&writer);
}

Test(bundle, compresses_nothing_that_gains_little)
{
    static char large[LARGE];
    const struct str bodies[] = {
        {large, LARGE}, /* noise */
        {large, BUNDLE_COMPRESS_MIN - 1},
        STR(""),
    };

    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        struct bundle_writer writer = {.p = NULL};
        struct bundle_item item;

        fill(large, LARGE, i > 0);
        bundle_add_compressed(&writer, 1, two, 1, bodies[i]);
        cr_assert_eq(writer.n, bundle_item_size(two, 1, bodies[i]));
        item = only_item(&writer);
        cr_assert_not(item.is_compressed);
        cr_assert(str_equal(item.body, bodies[i]));
        bundle_release(&writer);
    }
}

Test(bundle, compresses_nothing_larger_than_a_reader_expands)
{
    const size_t n = BUNDLE_COMPRESS_MAX;
    const struct str body = {calloc(1, n + 1), n + 1};
    struct bundle_writer writer = {.p = NULL};
    struct bundle_item item;

    bundle_add_compressed(&writer, 1, NULL, 0, body);
    cr_assert_not(only_item(&writer).is_compressed);
    bundle_clear(&writer);
    bundle_add_compressed(&writer, 1, NULL, 0, (struct str){body.p, n});
    item = only_item(&writer);
    cr_assert(item.is_compressed);
    struct str expanded = bundle_expand(&item, BUNDLE_COMPRESS_MAX);
    cr_assert_eq(expanded.n, n);
    free((char *)expanded.p);
    free((char *)body.p);
    bundle_release(&writer);
}

Test(bundle, takes_what_another_writer_holds)
{
    struct bundle_writer writer = {.p = NULL}, other = {.p = NULL};
    struct bundle_item item;
    struct str rest;

    bundle_add(&writer, 1, two, 1, STR("one"));
    bundle_add(&other, 2, two, 2, STR("two"));
    bundle_append(&writer, &other);
    rest = bundle_bytes(&writer);
    cr_assert_eq(writer.n_items, 2);
    cr_assert(bundle_next(&rest, &item) && bundle_next(&rest, &item));
    cr_assert_eq(item.handle, 2);
    cr_assert(str_equal(item.body, STR("two")));
    bundle_release(&writer);
    bundle_release(&other);
}

/* False lengths. None makes the reader allocate more memory than the block could fill. */
Test(bundle, expands_nothing_that_is_forged)
{
    static const uint32_t lengths[] = {0,         1, LARGE - 1, LARGE + 1, BUNDLE_COMPRESS_MAX + 1,
                                       UINT32_MAX};
    static char large[LARGE];
    struct bundle_writer writer = {.p = NULL};
    struct bundle_item item;
    char *said;

    fill(large, LARGE, true);
    bundle_add_compressed(&writer, 1, NULL, 0, (struct str){large, LARGE});
    said = writer.p + HEAD;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        const uint32_t length = htobe32(lengths[i]);

        memcpy(said, &length, sizeof(length));
        item = only_item(&writer);
        cr_assert_null(bundle_expand(&item, BUNDLE_COMPRESS_MAX).p, "%u", lengths[i]);
    }
    writer.p[HEAD - 1] = 3; /* no room for the expanded length */
    memset(writer.p + HEAD - 3, 0, 2);
    cr_assert_eq(count_of((struct str){writer.p, HEAD + 3}), 0);
    bundle_release(&writer);
}

Test(bundle, has_no_more_items_than_it_may)
{
    struct bundle_writer writer = {.p = NULL};

    for (int i = 0; i < BUNDLE_ITEMS_MAX; i++)
        bundle_add(&writer, (uint64_t)i, NULL, 0, STR(""));
    cr_assert_eq(count_of(bundle_bytes(&writer)), BUNDLE_ITEMS_MAX);
    bundle_add(&writer, 0, NULL, 0, STR(""));
    cr_assert_eq(count_of(bundle_bytes(&writer)), 0);
    bundle_release(&writer);
}

Test(bundle, overwrites_what_it_gives_up_on_request)
{
    static const char zeros[64];
    struct bundle_writer writer = {.p = NULL};

    bundle_wipe_what_is_freed();
    bundle_add(&writer, 1, NULL, 0, STR("correct horse battery"));
    bundle_clear(&writer);
    cr_assert_eq(memcmp(writer.p, zeros, HEAD + 21), 0);
    bundle_release(&writer);
}
