/*
 * transfer - concurrent outgoing HTTPS requests, by libcurl.
 *
 * What     One POST for each attempt, on its own connection: a connection that is kept alive could
 *          close at a moment that leaves unclear whether the receiver has seen the request. The
 *          connection goes to the address that was checked and to no other. The certificate must be
 *          valid for the host of the URL, by the system's CA certificates and the operator's, which
 *          are in one file in memory. The TLS sessions of the eight receivers that were sent to last
 *          are kept, each for its host, address and port, and resumed, which takes half the time of
 *          a handshake. After five minutes all are forgotten, so that certificates are verified
 *          again. HTTP/2 or 1.1; no redirects, no proxy whatever the environment says, no
 *          compression, no name lookups. Up to 4 KB of a response's body are read, then the
 *          connection is closed; its headers may have up to 16 KB.
 * Owns     transfer_free() frees what transfer_new() returns, transfers_free() what transfers_new()
 *          returns. Attempts belong to the caller; one that is under way ends with attempt_end()
 *          within its time limit.
 * Threads  The sender's, apart from transfers_wake().
 * Fails    transfers_new(): NULL (logged) if the CA bundle cannot be read.
 */
#ifndef SERVICES_WEBHOOK_TRANSFER_H
#define SERVICES_WEBHOOK_TRANSFER_H

#include <curl/curl.h>
#include <poll.h>

#include "services/webhook/attempt.h"

/* -- the CA bundle ----------------------------------------------------------------------------- */

#define CA_BUNDLE_PATH 32

/* Returns a descriptor; `path` names the file until ca_bundle_close(). `file` NULL = only the
   system's certificates. -1 (logged): the operator's file cannot be read. */
int ca_bundle_open(const char *file, char path[CA_BUNDLE_PATH]);
void ca_bundle_close(int fd);

/* -- what libcurl's result means for an attempt ------------------------------------------------ */

/* The attempt's status and phases must be set. Logs an unexpected result. */
enum failure transfer_failure(CURLcode code, const struct attempt *attempt);

/* -- one request ------------------------------------------------------------------------------- */

struct transfer {
    struct attempt *attempt;
    CURL *easy; /* from set-up on */
    struct curl_slist *headers, *connect_to;
    size_t headers_n;           /* bytes of the response's headers so far */
    bool is_cut;                /* the body was read up to ATTEMPT_EXCERPT_MAX */
    bool headers_are_too_large; /* more than 16 KB */
    bool was_blocked;           /* libcurl was about to connect to another address */
    bool lacked_socket;         /* no socket could be created */
};

struct transfer *transfer_new(void);
void transfer_free(struct transfer *transfer);

/* Prepares the attempt's request; called once. `ca_path` is the file of the CA bundle; `sessions`
   has the TLS sessions to resume (NULL: none), and outlives the transfer. */
void transfer_set_up(struct transfer *transfer, struct attempt *attempt, const char *ca_path,
                     CURLSH *sessions);
/* Ends the attempt with the failure that libcurl's result stands for. */
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

/* Connects to attempt->address. */
void transfers_begin(struct transfers *transfers, struct attempt *attempt);
/* Frees the attempt's transfer, ended or not; on_end is not called. */
void transfers_release(struct transfers *transfers, struct attempt *attempt);
/* Advances all transfers; calls on_end for those that ended. */
void transfers_step(struct transfers *transfers);

/* Sleeps until a transfer or one of `fds` is ready, transfers_wake() is called or the timeout
   expires. */
void transfers_wait(struct transfers *transfers, struct pollfd *fds, size_t n, int timeout_ms);
void transfers_wake(struct transfers *transfers); /* from any thread */

#endif
