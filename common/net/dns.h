/*
 * dns - questions to name servers. The only user of c-ares.
 *
 * What     One question asks for the addresses of one family. The servers are asked one after the
 *          other, twice. Changes of /etc/resolv.conf are noticed within a second, changes of
 *          /etc/hosts at once; nothing is cached.
 * Owns     Free with dns_close().
 * Threads  One thread owns a dns.
 * Fails    dns_open() returns NULL if the servers are invalid, or without a descriptor.
 */
#ifndef COMMON_NET_DNS_H
#define COMMON_NET_DNS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/ip.h"

#define DNS_ADDRESSES_MAX 32 /* of one family of a name; further ones are left out */

struct dns;

struct dns_options {
    const char *servers; /* "address[:port],..."; NULL = those of /etc/resolv.conf */
    bool dns_only;       /* without /etc/hosts and search domains: for names of other people */
};

/* The addresses, the best first (RFC 6724). `is_answered` is false if no server has answered; true
   without addresses means that there are none. May be called from within dns_ask() and
   dns_close(). */
typedef void (*dns_fn)(void *closure, bool is_answered, const struct address *addresses, size_t n);

struct dns *dns_open(const struct dns_options *options);
void dns_close(struct dns *dns); /* ends all questions unanswered */

/* `family`: AF_INET or AF_INET6. localhost is the loopback address, whatever a server or /etc/hosts
   says. Every question is answered in time: after 3 s with one server, 6 s with two, and so on. */
void dns_ask(struct dns *dns, const char *name, int family, dns_fn on_answer, void *closure);

/* For the owner's loop: the descriptor to poll for reading, for how long at most, and what to call
   then. The descriptor stays the same. */
int dns_descriptor(const struct dns *dns);
int dns_timeout_ms(const struct dns *dns, int max_ms);
void dns_process(struct dns *dns);

#endif
