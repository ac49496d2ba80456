/*
 * settings - where spans go, by the names that OpenTelemetry gives: rows for a program's table.
 *
 *     struct my_config { const char *nats_url; struct trace_settings trace; };
 *     static const struct setting settings[] = {..., TRACE_SETTINGS(struct my_config, trace)};
 *
 * Threads  Constants.
 */
#ifndef COMMON_TRACE_SETTINGS_H
#define COMMON_TRACE_SETTINGS_H

#include "common/base/config.h"

struct trace_settings {
    const char *endpoint, *headers, *ca_file, *ratio;
};

#define TRACE_SETTING(of, field, name_, fallback_, secret_, meaning_)                              \
    {                                                                                              \
        .name = (name_), .type = SETTING_STRING, .offset = offsetof(of, field),                    \
        .fallback = (fallback_), .secret = (secret_), .meaning = (meaning_)                        \
    }
#define TRACE_SETTINGS(of, member)                                                                 \
    TRACE_SETTING(of, member.endpoint, "OTEL_EXPORTER_OTLP_ENDPOINT", "", false,                   \
                  "Where spans are sent by OTLP/HTTP, such as http://collector:4318; empty = "     \
                  "there are none"),                                                               \
        TRACE_SETTING(of, member.headers, "OTEL_EXPORTER_OTLP_HEADERS", "", true,                  \
                      "Headers sent with them: name=value, separated by commas, values encoded "   \
                      "as in URLs"),                                                               \
        TRACE_SETTING(of, member.ca_file, "OTEL_EXPORTER_OTLP_CERTIFICATE", "", false,             \
                      "CA certificates for the connection to the collector, in PEM; empty = the "  \
                      "machine's"),                                                                \
        TRACE_SETTING(of, member.ratio, "OTEL_TRACES_SAMPLER_ARG", "1", false,                     \
                      "Share, from 0 to 1, of the requests without a traceparent that begin a "    \
                      "trace")

#endif
