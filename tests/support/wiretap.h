/*
 * wiretap - everything that crosses the bus, byte for byte, as its administrator can see it.
 *
 * What     Speaks the bus's text protocol by itself, so that headers are seen as they travel.
 * Owns     A wiretap_open() needs its wiretap_close(); the bytes live until then.
 * Threads  One.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_WIRETAP_H
#define TESTS_SUPPORT_WIRETAP_H

#include <stdbool.h>
#include <stddef.h>

struct wiretap {
    int fd;
    char *bytes;
    size_t n;
};

void wiretap_open(struct wiretap *tap); /* hears everything from here on */
void wiretap_close(struct wiretap *tap);
/* Listens until a text has come by, 10 seconds at most. */
void wiretap_await(struct wiretap *tap, const char *text);
bool wiretap_heard(const struct wiretap *tap, const char *text);

#endif
