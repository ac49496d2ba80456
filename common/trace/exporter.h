/*
 * exporter - writes spans as OTLP has them, in its JSON encoding, and sends them to a collector.
 * The only user of libcurl in common.
 *
 * What     POST to ENDPOINT/v1/traces over a connection that is kept. Proxies of the environment
 *          are ignored, redirects are not followed.
 * Owns     post_open() gives what post_close() takes back.
 * Threads  One for a post, post_hurry() apart: any. otlp_write() is pure.
 */
#ifndef COMMON_TRACE_EXPORTER_H
#define COMMON_TRACE_EXPORTER_H

#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/str.h"
#include "common/trace/trace.h"

struct post;

/* NULL: said in `error` which setting is wrong. */
struct post *post_open(const struct trace_settings *settings, char error[256]);
void post_close(struct post *post);
/* The HTTP status; 0 = there was no answer in time, `error` says why. */
int post_send(struct post *post, struct str body, char error[256]);
/* From here on nothing is waited for that is later than this (clock_mono_us()). */
void post_hurry(struct post *post, int64_t until_us);

/* The body of a request. */
void otlp_write(const struct span *spans, size_t n, const struct trace_origin *origin,
                struct buf *out);

#endif
