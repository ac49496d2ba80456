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

#endif
