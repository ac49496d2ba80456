/* The body of a search: whatever comes, it becomes a query within its limits, which can be bound to
   and planned, or problems that can be written. */
#include "common/base/log.h"
#include "common/wire/fields.h"
#include "common/wire/text.h"
#include "services/search/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_filter(const struct filter *filter)
{
    must(filter->n_values <= FILTER_VALUES_MOST);
    for (size_t i = 0; i < filter->n_values; i++)
        must(filter->values[i].p != NULL && text_is_utf8(filter->values[i]));
}

/* A parameter goes to the database as text that ends at its first NUL. */
static void check_plan(const struct query *query, struct arena *arena)
{
    const struct uuid organization = {.b = {1}};
    struct plan plan;

    plan_make(query, &organization, NULL, arena, &plan);
    must(plan.n <= PLAN_PARAMS);
    for (size_t i = 0; i < plan.n; i++)
        must(text_is_utf8(plan.params[i]) && !text_has_nul(plan.params[i]));
    must(query_binding(query, &organization, arena).n > 0);
}

static void check_problems(const struct problems *problems, struct arena *arena)
{
    struct buf text;
    char error[160];
    json_t *list;

    must(problems->n > 0 && problems->n <= PROBLEMS_MOST);
    must(outcome_http_status(fields_outcome(problems)) == 400);
    buf_init(&text, arena, 256);
    problems_write(problems, &text);
    must(json_read(buf_str(&text), &list, error));
    json_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct arena arena = {.cap = 1 << 28};
    struct problems problems;
    struct query query;

    problems_init(&problems, &arena);
    if (query_read((struct str){(const char *)data, n}, &query, &problems)) {
        must(problems.n == 0 && query.n_filters < QUERY_FILTERS_MOST);
        must(query.per_page >= 1 && query.per_page <= QUERY_PER_PAGE_MOST);
        must(filter_names_contact(query.contact.field) && query.contact.n_values == 1);
        for (size_t i = 0; i < query.n_filters; i++)
            check_filter(&query.filters[i]);
        check_plan(&query, &arena);
    } else {
        check_problems(&problems, &arena);
    }
    arena_clear(&arena);
    return 0;
}
