#include "tests/support/limit_scale.h"

#include <stdlib.h>
#include <string.h>

int64_t limit_scaled(int64_t limit)
{
    const char *text = getenv("TEST_LIMIT_SCALE");
    int factor = text != NULL ? atoi(text) : 1;

    return limit * (factor > 1 ? factor : 1);
}

int long_form_or(int whole, int usual)
{
    const char *asked = getenv("TEST_LONG");

    return asked != NULL && strcmp(asked, "1") == 0 ? whole : usual;
}
