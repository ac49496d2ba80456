/*
 * arguments - from a command line to a request; and what --help prints.
 *
 * What     Options and positions may come in any order; "--name=X" is "--name X"; behind "--"
 *          everything is a position. --nats URL may stand anywhere. An option that may be repeated
 *          also takes several values in a row.
 * Owns     The body is the caller's, to be given back with arguments_release(), also after a
 *          failure.
 * Threads  Any; reads only its arguments.
 * Fails    ST_REFUSED with a sentence: wrong usage.
 */
#ifndef SERVICES_CONVCTL_ARGUMENTS_H
#define SERVICES_CONVCTL_ARGUMENTS_H

#include <stdio.h>

#include "common/base/status.h"
#include "common/json/json.h"
#include "services/convctl/convctl_call.h"

struct arguments {
    bool version;      /* everything else is void then */
    bool help;         /* everything but `group` is void then */
    const char *group; /* NULL = none was named */
    const struct convctl_call *call;
    const char *nats_url;     /* NULL = not given */
    const char *organization; /* NULL = the call has none */
    json_t *body;             /* an object; NULL when the call has no members for it */
    const char *stdin_field;  /* member to be read from standard input; NULL = none */
};

MUST_CHECK enum status arguments_read(int argc, const char *const *argv, struct arguments *out,
                                      char error[256]);
void arguments_release(struct arguments *arguments);

/* What --help prints, made from the table of calls; `group` NULL = all of them. */
void help_print(FILE *to, const char *group);

#endif
