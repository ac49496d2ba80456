/*
 * settings - how every program on the bus is told to trust it: rows for its table of settings.
 *
 *     struct my_config { const char *nats_url; struct bus_tls bus_tls; };
 *     static const struct setting settings[] = {..., BUS_TLS_SETTINGS(struct my_config, bus_tls)};
 *
 * Threads  Constants.
 */
#ifndef COMMON_BUS_SETTINGS_H
#define COMMON_BUS_SETTINGS_H

#include "common/base/config.h"
#include "common/bus/bus.h"

#define BUS_TLS_SETTING(of, field, name_, meaning_)                                                \
    {                                                                                              \
        .name = (name_), .type = SETTING_STRING, .offset = offsetof(of, field), .fallback = "",    \
        .meaning = (meaning_)                                                                      \
    }
#define BUS_TLS_SETTINGS(of, member)                                                               \
    BUS_TLS_SETTING(of, member.ca_file, "NATS_CA_FILE",                                            \
                    "CA certificates for the connection to NATS, in PEM; enables TLS"),            \
        BUS_TLS_SETTING(of, member.cert_file, "NATS_CERT_FILE",                                    \
                        "Client certificate for the connection to NATS, with its chain, in PEM"),  \
        BUS_TLS_SETTING(of, member.key_file, "NATS_KEY_FILE", "Its private key, in PEM"),          \
        BUS_TLS_SETTING(                                                                           \
            of, member.host, "NATS_TLS_HOST",                                                      \
            "Host name expected in the certificate of NATS; empty = the host in NATS_URL")

#endif
