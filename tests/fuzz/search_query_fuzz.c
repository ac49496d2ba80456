/* The body of a search: any input becomes either a query within its limits, which cursors can be
   bound to and which can be planned, or errors that can be written. */
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/json/fields.h"
#include "services/search/search_statement.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_filter(const struct filter *filter)
{
    must(filter->n_values <= FILTER_VALUES_MAX);
    for (size_t i = 0; i < filter->n_values; i++)
        must(filter->values[i].p != NULL && text_is_utf8(filter->values[i]));
}

/* PostgreSQL ends a text parameter at its first zero byte. */
static void check_statement(const struct search_query *query, struct arena *arena)
{
    const struct uuid organization = {.b = {1}};
    struct search_statement statement;

    search_statement_make(query, &organization, NULL, arena, &statement);
    for (size_t i = 0; i < STATEMENT_PARAMS; i++)
        must(text_is_utf8(statement.params[i]) && !text_has_nul(statement.params[i]));
    must(search_query_binding(query, &organization, arena).n > 0);
}

static void check_errors(const struct errors *errors, struct arena *arena)
{
    struct buf text;
    char error[160];
    json_t *list;

    must(errors->n > 0 && errors->n <= ERRORS_MAX);
    must(outcome_http_status(fields_outcome(errors)) == 400);
    buf_init(&text, arena, 256);
    errors_write(errors, &text);
    must(json_read(buf_str(&text), &list, error));
    json_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct arena arena = {.cap = 1 << 28};
    struct errors errors;
    struct search_query query;

    errors_init(&errors, &arena);
    if (search_query_read((struct str){(const char *)data, n}, &query, &errors)) {
        must(errors.n == 0 && query.n_filters < SEARCH_QUERY_FILTERS_MAX);
        must(query.per_page >= 1 && query.per_page <= SEARCH_QUERY_PER_PAGE_MAX);
        must(filter_names_contact(query.contact.field) && query.contact.n_values == 1);
        for (size_t i = 0; i < query.n_filters; i++)
            check_filter(&query.filters[i]);
        check_statement(&query, &arena);
    } else {
        check_errors(&errors, &arena);
    }
    arena_clear(&arena);
    return 0;
}
