/*
 * transfer - one request in libcurl's hands: what it is told, what it may do, what came of it.
 *
 * What     The connection goes to the address that was checked and to no other; the certificate
 *          must be good for the host of the URL. HTTP/2 or 1.1; no redirects, no proxy whatever the
 *          environment says, no compression, no name look-ups. A response is read to 4 KB, then the
 *          connection is closed; its headers may have 16 KB.
 * Owns     transfer_new() gives what transfer_free() takes back. The attempt stays the caller's.
 * Threads  The sender's.
 */
#ifndef SERVICES_WEBHOOK_TRANSFER_H
#define SERVICES_WEBHOOK_TRANSFER_H

#include <curl/curl.h>

#include "services/webhook/attempt.h"

struct transfer {
    struct attempt *attempt;
    CURL *easy;
    struct curl_slist *headers, *connect_to;
    size_t headers_n;           /* bytes of the response's headers so far */
    bool is_cut;                /* as much is read of the response as is kept */
    bool headers_are_too_large; /* more than 16 KB */
    bool was_blocked;           /* by the second look */
    bool lacked_socket;         /* we were out of sockets */
    struct transfer *next;      /* for the owner of idle ones */
};

struct transfer *transfer_new(void);
void transfer_free(struct transfer *transfer);

/* Makes it the attempt's request. `ca_path` is the file of the CA bundle. */
void transfer_set_up(struct transfer *transfer, struct attempt *attempt, const char *ca_path);
/* Ends the attempt by libcurl's result. */
void transfer_classify(struct transfer *transfer, CURLcode code);
/* Ready to be set up for another one. */
void transfer_clear(struct transfer *transfer);

#endif
