/*
 * nameserver - a DNS server inside the test's process; WEBHOOK_DNS_SERVER points to it.
 *
 * What     The labels of the requested name decide the answer:
 *
 *              a-1-2-3-4      an address; several labels: several addresses
 *              aaaa-HEX       an IPv6 address, 32 hex digits
 *              cname          an alias of the same name without this label
 *              rebind         only the first address label for the first question, only the
 *                             second one later
 *              silent         no answer        servfail   a server failure
 *
 *          A name without any of these does not exist.
 * Owns     Everything, until the process ends.
 * Threads  Its own.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_NAMESERVER_H
#define TESTS_SUPPORT_NAMESERVER_H

void nameserver_start(void);

#endif
