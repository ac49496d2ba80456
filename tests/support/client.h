/*
 * client - requests by the thousand over connections that stay open, for tests that count.
 *
 * What     Bytes go out as the test made them, several requests at once if it likes; of each answer
 *          only what such tests count is read. Nothing is written to the journal.
 * Owns     A client_open() needs its client_close(). An answer's body points into the client and
 *          lives until the next call.
 * Threads  One thread for a client.
 * Fails    With false: the connection is of no use any more, and what was sent got no answer.
 */
#ifndef TESTS_SUPPORT_CLIENT_H
#define TESTS_SUPPORT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#define CLIENT_ROOM (256 * 1024)

struct client {
    int fd;
    size_t n, taken; /* bytes that came, and those of the latest answer */
    char in[CLIENT_ROOM];
};

struct client_answer {
    int status;
    char request_id[37];
    long long reset; /* X-RateLimit-Reset; 0: none */
    bool closes;     /* the connection ends with it */
    const char *body;
    size_t body_n;
};

bool client_open(struct client *client, int port);
void client_close(struct client *client);
bool client_send(struct client *client, const char *bytes, size_t n);
bool client_receive(struct client *client, struct client_answer *out);

#endif
