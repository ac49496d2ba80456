#include "common/http/status_counts.h"

#include <criterion/criterion.h>

Test(status_counts, have_a_reason_for_each_status)
{
    cr_expect_str_eq(reason_of(404), "Not Found");
    cr_expect_str_eq(reason_of(999), "Internal Server Error");
}
