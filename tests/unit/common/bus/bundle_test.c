/* The form of a bundle: what is written reads the same again, and nothing else is read. */
#include "common/bus/bundle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct bus_header two[] = {{"Request-Id", "r1"}, {"Scope", "full"}};

/* Of its own size, so that a read behind its end is found. */
static struct str copy_of(struct str s)
{
    char *p = malloc(s.n);

    cr_assert_not_null(p);
    memcpy(p, s.p, s.n);
    return (struct str){p, s.n};
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
    cr_assert_eq(bundle_count(rest), 3);
    cr_assert(bundle_next(&rest, &item));
    cr_assert_eq(item.handle, UINT64_MAX);
    cr_assert_str_eq(bundle_header(&item, "Request-Id").p, "r1");
    cr_assert_str_eq(bundle_header(&item, "Scope").p, "full");
    cr_assert_null(bundle_header(&item, "scope").p);
    cr_assert_null(bundle_header(&item, "r1").p, "a value is no name");
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

Test(bundle, takes_no_more_than_it_said_it_would)
{
    struct bundle_writer writer = {.p = NULL};

    bundle_add(&writer, 1, two, 2, STR("body"));
    cr_assert_eq(writer.n, bundle_item_size(two, 2, STR("body")));
    bundle_clear(&writer);
    cr_assert_eq(bundle_count(bundle_bytes(&writer)), 0);
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

        cr_assert_eq(bundle_count(cut), 0, "%zu bytes", n);
        free((char *)cut.p);
    }
    bundle_release(&writer);
}

/* Each byte of the lengths and of the zeros between headers counts. */
Test(bundle, is_not_read_with_headers_that_do_not_pair)
{
    struct bundle_writer writer = {.p = NULL};
    size_t begin = 16;

    bundle_add(&writer, 1, two, 1, STR(""));
    cr_assert_eq(bundle_count(bundle_bytes(&writer)), 1);
    writer.p[begin + strlen("Request-Id")] = 'x'; /* one zero less */
    cr_assert_eq(bundle_count(bundle_bytes(&writer)), 0);
    writer.p[begin + strlen("Request-Id")] = '\0';
    writer.p[writer.n - 1] = 'x'; /* no zero at the end */
    cr_assert_eq(bundle_count(bundle_bytes(&writer)), 0);
    bundle_release(&writer);
}

Test(bundle, is_not_read_with_a_length_beyond_its_end)
{
    struct bundle_writer writer = {.p = NULL};

    for (size_t at = 8; at < 16; at++) {
        bundle_clear(&writer);
        bundle_add(&writer, 1, two, 2, STR("body"));
        writer.p[at] = (char)0xff;
        cr_assert_eq(bundle_count(bundle_bytes(&writer)), 0, "byte %zu", at);
    }
    bundle_release(&writer);
}

Test(bundle, has_no_more_items_than_it_may)
{
    struct bundle_writer writer = {.p = NULL};

    for (int i = 0; i < BUNDLE_ITEMS_MAX; i++)
        bundle_add(&writer, (uint64_t)i, NULL, 0, STR(""));
    cr_assert_eq(bundle_count(bundle_bytes(&writer)), BUNDLE_ITEMS_MAX);
    bundle_add(&writer, 0, NULL, 0, STR(""));
    cr_assert_eq(bundle_count(bundle_bytes(&writer)), 0);
    bundle_release(&writer);
}
