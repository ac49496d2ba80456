/*
 * config - settings from the environment, described in one table, read and checked once.
 *
 * What     A program lists its settings as a table of struct setting that points into its own
 *          struct. Every setting NAME can also be given as NAME_FILE: the value is then the
 *          contents of that file (how secrets are mounted). An empty variable counts as absent. Both
 *          at once are refused.
 *          A value is one line; line ends after it are dropped (LF, CRLF, several). A byte order
 *          mark, a zero byte, another line, a blank at either end, or quotation marks around it are
 *          refused.
 *          A file may be renewed while the program runs: what makes connections asks for the
 *          current text each time (config_current()).
 * Owns     String values are copied into memory that lives until the process ends.
 * Threads  Load before threads start; read-only afterwards. config_current(): any.
 * Fails    config_load() names the first setting that is missing, malformed or out of range.
 */
#ifndef COMMON_BASE_CONFIG_H
#define COMMON_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

enum setting_type {
    SETTING_STRING,
    SETTING_ADDRESS, /* a string that is an IPv4 or IPv6 address, to listen on */
    SETTING_INT,
    SETTING_BOOL
};

struct setting {
    const char *name;       /* environment name */
    enum setting_type type; /* const char *, int64_t or bool at `offset` */
    size_t offset;          /* into the program's config struct */
    const char *fallback;   /* default as text; NULL = required; "" = empty is fine */
    int64_t min, max;       /* SETTING_INT only */
    bool secret;            /* masked when printed */
    const char *meaning;    /* one sentence, for --help and the docs */
};

/* Fills *into. On failure writes one sentence to `error`, never a secret's value. */
MUST_CHECK enum status config_load(const struct setting *settings, size_t n, void *into,
                                   char error[256]);
/* The text that a string setting has now: if it was given as a file, that of the file, or what the
   file held before if it now has a fault (logged once); otherwise `value` itself. Free it with
   config_forget(). */
char *config_current(const char *value);
void config_forget(char *text); /* overwrites it first */

/* Prints the settings as text, with secret values masked: for --print-config. */
void config_print(const struct setting *settings, size_t n, const void *from);
/* Prints the table as Markdown: the docs are generated from it. */
void config_describe(const struct setting *settings, size_t n, const char *program);

#endif
