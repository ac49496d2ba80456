/*
 * output - prints a service's reply.
 *
 * What     One line of JSON for programs; indented, over several lines, on a terminal. Tokens are
 *          printed as in the reply: a number keeps its digits.
 * Owns     Nothing.
 * Threads  The main thread.
 */
#ifndef SERVICES_CONVCTL_OUTPUT_H
#define SERVICES_CONVCTL_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/status.h"
#include "common/base/str.h"

/* Writes JSON without spaces between its tokens over several lines, without a final line feed. */
void output_indent(FILE *to, struct str json);

/* Prints such JSON and a line feed on standard output. False: it could not be written. */
MUST_CHECK bool output_print(struct str json);

#endif
