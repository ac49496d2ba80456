#include "common/trace/context.h"

#include <criterion/criterion.h>
#include <string.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"
#define ZERO  "00000000000000000000000000000000"

static bool is_good(const char *text)
{
    struct trace_context context;

    return trace_context_parse(str_of(text), &context);
}

Test(context, is_read_from_a_traceparent)
{
    static const uint8_t trace_id[] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                                       0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
    static const uint8_t span_id[] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};
    struct trace_context context;

    cr_assert(trace_context_parse(STR("00-" TRACE "-" SPAN "-01"), &context));
    cr_expect_arr_eq(context.trace_id, trace_id, sizeof(trace_id));
    cr_expect_arr_eq(context.span_id, span_id, sizeof(span_id));
    cr_expect(context.is_sampled);
    cr_assert(trace_context_parse(STR("00-" TRACE "-" SPAN "-00"), &context));
    cr_expect_not(context.is_sampled);
    cr_assert(trace_context_parse(STR("00-" TRACE "-" SPAN "-02"), &context));
    cr_expect_not(context.is_sampled, "of the flags only the lowest is ours to know");
}

Test(context, of_a_later_version_is_read_as_far_as_it_is_known)
{
    cr_expect(is_good("01-" TRACE "-" SPAN "-01"));
    cr_expect(is_good("01-" TRACE "-" SPAN "-01-what-comes-later"));
    cr_expect_not(is_good("01-" TRACE "-" SPAN "-01more"));
    cr_expect_not(is_good("01-" TRACE "-" SPAN "-01-a b"));
}

Test(context, that_is_malformed_is_none)
{
    static const char *const bad[] = {
        "",
        "00-" TRACE "-" SPAN,
        "00-" TRACE "-" SPAN "-01-more",
        "ff-" TRACE "-" SPAN "-01",
        "00-" ZERO "-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00_" TRACE "-" SPAN "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-" TRACE "-" SPAN "_01",
        "0g-" TRACE "-" SPAN "-01",
        "00-" TRACE "-" SPAN "-0g",
        " 0-" TRACE "-" SPAN "-01",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_not(is_good(bad[i]), "%s", bad[i]);
        cr_expect_null(trace_id_of(str_of(bad[i])).p, "%s", bad[i]);
    }
    cr_expect_null(trace_id_of(STR_NONE).p);
}

Test(context, is_written_as_it_is_read)
{
    static const char *const texts[] = {"00-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-00"};
    struct trace_context context;
    char again[TRACEPARENT_TEXT + 1];

    for (size_t i = 0; i < 2; i++) {
        cr_assert(trace_context_parse(str_of(texts[i]), &context));
        trace_context_format(&context, again);
        cr_expect_str_eq(again, texts[i]);
    }
}

Test(context, gives_the_log_its_trace)
{
    struct str id = trace_id_of(STR("00-" TRACE "-" SPAN "-01"));

    cr_expect(str_equal(id, STR(TRACE)));
}
