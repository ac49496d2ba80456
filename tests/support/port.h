/*
 * port - free ports of the loopback interface.
 *
 * Threads  Any.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_PORT_H
#define TESTS_SUPPORT_PORT_H

#include <stdint.h>

/* A TCP socket on a port that was free; the caller's, to listen on and to close. */
int port_bound(uint16_t *port);
/* An unused one that no other test is given: for a server that is started later, or again and
   again. */
uint16_t port_free(void);

#endif
