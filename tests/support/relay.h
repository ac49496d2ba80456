/*
 * relay - a port of the loopback interface in front of another one, that can be cut.
 *
 * What     Who connects to it is connected to the other port, byte for byte.
 * Owns     A process of its own: it ends with the test's in any case.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_RELAY_H
#define TESTS_SUPPORT_RELAY_H

#include <stdint.h>
#include <sys/types.h>

struct relay {
    pid_t pid; /* 0 while it is cut */
    uint16_t port, to;
};

void relay_start(struct relay *relay, uint16_t to);
/* Ends its connections; who connects is refused. */
void relay_cut(struct relay *relay);
void relay_mend(struct relay *relay);
/* Keeps them, and who connects is accepted, but nothing passes until it goes on. */
void relay_hang(struct relay *relay);
void relay_go_on(struct relay *relay);

#endif
