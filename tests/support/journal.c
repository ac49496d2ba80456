#include "tests/support/journal.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NULL, and bytes that are not UTF-8, become null. */
static void set(json_t *line, const char *name, const char *bytes, size_t n)
{
    json_t *text = bytes != NULL ? json_stringn(bytes, n) : NULL;

    cr_assert_eq(json_object_set_new(line, name, text != NULL ? text : json_null()), 0);
}

static void set_text(json_t *line, const char *name, const char *text)
{
    set(line, name, text, text != NULL ? strlen(text) : 0);
}

static void append(const char *path, const char *line, size_t n)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
    cr_assert_eq(write(fd, line, n), (ssize_t)n, "%s: %s", path, strerror(errno));
    close(fd);
}

void journal_write(const struct journal_entry *entry)
{
    const char *path = getenv("HTTP_JOURNAL");
    json_t *line;
    char *text;
    size_t n;

    if (path == NULL || path[0] == '\0')
        return;
    line = json_object();
    set_text(line, "method", entry->method);
    set_text(line, "target", entry->target);
    set(line, "sent", entry->sent, entry->sent_n);
    set(line, "head", entry->head, entry->head_n);
    set(line, "body", entry->body, entry->body_n);
    cr_assert(json_is_string(json_object_get(line, "head")), "a response's head is not UTF-8");
    cr_assert(json_is_string(json_object_get(line, "body")), "a response's body is not UTF-8");
    text = json_dumps(line, JSON_COMPACT);
    cr_assert_not_null(text);
    n = strlen(text);
    text[n] = '\n'; /* in place of the NUL */
    append(path, text, n + 1);
    free(text);
    json_decref(line);
}
