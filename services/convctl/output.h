/*
 * output - what convctl prints of a service's answer.
 *
 * What     JSON on one line for programs; on a terminal, which people read, over several lines with
 *          indentation. The tokens are those of the answer: a number keeps its digits.
 * Owns     Nothing.
 * Threads  The main thread.
 */
#ifndef SERVICES_CONVCTL_OUTPUT_H
#define SERVICES_CONVCTL_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/status.h"
#include "common/base/str.h"

/* Writes JSON that has no blanks between its tokens over several lines, without a last line feed. */
void output_indent(FILE *to, struct str json);

/* Prints such JSON and a line feed on standard output. False: it cannot be written. */
MUST_CHECK bool output_print(struct str json);

#endif
