/*
 * port - free ports of the loopback interface.
 *
 * Threads  Any.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_PORT_H
#define TESTS_SUPPORT_PORT_H

#include <stdint.h>

/* A TCP socket bound to a free port; the caller listens on it and closes it. */
int port_bound(uint16_t *port);
/* A free port that no other test gets: for a server that is started later or repeatedly. */
uint16_t port_free(void);
/* A TCP socket bound to this port of another loopback address. */
int port_bound_at(const char *address, uint16_t port);
/* Makes it a port where nothing answers, for as long as the process lives. */
void port_silent(const char *address, uint16_t port);

#endif
