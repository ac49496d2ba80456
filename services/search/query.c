#include "services/search/query.h"

#include "common/wire/fields.h"
#include "common/wire/text.h"

#define INVALID "parameter_invalid"

#define BODY_MOST 65536 /* no string of it is longer */

/* A body while it is read. */
struct reading {
    struct query *query;
    struct literals literals;
    bool has_contact;
    struct field_int per_page;
    struct str starting_after;
};

static void add_filter(json_t *value, const char *path, struct reading *reading,
                       struct problems *problems)
{
    struct query *query = reading->query;
    struct filter filter;
    bool names_contact;

    filter_read(value, path, &reading->literals, &filter, &names_contact, problems);
    if (!names_contact) {
        query->filters[query->n_filters++] = filter;
    } else if (!reading->has_contact) {
        query->contact = filter;
        reading->has_contact = true;
    } else {
        problems_add(problems, INVALID, fields_path(problems->arena, path, "field"),
                     "there must be exactly one contact filter");
    }
}

/* A group has no field; what it has instead is a list, or at least the operator of one. */
static bool is_group(const json_t *value)
{
    const struct str op = json_member_text(value, "operator");

    return json_object_get(value, "field") == NULL &&
           (json_is_array(json_object_get(value, "value")) || str_equal(op, STR("AND")) ||
            str_equal(op, STR("OR")));
}

static void read_group_operator(json_t *value, const char *path, void *slot,
                                struct problems *problems)
{
    const struct str text = json_text(value);

    (void)slot;
    if (text.p == NULL || text_has_nul(text))
        problems_add(problems, INVALID, path, "must be the string AND");
    else if (!str_equal(text, STR("AND")))
        problems_add(problems, "invalid_operator", path, "%s is not supported here; use AND",
                     str_equal(text, STR("OR")) ? "OR" : "this operator");
}

static void read_group_value(json_t *value, const char *path, void *slot, struct problems *problems)
{
    struct reading *reading = slot;
    const size_t n = json_array_size(value);

    if (!json_is_array(value) || n > QUERY_FILTERS_MOST) {
        problems_add(problems, INVALID, path, "must be an array of at most %d filters",
                     QUERY_FILTERS_MOST);
        reading->has_contact = true; /* as far as anybody knows */
        return;
    }
    for (size_t i = 0; i < n && problems->n < PROBLEMS_MOST; i++) {
        json_t *const inner = json_array_get(value, i);
        const char *const where = arena_printf(problems->arena, "%s[%zu]", path, i);

        if (is_group(inner))
            problems_add(problems, INVALID, where, "must be a filter: groups cannot be nested");
        else
            add_filter(inner, where, reading, problems);
    }
}

static void read_query(json_t *value, const char *path, void *slot, struct problems *problems)
{
    static const struct field members[] = {
        {.name = "operator", .kind = FIELD_CUSTOM, .required = true, .read = read_group_operator},
        {.name = "value", .kind = FIELD_CUSTOM, .required = true, .read = read_group_value},
    };
    struct reading *reading = slot;

    if (is_group(value))
        fields_read(value, path, members, sizeof(members) / sizeof(members[0]), reading, problems);
    else
        add_filter(value, path, reading, problems);
    if (!reading->has_contact && json_is_object(value))
        problems_add(problems, "parameter_not_found", path,
                     "must have a filter on contact.external_id, contact.id or contact_ids");
}

static void read_pagination(json_t *value, const char *path, void *slot, struct problems *problems)
{
    static const struct field members[] = {
        {.name = "per_page",
         .kind = FIELD_INT,
         .least = 1,
         .most = QUERY_PER_PAGE_MOST,
         .offset = offsetof(struct reading, per_page)},
        {.name = "starting_after",
         .kind = FIELD_TEXT,
         .nullable = true,
         .most = BODY_MOST,
         .offset = offsetof(struct reading, starting_after)},
    };

    fields_read(value, path, members, sizeof(members) / sizeof(members[0]), slot, problems);
}

bool query_read(struct str body, struct query *out, struct problems *problems)
{
    static const struct field members[] = {
        {.name = "query", .kind = FIELD_CUSTOM, .required = true, .read = read_query},
        {.name = "pagination", .kind = FIELD_CUSTOM, .read = read_pagination},
    };
    struct reading reading = {.query = out};
    char error[160];
    json_t *root;

    *out = (struct query){.per_page = QUERY_PER_PAGE_DEFAULT};
    if (!json_read(body, &root, error)) {
        problems_add(problems, "invalid_json", NULL, "%s", error);
        return false;
    }
    literals_read(body, root, problems->arena, &reading.literals);
    fields_read(root, "", members, sizeof(members) / sizeof(members[0]), &reading, problems);
    json_free(root);
    if (reading.per_page.given)
        out->per_page = (int)reading.per_page.value;
    out->starting_after = reading.starting_after;
    return problems->n == 0;
}

/* -- what a cursor is bound to --------------------------------------------------------------- */

/* With its length, so that two different lists never give the same bytes. */
static void add_text(struct buf *buf, struct str text)
{
    buf_printf(buf, "%zu:", text.n);
    if (text.n > 0)
        buf_add(buf, text);
}

static void add_form(struct buf *buf, const struct filter *filter)
{
    buf_printf(buf, "%d %d %lld %zu ", (int)filter->field, (int)filter->op,
               (long long)filter->seconds, filter->n_values);
    add_text(buf, filter->key);
    for (size_t i = 0; i < filter->n_values; i++)
        add_text(buf, filter->values[i]);
}

struct str query_binding(const struct query *query, const struct uuid *organization_id,
                         struct arena *arena)
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
