#include "services/convctl/paginate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/json/json.h"
#include "services/convctl/output.h"

/* The decimal digits that a double preserves. */
#define DIGITS          15
#define STEP_MEMORY_MAX (64 * 1024 * 1024)

struct pagination {
    struct bus_client *client;
    struct bus_client_request request;
    enum convctl_kind kind;
    json_t *body;     /* of the next step; NULL = none */
    json_t *list;     /* items of all pages so far */
    json_t *found;    /* of a result printed at the end: the latest reply; NULL = none */
    const char *from; /* where the first request began; NULL = at the beginning */
    char last[64];    /* where to continue after an interruption; "" = at the beginning */
    uint64_t lines;
    bool shows_progress, is_done;
};

static enum status failed(struct convctl_failure *failure, const char *code, const char *message)
{
    *failure = (struct convctl_failure){code, message};
    return ST_REFUSED;
}

static bool is_list(const struct pagination *pages)
{
    return pages->kind == CONVCTL_READS_PAGES || pages->kind == CONVCTL_READS_MEMBERS ||
           pages->kind == CONVCTL_READS_PART;
}

/* -- output ----------------------------------------------------------------------------------- */

static void show_progress(const struct pagination *pages, const json_t *value)
{
    if (!pages->shows_progress || is_list(pages))
        return;
    if (pages->kind == CONVCTL_READS_LINES)
        fprintf(stderr, "\r%" PRIu64 " entries", pages->lines);
    else
        fprintf(stderr, "\r%" JSON_INTEGER_FORMAT " blocks, %" JSON_INTEGER_FORMAT " entries",
                json_integer_value(json_object_get(value, "blocks")),
                json_integer_value(json_object_get(value, "entries")));
    if (pages->is_done)
        fputc('\n', stderr);
    fflush(stderr);
}

/* The place to continue from: an entry's id, and its time if the two differ. */
static void keep_place(struct pagination *pages)
{
    const struct str from = json_member_text(pages->body, "from");
    const json_t *us = json_object_get(pages->body, "from_us");

    if (from.n == 0)
        return;
    snprintf(pages->last, sizeof(pages->last), "%.*s", STR_ARG(from));
    if (json_is_integer(us))
        snprintf(pages->last, sizeof(pages->last), "%.*s@%" JSON_INTEGER_FORMAT, STR_ARG(from),
                 json_integer_value(us));
}

static bool print_lines(struct pagination *pages, const json_t *value)
{
    const json_t *entries = json_object_get(value, "entries");
    size_t n = json_array_size(entries);

    for (size_t i = 0; i < n; i++) {
        const json_t *entry = json_array_get(entries, i);
        char *line = json_dumps(entry, JSON_COMPACT);
        bool is_written = line != NULL && printf("%s\n", line) >= 0;

        free(line);
        if (!is_written)
            return false;
        pages->lines++;
    }
    return fflush(stdout) == 0;
}

static bool print_object(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    bool is_written = text != NULL && output_print(str_of(text));

    free(text);
    return is_written;
}

/* Prints what was found before the interruption. "ok" becomes null, as it says nothing about the
   rest. */
static void print_found(struct pagination *pages)
{
    if (pages->found == NULL)
        return;
    if (json_is_true(json_object_get(pages->found, "ok")))
        json_object_set_new(pages->found, "ok", json_null());
    json_object_set_new(pages->found, "complete", json_false());
    (void)print_object(pages->found);
}

static bool print(struct pagination *pages, json_t *value)
{
    if (pages->kind == CONVCTL_READS_LINES)
        return print_lines(pages, value);
    if (pages->kind == CONVCTL_READS_LAST) {
        json_object_del(value, "position");
        if (pages->from != NULL)
            json_object_set_new(value, "from", json_string(pages->from));
        json_decref(pages->found);
        pages->found = json_incref(value);
    }
    if (!pages->is_done)
        return true;
    return is_list(pages) ? print_object(pages->list) : print_object(value);
}

/* -- steps ------------------------------------------------------------------------------------ */

/* How much of the requested number is left; the service has its own default page size. */
static json_int_t left_of_limit(const struct pagination *pages, size_t n)
{
    const json_t *limit = json_object_get(pages->body, "limit");

    return limit != NULL ? json_integer_value(limit) - (json_int_t)n : 0;
}

static json_t *go_on_in_list(struct pagination *pages, const json_t *value)
{
    const json_t *page =
        pages->kind == CONVCTL_READS_MEMBERS ? json_object_get(value, "members") : value;
    const size_t n = json_array_size(page);
    const json_int_t left = left_of_limit(pages, n);
    json_t *next;

    if (n == 0 || json_array_extend(pages->list, (json_t *)page) != 0 ||
        (pages->kind == CONVCTL_READS_PART && left <= 0))
        return NULL;
    next = pages->body != NULL ? json_copy(pages->body) : json_object();
    json_object_set(next, "before", json_object_get(json_array_get(page, n - 1), "id"));
    if (pages->kind == CONVCTL_READS_PART)
        json_object_set_new(next, "limit", json_integer(left));
    return next;
}

/* The body of the next step; NULL: this reply was the last. */
static json_t *go_on(struct pagination *pages, const json_t *value)
{
    return is_list(pages) ? go_on_in_list(pages, value)
                          : json_incref(json_object_get(value, "position"));
}

static enum status step(struct pagination *pages, struct arena *arena,
                        struct convctl_failure *failure)
{
    char *body = pages->body != NULL ? json_dumps(pages->body, JSON_COMPACT) : NULL, error[160];
    struct str answer;
    json_t *value = NULL, *next;
    enum status st;

    pages->request.body = body != NULL ? str_of(body) : STR("");
    st = bus_client_send(pages->client, &pages->request, arena, &answer, failure);
    free(body);
    if (st != ST_OK)
        return st;
    if (!json_read(answer, &value, error))
        return failed(failure, "server_error", "the service's reply is not JSON");
    next = go_on(pages, value);
    json_decref(pages->body);
    pages->body = next;
    pages->is_done = pages->body == NULL;
    if (!print(pages, value))
        st = failed(failure, "output", "cannot write the output");
    else if (!is_list(pages))
        keep_place(pages);
    show_progress(pages, value);
    json_free(value);
    return st;
}

enum status paginate(const struct bus_client_request *request, json_t *body, enum convctl_kind kind,
                     struct arena *arena, struct convctl_failure *failure)
{
    struct pagination pages = {
        .request = *request,
        .kind = kind,
        .body = json_incref(body),
        .from = json_string_value(json_object_get(body, "from")),
        .list = json_array(),
        .shows_progress = isatty(STDERR_FILENO) == 1,
    };
    struct arena step_arena;
    enum status st;

    pages.client = bus_client_open(request, arena, failure);
    if (pages.client == NULL) {
        json_decref(pages.body);
        json_decref(pages.list);
        return ST_REFUSED;
    }
    arena_init(&step_arena, STEP_MEMORY_MAX);
    do {
        arena_clear(&step_arena);
        st = step(&pages, &step_arena, failure);
    } while (st == ST_OK && !pages.is_done);
    if (st != ST_OK)
        failure->message = pages.last[0] != '\0'
                               ? arena_printf(arena, "%s; incomplete, continue with --from %s",
                                              failure->message, pages.last)
                               : arena_printf(arena, "%s", failure->message);
    failure->code = st != ST_OK ? arena_printf(arena, "%s", failure->code) : NULL;
    if (st != ST_OK)
        print_found(&pages);
    arena_release(&step_arena);
    json_decref(pages.body);
    json_decref(pages.found);
    json_decref(pages.list);
    bus_client_close(pages.client);
    return st;
}
