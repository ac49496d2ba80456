/*
 * The consistency check: sends thousands of requests of every kind through two gateways while every
 * process is killed once, then compares the answers with the audit log: each answer has exactly one
 * entry, with the same id and status, and no entry lacks a request.
 *
 * The exception is a request that was answered 500 or 503 while the audit log could not be reached:
 * it may have no entry, or one with the true outcome. The test prints how many there were.
 *
 * TEST_LONG=1: 50,000 requests.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/measure.h"
#include "tests/support/sql.h"

TestSuite(consistency, .init = stack_have_alone);

enum {
    USUAL = 6000,
    WHOLE = 50000,
    WORKERS = 16,
    GATEWAYS = 2,
    REQUEST_MAX = 80 * 1024,
    PAUSE_MS = 50,          /* after a failure, so that an outage does not use up the requests */
    LAST_DEADLINE_MS = 4000 /* no command starts later than this after its request */
};

/* -- what is sent --------------------------------------------------------------------------------
 */

enum key { FULL, READ, FREE, LISTED, SECURE, LIMITED, NOBODYS, KEYS };

/* In paths and bodies, # is the request's number and @ the id of a conversation. */
struct shape {
    enum key key;
    const char *method, *path, *header, *body;
    int status, or_status; /* expected; 500 and 503 are always allowed */
};

#define CREATE(id, contact)                                                                        \
    "{\"external_id\":\"" id "\",\"from\":{\"external_id\":\"" contact "\"}}"
#define FILTER(operator)                                                                           \
    "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"" operator"\",\"value\":\"c\"}}"

static const struct shape shapes[] = {
    {FULL, "GET", "/ping", NULL, NULL, 200, 0},
    {FULL, "POST", "/conversations", NULL, CREATE("r-#", "c#"), 201, 0},
    {FULL, "GET", "/conversations/@", NULL, NULL, 200, 0},
    {FULL, "PUT", "/conversations/@", NULL, "{\"custom_attributes\":{\"n\":#}}", 200, 0},
    {READ, "POST", "/conversations/search", NULL, FILTER("="), 200, 0},
    {FULL, "POST", "/conversations", NULL, CREATE("first", "c"), 200, 0},
    {FULL, "POST", "/conversations", NULL, CREATE("first", "other"), 409, 0},
    {FULL, "POST", "/conversations", NULL, "{\"external_id\":", 400, 0},
    {FULL, "POST", "/conversations", NULL, CREATE("", "c"), 400, 0},
    {FULL, "PUT", "/conversations/@", NULL, "{\"custom_attributes\":{\"1\":#}}", 400, 0},
    {FULL, "PUT", "/conversations/@", NULL, "{\"status\":\"resolved\"}", 400, 0},
    {READ, "POST", "/conversations/search", NULL, FILTER("~"), 400, 0},
    {READ, "GET", "/conversations/01890000-0000-7000-8000-000000000000", NULL, NULL, 404, 0},
    {READ, "GET", "/conversations/none", NULL, NULL, 404, 0},
    {READ, "GET", "/audit?per_page=1", NULL, NULL, 200, 0},
    {READ, "GET", "/audit?per_page=0", NULL, NULL, 400, 0},
    {READ, "GET", "/nothing", NULL, NULL, 404, 0},
    {READ, "DELETE", "/ping", NULL, NULL, 405, 0},
    {READ, "GET", "/ping", "Accept: text/html", NULL, 406, 0},
    {READ, "POST", "/conversations", NULL, CREATE("denied", "c"), 403, 0},
    {FULL, "POST", "/conversations", "Content-Type: text/plain", CREATE("x", "c"), 415, 0},
    {FULL, "POST", "/conversations", "Content-Type: application/json\r\nContent-Length: 70000",
     NULL, 413, 0},
    {FREE, "GET", "/ping", NULL, NULL, 403, 0},
    {LISTED, "GET", "/conversations/@", NULL, NULL, 403, 0},
    {SECURE, "POST", "/conversations", NULL, CREATE("insecure", "c"), 403, 0},
    {LIMITED, "GET", "/ping", NULL, NULL, 429, 200},
    {NOBODYS, "GET", "/ping", NULL, NULL, 401, 429},
};
enum { SHAPES = ARRAY_SIZE(shapes) };

struct record {
    int status; /* 0: no answer */
    char request_id[37];
};

static struct {
    char tokens[KEYS][64];
    const char *organizations; /* {a,b,c} */
    const char *conversation;
    int total;
    int64_t entries_before;
    atomic_int next, unanswered;
    struct record *records;
} run;

/* -- organizations -------------------------------------------------------------------------------
 */

static bool is_denied(void *closure)
{
    return api_get(closure, "/nothing")->status == 403;
}

/* Makes an organization whose policy, plan or limit refuses requests, and stores its key. */
static void stand_in_the_way(struct org *org, enum key key)
{
    org_new(org);
    if (key == FREE)
        json_decref(convctl("org", "set", org->id, "--plan", "free", NULL));
    if (key == LISTED)
        json_decref(convctl("policy", "set", "--org", org->id, "--ip", "192.0.2.1",
                            "--ip-allowlist-enabled", "true", NULL));
    if (key == SECURE)
        json_decref(convctl("policy", "set", "--org", org->id, "--require-https", "true", NULL));
    if (key == LIMITED)
        json_decref(convctl("org", "set", org->id, "--rate-limit", "3", NULL));
    else
        cr_assert(stack_wait_in_force(is_denied, org->full_key));
    strcpy(run.tokens[key], org->full_key);
}

static void open_organizations(struct org *main_org)
{
    struct org others[KEYS];

    org_new(main_org);
    json_decref(convctl("org", "set", main_org->id, "--rate-limit", "1000000", NULL));
    strcpy(run.tokens[FULL], main_org->full_key);
    strcpy(run.tokens[READ], main_org->read_key);
    token_make(TOKEN_LIVE, run.tokens[NOBODYS]);
    for (enum key key = FREE; key <= LIMITED; key++)
        stand_in_the_way(&others[key], key);
    run.conversation = new_conversation(main_org, "first", "c");
    run.organizations = format("{%s,%s,%s,%s,%s}", main_org->id, others[FREE].id, others[LISTED].id,
                               others[SECURE].id, others[LIMITED].id);
}

/* -- sending -------------------------------------------------------------------------------------
 */

struct worker {
    int number;
    pthread_t thread;
    struct http_connection client;
    char bytes[REQUEST_MAX];
};

/* Appends text with its # and @ filled in. */
static size_t fill(char *out, const char *text, int number)
{
    size_t n = 0;

    for (; *text != '\0'; text++) {
        if (*text == '#')
            n += (size_t)sprintf(out + n, "%d", number);
        else if (*text == '@')
            n += (size_t)sprintf(out + n, "%s", run.conversation);
        else
            out[n++] = *text;
    }
    out[n] = '\0';
    return n;
}

static bool wants_close(int number)
{
    return number / SHAPES % 3 == 0;
}

/* Uses the unknown key rarely: too many failures would throttle the test's address. The same for
   the one with a low limit, which gets no answers beyond a hundred in a window. */
static const struct shape *shape_of(int number)
{
    const struct shape *shape = &shapes[number % SHAPES];
    const bool is_rare = shape->key == NOBODYS || shape->key == LIMITED;

    return is_rare && number / SHAPES % 8 != 0 ? &shapes[0] : shape;
}

static size_t write_request(char *out, const struct shape *shape, int number)
{
    char body[512], path[256];
    size_t body_n = shape->body != NULL ? fill(body, shape->body, number) : 0;
    size_t n;

    fill(path, shape->path, number);
    n = (size_t)sprintf(
        out,
        "%s /api/v1%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
        "%s%sConnection: %s\r\n",
        shape->method, path, run.tokens[shape->key], shape->header != NULL ? shape->header : "",
        shape->header != NULL ? "\r\n" : "", wants_close(number) ? "close" : "keep-alive");
    if (shape->body != NULL && shape->header == NULL)
        n += (size_t)sprintf(out + n, "Content-Type: application/json\r\n");
    if (shape->body != NULL)
        n += (size_t)sprintf(out + n, "Content-Length: %zu\r\n", body_n);
    n += (size_t)sprintf(out + n, "\r\n");
    memcpy(out + n, body, body_n);
    return n + body_n;
}

static void note(const struct shape *shape, struct record *record,
                 const struct connection_response *response)
{
    int status = response->status;

    cr_assert(status == shape->status || status == shape->or_status || status == 500 ||
                  status == 503,
              "%s %s got %d instead of %d", shape->method, shape->path, status, shape->status);
    record->status = status;
    memcpy(record->request_id, response->request_id, sizeof(record->request_id));
}

static void send_one(struct worker *worker, int number)
{
    const struct shape *shape = shape_of(number);
    struct http_connection *client = &worker->client;
    struct connection_response response = {0};

    while (client->fd < 0 &&
           !http_connection_open(client, stack_gateway_port() + worker->number % GATEWAYS))
        poll(NULL, 0, PAUSE_MS);
    if (http_connection_send(client, worker->bytes, write_request(worker->bytes, shape, number)) &&
        http_connection_receive(client, &response, HTTP_TIMEOUT_MS))
        note(shape, &run.records[number], &response);
    else
        atomic_fetch_add(&run.unanswered, 1);
    if (response.status == 0 || response.closes || wants_close(number))
        http_connection_close(client);
    if (response.status == 0 || response.status >= 500)
        poll(NULL, 0, PAUSE_MS);
}

static void *work(void *closure)
{
    struct worker *worker = closure;
    int number;

    worker->client.fd = -1;
    while ((number = atomic_fetch_add(&run.next, 1)) < run.total)
        send_one(worker, number);
    http_connection_close(&worker->client);
    return NULL;
}

/* -- killing -------------------------------------------------------------------------------------
 */

static const char *const victims[] = {
    "conversation-0", "audit-0",   "access-0", "search-0", "webhook-0",
    "gateway-0",      "gateway-1", "nats",     "postgres",
};
enum { VICTIMS = ARRAY_SIZE(victims) };

static bool has_come_to(void *closure)
{
    return run.next >= *(const int *)closure;
}

static void kill_one_after_the_other(void)
{
    for (int i = 0; i < VICTIMS; i++) {
        int when = (int)((int64_t)run.total * (i + 1) / (VICTIMS + 1));

        cr_assert(stack_wait(has_come_to, &when, 300000));
        stack_end(victims[i], SIGKILL);
    }
}

/* -- consistency check ---------------------------------------------------------------------------
 */

/* {a,b,c}: the ids or the statuses of all answers to the unknown key, or of all others. */
static char *list(bool ids, bool of_nobody)
{
    char *text = malloc((size_t)run.total * 38 + 3);
    size_t n = 0;

    cr_assert_not_null(text);
    text[n++] = '{';
    for (int i = 0; i < run.total; i++) {
        const struct record *record = &run.records[i];

        if (record->status == 0 || (shape_of(i)->key == NOBODYS) != of_nobody)
            continue;
        if (n > 1)
            text[n++] = ',';
        n += ids ? (size_t)sprintf(text + n, "%s", record->request_id)
                 : (size_t)sprintf(text + n, "%d", record->status);
    }
    strcpy(text + n, "}");
    return text;
}

/* Answers and entries side by side, either of which may be missing. */
#define PAIRS                                                                                      \
    "SELECT count(*) FROM unnest($1::uuid[], $2::int[]) AS answer (id, status)"                    \
    " FULL JOIN (SELECT request_id, http_status, operation FROM audit.entries"                     \
    "             WHERE organization_id = ANY ($3::uuid[])) AS entry ON request_id = id WHERE "

static int64_t count_pairs(const char *query, const char *ids, const char *statuses)
{
    return sql_integer(query, ids, statuses, run.organizations, NULL);
}

static int count_answers_to_nobody(void)
{
    int count = 0;

    for (int i = 0; i < run.total; i++)
        count += run.records[i].status != 0 && shape_of(i)->key == NOBODYS;
    return count;
}

/* Every request falls into one of these. */
struct audit_counts {
    int64_t equal;           /* the entry has the answer's status */
    int64_t without;         /* 500 or 503, and no entry */
    int64_t other_outcome;   /* 500 or 503, and the entry has the true outcome */
    int64_t of_unknown_keys; /* sent with the unknown key */
    int64_t unanswered;
};

static void print_counts(const struct audit_counts *counts, int64_t unasked)
{
    fprintf(stderr,
            "%d requests: %lld responses with an entry of the same status; of 500 and 503, %lld "
            "without an entry and %lld whose entry has another outcome; %lld with an unknown key; "
            "%lld without a response, %lld of them with an entry\n",
            run.total, (long long)counts->equal, (long long)counts->without,
            (long long)counts->other_outcome, (long long)counts->of_unknown_keys,
            (long long)counts->unanswered, (long long)unasked);
}

static void check_pairs(void)
{
    char *ids = list(true, false), *statuses = list(false, false),
         *of_unknown_keys = list(true, true);
    const struct audit_counts counts = {
        .equal = count_pairs(PAIRS "http_status = status", ids, statuses),
        .without = count_pairs(PAIRS "status >= 500 AND request_id IS NULL", ids, statuses),
        .other_outcome =
            count_pairs(PAIRS "status >= 500 AND http_status <> status", ids, statuses),
        .of_unknown_keys = count_answers_to_nobody(),
        .unanswered = run.unanswered,
    };
    int64_t unasked = count_pairs(PAIRS "id IS NULL", ids, statuses) - run.entries_before;

    print_counts(&counts, unasked);
    cr_expect_eq(count_pairs(PAIRS "status < 500 AND request_id IS NULL", ids, statuses), 0,
                 "responses without an entry");
    cr_expect_eq(count_pairs(PAIRS "status < 500 AND http_status <> status", ids, statuses), 0,
                 "responses whose entries have another status");
    cr_expect_eq(count_pairs(PAIRS "status = 503 AND http_status < 300 AND"
                                   " operation IN ('conversation.create', 'conversation.update')",
                             ids, statuses),
                 0, "writes that were carried out although answered 503");
    cr_expect(unasked >= 0 && unasked <= counts.unanswered, "entries without a request");
    cr_expect_eq(sql_integer("SELECT count(*) FROM audit.entries"
                             " WHERE request_id = ANY ($1::uuid[])",
                             of_unknown_keys, NULL),
                 0, "entries for an unknown key");
    cr_expect_eq(counts.equal + counts.without + counts.other_outcome + counts.of_unknown_keys +
                     counts.unanswered,
                 run.total, "every request is in one of the counts");
    free(ids);
    free(statuses);
    free(of_unknown_keys);
}

static void check_writes(const char *organization)
{
    cr_expect_eq(sql_integer("SELECT count(*) - count(DISTINCT request_id) FROM audit.entries"
                             " WHERE organization_id = ANY ($1::uuid[])",
                             run.organizations, NULL),
                 0, "requests with two entries");
    cr_expect_eq(sql_integer("SELECT count(*) FROM conversation.conversations AS made"
                             " WHERE organization_id = $1::uuid AND 1 <>"
                             " (SELECT count(*) FROM audit.entries AS entry"
                             "   WHERE entry.organization_id = made.organization_id"
                             "     AND conversation_id = made.id AND http_status = 201)",
                             organization, NULL),
                 0, "conversations without exactly one entry of their creation");
    cr_expect_eq(sql_integer("SELECT count(*) FROM audit.entries AS entry"
                             " WHERE organization_id = $1::uuid AND http_status = 201"
                             " AND NOT EXISTS (SELECT 1 FROM conversation.conversations AS made"
                             "   WHERE made.organization_id = entry.organization_id"
                             "     AND made.id = conversation_id)",
                             organization, NULL),
                 0, "entries of creations without a conversation");
}

static int64_t count_entries(void)
{
    return sql_integer("SELECT count(*) FROM audit.entries"
                       " WHERE organization_id = ANY ($1::uuid[])",
                       run.organizations, NULL);
}

static bool is_served(void *closure)
{
    return http_send(&(struct client_request){
                         .method = "GET", .path = "/ping", .key = closure, .may_fail = true})
               ->status == 200;
}

Test(consistency, every_response_has_its_entry_even_if_processes_die)
{
    struct worker *workers = calloc(WORKERS, sizeof(*workers));
    struct org org, bystander;
    int64_t began_us = clock_mono_us();

    run.total = long_form_or(WHOLE, USUAL);
    run.records = calloc((size_t)run.total, sizeof(*run.records));
    cr_assert(workers != NULL && run.records != NULL);
    open_organizations(&org);
    org_new(&bystander);
    run.entries_before = count_entries();
    for (int i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        cr_assert_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    kill_one_after_the_other();
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    stack_let_run(LAST_DEADLINE_MS);
    cr_assert(stack_wait(is_served, bystander.full_key, 15000));
    check_pairs();
    check_writes(org.id);
    fprintf(stderr, "in %lld s, with %d processes killed\n",
            (long long)(clock_mono_us() - began_us) / 1000000, VICTIMS);
    free(workers);
}
