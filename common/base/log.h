/*
 * log - one JSON object per line on standard error.
 *
 *     LOG(LOG_WARNING, "database link lost", log_str("service", name), log_int("retry_ms", 200));
 *
 * What     time (RFC 3339, UTC, milliseconds), level, service, instance, version, message, then the fields.
 *          Strings are escaped and cut at 1,000 bytes. A line has at most 4,096 bytes and is in one
 *          write(2), so lines never mix; fields that do not fit are left out. A program that runs
 *          for long has a thread for it (log_writer.h), and logging never blocks; others write
 *          themselves.
 * Threads  Any.
 * Fails    Never; a line that cannot be written is dropped and counted.
 * Secrets  The caller keeps tokens, secrets and bodies out. A failure is logged once, where it
 *          stops travelling.
 */
#ifndef COMMON_BASE_LOG_H
#define COMMON_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

/* LOG_OFF is for log_open() alone: nothing is written. */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_OFF };

struct log_field {
    const char *key; /* NULL: it is left out of the line */
    enum { LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_BOOL } kind;
    struct str s;
    int64_t i;
};

struct log_field log_str(const char *key, const char *value); /* NULL becomes JSON null */
struct log_field log_slice(const char *key, struct str value);
struct log_field log_int(const char *key, int64_t value);
struct log_field log_bool(const char *key, bool value);

/* From debug, info, warning or error; false: it is not one of them. */
bool log_level_parse(const char *text, enum log_level *out);

/* Once, before threads start. `service` and `instance` are kept, not copied; `instance` says which
   of its replicas this is, NULL: it has none; `cell` in which cell, NULL: the lines have no such field. */
void log_open(const char *service, const char *instance, const char *cell, enum log_level min);
void log_write(enum log_level level, const char *message, const struct log_field *fields, size_t n);
uint64_t log_dropped(void); /* lines that could not be written so far */

#define LOG(level, message, ...)                                                                   \
    log_write((level), (message), (struct log_field[]){{0}, ##__VA_ARGS__} + 1,                    \
              sizeof((struct log_field[]){{0}, ##__VA_ARGS__}) / sizeof(struct log_field) - 1)

/* A broken invariant of our own: logs file, line and condition, then aborts. Always compiled in.
   Never for input, network or database. */
#define must(cond) ((cond) ? (void)0 : log_bug(#cond, __FILE__, __LINE__))
_Noreturn void log_bug(const char *condition, const char *file, int line);

#endif
