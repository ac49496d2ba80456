/*
 * transfer - HTTPS requests on their way out, by libcurl, all of them at once.
 *
 * What     One POST for one attempt, on its own connection: nothing that is kept alive can fail at
 *          a moment that makes it unclear whether the receiver has seen the request. The connection
 *          goes to the address that was checked and to no other; the certificate must be good for
 *          the host of the URL, by the system's CA certificates and the operator's, which are in
 *          one file in memory. HTTP/2 or 1.1; no redirects, no proxy whatever the environment says,
 *          no compression, no name look-ups. A response is read to 4 KB, then the connection is
 *          closed; its headers may have 16 KB.
 * Owns     transfer_new() gives what transfer_free() takes back, transfers_new() what
 *          transfers_free() does. Attempts stay the caller's; one that is under way ends with
 *          attempt_end() within its time.
 * Threads  The sender's, apart from transfers_wake().
 * Fails    transfers_new(): NULL (logged) when the CA bundle cannot be read.
 */
#ifndef SERVICES_WEBHOOK_TRANSFER_H
#define SERVICES_WEBHOOK_TRANSFER_H

#include <curl/curl.h>
#include <poll.h>

#include "services/webhook/attempts.h"

/* -- the CA bundle ----------------------------------------------------------------------------- */

#define CA_BUNDLE_PATH 32

/* A descriptor, to be closed; `path` leads to the file as long. `file` NULL = the system's
   certificates only. -1 (logged): the operator's file cannot be read. */
int ca_bundle_open(const char *file, char path[CA_BUNDLE_PATH]);
void ca_bundle_close(int fd);

/* -- what libcurl's result means for an attempt ------------------------------------------------ */

/* The attempt's status and phases have been read. Logs a result that is unforeseen. */
enum failure transfer_failure(CURLcode code, const struct attempt *attempt);

/* -- one request ------------------------------------------------------------------------------- */

struct transfer {
    struct attempt *attempt;
    CURL *easy; /* from set-up on */
    struct curl_slist *headers, *connect_to;
    size_t headers_n;           /* bytes of the response's headers so far */
    bool is_cut;                /* as much is read of the response as is kept */
    bool headers_are_too_large; /* more than 16 KB */
    bool was_blocked;           /* by the second look */
    bool lacked_socket;         /* we were out of sockets */
};

struct transfer *transfer_new(void);
void transfer_free(struct transfer *transfer);

/* Makes it the attempt's request, once. `ca_path` is the file of the CA bundle. */
void transfer_set_up(struct transfer *transfer, struct attempt *attempt, const char *ca_path);
/* Ends the attempt by libcurl's result. */
void transfer_classify(struct transfer *transfer, CURLcode code);

/* -- all of them ------------------------------------------------------------------------------- */

struct transfers;

struct transfers_options {
    const char *ca_file; /* trusted besides the system's; NULL = none */
    void (*on_end)(void *closure, struct attempt *attempt);
    void *closure;
};

struct transfers *transfers_new(const struct transfers_options *options);
void transfers_free(struct transfers *transfers);

/* attempt->address is where to. */
void transfers_begin(struct transfers *transfers, struct attempt *attempt);
/* Takes the transfer away from the attempt, which may be over or not; on_end is not called. */
void transfers_release(struct transfers *transfers, struct attempt *attempt);
/* Goes on with all of them; tells those that ended. */
void transfers_step(struct transfers *transfers);

/* Sleeps until a transfer or one of `fds` is ready, it is woken, or the time is over. */
void transfers_wait(struct transfers *transfers, struct pollfd *fds, size_t n, int timeout_ms);
void transfers_wake(struct transfers *transfers); /* from any thread */

#endif
