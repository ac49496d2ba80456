#include <string.h>

#include "common/base/log.h"
#include "common/bus/message.h"
#include "common/json/json.h"
#include "tests/fuzz/fuzz.h"

enum { HEADERS_MAX = 64 * 1024 };

void fuzz_quiet(void)
{
    static bool is_quiet;

    if (!is_quiet)
        log_open("fuzz", NULL, NULL, LOG_OFF);
    is_quiet = true;
}

/* False for a line without a name, or with a byte that would end the header. */
static bool is_header(struct str line)
{
    struct str value = line, name = str_cut(&value, '=');

    return name.n > 0 && value.p != NULL && memchr(line.p, '\0', line.n) == NULL &&
           memchr(line.p, '\r', line.n) == NULL;
}

/* Adds the line as in a bundle: a zero byte after the name and after the value. */
static size_t add(char *headers, size_t n, struct str line)
{
    struct str value = line, name = str_cut(&value, '=');

    if (!is_header(line) || n + line.n + 1 > HEADERS_MAX)
        return n;
    memcpy(headers + n, name.p, name.n);
    n += name.n;
    headers[n++] = '\0';
    memcpy(headers + n, value.p, value.n);
    n += value.n;
    headers[n++] = '\0';
    return n;
}

struct bus_message *fuzz_message_open(struct str text)
{
    static char headers[HEADERS_MAX];
    static struct bus_parcel parcel;
    static struct bus_message message;
    struct str rest = text, line;
    size_t n = 0;

    while (rest.p != NULL && (line = str_cut(&rest, '\n')).n > 0)
        n = add(headers, n, line);
    message = (struct bus_message){
        .parcel = &parcel,
        .item = {.headers = {headers, n}, .body = rest.p != NULL ? rest : STR("")},
    };
    return &message;
}

void fuzz_must_be_json(struct str text)
{
    json_t *value;

    must(json_read(text, &value, NULL));
    json_free(value);
}
