/*
 * sql - queries the database of the stack as its administrator, bypassing the services.
 *
 * Owns     Texts live until the process ends.
 * Threads  One at a time.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_SQL_H
#define TESTS_SUPPORT_SQL_H

#include <stdint.h>

/* Parameters are bound: $1, $2 ... up to the first NULL. */
int64_t sql_integer(const char *text, ...) __attribute__((sentinel));
/* The first column of the first row; NULL if there is no row or it is null. */
const char *sql_text(const char *text, ...) __attribute__((sentinel));
/* The SQLSTATE with which a statement fails, "00000" if it succeeds; as `role` unless NULL. */
const char *sql_state_as(const char *role, const char *text);

#endif
