/*
 * transfer_failure - what libcurl's result means for an attempt.
 *
 * Threads  Any; pure, but for a line in the log when a result is unforeseen.
 */
#ifndef SERVICES_WEBHOOK_TRANSFER_FAILURE_H
#define SERVICES_WEBHOOK_TRANSFER_FAILURE_H

#include <curl/curl.h>

#include "services/webhook/attempt.h"

/* The attempt's status and phases have been read. */
enum failure transfer_failure(CURLcode code, const struct attempt *attempt);

#endif
