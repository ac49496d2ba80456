#include "services/convctl/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/wire/json.h"

/* As many as a double holds of what was written in decimals. */
#define DIGITS           15
#define STEP_MEMORY_MOST (64 * 1024 * 1024)

struct walk {
    struct talk *talk;
    struct talk_request request;
    enum call_kind kind;
    json_t *body;  /* of the next step; NULL = none */
    json_t *list;  /* what pages have brought so far */
    char last[64]; /* id of the last line that was printed; "" = none */
    unsigned long long lines;
    bool shows_progress, is_done;
};

static enum status failed(struct failure *failure, const char *code, const char *message)
{
    *failure = (struct failure){code, message};
    return ST_REFUSED;
}

static bool is_list(const struct walk *walk)
{
    return walk->kind == CALL_READS_PAGES || walk->kind == CALL_READS_MEMBERS ||
           walk->kind == CALL_READS_PART;
}

/* -- what is shown ---------------------------------------------------------------------------- */

static void show_progress(const struct walk *walk, const json_t *value)
{
    if (!walk->shows_progress || is_list(walk))
        return;
    if (walk->kind == CALL_READS_LINES)
        fprintf(stderr, "\r%llu entries", walk->lines);
    else
        fprintf(stderr, "\r%" JSON_INTEGER_FORMAT " blocks, %" JSON_INTEGER_FORMAT " entries",
                json_integer_value(json_object_get(value, "blocks")),
                json_integer_value(json_object_get(value, "entries")));
    if (walk->is_done)
        fputc('\n', stderr);
    fflush(stderr);
}

static bool print_lines(struct walk *walk, const json_t *value)
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
        walk->lines++;
    }
    if (n > 0)
        snprintf(walk->last, sizeof(walk->last), "%.*s",
                 STR_ARG(json_member_text(json_array_get(entries, n - 1), "id")));
    return fflush(stdout) == 0;
}

static bool print_list(const struct walk *walk)
{
    char *text = json_dumps(walk->list, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    bool is_written = text != NULL && puts(text) >= 0 && fflush(stdout) == 0;

    free(text);
    return is_written;
}

static bool print(struct walk *walk, struct str answer, const json_t *value)
{
    if (walk->kind == CALL_READS_LINES)
        return print_lines(walk, value);
    if (!walk->is_done)
        return true;
    if (is_list(walk))
        return print_list(walk);
    return printf("%.*s\n", STR_ARG(answer)) >= 0 && fflush(stdout) == 0;
}

/* -- steps ------------------------------------------------------------------------------------ */

/* How much of the list is left to be asked for; the service knows how much is usual. */
static json_int_t left_of_limit(const struct walk *walk, size_t n)
{
    const json_t *limit = json_object_get(walk->body, "limit");

    return limit != NULL ? json_integer_value(limit) - (json_int_t)n : 0;
}

/* Ends with the id that it was to come before: a service of another version, which knows no pages
   of this list, answers the same each time. */
static bool is_the_same_again(const struct walk *walk, const json_t *page, size_t n)
{
    const json_t *before = json_object_get(walk->body, "before");

    return before != NULL && json_equal(before, json_object_get(json_array_get(page, n - 1), "id"));
}

static json_t *go_on_in_list(struct walk *walk, const json_t *value)
{
    const json_t *page =
        walk->kind == CALL_READS_MEMBERS ? json_object_get(value, "members") : value;
    const size_t n = json_array_size(page);
    const json_int_t left = left_of_limit(walk, n);
    json_t *next;

    if (n == 0 || is_the_same_again(walk, page, n) ||
        json_array_extend(walk->list, (json_t *)page) != 0 ||
        (walk->kind == CALL_READS_PART && left <= 0))
        return NULL;
    next = walk->body != NULL ? json_copy(walk->body) : json_object();
    json_object_set(next, "before", json_object_get(json_array_get(page, n - 1), "id"));
    if (walk->kind == CALL_READS_PART)
        json_object_set_new(next, "limit", json_integer(left));
    return next;
}

/* The body of the step that goes on behind this answer; NULL: it was the last. */
static json_t *go_on(struct walk *walk, const json_t *value)
{
    return is_list(walk) ? go_on_in_list(walk, value)
                         : json_incref(json_object_get(value, "position"));
}

static enum status step(struct walk *walk, struct arena *arena, struct failure *failure)
{
    char *body = walk->body != NULL ? json_dumps(walk->body, JSON_COMPACT) : NULL, error[160];
    struct str answer;
    json_t *value = NULL, *next;
    enum status st;

    walk->request.body = body != NULL ? str_of(body) : STR("");
    st = talk_ask(walk->talk, &walk->request, arena, &answer, failure);
    free(body);
    if (st != ST_OK)
        return st;
    if (!json_read(answer, &value, error))
        return failed(failure, "server_error", "the service's answer is not JSON");
    next = go_on(walk, value);
    json_decref(walk->body);
    walk->body = next;
    walk->is_done = walk->body == NULL;
    if (!print(walk, answer, value))
        st = failed(failure, "output", "cannot write the answer");
    show_progress(walk, value);
    json_free(value);
    return st;
}

enum status walk(const struct talk_request *request, json_t *body, enum call_kind kind,
                 struct arena *arena, struct failure *failure)
{
    struct walk walk = {
        .request = *request,
        .kind = kind,
        .body = json_incref(body),
        .list = json_array(),
        .shows_progress = isatty(STDERR_FILENO) == 1,
    };
    struct arena step_arena;
    enum status st;

    walk.talk = talk_open(request, failure);
    if (walk.talk == NULL) {
        json_decref(walk.body);
        json_decref(walk.list);
        return ST_REFUSED;
    }
    arena_init(&step_arena, STEP_MEMORY_MOST);
    do {
        arena_clear(&step_arena);
        st = step(&walk, &step_arena, failure);
    } while (st == ST_OK && !walk.is_done);
    if (st != ST_OK)
        failure->message = walk.last[0] != '\0'
                               ? arena_printf(arena, "%s; incomplete, go on with --from %s",
                                              failure->message, walk.last)
                               : arena_printf(arena, "%s", failure->message);
    failure->code = st != ST_OK ? arena_printf(arena, "%s", failure->code) : NULL;
    arena_release(&step_arena);
    json_decref(walk.body);
    json_decref(walk.list);
    talk_close(walk.talk);
    return st;
}
