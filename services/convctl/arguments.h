/*
 * arguments - turns a command line into a request; prints --help.
 *
 * What     Options and positional arguments may come in any order; "--name=X" is "--name X"; after
 *          "--" everything is positional. --nats URL may stand anywhere. A repeatable option also
 *          takes several values in a row.
 * Owns     The body belongs to the caller, who must free it with arguments_release(), also after a
 *          failure.
 * Threads  Any; reads only its arguments.
 * Fails    ST_REFUSED with a message: wrong usage.
 */
#ifndef SERVICES_CONVCTL_ARGUMENTS_H
#define SERVICES_CONVCTL_ARGUMENTS_H

#include <stdio.h>

#include "common/base/status.h"
#include "common/json/json.h"
#include "services/convctl/convctl_call.h"

struct arguments {
    bool version;      /* ignore everything else */
    bool help;         /* ignore everything but `group` */
    const char *group; /* NULL = not given */
    const struct convctl_call *call;
    const char *nats_url;     /* NULL = not given */
    const char *organization; /* NULL = the call has none */
    json_t *body;             /* an object; NULL if the call has no members for it */
    const char *stdin_field;  /* member to be read from standard input; NULL = none */
};

MUST_CHECK enum status arguments_read(int argc, const char *const *argv, struct arguments *out,
                                      char error[256]);
void arguments_release(struct arguments *arguments);

/* Prints --help from the table of calls; `group` NULL = all groups. */
void help_print(FILE *to, const char *group);

#endif
