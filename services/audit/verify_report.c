#include "services/audit/verify_report.h"

#include "common/json/json.h"
#include "services/audit/chain.h"

/* -- findings --------------------------------------------------------------------------------- */

const char *verify_kind_name(enum verify_kind kind)
{
    static const char *const names[] = {
        [VERIFY_CHANGED] = "changed",         [VERIFY_REMOVED] = "removed",
        [VERIFY_INSERTED] = "inserted",       [VERIFY_REWRITTEN] = "rewritten",
        [VERIFY_IMPLAUSIBLE] = "implausible", [VERIFY_MISDATED] = "misdated",
        [VERIFY_NOT_SEALED] = "not_sealed",   [VERIFY_NOT_COMPARED] = "not_compared",
        [VERIFY_FORGED_NOTE] = "forged_note",
    };

    return names[kind];
}

bool verify_is_fine(const struct verify_report *report)
{
    return report->of[report->first].count == 0;
}

void verify_find(struct verify_report *report, enum verify_kind kind, const struct uuid *request_id,
                 int64_t block, const char *detail)
{
    struct verify_finding *finding = &report->of[kind];

    if (verify_is_fine(report))
        report->first = kind;
    if (finding->count++ > 0)
        return;
    finding->block = block;
    finding->detail = str_of(detail);
    if (request_id != NULL)
        finding->request_id = *request_id;
}

/* -- reading ---------------------------------------------------------------------------------- */

#define COUNT_MAX BLOCK_NUMBER_MAX

enum { DETAIL_MAX = 200 };

struct verify_found {
    struct field_int count, block, age;
    struct str request_id, detail;
};

static const struct field found_fields[] = {
    {.name = "count",
     .kind = FIELD_INT,
     .required = true,
     .min = 1,
     .max = COUNT_MAX,
     .offset = offsetof(struct verify_found, count)},
    {.name = "request_id",
     .kind = FIELD_UUID,
     .nullable = true,
     .offset = offsetof(struct verify_found, request_id)},
    {.name = "block",
     .kind = FIELD_INT,
     .nullable = true,
     .min = -COUNT_MAX,
     .max = COUNT_MAX,
     .offset = offsetof(struct verify_found, block)},
    {.name = "detail",
     .kind = FIELD_TEXT,
     .required = true,
     .max = DETAIL_MAX,
     .offset = offsetof(struct verify_found, detail)},
    {.name = "age",
     .kind = FIELD_INT,
     .max = COUNT_MAX,
     .offset = offsetof(struct verify_found, age)},
    FIELDS_END,
};

void verify_report_read(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct verify_report *report = slot;

    for (int kind = 0; kind < VERIFY_KINDS; kind++) {
        const char *name = verify_kind_name((enum verify_kind)kind);
        json_t *of = json_object_get(value, name);
        struct verify_found found = {.count = {0}};

        if (of == NULL)
            continue;
        fields_read(of, path, found_fields, &found, errors);
        report->of[kind] = (struct verify_finding){.count = found.count.value,
                                                   .block = found.block.value,
                                                   .detail = found.detail,
                                                   .age_s = found.age.value};
        (void)uuid_parse(found.request_id, &report->of[kind].request_id);
        if (str_equal(json_member_text(value, "first"), str_of(name)))
            report->first = (enum verify_kind)kind;
    }
}

/* -- writing ---------------------------------------------------------------------------------- */

/* The members of a finding that it has in both of its forms. */
static void add_finding(struct buf *out, const struct verify_finding *finding)
{
    char id[UUID_TEXT + 1];

    uuid_format(&finding->request_id, id);
    json_add_text(out, "request_id", uuid_is_nil(&finding->request_id) ? STR_NONE : str_of(id));
    json_add_key(out, "block");
    if (finding->block != 0)
        buf_int(out, finding->block);
    else
        buf_add(out, STR("null"));
    json_add_text(out, "detail", finding->detail);
    if (finding->age_s > 0)
        json_add_integer(out, "age", finding->age_s);
}

void verify_report_write(struct buf *out, const struct verify_report *report)
{
    buf_char(out, '{');
    for (int kind = 0; kind < VERIFY_KINDS; kind++) {
        const struct verify_finding *finding = &report->of[kind];

        if (finding->count == 0)
            continue;
        json_add_key(out, verify_kind_name((enum verify_kind)kind));
        buf_char(out, '{');
        json_add_integer(out, "count", finding->count);
        add_finding(out, finding);
        buf_char(out, '}');
    }
}

void verify_report_write_first(struct buf *out, const struct verify_report *report)
{
    json_add_key(out, "first");
    if (verify_is_fine(report)) {
        buf_add(out, STR("null"));
        return;
    }
    buf_char(out, '{');
    json_add_text(out, "kind", str_of(verify_kind_name(report->first)));
    add_finding(out, &report->of[report->first]);
    buf_char(out, '}');
}
