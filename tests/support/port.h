/*
 * port - a port of the loopback interface where nobody listens just now.
 *
 * Threads  Any.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_PORT_H
#define TESTS_SUPPORT_PORT_H

#include <stdint.h>

uint16_t port_free(void);

#endif
