#include "common/base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/str.h"

enum { FILE_MAX = 64 * 1024 };

/* The name that a value came from, for error messages, and the value itself, from malloc(). */
struct given {
    char name[128];
    char *value;
};

static enum status refuse(char error[256], const char *name, const char *why)
{
    snprintf(error, 256, "setting %s %s", name, why);
    return ST_REFUSED;
}

static char *copy(const char *value, size_t n)
{
    char *p = malloc(n + 1);

    must(p != NULL);
    memcpy(p, value, n);
    p[n] = '\0';
    return p;
}

/* The contents of a small file without its last newline; NULL with errno set on failure. */
static char *read_file(const char *path)
{
    static char content[FILE_MAX + 1]; /* start-up is one thread */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;
    size_t n = 0;
    char *value = NULL;

    if (fd < 0)
        return NULL;
    while (got > 0 && n < sizeof(content)) {
        got = read(fd, content + n, sizeof(content) - n);
        n += got > 0 ? (size_t)got : 0;
    }
    if (n > FILE_MAX)
        errno = EFBIG;
    else if (got == 0 && memchr(content, '\0', n) != NULL)
        errno = EILSEQ;
    else if (got == 0)
        value = copy(content, n - (n > 0 && content[n - 1] == '\n'));
    explicit_bzero(content, sizeof(content));
    close(fd);
    return value;
}

/* An empty variable counts as absent: Compose files pass unset variables as empty ones. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value ? value : NULL;
}

static enum status find(const struct setting *setting, struct given *given, char error[256])
{
    const char *direct = variable(setting->name), *path;
    char why[96];

    snprintf(given->name, sizeof(given->name), "%s_FILE", setting->name);
    path = variable(given->name);
    if (direct != NULL && path != NULL)
        return refuse(error, setting->name, "is given twice, with and without _FILE");
    if (path != NULL) {
        given->value = read_file(path);
        if (given->value != NULL)
            return ST_OK;
        snprintf(why, sizeof(why), "cannot be read: %s", strerrordesc_np(errno));
        return refuse(error, given->name, why);
    }
    snprintf(given->name, sizeof(given->name), "%s", setting->name);
    if (direct == NULL)
        direct = setting->fallback;
    if (direct == NULL)
        return refuse(error, setting->name, "is required");
    given->value = copy(direct, strlen(direct));
    return ST_OK;
}

static bool parse_int(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    uint64_t value;

    if (!str_to_u64(str_of(text + negative), INT64_MAX, &value))
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool parse_bool(const char *text, bool *out)
{
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

    if (!yes && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
        return false;
    *out = yes;
    return true;
}

/* Stores the value in its field. A string takes over given->value; the other types do not. */
static enum status store(const struct setting *setting, struct given *given, void *into,
                         char error[256])
{
    void *field = (char *)into + setting->offset;
    char why[96];
    int64_t number;

    switch (setting->type) {
    case SETTING_STRING:
        *(const char **)field = given->value;
        given->value = NULL;
        return ST_OK;
    case SETTING_BOOL:
        if (!parse_bool(given->value, field))
            return refuse(error, given->name, "must be true or false");
        return ST_OK;
    case SETTING_INT:
        if (!parse_int(given->value, &number) || number < setting->min || number > setting->max) {
            snprintf(why, sizeof(why), "must be an integer from %" PRId64 " to %" PRId64,
                     setting->min, setting->max);
            return refuse(error, given->name, why);
        }
        *(int64_t *)field = number;
        return ST_OK;
    }
    return ST_INTERNAL;
}

enum status config_load(const struct setting *settings, size_t n, void *into, char error[256])
{
    for (size_t i = 0; i < n; i++) {
        struct given given = {.value = NULL};
        enum status st = find(&settings[i], &given, error);

        if (st == ST_OK)
            st = store(&settings[i], &given, into, error);
        free(given.value);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static void print_value(const struct setting *setting, const void *field)
{
    switch (setting->type) {
    case SETTING_STRING:
        printf("%s",
               setting->secret && **(char *const *)field ? "********" : *(char *const *)field);
        return;
    case SETTING_INT:
        printf("%" PRId64, *(const int64_t *)field);
        return;
    case SETTING_BOOL:
        printf("%s", *(const bool *)field ? "true" : "false");
        return;
    }
}

void config_print(const struct setting *settings, size_t n, const void *from)
{
    for (size_t i = 0; i < n; i++) {
        printf("%s=", settings[i].name);
        print_value(&settings[i], (const char *)from + settings[i].offset);
        putchar('\n');
    }
}

/* A bar would end the cell. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        printf("%s%c", *text == '|' ? "\\" : "", *text);
}

void config_describe(const struct setting *settings, size_t n, const char *program)
{
    printf("## %s\n\n| setting | default | values | meaning |\n| --- | --- | --- | --- |\n",
           program);
    for (size_t i = 0; i < n; i++) {
        const struct setting *setting = &settings[i];

        printf("| `%s` | ", setting->name);
        if (setting->fallback == NULL)
            printf("required");
        else if (*setting->fallback)
            printf("`%s`", setting->fallback);
        else
            printf("empty");
        if (setting->type == SETTING_INT)
            printf(" | %" PRId64 " to %" PRId64 " | ", setting->min, setting->max);
        else if (setting->type == SETTING_BOOL)
            printf(" | true, false | ");
        else
            printf(setting->secret ? " | secret text | " : " | text | ");
        print_cell(setting->meaning);
        printf(" |\n");
    }
    putchar('\n');
}
