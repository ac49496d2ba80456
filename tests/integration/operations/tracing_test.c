/* One trace through the programs: spans at a collector, ids in the logs. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/collector.h"
#include "tests/support/dashboard_client.h"
#include "tests/support/never_free.h"
#include "tests/support/replica.h"

TestSuite(tracing, .init = stack_share);

#define CALLER "00f067aa0ba902b7"
/* A command goes to the stack's replica or to ours: the odds that none of these goes to ours are
   one in a million. */
enum { REQUESTS = 20 };

static struct collector *collector;
static struct replica gateway, conversation;

static void start_traced(struct replica *replica, const char *service)
{
    replica_start_of(
        replica, service,
        (const char *const[]){format("OTEL_EXPORTER_OTLP_ENDPOINT=%s", collector_url(collector)),
                              "LOG_LEVEL=debug", NULL});
}

static void start_all(void)
{
    collector = collector_start(200);
    start_traced(&conversation, "conversation");
    start_traced(&gateway, "gateway");
}

static void stop_all(void)
{
    replica_stop(&gateway);
    replica_stop(&conversation);
}

/* Differs from test to test, since logs outlive a test. */
static const char *trace_id(int i)
{
    return format("%08x%08x4bf92f3577b34da6", (unsigned)getpid(), (unsigned)i + 1);
}

static struct client_response *send_to(const struct replica *at, const char *key, const char *path,
                                       const char *body, const char *traceparent)
{
    return http_send(&(struct client_request){
        .method = body != NULL ? "POST" : "GET",
        .base = at->base,
        .path = path,
        .key = key,
        .body = body,
        .headers = traceparent == NULL
                       ? NULL
                       : (const char *const[]){format("traceparent: %s", traceparent), NULL}});
}

static struct client_response *ask_dashboard(const struct replica *dashboard,
                                             const struct dashboard_session *session,
                                             const char *trace)
{
    return http_send(&(struct client_request){
        .method = "GET",
        .base = format("http://127.0.0.1:%d", dashboard->port),
        .path = "/data/keys",
        .headers = (const char *const[]){format("Cookie: session=%s", session->token),
                                         format("traceparent: 00-%s-" CALLER "-01", trace), NULL},
        .skip_checks = true});
}

static const char *text(const json_t *span, const char *name)
{
    return json_string_value(json_object_get(span, name));
}

/* -- the logs --------------------------------------------------------------------------------- */

struct log_search {
    const char *service, *request_id, *message;
    const json_t *line;
};

static bool is_logged(void *closure)
{
    struct log_search *search = closure;
    const char *path = format("%s/log/%s-of-tests.log", stack_setting("RUN_DIR"), search->service);
    FILE *file = fopen(path, "re");
    char line[4200];

    cr_assert_not_null(file, "%s", path);
    while (search->line == NULL && fgets(line, sizeof(line), file) != NULL)
        if (strstr(line, search->request_id) != NULL && strstr(line, search->message) != NULL)
            search->line = never_free(json_loads(line, 0, NULL));
    fclose(file);
    return search->line != NULL;
}

/* The line in a replica's log about that request with that message. Waits, since the line may come
   after the answer. */
static const json_t *line_of(const char *service, const char *request_id, const char *message)
{
    struct log_search search = {service, request_id, message, NULL};

    cr_assert(stack_wait(is_logged, &search, 30000), "%s logs nothing about %s", service,
              request_id);
    return search.line;
}

static void expect_logged(const char *service, const char *message, const char *request_id,
                          const char *trace)
{
    const json_t *line = line_of(service, request_id, message);
    const char *logged = text(line, "trace_id");

    cr_expect_str_eq(text(line, "request_id"), request_id);
    cr_expect(trace == NULL ? logged == NULL : logged != NULL && strcmp(logged, trace) == 0,
              "%s: %s", service, logged);
}

/* -- the tests -------------------------------------------------------------------------------- */

static void expect_child(const json_t *child, const char *parent_id, const char *name)
{
    cr_assert_not_null(child, "%s", name);
    cr_expect_str_eq(text(child, "name"), name);
    cr_expect_str_eq(text(child, "parentSpanId"), parent_id);
    cr_expect_leq(strtoll(text(child, "startTimeUnixNano"), NULL, 10),
                  strtoll(text(child, "endTimeUnixNano"), NULL, 10));
}

static bool holds(const json_t *span, const char *what)
{
    const char *dump = never_free(json_dumps(span, 0));

    cr_assert_not_null(dump);
    return strstr(dump, what) != NULL;
}

static void expect_about(const json_t *span, const struct org *org,
                         const struct client_response *response)
{
    cr_expect_not(holds(span, "traced-"), "no data of the customer");
    cr_expect_not(holds(span, org->full_key));
    cr_expect_str_eq(span_attribute(span, "conversations.outcome"), "created");
    cr_expect_str_eq(span_attribute(span, "conversations.request_id"), response->request_id);
    cr_expect_str_eq(span_attribute(span, "conversations.organization_id"), org->id);
}

static const char *outer_service = "gateway", *inner_service = "conversation";

/* The first request with a command that our replica ran; -1 = none yet. */
static int find_linked(void)
{
    for (int i = 0; i < REQUESTS; i++)
        if (span_of(collector_spans(collector, trace_id(i)), inner_service) != NULL)
            return i;
    return -1;
}

static bool is_linked(void *closure)
{
    int i = find_linked();

    return i >= 0 && span_of(collector_spans(collector, trace_id(i)), outer_service) != NULL;
}

Test(tracing, links_a_request_with_its_command)
{
    struct client_response *responses[REQUESTS];
    const json_t *spans, *outer, *inner;
    struct org org;
    int i;

    start_all();
    org_new(&org);
    for (i = 0; i < REQUESTS; i++) {
        responses[i] =
            send_to(&gateway, org.full_key, "/conversations",
                    format("{\"external_id\": \"traced-%d\", \"from\": {\"external_id\": "
                           "\"traced-user\"}}",
                           i),
                    format("00-%s-" CALLER "-01", trace_id(i)));
        expect_status(responses[i], 201);
    }
    cr_assert(stack_wait(is_linked, NULL, 30000), "no trace has both spans");
    i = find_linked();
    spans = collector_spans(collector, trace_id(i));
    cr_expect_eq(json_array_size(spans), 2);
    outer = span_of(spans, "gateway");
    inner = span_of(spans, "conversation");
    expect_child(outer, CALLER, "conversation.create");
    expect_child(inner, text(outer, "spanId"), "v1.conversation.create");
    cr_expect_str_eq(span_attribute(outer, "http.response.status_code"), "201");
    expect_about(outer, &org, responses[i]);
    expect_about(inner, &org, responses[i]);
    expect_logged("gateway", "\"response\"", responses[i]->request_id, trace_id(i));
    expect_logged("conversation", "\"command\"", responses[i]->request_id, trace_id(i));
    stop_all();
}

Test(tracing, begins_without_traceparent_and_records_nothing_if_unsampled)
{
    struct client_response *fresh, *unwanted, *malformed;
    const json_t *spans;
    struct org org;

    start_all();
    org_new(&org);
    unwanted =
        send_to(&gateway, org.full_key, "/ping", NULL, format("00-%s-" CALLER "-00", trace_id(0)));
    fresh = send_to(&gateway, org.full_key, "/ping", NULL, NULL);
    malformed = send_to(&gateway, org.full_key, "/ping", NULL, "00-" CALLER "-01");
    (void)collector_await(collector, "", 2);
    stop_all();
    spans = collector_spans(collector, "");
    cr_assert_eq(json_array_size(spans), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *span = json_array_get(spans, i);

        cr_expect_str_eq(text(span, "name"), "ping");
        cr_expect_null(text(span, "parentSpanId"));
        expect_logged("gateway", "\"response\"", (i == 0 ? fresh : malformed)->request_id,
                      text(span, "traceId"));
    }
    expect_logged("gateway", "\"response\"", unwanted->request_id, trace_id(0));
}

Test(tracing, is_in_the_log_without_a_collector_too)
{
    struct client_response *with, *without;
    struct org org;

    replica_start_of(&gateway, "gateway", (const char *const[]){"LOG_LEVEL=debug", NULL});
    org_new(&org);
    with =
        send_to(&gateway, org.full_key, "/ping", NULL, format("00-%s-" CALLER "-01", trace_id(0)));
    without = send_to(&gateway, org.full_key, "/ping", NULL, NULL);
    replica_stop(&gateway);
    expect_logged("gateway", "\"response\"", with->request_id, trace_id(0));
    expect_logged("gateway", "\"response\"", without->request_id, NULL);
}

Test(tracing, covers_the_commands_of_the_dashboard)
{
    struct replica dashboard, access;
    const json_t *spans, *outer, *inner;
    struct dashboard_session session;
    struct org org;
    int i;

    collector = collector_start(200);
    start_traced(&access, "access");
    start_traced(&dashboard, "dashboard");
    org_new(&org);
    dashboard_client_new_user(&session, org.id, "owner");
    for (i = 0; i < REQUESTS; i++)
        expect_status(ask_dashboard(&dashboard, &session, trace_id(i)), 200);
    outer_service = "dashboard";
    inner_service = "access";
    cr_assert(stack_wait(is_linked, NULL, 30000), "no trace has both spans");
    i = find_linked();
    spans = collector_spans(collector, trace_id(i));
    outer = span_of(spans, "dashboard");
    inner = span_of(spans, "access");
    expect_child(outer, CALLER, "/data/keys");
    cr_expect_str_eq(span_attribute(outer, "conversations.organization_id"), org.id);
    cr_assert_not_null(inner);
    expect_child(inner, text(outer, "spanId"), text(inner, "name"));
    cr_expect_eq(strncmp(text(inner, "name"), "v1.access.", 10), 0);
    cr_expect_str_eq(span_attribute(inner, "conversations.outcome"), "ok");
    replica_stop(&dashboard);
    replica_stop(&access);
}

/* Leaves out threads with SCHED_BATCH, whether they set it or inherited it. */
static size_t count_plain_threads(pid_t pid)
{
    DIR *tasks = opendir(format("/proc/%d/task", (int)pid));
    const struct dirent *task;
    size_t n = 0;

    cr_assert_not_null(tasks);
    while ((task = readdir(tasks)) != NULL)
        if (task->d_name[0] != '.')
            n += sched_getscheduler((pid_t)strtol(task->d_name, NULL, 10)) == SCHED_OTHER;
    closedir(tasks);
    return n;
}

/* Waited for, since the thread that writes the log sets its policy only when it first runs. */
static bool is_set_as_untraced(void *closure)
{
    return count_plain_threads(gateway.pid) == count_plain_threads(stack_pid("gateway-0"));
}

Test(tracing, has_a_thread_that_finds_set_what_others_do)
{
    collector = collector_start(200);
    start_traced(&gateway, "gateway");
    cr_expect(stack_wait(is_set_as_untraced, NULL, 30000));
    replica_stop(&gateway);
}
