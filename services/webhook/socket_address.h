/*
 * socket_address - the address inside a struct sockaddr.
 *
 * Threads  Any; pure.
 * Fails    False for what is neither IPv4 nor IPv6; *out is untouched then.
 */
#ifndef SERVICES_WEBHOOK_SOCKET_ADDRESS_H
#define SERVICES_WEBHOOK_SOCKET_ADDRESS_H

#include "common/base/address.h"

struct sockaddr;

bool socket_address_read(const struct sockaddr *from, struct address *out);

#endif
