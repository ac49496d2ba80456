/*
 * transfer - one outgoing HTTPS request, by libcurl.
 *
 * What     One POST for each attempt, on its own connection: a connection that is kept alive could
 *          close at a moment that leaves unclear whether the receiver has seen the request. The
 *          socket is connected already, to an address that was checked; libcurl never opens one. The
 *          certificate must be valid for the host of the URL (ca_bundle.h). HTTP/2 or 1.1; no
 *          redirects, no proxy whatever the environment says, no compression, no name lookups.
 *          Headers may have up to 16 KB. When they are complete, the status decides how the attempt
 *          ends; of the body, what comes within ATTEMPT_BODY_MS is read, up to 4 KB, and then the
 *          connection is closed.
 * Owns     transfer_free() frees what transfer_new() returns. A transfer owns its socket. The attempt
 *          belongs to the caller, who limits its time (attempt->due_us).
 * Threads  The sender's.
 */
#ifndef SERVICES_WEBHOOK_TRANSFER_H
#define SERVICES_WEBHOOK_TRANSFER_H

#include <curl/curl.h>

#include "services/webhook/attempt.h"

struct ca_bundle; /* ca_bundle.h */

/* -- what libcurl's result means for an attempt ------------------------------------------------ */

/* The attempt's status and phases must be set. Logs an unexpected result. */
enum failure transfer_failure(CURLcode code, const struct attempt *attempt);

/* -- one request ------------------------------------------------------------------------------- */

struct transfer {
    struct attempt *attempt;
    CURL *easy; /* from set-up on */
    struct curl_slist *headers, *connect_to;
    struct ca_bundle *bundle;
    int fd;               /* connected; -1 once libcurl has it */
    size_t headers_n;     /* bytes of the response's headers so far */
    size_t lines;         /* of the current response's headers, with its status line */
    bool headers_are_bad; /* more than 16 KB, or the first continues none */
    bool is_requesting;   /* a part of the request may have been sent */
    bool is_answered;     /* the headers of the final response are complete */
    bool was_blocked;     /* libcurl was about to connect to another address */
};

struct transfer *transfer_new(void);
void transfer_free(struct transfer *transfer);

/* Prepares the attempt's request; called once. The transfer takes over `fd`, which is connected to
   attempt->address, and `bundle` (NULL: libcurl's own). */
void transfer_set_up(struct transfer *transfer, struct attempt *attempt, int fd,
                     struct ca_bundle *bundle);
/* The failure that libcurl's result stands for; records status and times in the attempt. */
enum failure transfer_classify(struct transfer *transfer, CURLcode code);

#endif
