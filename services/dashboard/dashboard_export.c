#include "services/dashboard/dashboard_export.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "proto/subject.h"
#include "services/dashboard/backend.h"
#include "services/dashboard/dashboard_metrics.h"
#include "services/dashboard/dashboard_request.h"
#include "services/dashboard/dashboard_response.h"
#include "services/dashboard/dashboard_session.h"

/* -- rows for spreadsheets ------------------------------------------------------------------- */

static bool is_formula(struct str text)
{
    size_t i = 0;

    while (i < text.n && text.p[i] == ' ')
        i++;
    return i < text.n && text.p[i] != '\0' && strchr("=+-@\t\r\n", text.p[i]) != NULL;
}

void csv_add_cell(struct buf *out, struct str text)
{
    if (out->n > 0 && out->p[out->n - 1] != '\n')
        buf_char(out, ',');
    buf_char(out, '"');
    if (is_formula(text))
        buf_char(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"')
            buf_char(out, '"');
        buf_char(out, text.p[i]);
    }
    buf_char(out, '"');
}

void csv_end_row(struct buf *out)
{
    buf_add(out, STR("\r\n"));
}

/* -- exports --------------------------------------------------------------------------------- */

#define EXPORTS_OF_ORGANIZATION 2 /* so that none takes all the places */
/* sent at once, within the time limit of a response */
#define SLICE_MAX  (64 * 1024)
#define MEMORY_MAX (4 * EXPORT_TEXT_MAX) /* a growing text leaves copies in the arena */

struct dashboard_export {
    h2o_generator_t generator; /* must be the first member: h2o passes it to the callbacks */
    struct dashboard_export **place;
    struct dashboard_request *request;
    json_t *body; /* of the next step; NULL = none */
    struct arena arena;
    struct buf text; /* of this step */
    size_t sent;
    bool has_begun;
};

/* -- the parts of an export ------------------------------------------------------------------ */

bool export_part_is_sound(const json_t *part)
{
    const json_t *entries = json_object_get(part, "entries"),
                 *position = json_object_get(part, "position");

    if (!json_is_array(entries) || (position != NULL && !json_is_object(position)))
        return false;
    for (size_t i = 0; i < json_array_size(entries); i++)
        if (!json_is_object(json_array_get(entries, i)))
            return false;
    return true;
}

/* A cell takes at most twice the bytes of its text, plus a few. */
static bool has_room(const struct buf *out, struct str text)
{
    enum { AROUND = 64 };

    return out->n <= EXPORT_TEXT_MAX - AROUND && text.n <= (EXPORT_TEXT_MAX - AROUND - out->n) / 2;
}

static const char *const columns[] = {
    "created_at",    "id",         "operation",       "http_status", "outcome",
    "denial_reason", "api_key_id", "conversation_id", "contact_id"};
#define N_COLUMNS ARRAY_SIZE(columns)

/* The first column is a time, which entries have in seconds. */
static bool add_cell(struct buf *out, size_t column, const json_t *value)
{
    char text[32] = "";

    if (!has_room(out, json_text(value)))
        return false;
    if (!json_is_integer(value)) {
        csv_add_cell(out, json_text(value));
        return true;
    }
    if (column == 0) {
        time_t at = (time_t)json_integer_value(value);
        struct tm tm = {0};

        (void)gmtime_r(&at, &tm);
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    } else {
        snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    }
    csv_add_cell(out, str_of(text));
    return true;
}

static bool add_row(struct buf *out, const json_t *entry)
{
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (!add_cell(out, i, json_object_get(entry, columns[i])))
            return false;
    csv_end_row(out);
    return true;
}

static void add_titles(struct buf *out)
{
    for (size_t i = 0; i < N_COLUMNS; i++)
        csv_add_cell(out, str_of(columns[i]));
    csv_end_row(out);
}

static bool add_line(struct buf *out, const json_t *entry)
{
    char *line = json_dumps(entry, JSON_COMPACT);
    bool has_added;

    must(line != NULL);
    has_added = has_room(out, str_of(line));
    if (has_added) {
        buf_add(out, str_of(line));
        buf_char(out, '\n');
    }
    free(line);
    return has_added;
}

static bool add_each(struct buf *out, const json_t *entries,
                     bool (*add)(struct buf *out, const json_t *entry))
{
    for (size_t i = 0; i < json_array_size(entries); i++)
        if (!add(out, json_array_get(entries, i)))
            return false;
    return true;
}

bool export_add_rows(struct buf *out, const json_t *entries)
{
    return add_each(out, entries, add_row);
}

bool export_add_lines(struct buf *out, const json_t *entries)
{
    return add_each(out, entries, add_line);
}

static bool is_csv(const struct dashboard_export *export)
{
    return export->request->match.action->kind == ACTION_EXPORT_CSV;
}

static bool write_part(struct dashboard_export *export, const json_t *entries)
{
    arena_clear(&export->arena);
    buf_init(&export->text, &export->arena, SLICE_MAX);
    export->sent = 0;
    if (!export->has_begun && is_csv(export))
        add_titles(&export->text);
    return is_csv(export) ? export_add_rows(&export->text, entries)
                          : export_add_lines(&export->text, entries);
}

/* Writes audit's reply as text, and keeps its position as the body of the next step. */
static bool read_part(struct dashboard_export *export, struct str body)
{
    json_t *part;
    bool is_sound;

    if (!json_read(body, &part, NULL))
        return false;
    is_sound = export_part_is_sound(part) && write_part(export, json_object_get(part, "entries"));
    json_free(export->body);
    export->body = is_sound ? json_incref(json_object_get(part, "position")) : NULL;
    json_free(part);
    return is_sound;
}

/* -- the stream ------------------------------------------------------------------------------ */

static void ask_step(struct dashboard_export *export);

static void send_slice(struct dashboard_export *export)
{
    struct str rest = str_skip(buf_str(&export->text), export->sent);
    h2o_iovec_t slice = h2o_iovec_init(rest.p, rest.n < SLICE_MAX ? rest.n : SLICE_MAX);
    bool is_last = slice.len == rest.n && export->body == NULL;

    export->sent += slice.len;
    edge_request_sending(&export->request->http);
    h2o_send(export->request->http.req, &slice, 1,
             is_last ? H2O_SEND_STATE_FINAL : H2O_SEND_STATE_IN_PROGRESS);
}

/* h2o calls this when the browser has taken what was sent. */
static void on_taken(h2o_generator_t *generator, h2o_req_t *req)
{
    struct dashboard_export *export =
        H2O_STRUCT_FROM_MEMBER(struct dashboard_export, generator, generator);

    if (export->sent < export->text.n) {
        send_slice(export);
        return;
    }
    edge_request_sending(&export->request->http);
    edge_request_restart_limit(&export->request->http);
    ask_step(export);
}

static void begin_stream(struct dashboard_export *export)
{
    export->has_begun = true;
    metric_add(dashboard_metrics.exports, 1);
    if (is_csv(export))
        dashboard_response_stream(&export->request->http, "text/csv; charset=utf-8", "audit.csv",
                                  &export->generator);
    else
        dashboard_response_stream(&export->request->http, "application/x-ndjson", "audit.ndjson",
                                  &export->generator);
}

/* Breaks off a file that has begun, which browsers show as a failed download. */
static void fail(struct dashboard_export *export, enum outcome outcome, struct str body)
{
    struct dashboard_request *request = export->request;

    if (!export->has_begun) {
        backend_pass_on(request, outcome, body);
        return;
    }
    metric_add(dashboard_metrics.exports_failed, 1);
    LOG(LOG_WARNING, "export interrupted", log_str("request_id", request->http.id),
        log_trace(str_of(request->http.traceparent)), log_str("outcome", outcome_name(outcome)));
    request->http.req->http1_is_persistent = 0;
    h2o_send(request->http.req, NULL, 0, H2O_SEND_STATE_ERROR);
}

/* -- steps ----------------------------------------------------------------------------------- */

static void on_step(void *owner, enum call_end end, struct bus_message *message)
{
    struct dashboard_request *request = owner;
    struct dashboard_export *export = request->export;
    struct str body;
    enum outcome outcome = backend_outcome(request, end, message, &body);

    if (outcome == OUTCOME_OK && !read_part(export, body))
        outcome = OUTCOME_SERVER_ERROR;
    if (outcome != OUTCOME_OK) {
        fail(export, outcome, outcome == OUTCOME_SERVER_ERROR ? STR_NONE : body);
        return;
    }
    if (!export->has_begun)
        begin_stream(export);
    send_slice(export);
}

static void on_still_signed_in(void *owner, enum call_end end, struct bus_message *message)
{
    struct dashboard_request *request = owner;
    struct dashboard_export *export = request->export;
    enum outcome outcome = dashboard_session_learn(request, end, message);
    char *body = json_dumps(export->body, JSON_COMPACT);

    must(body != NULL);
    if (outcome == OUTCOME_OK &&
        !backend_call(request, SUBJECT_AUDIT_EXPORT, str_of(body), on_step))
        outcome = OUTCOME_UNAVAILABLE;
    free(body);
    if (outcome != OUTCOME_OK)
        fail(export, outcome, STR_NONE);
}

static void ask_step(struct dashboard_export *export)
{
    if (!dashboard_session_check(export->request, on_still_signed_in))
        fail(export, OUTCOME_UNAVAILABLE, STR_NONE);
}

/* -- beginning and end ----------------------------------------------------------------------- */

/* NULL: all places are taken, or those of the organization are. */
static struct dashboard_export **find_place(const struct dashboard_request *request)
{
    struct dashboard_export **running = dashboard_of(request)->exports, **place = NULL;
    size_t own = 0;

    for (size_t i = 0; i < EXPORTS_MAX; i++) {
        if (running[i] == NULL)
            place = &running[i];
        else if (strcmp(running[i]->request->who.organization_id, request->who.organization_id) ==
                 0)
            own++;
    }
    return own < EXPORTS_OF_ORGANIZATION ? place : NULL;
}

void dashboard_export_begin(struct dashboard_request *request)
{
    struct dashboard_export **place = find_place(request);
    struct dashboard_export *export;
    json_t *body;

    if (place == NULL) {
        dashboard_response_refusal(&request->http, OUTCOME_BUSY, NULL);
        return;
    }
    body = backend_body(request);
    if (body == NULL)
        return;
    export = heap_zeroed(1, sizeof(*export));
    *export = (struct dashboard_export){
        .generator = {.proceed = on_taken}, .place = place, .request = request, .body = body};
    arena_init(&export->arena, MEMORY_MAX);
    request->export = export;
    *place = export;
    ask_step(export);
}

void dashboard_export_release(struct dashboard_export *export)
{
    if (export == NULL)
        return;
    json_free(export->body);
    arena_release(&export->arena);
    *export->place = NULL;
    free(export);
}
