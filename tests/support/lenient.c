#include "tests/support/lenient.h"

#include <stdlib.h>
#include <string.h>

int64_t lenient(int64_t limit)
{
    const char *text = getenv("TEST_LENIENCE");
    int factor = text != NULL ? atoi(text) : 1;

    return limit * (factor > 1 ? factor : 1);
}

int long_or(int whole, int usual)
{
    const char *asked = getenv("TEST_LONG");

    return asked != NULL && strcmp(asked, "1") == 0 ? whole : usual;
}
