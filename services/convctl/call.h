/*
 * call - everything that convctl can be asked to do, as a table.
 *
 * What     One row a call: what to type, and the message that becomes of it. Parsing and help are
 *          made from it.
 * Threads  Constant tables.
 */
#ifndef SERVICES_CONVCTL_CALL_H
#define SERVICES_CONVCTL_CALL_H

#include <stdbool.h>
#include <stddef.h>

enum argument_kind {
    ARGUMENT_TEXT,
    ARGUMENT_CHOICE,           /* one of the words in `label`, which stand between bars */
    ARGUMENT_COUNT,            /* an integer; its range is the service's to judge */
    ARGUMENT_COUNT_OR_DEFAULT, /* the same, or the word "default": null */
    ARGUMENT_BOOL,             /* "true" or "false" */
    ARGUMENT_UUID,
    ARGUMENT_JSON,         /* any JSON value */
    ARGUMENT_OFF,          /* no value follows: the member becomes false */
    ARGUMENT_EMPTY,        /* no value follows: the member becomes [] */
    ARGUMENT_ORGANIZATION, /* a UUID that goes into the header, not into the body */
    ARGUMENT_STDIN,        /* no value follows: it is the first line of standard input */
};

struct argument {
    const char *option; /* "--name"; NULL = told by its position */
    const char *label;  /* of its value: "NAME", "read|full"; NULL where none follows */
    const char *field;  /* member of the body; NULL for ARGUMENT_ORGANIZATION */
    enum argument_kind kind;
    bool required;
    bool repeated; /* may be given more than once: the field is an array */
};

/* What a call does, and what becomes of its answers: see walk.h for the middle five. Those that
   read change nothing and may be sent again. */
enum call_kind {
    CALL_CHANGES,
    CALL_SETS, /* what its options name: one of them at least must be given */
    CALL_READS,
    CALL_READS_LAST,
    CALL_READS_LINES,
    CALL_READS_PAGES,
    CALL_READS_MEMBERS, /* pages, each in the object's member `members` */
    CALL_READS_PART,
    CALL_READS_ROLL, /* see roll_call.h */
};

#define CALL_ARGUMENTS_MOST 6

struct call {
    const char *group, *verb;
    const char *subject;
    enum call_kind kind;
    const char *meaning; /* one line, for --help */
    struct argument arguments[CALL_ARGUMENTS_MOST];
    size_t n;
};

extern const struct call calls[];
extern const size_t calls_count;

/* NULL when there is no such call. */
const struct call *call_find(const char *group, const char *verb);
bool call_has_group(const char *group);

#endif
