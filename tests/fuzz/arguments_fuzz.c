/* A command line of convctl, one word a line: it is refused with a message, or becomes a command
   with a body that can be written. */
#include <stdlib.h>
#include <string.h>

#include "common/base/uuid.h"
#include "services/convctl/arguments.h"
#include "tests/fuzz/fuzz.h"

enum { WORDS_MAX = 64, LINE_BYTES = 4096 };

/* The words in `copy`, in which zero bytes now end them. */
static int split(char *copy, size_t n, const char **words)
{
    int count = 0;

    words[count++] = "convctl";
    for (size_t begin = 0, i = 0; i <= n && count < WORDS_MAX; i++) {
        if (copy[i] != '\n' && copy[i] != '\0')
            continue;
        copy[i] = '\0';
        words[count++] = copy + begin;
        begin = i + 1;
    }
    return count;
}

static void check(const struct arguments *arguments)
{
    struct uuid id;
    char *text;

    if (arguments->help || arguments->version)
        return;
    must(arguments->group != NULL && arguments->call != NULL);
    if (arguments->organization != NULL)
        must(uuid_parse(str_of(arguments->organization), &id));
    if (arguments->body == NULL)
        return;
    text = json_dumps(arguments->body, JSON_COMPACT);
    must(text != NULL);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char copy[LINE_BYTES + 1];
    const char *words[WORDS_MAX];
    struct arguments arguments;
    char error[256] = "";
    int count;

    if (n > LINE_BYTES)
        return 0;
    memcpy(copy, data, n);
    copy[n] = '\0';
    count = split(copy, n, words);
    if (arguments_read(count, words, &arguments, error) == ST_OK)
        check(&arguments);
    else
        must(error[0] != '\0');
    arguments_release(&arguments);
    return 0;
}
