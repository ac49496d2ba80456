#include "common/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log_writer.h"
#include "common/base/text.h"
#include "common/base/version.h"

enum { STRING_MAX = 1000 };

/* Of enum log_level, without LOG_OFF. */
static const char *const level_names[] = {"debug", "info", "warning", "error"};

static const char *service_name, *instance_name, *cell_name;
static enum log_level min_level = LOG_INFO;

/* A line under construction. A field that does not fit is left out, so that the line stays valid
   JSON. */
struct line {
    size_t n;
    char p[LOG_LINE_MAX];
};

enum { LINE_END = 2 }; /* "}\n" */

static bool add(struct line *line, struct str s)
{
    if (s.n > sizeof(line->p) - LINE_END - line->n)
        return false;
    if (s.n > 0)
        memcpy(line->p + line->n, s.p, s.n);
    line->n += s.n;
    return true;
}

/* The first character of `s` in JSON spelling; *taken is the number of its bytes in `s`. */
static struct str escape_one(struct str s, char out[8], size_t *taken)
{
    uint32_t code;

    *taken = utf8_decode(s, &code);
    if (*taken == 0) {
        *taken = 1;
        return STR("\\ufffd");
    }
    if (code == '"' || code == '\\') {
        out[0] = '\\';
        out[1] = (char)code;
        return (struct str){out, 2};
    }
    if (code == '\n')
        return STR("\\n");
    /* C0, DEL and C1: a terminal would interpret them. */
    if (code < 0x20 || (code >= 0x7F && code < 0xA0)) {
        out[0] = '\\';
        out[1] = 'u';
        out[2] = out[3] = '0';
        out[4] = hex_digit(code >> 4);
        out[5] = hex_digit(code & 0xF);
        return (struct str){out, 6};
    }
    return (struct str){s.p, *taken};
}

static bool add_string(struct line *line, struct str s)
{
    size_t taken, max = line->n + 1 + STRING_MAX;
    char escape[8];

    if (!add(line, STR("\"")))
        return false;
    while (s.n > 0) {
        struct str piece = escape_one(s, escape, &taken);

        if (line->n + piece.n > max)
            break;
        if (!add(line, piece))
            return false;
        s = str_skip(s, taken);
    }
    return add(line, STR("\""));
}

static bool add_int(struct line *line, int64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%" PRId64, value);

    return add(line, (struct str){text, (size_t)n});
}

static bool add_value(struct line *line, const struct log_field *field)
{
    switch (field->kind) {
    case LOG_FIELD_STR:
        return field->s.p != NULL ? add_string(line, field->s) : add(line, STR("null"));
    case LOG_FIELD_INT:
        return add_int(line, field->i);
    case LOG_FIELD_BOOL:
        return add(line, field->i ? STR("true") : STR("false"));
    }
    return false;
}

static void add_field(struct line *line, const struct log_field *field)
{
    size_t before = line->n;

    if (field->key == NULL)
        return;
    if (!(add(line, STR(",")) && add_string(line, str_of(field->key)) && add(line, STR(":")) &&
          add_value(line, field)))
        line->n = before;
}

static void add_time(struct line *line)
{
    int64_t now_us = clock_us();
    time_t seconds = now_us / 1000000;
    char text[48];
    struct tm tm;
    size_t n;

    gmtime_r(&seconds, &tm);
    n = strftime(text, sizeof(text), "{\"time\":\"%Y-%m-%dT%H:%M:%S", &tm);
    n += (size_t)snprintf(text + n, sizeof(text) - n, ".%03dZ\"", (int)(now_us / 1000 % 1000));
    add(line, (struct str){text, n});
}

static void format(struct line *line, enum log_level level, const char *message,
                   const struct log_field *fields, size_t n)
{
    line->n = 0;
    add_time(line);
    add_field(line, &(struct log_field){.key = "level", .s = str_of(level_names[level])});
    add_field(line, &(struct log_field){.key = "service",
                                        .s = str_of(service_name != NULL
                                                        ? service_name
                                                        : program_invocation_short_name)});
    if (instance_name != NULL)
        add_field(line, &(struct log_field){.key = "instance", .s = str_of(instance_name)});
    add_field(line, &(struct log_field){.key = "version", .s = str_of(version_text)});
    if (cell_name != NULL)
        add_field(line, &(struct log_field){.key = "cell", .s = str_of(cell_name)});
    add_field(line, &(struct log_field){.key = "message", .s = str_of(message)});
    for (size_t i = 0; i < n; i++)
        add_field(line, &fields[i]);
    memcpy(line->p + line->n, "}\n", LINE_END);
    line->n += LINE_END;
}

bool log_level_parse(const char *text, enum log_level *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(level_names); i++)
        if (strcmp(text, level_names[i]) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    return false;
}

void log_open(const char *service, const char *instance, const char *cell, enum log_level min)
{
    service_name = service;
    instance_name = instance;
    cell_name = cell;
    min_level = min;
}

void log_write(enum log_level level, const char *message, const struct log_field *fields, size_t n)
{
    int saved_errno = errno;
    struct line line;

    if (level < min_level)
        return;
    format(&line, level, message, fields, n);
    if (log_writer_has_started())
        log_writer_add(line.p, line.n, level >= LOG_WARNING);
    else
        log_writer_write(line.p, line.n);
    errno = saved_errno;
}

size_t log_format_lost(uint64_t lost, char out[LOG_LINE_MAX])
{
    const struct log_field lines = log_int("lines", (int64_t)lost);
    struct line line;

    format(&line, LOG_WARNING, "log lines were lost", &lines, 1);
    memcpy(out, line.p, line.n);
    return line.n;
}

uint64_t log_dropped(void)
{
    return log_writer_dropped();
}

struct log_field log_str(const char *key, const char *value)
{
    return log_slice(key, str_of(value));
}

struct log_field log_slice(const char *key, struct str value)
{
    return (struct log_field){.key = key, .kind = LOG_FIELD_STR, .s = value};
}

struct log_field log_int(const char *key, int64_t value)
{
    return (struct log_field){.key = key, .kind = LOG_FIELD_INT, .i = value};
}

struct log_field log_bool(const char *key, bool value)
{
    return (struct log_field){.key = key, .kind = LOG_FIELD_BOOL, .i = value};
}

void log_bug(const char *condition, const char *file, int line)
{
    LOG(LOG_ERROR, "broken invariant", log_str("condition", condition), log_str("file", file),
        log_int("line", line));
    abort();
}
