/*
 * convctl_call - everything that convctl can be asked to do, as a table.
 *
 * What     One row a call: what to type, and the message that becomes of it. Parsing and help are
 *          made from it.
 * Threads  Constant tables.
 */
#ifndef SERVICES_CONVCTL_CONVCTL_CALL_H
#define SERVICES_CONVCTL_CONVCTL_CALL_H

#include <stdbool.h>
#include <stddef.h>

enum argument_kind {
    ARGUMENT_NONE, /* there are no more */
    ARGUMENT_TEXT,
    ARGUMENT_CHOICE,           /* one of the words in `label`, which stand between bars */
    ARGUMENT_COUNT,            /* an integer; its range is checked by the service */
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

/* What a call does, and what becomes of its answers: see paginate.h for the middle five. Those that
   read change nothing and may be sent again. */
enum convctl_kind {
    CONVCTL_CHANGES,
    CONVCTL_SETS,  /* what its options name: one of them at least must be given */
    CONVCTL_MOVES, /* see cell_move.h */
    CONVCTL_READS,
    CONVCTL_READS_LAST,
    CONVCTL_READS_LINES,
    CONVCTL_READS_PAGES,
    CONVCTL_READS_MEMBERS, /* pages, each in the object's member `members` */
    CONVCTL_READS_PART,
    CONVCTL_READS_SERVICES, /* see bus_client.h */
};

#define CONVCTL_ARGUMENTS_MAX 6

struct convctl_call {
    const char *group, *verb;
    const char *subject;
    enum convctl_kind kind;
    const char *meaning;                                  /* one line, for --help */
    struct argument arguments[CONVCTL_ARGUMENTS_MAX + 1]; /* up to one of ARGUMENT_NONE */
};

extern const struct convctl_call convctl_calls[];
extern const size_t convctl_calls_count;

/* NULL when there is no such call. */
const struct convctl_call *convctl_call_find(const char *group, const char *verb);
bool convctl_call_has_group(const char *group);

#endif
