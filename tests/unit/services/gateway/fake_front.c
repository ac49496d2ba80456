#include "tests/unit/services/gateway/fake_front.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/recent_table.h"
#include "proto/headers.h"
#include "services/gateway/familiar.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/key_lookup.h"
#include "services/gateway/key_usage.h"
#include "services/gateway/postponed.h"

/* The beginning of a quota window. */
#define NOW_US ((int64_t)1700000000 * 1000000)

enum { CALLS_MAX = 512, REQUESTS_MAX = 256, COMMAND_MS = 2000 };

struct gateway gateway;
enum fake_bus fake_bus;

static struct fake_call made[CALLS_MAX];
static size_t n_calls, n_messages;
static struct fake_request *requests[REQUESTS_MAX];
static uint8_t key_hashes[REQUESTS_MAX][SHA256_BYTES]; /* of the keys that requests have used */
static size_t n_requests, n_key_hashes;
static struct sockaddr_in client;
static const struct networks nobody;
static struct edge_options options = {.command_timeout_ms = COMMAND_MS,
                                      .connections.trusted = &nobody};

/* -- common/base/clock.h --------------------------------------------------------------------- */

static int64_t now_us;

int64_t clock_us(void)
{
    return now_us;
}

int64_t clock_mono_us(void)
{
    return now_us;
}

void fake_pass_ms(int64_t ms)
{
    now_us += ms * 1000;
}

/* -- common/bus ------------------------------------------------------------------------------ */

struct bus_message {
    const char *outcome, *recorded, *contact, *resource, *body;
};

static struct bus_message *new_message(struct bus_message like)
{
    struct bus_message *message = malloc(sizeof(*message));

    cr_assert_not_null(message);
    *message = like;
    n_messages++;
    return message;
}

struct str bus_message_body(const struct bus_message *message)
{
    return str_of(message->body);
}

struct str bus_message_header(struct bus_message *message, const char *name)
{
    if (strcmp(name, HEADER_OUTCOME) == 0)
        return str_of(message->outcome);
    if (strcmp(name, HEADER_RECORDED) == 0)
        return str_of(message->recorded);
    if (strcmp(name, HEADER_RESOURCE) == 0)
        return str_of(message->resource);
    return strcmp(name, HEADER_CONTACT) == 0 ? str_of(message->contact) : STR_NONE;
}

void bus_message_free(struct bus_message *message)
{
    n_messages -= message != NULL;
    free(message);
}

enum status bus_publish(struct bus *bus, const char *subject, const char *reply_to,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    return ST_UNAVAILABLE;
}

void bus_metrics_open(void)
{
}

/* -- common/http/calls.h --------------------------------------------------------------------- */

bool calls_can_start(const struct calls *calls)
{
    return fake_bus == FAKE_BUS_ANSWERS;
}

bool calls_may_wait(const struct calls *calls)
{
    return fake_bus == FAKE_BUS_SILENT;
}

void call_headers_add(struct call_headers *headers, const char *name, const char *value)
{
    cr_assert_lt(headers->n, CALL_HEADERS_MAX - 1);
    headers->at[headers->n++] = (struct bus_header){name, value};
}

enum status calls_start(struct calls *calls, const struct call_request *request, uint64_t *handle)
{
    struct fake_call *call = &made[n_calls];

    if (!calls_can_start(calls))
        return ST_UNAVAILABLE;
    cr_assert_lt(n_calls, CALLS_MAX);
    cr_assert_lt(request->body.n, sizeof(call->body));
    *call = (struct fake_call){
        .subject = request->subject, .on_end = request->on_end, .owner = request->owner};
    memcpy(call->body, request->body.p, request->body.n);
    for (size_t i = 0; i < request->headers.n; i++) {
        call->headers[i].name = request->headers.at[i].name;
        snprintf(call->headers[i].value, sizeof(call->headers[i].value), "%s",
                 request->headers.at[i].value);
    }
    call->n_headers = request->headers.n;
    *handle = n_calls++;
    return ST_OK;
}

void calls_cancel(struct calls *calls, uint64_t handle)
{
    made[handle].is_over = true;
}

size_t fake_count(const char *subject)
{
    size_t n = 0;

    for (size_t i = 0; i < n_calls; i++)
        n += subject == NULL || strcmp(made[i].subject, subject) == 0;
    return n;
}

struct fake_call *fake_call(const char *subject)
{
    struct fake_call *found = NULL;

    for (size_t i = 0; i < n_calls; i++) {
        if (made[i].is_over || strcmp(made[i].subject, subject) != 0)
            continue;
        cr_assert_null(found, "two calls of %s are under way", subject);
        found = &made[i];
    }
    cr_assert_not_null(found, "no call of %s is under way", subject);
    return found;
}

struct str fake_header(const struct fake_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_headers; i++)
        if (strcmp(call->headers[i].name, name) == 0)
            return str_of(call->headers[i].value);
    return STR_NONE;
}

static void end_call(struct fake_call *call, enum call_end end, const struct bus_message *message)
{
    if (call->is_over)
        return;
    call->is_over = true;
    call->on_end(call->owner, end, message != NULL ? new_message(*message) : NULL);
}

void fake_reply_unrecorded(struct fake_call *call, const char *outcome, const char *body,
                           const char *contact)
{
    end_call(call, CALL_REPLIED,
             &(struct bus_message){
                 .outcome = outcome, .recorded = "no", .contact = contact, .body = body});
}

void fake_reply_created(struct fake_call *call, const char *id)
{
    end_call(call, CALL_REPLIED,
             &(struct bus_message){.outcome = "created", .resource = id, .body = "{}"});
}

void fake_reply(struct fake_call *call, const char *outcome, const char *body)
{
    end_call(call, CALL_REPLIED, &(struct bus_message){.outcome = outcome, .body = body});
}

void fake_end(struct fake_call *call, enum call_end end)
{
    end_call(call, end, NULL);
}

void fake_invalidate(const char *organization_id)
{
    key_cache_doubt(gateway.keys, str_of(organization_id));
}

/* -- common/http/connections.h and lingering_close.h ----------------------------------------- */

h2o_socket_t *connection_socket(h2o_conn_t *conn)
{
    return NULL;
}

void connection_busy(h2o_socket_t *sock)
{
}

void connection_rests(h2o_socket_t *sock)
{
}

void lingering_close_begin(struct lingering_closes *lingering, h2o_socket_t *sock)
{
}

/* -- h2o ------------------------------------------------------------------------------------- */

static bool is_looking; /* the timer of postponed requests is set */

int h2o_socket_get_fd(h2o_socket_t *sock)
{
    return -1;
}

static socklen_t get_peername(h2o_conn_t *conn, struct sockaddr *peer)
{
    memcpy(peer, &client, sizeof(client));
    return sizeof(client);
}

static const h2o_conn_callbacks_t callbacks = {.get_peername = get_peername};
static h2o_conn_t conn = {.ctx = &gateway.edge.context, .callbacks = &callbacks};

/* A timer is the send timeout, that of postponed requests, or a request's time limit.
   api_request_begin() sets the last: this is where the test gets the API request that it made. */
void timer_start(struct timers *timers, struct timer *timer, int64_t ms,
                 void (*on_due)(struct timer *timer))
{
    struct edge_request *http = H2O_STRUCT_FROM_MEMBER(struct edge_request, limit_timer, timer);
    struct fake_request *request;

    timer->on_due = on_due;
    if (timer == &gateway.postponed->timer) {
        is_looking = true;
        return;
    }
    if (ms == EDGE_REQUEST_SEND_MS)
        return;
    request = (struct fake_request *)http->req;
    request->api = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);
    request->late_us = now_us + ms * 1000;
}

void timer_stop(struct timer *timer)
{
    if (timer == &gateway.postponed->timer)
        is_looking = false;
    for (size_t i = 0; i < n_requests; i++)
        if (requests[i]->api != NULL && timer == &requests[i]->api->http.limit_timer)
            requests[i]->late_us = 0;
}

bool timer_is_running(const struct timer *timer)
{
    return is_looking;
}

void fake_look(void)
{
    cr_assert(is_looking, "nobody is postponed");
    is_looking = false;
    gateway.postponed->timer.on_due(&gateway.postponed->timer);
}

void h2o_start_response(h2o_req_t *req, h2o_generator_t *generator)
{
    struct fake_request *request = (struct fake_request *)req;

    cr_assert_eq(request->status, 0, "a second response");
    request->status = req->res.status;
}

void h2o_send(h2o_req_t *req, h2o_iovec_t *bufs, size_t bufcnt, h2o_send_state_t state)
{
    struct fake_request *request = (struct fake_request *)req;
    size_t at = 0;

    for (size_t i = 0; i < bufcnt; i++) {
        cr_assert_lt(at + bufs[i].len, sizeof(request->body));
        memcpy(request->body + at, bufs[i].base, bufs[i].len);
        at += bufs[i].len;
    }
}

/* -- keys ------------------------------------------------------------------------------------ */

#define RECORD(organization_id, scope)                                                             \
    "{\"organization_id\":\"" organization_id "\",\"api_key_id\":\"" FAKE_API_KEY                  \
    "\",\"scope\":\"" scope "\",\"expires_at\":null,\"plan_has_api\":true,"                        \
    "\"require_https\":false,\"ip_allowlist_enabled\":false,\"ip_allowlist\":[],"                  \
    "\"key_limit\":100,\"organization_limit\":1000,\"cell\":\"main\"}"

const char fake_record[] = RECORD(FAKE_ORGANIZATION, "full");
const char fake_record_read[] = RECORD(FAKE_ORGANIZATION, "read");
const char fake_record_other[] = RECORD(FAKE_OTHER, "full");

/* -- requests -------------------------------------------------------------------------------- */

static struct fake_request *make(const char *method, const char *path, const char *authorization,
                                 const char *body)
{
    struct fake_request *request = calloc(1, sizeof(*request));
    h2o_req_t *req = &request->req;

    cr_assert(request != NULL && n_requests < REQUESTS_MAX);
    requests[n_requests++] = request;
    req->conn = &conn;
    h2o_mem_init_pool(&req->pool);
    req->version = 0x101;
    req->input.method = h2o_iovec_init(method, strlen(method));
    req->input.path = h2o_iovec_init(path, strlen(path));
    if (authorization != NULL)
        h2o_add_header_by_str(&req->pool, &req->headers, H2O_STRLIT("authorization"), 1, NULL,
                              authorization, strlen(authorization));
    if (body != NULL) {
        req->entity = h2o_iovec_init(body, strlen(body));
        h2o_add_header(&req->pool, &req->headers, H2O_TOKEN_CONTENT_TYPE, NULL,
                       H2O_STRLIT("application/json"));
    }
    (void)api_request_begin(NULL, req);
    if (request->api->key != NULL)
        memcpy(key_hashes[n_key_hashes++], request->api->key->hash, SHA256_BYTES);
    return request;
}

struct fake_request *fake_get(const char *path, const char *authorization)
{
    return make("GET", path, authorization, NULL);
}

struct fake_request *fake_put(const char *path, const char *authorization)
{
    return make("PUT", path, authorization, "{}");
}

void fake_client(const char *address)
{
    client.sin_family = AF_INET;
    cr_assert_eq(inet_pton(AF_INET, address, &client.sin_addr), 1);
}

struct str fake_response_header(const struct fake_request *request, const char *name)
{
    const h2o_headers_t *headers = &request->req.res.headers;

    for (size_t i = 0; i < headers->size; i++)
        if (strcmp(headers->entries[i].name->base, name) == 0)
            return (struct str){headers->entries[i].value.base, headers->entries[i].value.len};
    return STR_NONE;
}

void fake_be_late(struct fake_request *request)
{
    cr_assert_neq(request->late_us, 0, "its time has no end");
    if (now_us < request->late_us)
        now_us = request->late_us;
    request->late_us = 0;
    request->api->http.limit_timer.on_due(&request->api->http.limit_timer);
}

void fake_leave(struct fake_request *request)
{
    h2o_mem_clear_pool(&request->req.pool);
    request->api = NULL;
}

/* -- a test ---------------------------------------------------------------------------------- */

void fake_open(void)
{
    now_us = NOW_US;
    gateway_metrics_open();
    gateway.edge.options = &options;
    send_budget_init(&gateway.edge.send_budget, SIZE_MAX);
    gateway.keys = key_cache_new(100, 100);
    gateway.throttle = throttle_new(3, 1);
    gateway.familiar = familiar_new(1);
    list_init(&gateway.parked);
    gateway.postponed = postponed_new(&gateway.edge);
    gateway.usage = key_usage_new();
    fake_client("192.0.2.1");
}

/* key_cache_get() makes a dropped key again; the cache drops only keys without users. */
static void expect_keys_given_back(void)
{
    for (size_t i = 0; i < n_key_hashes; i++) {
        struct key *key = key_cache_get(gateway.keys, key_hashes[i]);

        cr_expect_eq(key->users, 1, "a key was released %u times too few", key->users - 1);
        key_cache_put(gateway.keys, key);
    }
}

void fake_close(void)
{
    for (size_t i = 0; i < n_requests; i++)
        if (requests[i]->api != NULL)
            fake_leave(requests[i]);
    for (size_t i = 0; i < n_calls; i++)
        fake_end(&made[i], CALL_LOST);
    key_usage_finish(&gateway);
    expect_keys_given_back();
    key_cache_free(gateway.keys);
    throttle_free(gateway.throttle);
    recent_table_free(gateway.familiar);
    free(gateway.postponed);
    free(gateway.usage);
    for (size_t i = 0; i < n_requests; i++)
        free(requests[i]);
    cr_expect_eq(n_messages, 0, "%zu messages were not freed", n_messages);
}
