/*
 * journal - writes a line of JSON for each response that a test gets, so that all of them can be
 * checked against the description of the API afterwards (tests/api/conformance.test.mjs).
 *
 * What     Appends to the file that HTTP_JOURNAL names, if it is set. A line is {"method",
 *          "target", "sent", "head", "body"}; unknown values are null. No request headers are
 *          written, since they contain keys.
 * Threads  Any, and any number of processes: a line is one write to a file opened for appending.
 * Fails    Fails the test, also if the body of a response is not UTF-8.
 */
#ifndef TESTS_SUPPORT_JOURNAL_H
#define TESTS_SUPPORT_JOURNAL_H

#include <stddef.h>

struct journal_entry {
    const char *method; /* NULL: unknown, as is the target */
    const char *target; /* the path with its query: "/api/v1/ping" */
    const char *sent;   /* NULL: no body */
    size_t sent_n;
    const char *head; /* status line and headers */
    size_t head_n;
    const char *body;
    size_t body_n;
};

void journal_write(const struct journal_entry *entry);

#endif
