/*
 * help - what --help prints, made from the table of calls.
 */
#ifndef SERVICES_CONVCTL_HELP_H
#define SERVICES_CONVCTL_HELP_H

#include <stdio.h>

/* `group` NULL = all of them. */
void help_print(FILE *to, const char *group);

#endif
