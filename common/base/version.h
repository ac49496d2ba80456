/*
 * version - the version of all programs of one build, and the commit that they were built from.
 *
 * What     tools/version generates both when a program is linked. A program linked without them,
 *          such as a test, has those of version.c.
 * Threads  Constants.
 */
#ifndef COMMON_BASE_VERSION_H
#define COMMON_BASE_VERSION_H

#include <stdio.h>

extern const char version_text[];     /* "1.0.0", "1.0.0-dev.g76def9e01a2b": as semver.org has it */
extern const char version_revision[]; /* "76def9e01a2b", "76def9e01a2b-dirty", "unknown" */

/* The output of --version. Returns the program's exit code. */
static inline int version_print(void)
{
    return puts(version_text) < 0 || fflush(stdout) != 0;
}

#endif
