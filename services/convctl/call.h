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

/* What becomes of the answer: see walk.h for all but the first and the last, which is for
   roll_call.h. */
enum call_answer {
    ANSWER_WHOLE,
    ANSWER_LAST,
    ANSWER_LINES,
    ANSWER_PAGES,
    ANSWER_MEMBERS, /* pages, each in the object's member `members` */
    ANSWER_PART,
    ANSWER_ROLL
};

#define CALL_ARGUMENTS_MOST 6

struct call {
    const char *group, *verb;
    const char *subject;
    const char *meaning; /* one line, for --help */
    struct argument arguments[CALL_ARGUMENTS_MOST];
    size_t n;
};

extern const struct call calls[];
extern const size_t calls_count;

/* NULL when there is no such call. */
const struct call *call_find(const char *group, const char *verb);
bool call_has_group(const char *group);
/* It changes nothing. */
bool call_reads(const struct call *call);
/* Its options say what is to be changed: one of them at least must be given. */
bool call_sets(const struct call *call);
enum call_answer call_answer(const struct call *call);

#endif
