/*
 * receiver - an HTTPS server for deliveries inside the test's process.
 *
 * What     The path of the request decides the response:
 *
 *              /ok            200               /status/N      that status
 *              /hang          never responds    /drip/MS       200; the body ends after MS
 *              /redirect      302 to /ok/target /endless-head  header lines without end
 *              /endless-100   100 without end   /big           200 with 100 MB
 *              /gzip          200, compressed   /cut           closes instead of responding
 *              /half          half a response   /garbage       not HTTP
 *              /escape        200, with control characters
 *              /endless-line  one header line without end
 *              /full          200 with 4,096 bytes of a longer body, then nothing
 *              /bad-chunk     200 in chunks, the second of which has no length
 *              /upgrade       101, unasked      /no-header     200, with a line that is not a header
 *              /goes-on       200; its first header has a continuation line that is missing
 *              /squeezed      200, compressed in transfer
 *              /slow/MS       200 after MS
 *
 *          Anything after that ("/ok/17") only lets a test tell requests apart.
 * Owns     Everything, until the process ends.
 * Threads  A thread for each connection. All calls from any thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_RECEIVER_H
#define TESTS_SUPPORT_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct receiver;

struct received {
    char path[128], event[64], delivery[40], timestamp[24], signature[80], host[256], type[64];
    char event_id[40]; /* from the body */
    int64_t at_us;     /* clock_mono_us() */
    bool was_resumed;  /* the TLS session */
    size_t body_n;
    char body[1024];
};

/* With the certificate of that name: "good", "expired", "other" (another host), "self"
   (self-signed), "stranger" (from an unknown authority); "plain" uses no TLS at all. */
struct receiver *receiver_start(const char *certificate);
int receiver_port(const struct receiver *receiver);
/* "https://127.0.0.1:PORT" followed by the path. */
const char *receiver_url(const struct receiver *receiver, const char *path);

/* From now on requests get a response but are not kept. */
void receiver_keep_nothing(struct receiver *receiver);

/* The number of requests received whose path begins like this. */
size_t receiver_count(struct receiver *receiver, const char *path);
/* The nth of them, from 0; NULL if there are fewer. */
const struct received *receiver_get(struct receiver *receiver, const char *path, size_t nth);
/* All of them, in order; nothing is received during the call. */
void receiver_each(struct receiver *receiver,
                   void (*visit)(const struct received *received, void *closure), void *closure);
/* Waits until `n` have been received; false on timeout. */
bool receiver_wait(struct receiver *receiver, const char *path, size_t n, int timeout_ms);
/* The same, but fails the test on timeout. */
void receiver_await(struct receiver *receiver, const char *path, size_t n, int timeout_ms);
/* Accepted connections, with or without requests. */
size_t receiver_connections(struct receiver *receiver);
/* The largest number of concurrent requests. */
size_t receiver_most_at_once(struct receiver *receiver);

#endif
