#include "common/http/request_headers.h"

#include "common/base/ascii.h"

enum kind { ONE, LINES };

/* Names in lower case, as in h2o. */
static const struct {
    struct str name;
    enum kind kind;
    size_t offset;
} known[] = {
#define HEADER(kind_, name_, member)                                                               \
    {                                                                                              \
        .name = {(name_), sizeof(name_) - 1}, .kind = (kind_),                                     \
        .offset = offsetof(struct request_headers, member)                                         \
    }
    HEADER(ONE, "authorization", authorization),
    HEADER(ONE, "content-type", content_type),
    HEADER(ONE, "content-encoding", content_encoding),
    HEADER(ONE, "user-agent", user_agent),
    HEADER(ONE, "accept-encoding", accept_encoding),
    HEADER(ONE, "if-none-match", if_none_match),
    HEADER(ONE, "origin", origin),
    HEADER(ONE, "x-csrf-token", csrf_token),
    HEADER(ONE, "sec-fetch-site", fetch_site),
    HEADER(ONE, "x-forwarded-proto", forwarded_proto),
    HEADER(ONE, "traceparent", traceparent),
    HEADER(LINES, "accept", accept),
    HEADER(LINES, "cookie", cookie),
    HEADER(LINES, "x-forwarded-for", forwarded_for),
#undef HEADER
};

static void *member_of(struct request_headers *headers, size_t i)
{
    return (char *)headers + known[i].offset;
}

/* Only resets the number of lines: clearing them would cost a few thousand bytes. */
static void clear(struct request_headers *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i].kind == ONE)
            *(struct request_header *)member_of(out, i) = (struct request_header){STR_NONE, 0};
        else
            ((struct request_header_lines *)member_of(out, i))->n = 0;
}

static void note(struct request_headers *out, size_t i, struct str value)
{
    if (known[i].kind == ONE) {
        struct request_header *header = member_of(out, i);

        header->value = value;
        header->n++;
    } else {
        struct request_header_lines *lines = member_of(out, i);

        lines->at[lines->n++] = value;
    }
}

void request_headers_read(const h2o_headers_t *headers, struct request_headers *out)
{
    clear(out);
    for (size_t i = 0; i < headers->size && i < REQUEST_HEADERS_MAX; i++) {
        const h2o_header_t *header = &headers->entries[i];
        const struct str name = {header->name->base, header->name->len};
        size_t k = 0;

        while (k < ARRAY_SIZE(known) && !str_equal(name, known[k].name))
            k++;
        if (k < ARRAY_SIZE(known))
            note(out, k, (struct str){header->value.base, header->value.len});
    }
}

struct str request_header_once(const struct request_header *header)
{
    return header->n == 1 ? header->value : STR_NONE;
}

static struct str trim_and_cut(struct str *rest, char sep)
{
    return str_trim_ows(str_cut(rest, sep));
}

/* How specifically a media range matches application/json: 0 = not at all. */
static int closeness(struct str range)
{
    if (str_equal_nocase(range, STR("application/json")))
        return 3;
    if (str_equal_nocase(range, STR("application/*")))
        return 2;
    return str_equal(range, STR("*/*")) ? 1 : 0;
}

/* True: the weight is above 0. A weight is 0 to 1 with up to three decimals (RFC 9110, 12.4.2); a
   malformed one counts as absent. */
static bool is_above_zero(struct str weight)
{
    for (size_t i = 0; i < weight.n; i++)
        if (weight.p[i] != '0' && weight.p[i] != '.')
            return true;
    return weight.n == 0;
}

static bool is_wanted(struct str parameters)
{
    while (parameters.p != NULL) {
        struct str parameter = trim_and_cut(&parameters, ';');

        if (str_starts(parameter, STR("q=")) || str_starts(parameter, STR("Q=")))
            return is_above_zero(str_skip(parameter, 2));
    }
    return true;
}

bool media_accepts_json(const struct str *values, size_t n)
{
    int closest = 0;
    bool wanted = false, any = false;

    for (size_t i = 0; i < n; i++) {
        struct str rest = values[i];

        while (rest.p != NULL) {
            struct str parameters = str_cut(&rest, ',');
            struct str range = trim_and_cut(&parameters, ';');
            int fit = closeness(range);

            any |= range.n > 0;
            if (fit == 0 || fit < closest)
                continue;
            wanted = is_wanted(parameters) || (fit == closest && wanted);
            closest = fit;
        }
    }
    return wanted || !any;
}

/* ASCII is UTF-8 as well. */
static bool is_utf8(struct str charset)
{
    static const struct str names[] = {{"utf-8", 5}, {"utf8", 4}, {"us-ascii", 8}};

    if (charset.n > 2 && charset.p[0] == '"' && charset.p[charset.n - 1] == '"')
        charset = (struct str){charset.p + 1, charset.n - 2};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_equal_nocase(charset, names[i]))
            return true;
    return false;
}

static bool has_other_charset(struct str parameters)
{
    while (parameters.p != NULL) {
        struct str value = trim_and_cut(&parameters, ';');
        const struct str name = str_cut(&value, '=');

        if (value.p != NULL && str_equal_nocase(name, STR("charset")) && !is_utf8(value))
            return true;
    }
    return false;
}

const char *media_body_error(const struct request_headers *headers)
{
    struct str rest = request_header_once(&headers->content_type);
    const struct str type = trim_and_cut(&rest, ';');
    const struct request_header *coding = &headers->content_encoding;

    if (!str_equal_nocase(type, STR("application/json")))
        return "Content-Type must be application/json";
    if (has_other_charset(rest))
        return "The body must be UTF-8; send it as Content-Type: application/json";
    if (coding->n > 1 ||
        (coding->n == 1 && !str_equal_nocase(str_trim_ows(coding->value), STR("identity"))))
        return "The body must not be compressed; send it as it is, without Content-Encoding";
    return NULL;
}
