#include "common/http/response.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/http/edge.h"

static struct edge_options options;
static struct edge edge;
static h2o_pathconf_t path; /* without filters */
static h2o_req_t req;
static struct edge_request http;

/* What h2o sends, taken at the end of its chain of filters. */
static char sent[2 * SEND_BUDGET_SMALLEST];
static h2o_send_state_t state;

static void on_send(h2o_ostream_t *self, h2o_req_t *from, h2o_iovec_t *parts, size_t n,
                    h2o_send_state_t state_)
{
    size_t length = 0;

    for (size_t i = 0; i < n; i++) {
        cr_assert_lt(length + parts[i].len, sizeof(sent));
        memcpy(sent + length, parts[i].base, parts[i].len);
        length += parts[i].len;
    }
    sent[length] = '\0';
    state = state_;
}

static h2o_ostream_t end_of_filters = {.do_send = on_send};

static void set_up(void)
{
    edge = (struct edge){.options = &options, .context = {.loop = h2o_evloop_create()}};
    timers_init(&edge.timers, edge.context.loop);
    send_budget_init(&edge.send_budget, 4 * SEND_BUDGET_SMALLEST);
    req = (h2o_req_t){.version = 0x101,
                      .pathconf = &path,
                      .res = {.content_length = SIZE_MAX},
                      .http1_is_persistent = 1,
                      ._ostr_top = &end_of_filters};
    req.input.method = h2o_iovec_init(H2O_STRLIT("GET"));
    h2o_mem_init_pool(&req.pool);
    http = (struct edge_request){
        .edge = &edge, .req = &req, .id = "0190a000-0000-7000-8000-000000000001"};
    arena_init(&http.arena, 4096);
}

static void tear_down(void)
{
    arena_release(&http.arena);
    h2o_mem_clear_pool(&req.pool);
    timer_stop(&http.send_timer);
    timers_release(&edge.timers);
    h2o_evloop_destroy(edge.context.loop);
}

TestSuite(response, .init = set_up, .fini = tear_down);

/* Whether header `i` is sent with this name and value. */
static bool goes_out(size_t i, const char *name, const char *value)
{
    const h2o_header_t *header = &req.res.headers.entries[i];
    const char *shown = header->orig_name != NULL ? header->orig_name : header->name->base;

    return strncmp(shown, name, header->name->len) == 0 && strlen(name) == header->name->len &&
           str_equal((struct str){header->value.base, header->value.len}, str_of(value));
}

Test(response, begins_with_the_headers_that_each_has)
{
    const struct response_form form = {.is_capitalized = true};

    response_begin(&http, &form, 201, "application/json", "no-store");
    cr_expect_eq(req.res.status, 201);
    cr_expect_str_eq(req.res.reason, "Created");
    cr_assert_eq(req.res.headers.size, 3);
    cr_expect(goes_out(0, "Content-Type", "application/json"));
    cr_expect(goes_out(1, "Cache-Control", "no-store"));
    cr_expect(goes_out(2, "X-Service-Request-Id", http.id));
}

Test(response, has_the_headers_that_its_program_always_sends)
{
    static const struct response_header always[] = {{"x-frame-options", "DENY"}};
    const struct response_form form = {.always = always, .n_always = 1};

    response_begin(&http, &form, 304, NULL, "no-cache");
    cr_assert_eq(req.res.headers.size, 3);
    cr_expect(goes_out(0, "cache-control", "no-cache"));
    cr_expect(goes_out(1, "x-service-request-id", http.id));
    cr_expect(goes_out(2, "x-frame-options", "DENY"));
}

Test(response, has_numbers_in_decimal)
{
    cr_expect(str_equal(response_number(&http, 0), STR("0")));
    cr_expect(str_equal(response_number(&http, 1203), STR("1203")));
    cr_expect(str_equal(response_number(&http, UINT64_MAX), STR("18446744073709551615")));
}

Test(response, writes_an_error_with_its_code)
{
    cr_expect(str_equal(response_error(&http, OUTCOME_NOT_FOUND, "Nothing there", NULL),
                        STR("[{\"code\":\"not_found\",\"message\":\"Nothing there\"}]")));
}

Test(response, writes_the_field_of_an_error_and_escapes)
{
    cr_expect(str_equal(response_error(&http, OUTCOME_PARAMETER_INVALID, "must be \"x\"", "a"),
                        STR("[{\"code\":\"parameter_invalid\",\"message\":\"must be \\\"x\\\"\","
                            "\"field\":\"a\"}]")));
}

/* -- sending --------------------------------------------------------------------------------- */

static void send_by(void (*send)(struct edge_request *, struct str), int status, const char *body)
{
    const struct response_form form = {.is_capitalized = true};

    strcpy(sent, "nothing");
    response_begin(&http, &form, status, "application/json", "no-store");
    send(&http, str_of(body));
    cr_expect_eq(state, H2O_SEND_STATE_FINAL);
    cr_expect(timer_is_running(&http.send_timer), "a client that does not read is cut off");
}

static void send_with(int status, const char *body)
{
    send_by(response_send, status, body);
}

Test(response, is_sent_with_its_length)
{
    send_with(200, "{\"a\":1}");
    cr_expect_str_eq(sent, "{\"a\":1}\n");
    cr_expect_eq(req.res.content_length, 8);
}

Test(response, has_no_line_if_there_is_nothing_to_report)
{
    send_with(200, "");
    cr_expect_str_eq(sent, "");
    cr_expect_eq(req.res.content_length, 0);
}

Test(response, has_an_envelope_around_errors)
{
    static const char wanted[] =
        "{\"type\":\"error.list\",\"request_id\":\"0190a000-0000-7000-8000-000000000001\","
        "\"errors\":[{\"code\":\"x\"}]}\n";

    send_with(400, "[{\"code\":\"x\"}]");
    cr_expect_str_eq(sent, wanted);
    cr_expect_eq(req.res.content_length, sizeof(wanted) - 1);
}

Test(response, has_no_body_for_a_head_but_its_length)
{
    req.input.method = h2o_iovec_init(H2O_STRLIT("HEAD"));
    send_with(200, "{\"a\":1}");
    cr_expect_str_eq(sent, "");
    cr_expect_eq(req.res.content_length, 8);
}

Test(response, has_neither_body_nor_length_if_nothing_was_modified)
{
    send_by(response_send_file, 304, "{\"a\":1}");
    cr_expect_str_eq(sent, "");
    cr_expect_eq(req.res.content_length, SIZE_MAX);
}

Test(response, has_the_bytes_of_a_file_as_they_are)
{
    send_by(response_send_file, 200, "a");
    cr_expect_str_eq(sent, "a");
    cr_expect_eq(req.res.content_length, 1);
}

Test(response, counts_sent_bytes_against_the_send_budget)
{
    static char large[SEND_BUDGET_SMALLEST + 1];

    memset(large, 'x', sizeof(large) - 1);
    send_with(200, large);
    cr_expect_eq(edge.send_budget.n, sizeof(large), "a line feed ends it");
    send_budget_remove(&edge.send_budget, &http.unsent);
    req.input.method = h2o_iovec_init(H2O_STRLIT("HEAD"));
    send_with(200, large);
    cr_expect_eq(edge.send_budget.n, 0);
}

Test(response, that_is_streamed_ends_its_connection_without_chunked_coding)
{
    static h2o_generator_t generator;

    response_stream(&http, &generator);
    cr_expect_eq(req.http1_is_persistent, 1);
    cr_expect(timer_is_running(&http.send_timer));
    req._generator = NULL;
    req.version = 0x100;
    response_stream(&http, &generator);
    cr_expect_eq(req.http1_is_persistent, 0);
}

/* -- the log --------------------------------------------------------------------------------- */

/* The log line of a response with this status; "": none. */
static const char *logged(int status, bool logs_all, bool logs_access)
{
    static char line[4096];
    const struct log_field own = log_str("route", "search");
    int ends[2];
    ssize_t n;

    cr_assert_eq(pipe2(ends, O_NONBLOCK), 0);
    cr_assert_geq(dup2(ends[1], STDERR_FILENO), 0);
    log_open("testing", NULL, NULL, LOG_DEBUG);
    options.logs_all = logs_all;
    options.logs_access = logs_access;
    response_log(&http, status, &own, 1);
    n = read(ends[0], line, sizeof(line) - 1);
    line[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    close(ends[1]);
    return line;
}

Test(response, is_logged_when_it_failed_on_our_side_or_all_are)
{
    const char *line = logged(500, false, false);

    cr_expect_not_null(strstr(line, "\"level\":\"warning\""), "%s", line);
    cr_expect_not_null(strstr(line, http.id), "%s", line);
    cr_expect_not_null(strstr(line, "\"status\":500"), "%s", line);
    cr_expect_not_null(strstr(line, "\"route\":\"search\""), "%s", line);
    cr_expect_str_eq(logged(499, false, false), "");
    cr_expect_not_null(strstr(logged(200, true, false), "\"level\":\"debug\""));
    cr_expect_not_null(strstr(logged(200, false, true), "\"level\":\"info\""));
    cr_expect_not_null(strstr(logged(503, false, true), "\"level\":\"warning\""));
}
