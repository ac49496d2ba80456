#include "tests/support/percentile.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int64_t percentile(int64_t *values, size_t n, int percent)
{
    cr_assert(n > 0 && percent >= 0 && percent <= 100, "%d of a hundred, of %zu values", percent,
              n);
    qsort(values, n, sizeof(*values), by_value);
    return values[(n - 1) * (size_t)percent / 100];
}
