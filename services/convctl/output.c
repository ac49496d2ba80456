#include "services/convctl/output.h"

#include <unistd.h>

enum { INDENT = 2 };

static void new_line(FILE *to, size_t depth)
{
    putc('\n', to);
    for (size_t i = 0; i < depth * INDENT; i++)
        putc(' ', to);
}

/* The length of the string that begins at `at`, with both quotes. */
static size_t quoted(struct str json, size_t at)
{
    size_t n = 1;

    while (at + n < json.n && json.p[at + n] != '"')
        n += json.p[at + n] == '\\' ? 2 : 1; /* an escaped quote does not end it */
    return at + n < json.n ? n + 1 : json.n - at;
}

static bool is_empty(struct str json, size_t at)
{
    return at + 1 < json.n && (json.p[at + 1] == '}' || json.p[at + 1] == ']');
}

void output_indent(FILE *to, struct str json)
{
    size_t depth = 0;

    for (size_t i = 0; i < json.n; i++) {
        const char c = json.p[i];

        if (c == '"') {
            const size_t n = quoted(json, i);

            fwrite(json.p + i, 1, n, to);
            i += n - 1;
        } else if ((c == '{' || c == '[') && is_empty(json, i)) {
            fwrite(json.p + i, 1, 2, to);
            i++;
        } else if (c == '{' || c == '[') {
            putc(c, to);
            new_line(to, ++depth);
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
            new_line(to, depth);
            putc(c, to);
        } else if (c == ',') {
            putc(c, to);
            new_line(to, depth);
        } else if (c == ':') {
            fputs(": ", to);
        } else {
            putc(c, to);
        }
    }
}

bool output_print(struct str json)
{
    if (isatty(STDOUT_FILENO) == 1)
        output_indent(stdout, json);
    else
        fwrite(json.p, 1, json.n, stdout);
    putc('\n', stdout);
    return fflush(stdout) == 0 && ferror(stdout) == 0;
}
