/*
 * raw - bytes over a plain socket, for requests that no HTTP library would send.
 *
 * Owns     A raw_open() needs its raw_close(). Answers live in the caller's struct.
 * Threads  One thread for a connection.
 * Fails    raw_read() is false when no whole answer came in time; the rest fails the test.
 */
#ifndef TESTS_SUPPORT_RAW_H
#define TESTS_SUPPORT_RAW_H

#include <stdbool.h>
#include <stddef.h>

#define RAW_ANSWER_MOST (256 * 1024)

struct raw {
    int fd;
    char *in; /* what came and was not taken yet */
    size_t in_n;
    bool ended;      /* the other side closed */
    bool is_private; /* set after raw_open(): what comes is not the API's, so no journal has it */
};

struct raw_answer {
    int status;
    char head[8192]; /* status line and headers */
    char body[RAW_ANSWER_MOST];
    size_t body_n;
    bool says_close; /* Connection: close */
};

void raw_open(struct raw *raw, int port);
void raw_close(struct raw *raw);
/* True unless the other side has closed already. */
bool raw_write(struct raw *raw, const char *bytes, size_t n);
void raw_shut_writing(struct raw *raw);
/* One whole answer, interim ones (1xx) included: by Content-Length, in chunks, or up to the end of
 * the connection. */
bool raw_read(struct raw *raw, struct raw_answer *out, int timeout_ms);
/* True when the other side closes in time and sends nothing more. */
bool raw_ends(struct raw *raw, int timeout_ms);
/* The value of a header in `out`, or false. */
bool raw_header(const struct raw_answer *answer, const char *name, char *out, size_t room);

#endif
