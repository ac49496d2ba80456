/*
 * tcp_proxy - a TCP proxy on the loopback interface that can be cut or paused.
 *
 * What     Forwards each connection to another port of the loopback interface.
 * Owns     A process, which ends with the test's process in any case.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_TCP_PROXY_H
#define TESTS_SUPPORT_TCP_PROXY_H

#include <stdint.h>
#include <sys/types.h>

struct tcp_proxy {
    pid_t pid; /* 0 while it is cut */
    uint16_t port, to;
};

void tcp_proxy_start(struct tcp_proxy *proxy, uint16_t to);
/* Closes its connections and refuses new ones. */
void tcp_proxy_cut(struct tcp_proxy *proxy);
void tcp_proxy_restore(struct tcp_proxy *proxy);
/* Keeps its connections and accepts new ones, but forwards nothing until it is resumed. */
void tcp_proxy_pause(struct tcp_proxy *proxy);
void tcp_proxy_resume(struct tcp_proxy *proxy);

#endif
