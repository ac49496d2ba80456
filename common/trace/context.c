#include "common/trace/context.h"

/* What is passed on as a header of the bus is kept short. */
enum { TRACEPARENT_MAX = 128 };
/* Where its parts begin. */
enum { TRACE_ID_AT = 3, SPAN_ID_AT = 36, FLAGS_AT = 53 };

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const char *text, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static char *write_hex(char *text, const uint8_t *data, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *text++ = digits[data[i] >> 4];
        *text++ = digits[data[i] & 0xF];
    }
    return text;
}

static bool is_zero(const uint8_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (id[i] != 0)
            return false;
    return true;
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
            return false;
    return true;
}

/* Version 00 ends behind the flags; a later one may go on behind a hyphen. */
static bool ends_well(struct str s, uint8_t version)
{
    return s.n == TRACEPARENT_TEXT || (version > 0 && s.p[TRACEPARENT_TEXT] == '-');
}

bool trace_context_parse(struct str s, struct trace_context *out)
{
    struct trace_context context;
    uint8_t version, flags;

    if (s.n < TRACEPARENT_TEXT || s.n > TRACEPARENT_MAX || !is_plain(s) || s.p[2] != '-' ||
        s.p[SPAN_ID_AT - 1] != '-' || s.p[FLAGS_AT - 1] != '-')
        return false;
    if (!read_hex(s.p, &version, 1) || !read_hex(s.p + FLAGS_AT, &flags, 1) ||
        !read_hex(s.p + TRACE_ID_AT, context.trace_id, TRACE_ID_BYTES) ||
        !read_hex(s.p + SPAN_ID_AT, context.span_id, SPAN_ID_BYTES))
        return false;
    if (version == 0xff || is_zero(context.trace_id, TRACE_ID_BYTES) ||
        is_zero(context.span_id, SPAN_ID_BYTES) || !ends_well(s, version))
        return false;
    context.is_sampled = flags & 1;
    *out = context;
    return true;
}

void trace_context_format(const struct trace_context *context, char text[TRACEPARENT_TEXT + 1])
{
    text = write_hex(text, (const uint8_t[]){0}, 1);
    *text++ = '-';
    text = write_hex(text, context->trace_id, TRACE_ID_BYTES);
    *text++ = '-';
    text = write_hex(text, context->span_id, SPAN_ID_BYTES);
    *text++ = '-';
    text = write_hex(text, (const uint8_t[]){context->is_sampled}, 1);
    *text = '\0';
}

struct str trace_id_of(struct str traceparent)
{
    struct trace_context context;

    if (!trace_context_parse(traceparent, &context))
        return STR_NONE;
    return (struct str){traceparent.p + TRACE_ID_AT, (size_t)2 * TRACE_ID_BYTES};
}
