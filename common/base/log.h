/*
 * log - one JSON object per line on standard error.
 *
 *     LOG(LOG_WARNING, "database link lost", log_str("service", name), log_int("retry_ms", 200));
 *
 * What     time (RFC 3339, UTC, milliseconds), level, service, instance, version, message, then the
 *          fields. Strings are escaped and cut at 1,000 bytes. A line has at most 4,096 bytes and is
 *          written in one write(2), so lines never mix; fields that do not fit are left out. In a
 *          long-running program a thread writes the lines (log_writer.h) and logging never blocks;
 *          other programs write directly.
 * Threads  Any.
 * Fails    Never; a line that cannot be written is dropped and counted.
 * Secrets  The caller must leave out tokens, secrets and bodies. A failure is logged once, where it
 *          is handled.
 */
#ifndef COMMON_BASE_LOG_H
#define COMMON_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/must.h"
#include "common/base/str.h"

/* LOG_OFF is only for log_open(): nothing is written. */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_OFF };

struct log_field {
    const char *key; /* NULL: the field is left out of the line */
    enum { LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_BOOL } kind;
    struct str s;
    int64_t i;
};

struct log_field log_str(const char *key, const char *value); /* NULL becomes JSON null */
struct log_field log_slice(const char *key, struct str value);
struct log_field log_int(const char *key, int64_t value);
struct log_field log_bool(const char *key, bool value);

/* Reads debug, info, warning or error; false: it is none of them. */
bool log_level_parse(const char *text, enum log_level *out);

/* Call once, before threads start. Keeps the pointers. `instance` is the replica's name, NULL: it
   has none; `cell` is the name of its cell, NULL: the lines have no such field. */
void log_open(const char *service, const char *instance, const char *cell, enum log_level min);
void log_write(enum log_level level, const char *message, const struct log_field *fields, size_t n);
uint64_t log_dropped(void); /* how many lines could not be written so far */

#define LOG(level, message, ...)                                                                   \
    log_write((level), (message), (struct log_field[]){{0}, ##__VA_ARGS__} + 1,                    \
              sizeof((struct log_field[]){{0}, ##__VA_ARGS__}) / sizeof(struct log_field) - 1)

#endif
