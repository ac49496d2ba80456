#include <criterion/criterion.h>

#include "common/base/str.h"
#include "common/db/sqlstate.h"

Test(sqlstate, calls_a_lost_race_a_retry)
{
    cr_assert_eq(sqlstate_status("23505"), ST_RETRY);
    cr_assert_eq(sqlstate_status("40001"), ST_RETRY);
    cr_assert_eq(sqlstate_status("40P01"), ST_RETRY);
    cr_assert_eq(sqlstate_status("55P03"), ST_RETRY);
}

Test(sqlstate, calls_a_server_that_cannot_serve_unavailable)
{
    static const char *const codes[] = {"57014", "57P01", "57P02", "57P03", "57P05",
                                        "53100", "53200", "53300", "08006", "25006"};

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        cr_assert_eq(sqlstate_status(codes[i]), ST_UNAVAILABLE, "%s", codes[i]);
}

Test(sqlstate, calls_everything_else_internal)
{
    static const char *const codes[] = {"42P01", "22P02", "23502", "23503",
                                        "0A000", "40002", "XX000", ""};

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        cr_assert_eq(sqlstate_status(codes[i]), ST_INTERNAL, "%s", codes[i]);
}

Test(sqlstate, ends_the_link_when_the_server_is_of_no_further_use)
{
    cr_assert(sqlstate_ends_link("57P01"));
    cr_assert(sqlstate_ends_link("08006"));
    cr_assert(sqlstate_ends_link("25006"));
    cr_assert(sqlstate_ends_link("26000"));
    cr_assert_not(sqlstate_ends_link("57014"));
    cr_assert_not(sqlstate_ends_link("53100"));
    cr_assert_not(sqlstate_ends_link("23505"));
}
