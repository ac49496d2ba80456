/*
 * tcp_proxy - a TCP proxy on the loopback interface that can be cut, paused, slowed, or blocked in
 * one direction.
 *
 * What     Forwards each connection to another port of the loopback interface.
 * Owns     A process (programs/tcp_proxy.c), which ends with the test's process in any case.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_TCP_PROXY_H
#define TESTS_SUPPORT_TCP_PROXY_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* What the process gets instead of input and output. */
enum { TCP_PROXY_LISTENER = STDIN_FILENO, TCP_PROXY_WEATHER = STDOUT_FILENO };

/* The state of a link that is up. Held data is sent on once it is no longer held. */
struct tcp_proxy_weather {
    atomic_int delay_ms;        /* in each direction */
    atomic_bool holds_requests; /* data from the connecting side */
    atomic_bool holds_replies;  /* data from the server */
};

struct tcp_proxy {
    pid_t pid; /* 0 while it is cut */
    uint16_t port, to;
    struct tcp_proxy_weather *weather; /* shared with the process */
    int weather_fd;
};

void tcp_proxy_start(struct tcp_proxy *proxy, uint16_t to);
/* Closes its connections and refuses new ones. */
void tcp_proxy_cut(struct tcp_proxy *proxy);
void tcp_proxy_restore(struct tcp_proxy *proxy);
/* Keeps its connections and accepts new ones, but forwards nothing until resumed. */
void tcp_proxy_pause(struct tcp_proxy *proxy);
void tcp_proxy_resume(struct tcp_proxy *proxy);
/* Applies from now on, to existing connections too. */
void tcp_proxy_change_weather(struct tcp_proxy *proxy, const struct tcp_proxy_weather *now);

#endif
