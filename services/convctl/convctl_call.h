/*
 * convctl_call - the table of all calls of convctl.
 *
 * What     One row per call: what the user types, and the message that is sent. Parsing and --help
 *          use this table.
 * Threads  Constant tables.
 */
#ifndef SERVICES_CONVCTL_CONVCTL_CALL_H
#define SERVICES_CONVCTL_CONVCTL_CALL_H

#include <stdbool.h>
#include <stddef.h>

enum argument_kind {
    ARGUMENT_NONE, /* ends the list */
    ARGUMENT_TEXT,
    ARGUMENT_CHOICE,           /* one of the words in `label`, separated by bars */
    ARGUMENT_COUNT,            /* an integer; the service checks its range */
    ARGUMENT_COUNT_OR_DEFAULT, /* the same, or the word "default": null */
    ARGUMENT_BOOL,             /* "true" or "false" */
    ARGUMENT_UUID,
    ARGUMENT_JSON,         /* any JSON value */
    ARGUMENT_OFF,          /* takes no value: sets the member to false */
    ARGUMENT_EMPTY,        /* takes no value: sets the member to [] */
    ARGUMENT_ORGANIZATION, /* a UUID that is sent in a header, not in the body */
    ARGUMENT_STDIN,        /* takes no value: the first line of standard input is the value */
};

struct argument {
    const char *option; /* "--name"; NULL = positional */
    const char *label;  /* of its value: "NAME", "read|full"; NULL if it takes none */
    const char *field;  /* member of the body; NULL for ARGUMENT_ORGANIZATION */
    enum argument_kind kind;
    bool required;
    bool repeated; /* may be given more than once: the field is an array */
};

/* Whether a call changes something, and how its replies are printed; paginate.h explains READS_LAST
   to READS_PART. Calls that only read may be retried. */
enum convctl_kind {
    CONVCTL_CHANGES,
    CONVCTL_SETS,  /* changes what its options name: at least one is required */
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
