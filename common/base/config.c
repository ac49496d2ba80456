#include "common/base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ip.h"
#include "common/base/log.h"
#include "common/base/str.h"

enum { FILE_MAX = 64 * 1024, FILES_MAX = 64, FAULT_MAX = 96 };

/* The name that a value came from, for error messages, and the value itself, from malloc(). */
struct given {
    char name[128];
    char *value;
    const char *path; /* of the file that it came from, in the environment; NULL: from none */
};

/* The strings that came from files. */
static struct source {
    const char *value;
    char *path;
    char *text; /* what the file held when it was last read without fault; NULL: `value` */
    char fault[FAULT_MAX]; /* that it has now, as reported; empty: none */
    char name[128];
} sources[FILES_MAX];
static size_t n_sources;
static pthread_mutex_t sources_lock = PTHREAD_MUTEX_INITIALIZER; /* guards text and fault */

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

/* Drops line ends at the end. Refuses what editors and tools add unseen: in a password it would only
   show as a failed login. NULL: nothing is wrong. */
static const char *tidy(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        text[--n] = '\0';
    if (str_starts(str_of(text), STR("\xef\xbb\xbf")))
        return "begins with a byte order mark; remove it";
    if (strpbrk(text, "\r\n") != NULL)
        return "has more than one line; a value is one line";
    if (str_trim_ows(str_of(text)).n != n)
        return "begins or ends with a blank; remove it";
    if (n > 1 && text[0] == text[n - 1] && (text[0] == '"' || text[0] == '\''))
        return "is in quotation marks; remove them";
    return NULL;
}

/* Reads until the end, at most FILE_MAX bytes. Returns an error number; 0 = none. */
static int read_all(int fd, char content[FILE_MAX + 1], size_t *n)
{
    ssize_t got = 1;

    for (*n = 0; got > 0 && *n <= FILE_MAX; *n += got > 0 ? (size_t)got : 0)
        got = read(fd, content + *n, FILE_MAX + 1 - *n);
    if (got < 0)
        return errno;
    return *n > FILE_MAX ? EFBIG : 0;
}

/* NULL: nothing is wrong. */
static const char *take_value(const char *content, size_t n, char **value)
{
    if (memchr(content, '\0', n) != NULL)
        return "has a zero byte; save it as UTF-8";
    *value = copy(content, n);
    return tidy(*value);
}

/* The value in a small file, from malloc(). False: `fault` has the reason. */
static bool read_file(const char *path, char **value, char fault[FAULT_MAX])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *content = malloc(FILE_MAX + 1);
    const char *wrong = NULL;
    size_t n = 0;
    int error;

    must(content != NULL);
    error = fd < 0 ? errno : read_all(fd, content, &n);
    if (error != 0)
        snprintf(fault, FAULT_MAX, "cannot be read: %s", strerrordesc_np(error));
    else if ((wrong = take_value(content, n, value)) != NULL)
        snprintf(fault, FAULT_MAX, "%s", wrong);
    explicit_bzero(content, FILE_MAX + 1);
    free(content);
    if (fd >= 0)
        close(fd);
    return error == 0 && wrong == NULL;
}

/* An empty variable counts as absent: Compose files pass unset variables as empty ones. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value ? value : NULL;
}

static enum status find_direct(const struct setting *setting, const char *direct,
                               struct given *given, char error[256])
{
    const char *fault;

    snprintf(given->name, sizeof(given->name), "%s", setting->name);
    if (direct == NULL)
        direct = setting->fallback;
    if (direct == NULL)
        return refuse(error, given->name, "is required");
    given->value = copy(direct, strlen(direct));
    fault = tidy(given->value);
    return fault == NULL ? ST_OK : refuse(error, given->name, fault);
}

static enum status find(const struct setting *setting, struct given *given, char error[256])
{
    const char *direct = variable(setting->name);
    char fault[FAULT_MAX];
    enum status st = ST_OK;

    snprintf(given->name, sizeof(given->name), "%s_FILE", setting->name);
    given->path = variable(given->name);
    if (direct != NULL && given->path != NULL)
        return refuse(error, setting->name, "is given twice, with and without _FILE");
    if (given->path == NULL)
        st = find_direct(setting, direct, given, error);
    else if (!read_file(given->path, &given->value, fault))
        return refuse(error, given->name, fault);
    if (st == ST_OK && setting->fallback == NULL && given->value[0] == '\0')
        return refuse(error, given->name, "is empty");
    return st;
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

/* A setting that is loaded again replaces what it had. */
static void remember_source(const struct given *given)
{
    struct source *source = sources;

    while (source < sources + n_sources && strcmp(source->name, given->name) != 0)
        source++;
    must(source < sources + FILES_MAX);
    if (source == sources + n_sources)
        n_sources++;
    config_forget(source->text);
    free(source->path);
    *source =
        (struct source){.value = given->value, .path = copy(given->path, strlen(given->path))};
    snprintf(source->name, sizeof(source->name), "%s", given->name);
}

/* Stores the value in its field. A string takes over given->value; the other types do not. */
static enum status store(const struct setting *setting, struct given *given, void *into,
                         char error[256])
{
    void *field = (char *)into + setting->offset;
    struct address address;
    char why[96];
    int64_t number;

    switch (setting->type) {
    case SETTING_ADDRESS:
        if (!address_parse(str_of(given->value), &address))
            return refuse(
                error, given->name,
                "must be an IP address, such as 127.0.0.1, or :: for all of IPv4 and IPv6");
        /* fallthrough */
    case SETTING_STRING:
        if (given->path != NULL)
            remember_source(given);
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

/* Keeps the text for the time when the file has a fault. The lock is held. */
static void keep_text(struct source *source, const char *text)
{
    config_forget(source->text);
    source->text = copy(text, strlen(text));
}

static void report_fault(struct source *source, const char *fault)
{
    if (strcmp(source->fault, fault) != 0)
        LOG(LOG_WARNING, "a setting's file has a fault; what it held before stays in force",
            log_str("setting", source->name), log_str("reason", fault));
    memcpy(source->fault, fault, FAULT_MAX);
}

/* What it held before, if the file has a fault. */
static char *text_of(struct source *source)
{
    const char *kept = source->text != NULL ? source->text : source->value;
    char *text = NULL, fault[FAULT_MAX] = "is empty";
    const bool is_sound =
        read_file(source->path, &text, fault) && (text[0] != '\0' || source->value[0] == '\0');

    if (is_sound) {
        keep_text(source, text);
        source->fault[0] = '\0';
    } else {
        report_fault(source, fault);
        config_forget(text);
        text = copy(kept, strlen(kept));
    }
    return text;
}

char *config_current(const char *value)
{
    struct source *source = sources;
    char *text;

    while (source < sources + n_sources && source->value != value)
        source++;
    if (source == sources + n_sources)
        return copy(value, strlen(value));
    pthread_mutex_lock(&sources_lock);
    text = text_of(source);
    pthread_mutex_unlock(&sources_lock);
    return text;
}

void config_forget(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

static void print_value(const struct setting *setting, const void *field)
{
    switch (setting->type) {
    case SETTING_STRING:
    case SETTING_ADDRESS:
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
        else if (setting->type == SETTING_ADDRESS)
            printf(" | IP address | ");
        else
            printf(setting->secret ? " | secret text | " : " | text | ");
        print_cell(setting->meaning);
        printf(" |\n");
    }
    putchar('\n');
}
