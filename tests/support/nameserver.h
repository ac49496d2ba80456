/*
 * nameserver - a DNS server inside the test's process; WEBHOOK_DNS_SERVER points to it.
 *
 * What     The labels of the requested name decide the answer:
 *
 *              a-1-2-3-4      an address; several labels: several addresses
 *              a-1-2-3-4-5    five addresses: this one and the next four
 *              aaaa-HEX       an IPv6 address, 32 hex digits
 *              cname          an alias of the same name without this label
 *              rebind         only the first address label for the first question, only the
 *                             second one later
 *              silent         no answer        servfail   a server failure
 *              silent-a, silent-aaaa, servfail-a, servfail-aaaa
 *                             the same for one kind of address
 *
 *          A label may consist of several of these, with "--" between them: a certificate's wildcard
 *          matches one label. A name without any of these does not exist. Answers of more than 512
 *          bytes are given over TCP.
 * Owns     Everything, until the process ends.
 * Threads  Its own.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_NAMESERVER_H
#define TESTS_SUPPORT_NAMESERVER_H

#include <stdint.h>

void nameserver_start(void);
/* At this port, for tests without a stack. */
void nameserver_start_at(uint16_t port);

#endif
