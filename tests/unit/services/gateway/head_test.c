#include "services/gateway/head.h"

#include <criterion/criterion.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"
#define ZERO  "00000000000000000000000000000000"

Test(head, passes_on_a_trace_context_that_is_well_formed)
{
    cr_expect(head_is_traceparent(STR("00-" TRACE "-" SPAN "-01")));
    cr_expect(head_is_traceparent(STR("01-" TRACE "-" SPAN "-01-what-comes-later")));
}

Test(head, drops_any_other_trace_context)
{
    cr_expect_not(head_is_traceparent(STR("")));
    cr_expect_not(head_is_traceparent(STR("00-" TRACE "-" SPAN)));
    cr_expect_not(head_is_traceparent(STR("00-" TRACE "-" SPAN "-01-more")));
    cr_expect_not(head_is_traceparent(STR("01-" TRACE "-" SPAN "-01more")));
    cr_expect_not(head_is_traceparent(STR("ff-" TRACE "-" SPAN "-01")));
    cr_expect_not(head_is_traceparent(STR("00-" ZERO "-" SPAN "-01")));
    cr_expect_not(head_is_traceparent(STR("00-" TRACE "-0000000000000000-01")));
    cr_expect_not(head_is_traceparent(STR("00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01")));
    cr_expect_not(head_is_traceparent(STR("00_" TRACE "-" SPAN "-01")));
    cr_expect_not(head_is_traceparent(STR("01-" TRACE "-" SPAN "-01-a b")));
}
