/*
 * bus_options - how a program connects to the bus.
 *
 * Threads  Any.
 */
#ifndef COMMON_BUS_BUS_OPTIONS_H
#define COMMON_BUS_BUS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/config.h"

enum { BUS_WHY = 400 };

/* NULL or empty: not given. The first four turn TLS on; without them, the connection uses it if the
   URL says tls://, with the system's CA certificates. Files are read again for each connection. */
struct bus_settings {
    const char *ca_file;              /* CA certificates, in PEM */
    const char *cert_file, *key_file; /* client certificate and key, in PEM */
    const char *tls_host;             /* expected host name, if not the URL's */
    const char *creds_file;           /* creds.h; the URL then has no user */
};

/* All texts, also those of `settings`, must outlive the bus. */
struct bus_options {
    const char *url;  /* bus_url.h; read again with config_current(); never logged */
    const char *name; /* shown by the server: service and replica */
    const struct bus_settings *settings; /* NULL = nothing given */
    const char *inbox_prefix;            /* of all reply subjects; NULL = "_INBOX" */
    /* Called on any thread when the link comes up or goes down; may only set atomics and wake a
       thread. May be NULL. */
    void (*on_link)(void *closure, bool up);
    void *closure;
};

/* False: `why` names the setting that is wrong, for example a malformed URL or an unreadable CA. */
bool bus_can_use(const struct bus_options *options, char why[BUS_WHY]);

/* Why a bus is not up, by the last round of attempts. In the two cases in the middle a server answered,
   and waiting does not help. */
enum bus_trouble { BUS_UNREACHABLE, BUS_DENIED, BUS_SMALL, BUS_UP };

/* Servers whose max_payload is smaller are not used (BUS_SMALL): a page of 100 conversations with as
   many and as long attributes as possible is 7 MB. */
#define BUS_PAYLOAD_MIN (8 * 1024 * 1024)

/* The settings of every program on the bus, except for NATS_URL: rows for its table of settings.

       struct my_config { const char *nats_url; struct bus_settings bus_settings; };
       static const struct setting settings[] = {..., BUS_SETTINGS(struct my_config, bus_settings)};
*/

#define BUS_SETTING(of, field, name_, meaning_)                                                    \
    {                                                                                              \
        .name = (name_), .type = SETTING_STRING, .offset = offsetof(of, field), .fallback = "",    \
        .meaning = (meaning_)                                                                      \
    }
#define BUS_SETTINGS(of, member)                                                                   \
    BUS_SETTING(of, member.ca_file, "NATS_CA_FILE",                                                \
                "CA certificates for the connection to NATS, in PEM; enables TLS"),                \
        BUS_SETTING(of, member.cert_file, "NATS_CERT_FILE",                                        \
                    "Client certificate for the connection to NATS, with its chain, in PEM"),      \
        BUS_SETTING(of, member.key_file, "NATS_KEY_FILE", "Its private key, in PEM"),              \
        BUS_SETTING(                                                                               \
            of, member.tls_host, "NATS_TLS_HOST",                                                  \
            "Host name expected in the certificate of NATS; empty = the host in NATS_URL"),        \
        BUS_SETTING(of, member.creds_file, "NATS_CREDS_FILE",                                      \
                    "Credentials file (.creds) for a NATS with accounts, instead of a user in "    \
                    "NATS_URL")

#endif
