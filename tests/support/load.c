#include "tests/support/load.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/never_free.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

enum { THREADS = 16, RECORDS_MAX = 400000, KEYS = 20, CONTACTS = 50 };

struct load {
    struct org org;
    const char *base; /* NULL = BASE_URL */
    int64_t pause_us;
    atomic_bool stopping;
    atomic_int n;
    atomic_int served; /* successes since the last other response */
    pthread_t threads[THREADS];
    const char *conversations[THREADS]; /* each thread updates one of its own */
    struct load_record records[RECORDS_MAX];
};

struct worker {
    struct load *load;
    int thread;
};

static bool is_success(const struct load_record *record)
{
    return record->status >= 200 && record->status < 300;
}

static const char *create_body(int number)
{
    return format("{\"external_id\":\"load-%d\",\"from\":{\"external_id\":\"c%d\"}}", number,
                  number % CONTACTS);
}

static struct client_response *send(const struct load *load, const struct load_record *record)
{
    const char *own = format("/conversations/%s", load->conversations[record->thread]);
    struct client_request request = {.method = "GET",
                                     .base = load->base,
                                     .path = "/ping",
                                     .key = load->org.full_key,
                                     .may_fail = true};

    switch (record->kind) {
    case LOAD_CREATE:
        request.method = "POST";
        request.path = "/conversations";
        request.body = create_body(record->number);
        break;
    case LOAD_UPDATE:
        request.method = "PUT";
        request.path = own;
        request.body =
            format("{\"custom_attributes\":{\"k%d\":%d}}", record->number % KEYS, record->number);
        break;
    case LOAD_GET:
        request.path = own;
        break;
    case LOAD_SEARCH:
        request.method = "POST";
        request.path = "/conversations/search";
        request.body = format("{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\","
                              "\"value\":\"c%d\"},\"pagination\":{\"per_page\":5}}",
                              record->number % CONTACTS);
        break;
    case LOAD_PING:
    case LOAD_KINDS:
        break;
    }
    return http_send(&request);
}

static void *work(void *closure)
{
    struct worker *worker = closure;
    struct load *load = worker->load;
    int64_t due_us = clock_mono_us() + worker->thread * load->pause_us / THREADS;

    for (int turn = worker->thread; !load->stopping; turn++) {
        int64_t left_us = due_us - clock_mono_us();
        int number = atomic_fetch_add(&load->n, 1);
        struct load_record *record = &load->records[number];
        struct client_response *response;

        cr_assert_lt(number, RECORDS_MAX);
        if (left_us > 0)
            poll(NULL, 0, (int)(left_us / 1000));
        *record = (struct load_record){.kind = (enum load_kind)(turn % LOAD_KINDS),
                                       .thread = worker->thread,
                                       .number = number,
                                       .sent_us = clock_mono_us()};
        response = send(load, record);
        record->status = response->status;
        record->took_us = response->took_us;
        memcpy(record->request_id, response->request_id, sizeof(record->request_id));
        if (is_success(record))
            atomic_fetch_add(&load->served, 1);
        else
            atomic_store(&load->served, 0);
        /* A thread that fell behind does not catch up in a burst. */
        due_us += load->pause_us;
        if (due_us < clock_mono_us())
            due_us = clock_mono_us();
    }
    free(worker);
    return NULL;
}

struct load *load_start_at(const char *base, const struct org *org, int per_second)
{
    struct load *const load = calloc(1, sizeof(*load));

    cr_assert_not_null(load);
    never_free(load);
    load->org = *org;
    webhook_watch(org);
    load->base = base;
    load->pause_us = 1000000LL * THREADS / per_second;
    for (int i = 0; i < THREADS; i++)
        load->conversations[i] = new_conversation(org, format("of-thread-%d", i), "threads");
    for (int i = 0; i < THREADS; i++) {
        struct worker *worker = malloc(sizeof(*worker));

        *worker = (struct worker){load, i};
        cr_assert_eq(pthread_create(&load->threads[i], NULL, work, worker), 0);
    }
    return load;
}

struct load *load_start(const struct org *org, int per_second)
{
    return load_start_at(NULL, org, per_second);
}

struct awaited {
    struct load *load;
    int responses;
};

static bool is_served(void *closure)
{
    const struct awaited *awaited = closure;

    return atomic_load(&awaited->load->served) >= awaited->responses;
}

bool load_await_served(struct load *load, int responses, int timeout_ms)
{
    atomic_store(&load->served, 0);
    return stack_wait(is_served, &(struct awaited){load, responses}, timeout_ms);
}

void load_stop(struct load *load)
{
    load->stopping = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(load->threads[i], NULL);
}

int load_count(const struct load *load)
{
    return load->n;
}

const struct load_record *load_record(const struct load *load, int i)
{
    return &load->records[i];
}

static bool is_between(const struct load_record *record, int64_t from_us, int64_t to_us)
{
    return record->sent_us >= from_us && record->sent_us + record->took_us <= to_us;
}

int load_sent(const struct load *load, int64_t from_us, int64_t to_us)
{
    int n = 0;

    for (int i = 0; i < load->n; i++)
        n += is_between(&load->records[i], from_us, to_us);
    return n;
}

int load_failures(const struct load *load, int64_t from_us, int64_t to_us)
{
    int n = 0;

    for (int i = 0; i < load->n; i++)
        n += !is_success(&load->records[i]) && is_between(&load->records[i], from_us, to_us);
    return n;
}

void load_tell_failures(const struct load *load, int64_t from_us)
{
    int n = 0;

    for (int i = 0; i < load->n && n < 10; i++) {
        const struct load_record *record = &load->records[i];

        if (is_success(record) || record->sent_us < from_us)
            continue;
        fprintf(stderr, "after %lld ms a request of kind %d got %d within %lld ms\n",
                (long long)(record->sent_us - from_us) / 1000, (int)record->kind, record->status,
                (long long)record->took_us / 1000);
        n++;
    }
}

int64_t load_last_failure_us(const struct load *load)
{
    int64_t last_us = 0;

    for (int i = 0; i < load->n; i++) {
        const struct load_record *record = &load->records[i];

        if (!is_success(record) && record->sent_us > last_us)
            last_us = record->sent_us;
    }
    return last_us;
}

/* -- the consistency check
   ------------------------------------------------------------------------------
 */

/* {a,b,c}: the text of `piece` for each record that is `wanted`. */
static char *array_of(const struct load *load, bool (*wanted)(const struct load_record *),
                      int (*piece)(const struct load_record *, char *, size_t))
{
    char *text = malloc((size_t)load->n * 48 + 3);
    size_t n = 0;

    cr_assert_not_null(text);
    text[n++] = '{';
    for (int i = 0; i < load->n; i++) {
        if (!wanted(&load->records[i]))
            continue;
        if (n > 1)
            text[n++] = ',';
        n += (size_t)piece(&load->records[i], text + n, 48);
    }
    strcpy(text + n, "}");
    return text;
}

static int print_id(const struct load_record *record, char *out, size_t capacity)
{
    return snprintf(out, capacity, "%s", record->request_id);
}

static int print_status(const struct load_record *record, char *out, size_t capacity)
{
    return snprintf(out, capacity, "%d", record->status);
}

static int print_external_id(const struct load_record *record, char *out, size_t capacity)
{
    return snprintf(out, capacity, "load-%d", record->number);
}

/* A 503 may lack its entry, and so may a 500 sent while the audit log was out of reach. */
static bool must_be_recorded(const struct load_record *record)
{
    return record->status != 0 && record->status < 500;
}

static bool may_be_recorded(const struct load_record *record)
{
    return record->status >= 500;
}

static bool is_refused_write(const struct load_record *record)
{
    return record->status == 503 && (record->kind == LOAD_CREATE || record->kind == LOAD_UPDATE);
}

static bool is_created(const struct load_record *record)
{
    return record->kind == LOAD_CREATE && is_success(record);
}

static bool is_refused_create(const struct load_record *record)
{
    return record->kind == LOAD_CREATE && record->status == 503;
}

int load_expect_refusals_only(const struct load *load)
{
    int n = 0;

    for (int i = 0; i < load_count(load); i++) {
        const int status = load_record(load, i)->status;

        cr_expect(status == 200 || status == 201 || status == 503, "%d", status);
        n += status == 503;
    }
    return n;
}

static int64_t refused_us(const struct load *load, int64_t from_us, int64_t to_us)
{
    int64_t first_us = INT64_MAX, last_us = 0;

    for (int i = 0; i < load_count(load); i++) {
        const struct load_record *record = load_record(load, i);
        const int64_t answered_us = record->sent_us + record->took_us;

        if (record->status != 503 || record->sent_us < from_us || record->sent_us >= to_us)
            continue;
        first_us = answered_us < first_us ? answered_us : first_us;
        last_us = answered_us > last_us ? answered_us : last_us;
    }
    return last_us > first_us ? last_us - first_us : 0;
}

int64_t load_longest_refusal_us(const struct load *load, const int64_t *moments_us, int n)
{
    int64_t longest_us = 0;

    for (int i = 0; i < n; i++) {
        const int64_t us =
            refused_us(load, moments_us[i], i + 1 < n ? moments_us[i + 1] : INT64_MAX);

        longest_us = us > longest_us ? us : longest_us;
    }
    return longest_us;
}

static void check_audit_log(const struct load *load)
{
    static const char wrong[] =
        "SELECT count(*) FROM unnest($2::uuid[], $3::int[]) AS answer (id, status)"
        "  LEFT JOIN (SELECT request_id, count(*) AS n, min(http_status) AS status"
        "               FROM audit.entries"
        "              WHERE organization_id = $1::uuid AND request_id = ANY ($2)"
        "              GROUP BY request_id) AS entry ON entry.request_id = answer.id"
        " WHERE coalesce(entry.n, 0) NOT BETWEEN $4::int AND 1 OR entry.status <> answer.status";
    char *ids = array_of(load, must_be_recorded, print_id);
    char *statuses = array_of(load, must_be_recorded, print_status);

    cr_assert_eq(sql_integer(wrong, load->org.id, ids, statuses, "1", NULL), 0,
                 "responses without exactly one entry of the same status");
    free(ids);
    free(statuses);
    ids = array_of(load, may_be_recorded, print_id);
    cr_assert_eq(sql_integer("SELECT count(*) FROM (SELECT count(*) AS n FROM audit.entries"
                             " WHERE organization_id = $1::uuid AND request_id = ANY ($2::uuid[])"
                             " GROUP BY request_id) AS entries WHERE n <> 1",
                             load->org.id, ids, NULL),
                 0, "requests with more than one entry");
    free(ids);
    ids = array_of(load, is_refused_write, print_id);
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.entries WHERE organization_id = $1::uuid"
                             " AND request_id = ANY ($2::uuid[]) AND http_status < 300",
                             load->org.id, ids, NULL),
                 0, "writes that were carried out although answered 503");
    free(ids);
}

static void check_creates(const struct load *load)
{
    char *created = array_of(load, is_created, print_external_id);
    char *refused = array_of(load, is_refused_create, print_external_id);
    static const char missing[] =
        "SELECT count(*) FROM unnest($2::text[]) AS answer (id) WHERE NOT EXISTS"
        " (SELECT 1 FROM conversation.conversations"
        "   WHERE organization_id = $1::uuid AND external_id = answer.id)";
    static const char written[] =
        "SELECT count(*) FROM conversation.conversations"
        " WHERE organization_id = $1::uuid AND external_id = ANY ($2::text[])";
    static const char unrecorded[] =
        "SELECT count(*) FROM conversation.conversations AS made"
        "  LEFT JOIN (SELECT conversation_id, count(*) AS n FROM audit.entries"
        "              WHERE organization_id = $1::uuid AND http_status = 201"
        "              GROUP BY conversation_id) AS entry ON conversation_id = made.id"
        " WHERE organization_id = $1::uuid AND n IS DISTINCT FROM 1";

    cr_assert_eq(sql_integer(missing, load->org.id, created, NULL), 0,
                 "a conversation answered 201 does not exist");
    cr_assert_eq(sql_integer(written, load->org.id, refused, NULL), 0,
                 "a create answered 503 was carried out");
    cr_assert_eq(sql_integer(unrecorded, load->org.id, NULL), 0,
                 "a conversation without exactly one entry of its creation");
    cr_assert_eq(sql_integer("SELECT (SELECT count(*) FROM conversation.conversations"
                             "         WHERE organization_id = $1::uuid)"
                             "     - (SELECT count(*) FROM webhook.events"
                             "         WHERE organization_id = $1::uuid"
                             "           AND type <> 'filled')",
                             load->org.id, NULL),
                 0, "conversations without exactly one event each");
    free(created);
    free(refused);
}

/* A thread's updates are sequential: each key holds its last success or a later one that is
   unclear. */
static void check_updates(const struct load *load)
{
    for (int thread = 0; thread < THREADS; thread++) {
        struct client_response *response =
            read_conversation(&load->org, load->conversations[thread]);
        int last_success[KEYS];

        expect_status(response, 200);
        memset(last_success, -1, sizeof(last_success));
        for (int i = 0; i < load->n; i++) {
            const struct load_record *record = &load->records[i];

            if (record->kind == LOAD_UPDATE && record->thread == thread && is_success(record))
                last_success[i % KEYS] = i;
        }
        for (int key = 0; key < KEYS; key++) {
            const json_t *value = at(response, format("custom_attributes.k%d", key));
            int holds = value != NULL ? (int)json_integer_value(value) : -1;

            cr_assert_geq(holds, last_success[key], "an update answered 200 is lost");
            if (holds > last_success[key])
                cr_assert_neq(load->records[holds].status, 503,
                              "an update answered 503 was carried out");
        }
    }
}

void load_check_consistency(const struct load *load)
{
    check_audit_log(load);
    check_creates(load);
    check_updates(load);
}
