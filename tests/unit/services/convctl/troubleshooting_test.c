/* docs/troubleshooting.md quotes convctl's messages, and those of its bus, verbatim, so that a search
   finds them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *command)
{
    enum { TEXT_MAX = 1 << 20 };
    char *text = calloc(1, TEXT_MAX);
    FILE *from = popen(command, "re");

    cr_assert_not_null(from);
    text[fread(text, 1, TEXT_MAX - 1, from)] = '\0';
    cr_assert_eq(pclose(from), 0, "%s", command);
    return text;
}

Test(troubleshooting, quotes_convctls_messages)
{
    char *rows = read_all("sed -n '/^## `convctl`/,/^## [A-Z]/p' docs/troubleshooting.md |"
                          " grep -oP '^\\| `\\K[^`]*' | sed 's/: \\.\\.\\.$//' | grep -v "
                          "'^convctl: command not found$'"),
         *sources = read_all("cat services/convctl/*.c common/bus/*.c"), *left = NULL;
    int n = 0;

    for (char *row = strtok_r(rows, "\n", &left); row != NULL; row = strtok_r(NULL, "\n", &left)) {
        cr_expect_not_null(strstr(sources, row), "convctl has no message \"%s\"", row);
        n++;
    }
    cr_expect_geq(n, 4);
    free(rows);
    free(sources);
}
