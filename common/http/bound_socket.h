/*
 * bound_socket - a TCP socket at an address of this machine.
 *
 * What     `::` stands for all addresses, of IPv4 as well; on a kernel without IPv6 it is 0.0.0.0
 *          (logged). The socket does not block, and does not listen yet.
 * Owns     The caller closes the descriptor.
 * Threads  Any.
 * Fails    -1, with errno.
 */
#ifndef COMMON_HTTP_BOUND_SOCKET_H
#define COMMON_HTTP_BOUND_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

/* `address` is numeric. `is_shared`: other sockets of this process are bound to it as well. */
int bound_socket(const char *address, uint16_t port, bool is_shared);

#endif
