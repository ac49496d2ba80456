/*
 * exporter - encodes spans as OTLP in JSON and sends them to a collector. The only user of libcurl in
 * common.
 *
 * What     POST to ENDPOINT/v1/traces over a persistent connection. Proxies in the environment are
 *          ignored, redirects are not followed.
 * Owns     Free the post with post_close().
 * Threads  One at a time for a post, except post_hurry(), which any may call. otlp_write() is pure.
 */
#ifndef COMMON_TRACE_EXPORTER_H
#define COMMON_TRACE_EXPORTER_H

#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/str.h"
#include "common/trace/span.h"

struct post;

/* NULL: `error` names the setting that is wrong. */
struct post *post_open(const struct trace_settings *settings, char error[256]);
void post_close(struct post *post);
/* Returns the HTTP status; 0 = no answer in time, `error` has the reason. */
int post_send(struct post *post, struct str body, char error[256]);
/* From now on every wait ends at `until_us` (clock_mono_us()). */
void post_hurry(struct post *post, int64_t until_us);

/* Writes the body of a request. */
void otlp_write(const struct span *spans, size_t n, const struct trace_origin *origin,
                struct buf *out);

#endif
