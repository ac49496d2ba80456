/*
 * balancer - a load balancer (haproxy) in front of gateways, as platforms have one.
 *
 * What     It polls every gateway's /readyz many times a second, sends requests only to gateways
 *          that answer 200, keeps its connections to gateways open, and tries another gateway when
 *          it cannot connect. It never sends a request twice.
 * Owns     It ends with the test's process.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_BALANCER_H
#define TESTS_SUPPORT_BALANCER_H

struct balanced {
    int port, admin_port;
};

/* Returns the base URL for requests through it, once it serves them. */
const char *balancer_start(const struct balanced *gateways, int n);
/* Returns once it sends requests to all of its gateways. */
void balancer_await_all(void);

#endif
