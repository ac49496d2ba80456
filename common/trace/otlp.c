#include "common/trace/otlp.h"

#include <inttypes.h>

#include "common/crypto/crypto.h"
#include "common/wire/json.h"

enum { KIND_SERVER = 2, STATUS_ERROR = 2 };

static void begin_object(struct buf *out)
{
    if (out->n > 0 && out->p[out->n - 1] == '}')
        buf_char(out, ',');
    buf_char(out, '{');
}

/* Numbers of 64 bits are strings there. */
static void add_attribute(struct buf *out, const char *key, const char *type, struct str value)
{
    begin_object(out);
    json_add_text(out, "key", str_of(key));
    json_add_key(out, "value");
    buf_char(out, '{');
    json_add_text(out, type, value);
    buf_add(out, STR("}}"));
}

static void add_id(struct buf *out, const char *key, const struct uuid *id)
{
    char text[UUID_TEXT + 1];

    if (uuid_is_nil(id))
        return;
    uuid_format(id, text);
    add_attribute(out, key, "stringValue", str_of(text));
}

static void add_attributes(const struct span *span, struct buf *out)
{
    char status[12];

    json_add_key(out, "attributes");
    buf_char(out, '[');
    if (span->outcome != NULL)
        add_attribute(out, "conversations.outcome", "stringValue", str_of(span->outcome));
    if (span->http_status > 0) {
        snprintf(status, sizeof(status), "%d", span->http_status);
        add_attribute(out, "http.response.status_code", "intValue", str_of(status));
    }
    add_id(out, "conversations.request_id", &span->request_id);
    add_id(out, "conversations.organization_id", &span->organization_id);
    buf_char(out, ']');
}

static void add_hex(struct buf *out, const char *key, const uint8_t *id, size_t n)
{
    char text[2 * TRACE_ID_BYTES + 1];

    crypto_hex(id, n, text);
    json_add_text(out, key, str_of(text));
}

static void add_time(struct buf *out, const char *key, int64_t us)
{
    json_add_key(out, key);
    buf_printf(out, "\"%" PRId64 "000\"", us);
}

static bool has_parent(const struct span *span)
{
    for (size_t i = 0; i < SPAN_ID_BYTES; i++)
        if (span->parent_id[i] != 0)
            return true;
    return false;
}

static void add_span(const struct span *span, struct buf *out)
{
    begin_object(out);
    add_hex(out, "traceId", span->context.trace_id, TRACE_ID_BYTES);
    add_hex(out, "spanId", span->context.span_id, SPAN_ID_BYTES);
    if (has_parent(span))
        add_hex(out, "parentSpanId", span->parent_id, SPAN_ID_BYTES);
    json_add_text(out, "name", str_of(span->name));
    json_add_integer(out, "kind", KIND_SERVER);
    add_time(out, "startTimeUnixNano", span->start_us);
    add_time(out, "endTimeUnixNano", span->end_us);
    add_attributes(span, out);
    json_add_key(out, "status");
    buf_char(out, '{');
    if (span->has_failed)
        json_add_integer(out, "code", STATUS_ERROR);
    buf_add(out, STR("}}"));
}

void otlp_write(const struct span *spans, size_t n, const char *service, const char *instance,
                struct buf *out)
{
    buf_add(out, STR("{\"resourceSpans\":[{\"resource\":{\"attributes\":["));
    add_attribute(out, "service.namespace", "stringValue", STR("conversations"));
    add_attribute(out, "service.name", "stringValue", str_of(service));
    add_attribute(out, "service.instance.id", "stringValue", str_of(instance));
    buf_add(out, STR("]},\"scopeSpans\":[{\"scope\":{\"name\":\"conversations\"},\"spans\":["));
    for (size_t i = 0; i < n; i++)
        add_span(&spans[i], out);
    buf_add(out, STR("]}]}]}"));
}
