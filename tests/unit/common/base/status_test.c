#include "common/base/status.h"

#include <criterion/criterion.h>
#include <string.h>

Test(status, names_are_distinct)
{
    for (int i = ST_OK; i <= ST_INTERNAL; i++) {
        cr_assert_str_neq(status_name((enum status)i), "?");
        for (int k = ST_OK; k < i; k++)
            cr_assert_str_neq(status_name((enum status)i), status_name((enum status)k));
    }
    cr_assert_str_eq(status_name(ST_UNCERTAIN), "uncertain");
}
