#include "services/search/search_query.h"

#include <endian.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "common/base/text.h"
#include "common/json/fields.h"

#define INVALID "parameter_invalid"

#define BODY_MAX 65536 /* no string in it can be longer */

/* A body being read. */
struct query_reading {
    struct search_query *query;
    struct number_texts numbers;
    bool has_contact;
    struct field_int per_page;
    struct str starting_after;
};

static void add_filter(json_t *value, const char *path, struct query_reading *reading,
                       struct errors *errors)
{
    struct search_query *query = reading->query;
    struct filter filter;
    bool names_contact;

    filter_read(value, path, &reading->numbers, &filter, &names_contact, errors);
    if (!names_contact) {
        query->filters[query->n_filters++] = filter;
    } else if (!reading->has_contact) {
        query->contact = filter;
        reading->has_contact = true;
    } else {
        errors_add(errors, INVALID, fields_path(errors->arena, path, "field"),
                   "there must be exactly one contact filter");
    }
}

/* A group has no field, but a list of filters, or at least the operator of a group. */
static bool is_group(const json_t *value)
{
    const struct str op = json_member_text(value, "operator");

    return json_object_get(value, "field") == NULL &&
           (json_is_array(json_object_get(value, "value")) || str_equal(op, STR("AND")) ||
            str_equal(op, STR("OR")));
}

static void read_group_operator(json_t *value, const char *path, void *slot, struct errors *errors)
{
    const struct str text = json_text(value);

    (void)slot;
    if (text.p == NULL || text_has_nul(text))
        errors_add(errors, INVALID, path, "must be the string AND");
    else if (!str_equal(text, STR("AND")))
        errors_add(errors, "invalid_operator", path, "%s is not supported here; use AND",
                   str_equal(text, STR("OR")) ? "OR" : "this operator");
}

static void read_group_value(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct query_reading *reading = slot;
    const size_t n = json_array_size(value);

    if (!json_is_array(value) || n > SEARCH_QUERY_FILTERS_MAX) {
        errors_add(errors, INVALID, path, "must be an array of at most %d filters",
                   SEARCH_QUERY_FILTERS_MAX);
        reading->has_contact = true; /* the list is not read, so do not report it as missing */
        return;
    }
    for (size_t i = 0; i < n && errors->n < ERRORS_MAX; i++) {
        json_t *const inner = json_array_get(value, i);
        const char *const where = arena_printf(errors->arena, "%s[%zu]", path, i);

        if (is_group(inner))
            errors_add(errors, INVALID, where, "must be a filter: groups cannot be nested");
        else
            add_filter(inner, where, reading, errors);
    }
}

static void read_query(json_t *value, const char *path, void *slot, struct errors *errors)
{
    static const struct field members[] = {
        {.name = "operator", .kind = FIELD_CUSTOM, .required = true, .read = read_group_operator},
        {.name = "value", .kind = FIELD_CUSTOM, .required = true, .read = read_group_value},
        FIELDS_END,
    };
    struct query_reading *reading = slot;

    if (is_group(value))
        fields_read(value, path, members, reading, errors);
    else
        add_filter(value, path, reading, errors);
    if (!reading->has_contact && json_is_object(value))
        errors_add(errors, "parameter_not_found", path,
                   "must have a filter on contact.external_id, contact.id or contact_ids");
}

static void read_pagination(json_t *value, const char *path, void *slot, struct errors *errors)
{
    static const struct field members[] = {
        {.name = "per_page",
         .kind = FIELD_INT,
         .min = 1,
         .max = SEARCH_QUERY_PER_PAGE_MAX,
         .offset = offsetof(struct query_reading, per_page)},
        {.name = "starting_after",
         .kind = FIELD_TEXT,
         .nullable = true,
         .max = BODY_MAX,
         .offset = offsetof(struct query_reading, starting_after)},
        FIELDS_END,
    };

    fields_read(value, path, members, slot, errors);
}

bool search_query_read(struct str body, struct search_query *out, struct errors *errors)
{
    static const struct field members[] = {
        {.name = "query", .kind = FIELD_CUSTOM, .required = true, .read = read_query},
        {.name = "pagination", .kind = FIELD_CUSTOM, .read = read_pagination},
        FIELDS_END,
    };
    struct query_reading reading = {.query = out};
    char error[160];
    json_t *root;

    *out = (struct search_query){.per_page = SEARCH_QUERY_PER_PAGE_DEFAULT};
    if (!json_read(body, &root, error)) {
        errors_add(errors, "invalid_json", NULL, "%s", error);
        return false;
    }
    if (number_texts_read(body, root, errors->arena, &reading.numbers))
        fields_read(root, "", members, &reading, errors);
    else
        errors_add(errors, "invalid_json", NULL, "a number in the body cannot be read");
    json_free(root);
    if (reading.per_page.given)
        out->per_page = (int)reading.per_page.value;
    out->starting_after = reading.starting_after;
    return errors->n == 0;
}

/* -- what a cursor is bound to --------------------------------------------------------------- */

/* Adds the length as well, so that different lists never yield the same bytes. */
static void add_text(struct buf *buf, struct str text)
{
    buf_printf(buf, "%zu:", text.n);
    if (text.n > 0)
        buf_add(buf, text);
}

static void add_form(struct buf *buf, const struct filter *filter)
{
    buf_printf(buf, "%d %d %" PRId64 " %zu ", (int)filter->field, (int)filter->op, filter->seconds,
               filter->n_values);
    add_text(buf, filter->key);
    for (size_t i = 0; i < filter->n_values; i++)
        add_text(buf, filter->values[i]);
}

struct str search_query_binding(const struct search_query *query,
                                const struct uuid *organization_id, struct arena *arena)
{
    char organization[UUID_TEXT + 1];
    struct buf buf;

    uuid_format(organization_id, organization);
    buf_init(&buf, arena, 512);
    buf_printf(&buf, "conversation.search %s %d ", organization, query->per_page);
    add_form(&buf, &query->contact);
    for (size_t i = 0; i < query->n_filters; i++)
        add_form(&buf, &query->filters[i]);
    return buf_str(&buf);
}

/* -- page tokens ------------------------------------------------------------------------------- */

/* The layout inside a cursor; numbers are big-endian. */
struct page_token_bytes {
    uint64_t created_us;
    struct uuid id;
    uint32_t page;
    uint64_t total; /* omitted if there is none */
} __attribute__((packed));

enum { WITHOUT_TOTAL = offsetof(struct page_token_bytes, total) };

_Static_assert(sizeof(struct page_token_bytes) <= CURSOR_POSITION_MAX,
               "a page token must fit in a cursor");

void page_token_write(const struct page_token *token, const struct cursor_keys *keys,
                      struct str binding, int64_t now_us, char text[CURSOR_TEXT_MAX + 1])
{
    const struct page_token_bytes position = {.created_us = htobe64((uint64_t)token->created_us),
                                              .id = token->id,
                                              .page = htobe32(token->page),
                                              .total = htobe64(token->total)};
    const size_t n = token->has_total ? sizeof(position) : WITHOUT_TOTAL;

    cursor_make(keys, binding, (struct str){(const char *)&position, n}, now_us, text);
}

bool page_token_read(struct str text, const struct cursor_keys *keys, struct str binding,
                     int64_t now_us, struct page_token *out)
{
    uint8_t bytes[CURSOR_POSITION_MAX];
    struct page_token_bytes position = {0};
    size_t n;

    if (!cursor_read(keys, binding, text, now_us, bytes, &n) ||
        (n != sizeof(position) && n != WITHOUT_TOTAL))
        return false;
    memcpy(&position, bytes, n);
    *out = (struct page_token){.created_us = (int64_t)be64toh(position.created_us),
                               .id = position.id,
                               .page = be32toh(position.page),
                               .has_total = n == sizeof(position),
                               .total = be64toh(position.total)};
    return true;
}
