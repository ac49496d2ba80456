/*
 * reason - the reason phrase of an HTTP status, of those that our programs answer with.
 *
 * Threads  Any; constant.
 */
#ifndef COMMON_HTTP_RESPONSE_H
#define COMMON_HTTP_RESPONSE_H

const char *reason_of(int status); /* an unknown one is a 500 */

#endif
