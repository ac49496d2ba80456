/*
 * ca_bundle - the certificates with which receivers are verified, and the TLS sessions of those that
 *             were.
 *
 * What     The system's CA certificates and the operator's. Both files are looked at when a
 *          connection is made, at most once a second, so that a renewed file is in force without a
 *          restart. A file that cannot be used changes nothing (logged).
 *          The TLS sessions of the eight receivers that were sent to last are kept, each for its
 *          host, address and port, and resumed, which takes half the time of a handshake. After five
 *          minutes all are forgotten, so that certificates are verified again, and so they are when
 *          a file has changed.
 * Owns     ca_bundles_free() frees what ca_bundles_new() returns. A bundle lives until the last that
 *          has taken it releases it.
 * Threads  The sender's.
 * Fails    ca_bundles_new(): NULL (logged) if the operator's file cannot be used. If the system's
 *          cannot, there are only the operator's (logged).
 */
#ifndef SERVICES_WEBHOOK_CA_BUNDLE_H
#define SERVICES_WEBHOOK_CA_BUNDLE_H

#include <curl/curl.h>

struct ca_bundle;
struct ca_bundles;

/* `file` NULL = only the system's certificates. */
struct ca_bundles *ca_bundles_new(const char *file);
void ca_bundles_free(struct ca_bundles *bundles);

/* The bundle for a connection that is made now. */
struct ca_bundle *ca_bundle_take(struct ca_bundles *bundles);
void ca_bundle_release(struct ca_bundle *bundle);

/* The request verifies its receiver with the bundle, and may resume a session of it. */
void ca_bundle_use(struct ca_bundle *bundle, CURL *easy);

#endif
