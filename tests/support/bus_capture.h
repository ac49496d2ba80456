/*
 * bus_capture - captures everything that crosses the bus, as its administrator can see it.
 *
 * What     Speaks the text protocol of NATS itself, so that headers are captured as sent.
 * Owns     Close what you have opened; the bytes live until then.
 * Threads  One.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_BUS_CAPTURE_H
#define TESTS_SUPPORT_BUS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

struct bus_capture {
    int fd;
    char *bytes;
    size_t n;
};

void bus_capture_open(struct bus_capture *capture); /* captures everything from here on */
void bus_capture_close(struct bus_capture *capture);
/* Captures until a text has been seen, 10 seconds at most. */
void bus_capture_await(struct bus_capture *capture, const char *text);
bool bus_capture_has(const struct bus_capture *capture, const char *text);

#endif
