/* One organization sends the most expensive requests it can, as fast as its limits allow: none of
 * another's requests fail, and they take little longer than beside the same number of reads.
 * TEST_LONG=1: 30 s of each kind, a contact with 100,000 conversations. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/dashboard_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/large_pages.h"
#include "tests/support/measure.h"
#include "tests/support/sql.h"
#include "tests/support/steady_load.h"

TestSuite(expensive_organization, .init = stack_have_alone);

enum {
    PER_SECOND = 416, /* what the plan allows an organization: 2.5 times 1,667 in 10 s */
    PROBE_EVERY_MS = 4,
    SAMPLES_MAX = 20000,
    TIMES_MAX = 3,
    /* In the short form, only about six samples of a probe lie above its p99. */
    TIMES_MAX_SHORT = 5,
    /* For pages in the short form: all replies to a gateway share one connection, and a reply of 6 MB
       delays the others by about 20 ms. With so few samples, the p99 may or may not show it. */
    TIMES_MAX_PAGES = 10,
    /* Noise from the machine comes and goes; a real slowdown shows in every measurement. */
    VIEWS_MAX = 3,
};

/* -- the neighbour ---------------------------------------------------------------------------- */

enum probe_kind { PROBE_PING, PROBE_GET, PROBE_SEARCH, PROBE_CREATE, PROBE_KINDS };

static const char *const probe_name[] = {"ping", "get", "search", "create"};

struct probe {
    const struct org *org;
    const char *conversation;
    enum probe_kind kind;
    int64_t end_us;
    pthread_t thread;
    int n, failures, latest_failure;
    int64_t took_us[SAMPLES_MAX];
    struct http_connection client;
};

static const char *write_request(const char *key, const char *method, const char *path,
                                 const char *body)
{
    return format("%s /api/v1%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                  "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                  method, path, key, strlen(body), body);
}

static void write_probe(const struct probe *probe, int number, char *out, size_t capacity)
{
    char body[256] = "", path[80] = "/ping";
    const char *method = "GET";

    if (probe->kind == PROBE_GET)
        snprintf(path, sizeof(path), "/conversations/%s", probe->conversation);
    if (probe->kind == PROBE_SEARCH) {
        method = "POST";
        snprintf(path, sizeof(path), "/conversations/search");
        snprintf(body, sizeof(body),
                 "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\","
                 "\"value\":\"small\"}}");
    }
    if (probe->kind == PROBE_CREATE) {
        method = "POST";
        snprintf(path, sizeof(path), "/conversations");
        snprintf(body, sizeof(body),
                 "{\"external_id\":\"p%lld-%d\",\"from\":{\"external_id\":\"c%d\"}}",
                 (long long)probe->end_us, number, number);
    }
    snprintf(out, capacity,
             "%s /api/v1%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             method, path, probe->org->full_key, strlen(body), body);
}

static void *look(void *closure)
{
    struct probe *const probe = closure;
    const int expected = probe->kind == PROBE_CREATE ? 201 : 200;
    struct connection_response response = {0};
    char request[1024];

    cr_assert(http_connection_open(&probe->client, stack_gateway_port()));
    while (clock_mono_us() < probe->end_us && probe->n < SAMPLES_MAX) {
        const int64_t began_us = clock_mono_us();
        bool came;

        write_probe(probe, probe->n, request, sizeof(request));
        came = http_connection_send(&probe->client, request, strlen(request)) &&
               http_connection_receive(&probe->client, &response, HTTP_TIMEOUT_MS);
        probe->took_us[probe->n++] = clock_mono_us() - began_us;
        if (!came || response.status != expected) {
            probe->failures++;
            probe->latest_failure = came ? response.status : 0;
        }
        if (!came || response.closes) {
            http_connection_close(&probe->client);
            cr_assert(http_connection_open(&probe->client, stack_gateway_port()));
        }
        poll(NULL, 0, PROBE_EVERY_MS);
    }
    http_connection_close(&probe->client);
    return NULL;
}

struct view {
    int64_t p99_us[PROBE_KINDS];
    int failures;
    struct steady_load_count load;
};

/* Runs the neighbour's probes beside the load. */
static struct view see(const struct org *org, const char *conversation, struct steady_load *load,
                       const char *what, int seconds)
{
    const int64_t end_us = clock_mono_us() + 1000000LL * seconds;
    struct probe *const probes = calloc(PROBE_KINDS, sizeof(*probes));
    struct view view = {.failures = 0};

    fprintf(stderr, "%s:\n", what);
    steady_load_start(load, end_us);
    for (int kind = 0; kind < PROBE_KINDS; kind++) {
        probes[kind].org = org;
        probes[kind].conversation = conversation;
        probes[kind].kind = (enum probe_kind)kind;
        probes[kind].end_us = end_us;
        cr_assert_eq(pthread_create(&probes[kind].thread, NULL, look, &probes[kind]), 0);
    }
    for (int kind = 0; kind < PROBE_KINDS; kind++) {
        struct probe *const probe = &probes[kind];

        pthread_join(probe->thread, NULL);
        view.p99_us[kind] = percentile(probe->took_us, (size_t)probe->n, 99);
        view.failures += probe->failures;
        fprintf(stderr, "    %-6s %5d answers, %d failures (%d), p50 %lld us, p99 %lld us\n",
                probe_name[kind], probe->n, probe->failures, probe->latest_failure,
                (long long)percentile(probe->took_us, (size_t)probe->n, 50),
                (long long)view.p99_us[kind]);
    }
    view.load = steady_load_stop(load);
    fprintf(stderr, "    the load had %d answers and %d refusals\n", view.load.responses,
            view.load.refused);
    free(probes);
    return view;
}

/* -- the expensive requests ------------------------------------------------------------------- */

/* Three keys: enough to use up the organization's limit, which is 2.5 times a key's. */
struct hostile {
    struct org org;
    char keys[3][64];
};

static void hostile_new(struct hostile *hostile)
{
    char id[37];

    org_new(&hostile->org);
    for (int i = 0; i < 3; i++)
        org_new_key(&hostile->org, "full", hostile->keys[i], id);
}

/* The same request with each of the keys. */
static void fill(struct steady_load *load, const struct hostile *hostile, const char *method,
                 const char *path, const char *body)
{
    load->port = stack_gateway_port();
    load->n_requests = 3;
    for (int i = 0; i < 3; i++)
        load->requests[i] = write_request(hostile->keys[i], method, path, body);
}

/* Inserts conversations of one contact directly into the table: with attributes so large that
   PostgreSQL stores them out of line, or with none. */
static void make_conversations(const struct org *org, const char *contact, int n, bool large)
{
    new_conversation(org, format("%s-first", contact), contact);
    sql_integer(
        "WITH made AS (INSERT INTO conversation.conversations (organization_id, id, external_id,"
        " contact_id, channel, status, custom_attributes, created_at, updated_at)"
        " SELECT v.organization_id, gen_random_uuid(), v.external_id || i, v.contact_id, v.channel,"
        " v.status, CASE WHEN $4::boolean THEN (SELECT jsonb_object_agg('k' || k,"
        " (SELECT left(string_agg(md5(i::text || k || r), ''), 500) FROM generate_series(1, 16) r))"
        " FROM generate_series(1, 20) k) || '{\"k1\": \"same\"}' ELSE '{}' END,"
        " v.created_at - i * interval '1 ms', v.updated_at FROM conversation.conversations v,"
        " generate_series(1, $3::integer) i WHERE v.organization_id = $1::uuid"
        " AND v.external_id = $2 || '-first' RETURNING 1) SELECT count(*) FROM made",
        org->id, contact, format("%d", n), large ? "true" : "false", NULL);
}

/* Recent entries, all of which a search without a match has to scan. */
static void make_entries(const struct org *org, int n)
{
    sql_integer(
        "WITH made AS (INSERT INTO audit.entries (organization_id, created_at, request_id,"
        " api_key_id, operation, http_status, outcome)"
        " SELECT $1::uuid, audit.time_of(id), id, gen_random_uuid(), 'ping', 200, 'allowed' FROM"
        " (SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - i), 12, '0')"
        "  || '7' || lpad(to_hex(i % 4096), 3, '0') || '8' || substr(md5(i::text), 1, 15))::uuid "
        "AS id"
        "  FROM generate_series(1, $2::integer) i) ids RETURNING 1) SELECT count(*) FROM made",
        org->id, format("%d", n), NULL);
}

static const char *search_of(const char *contact, int filters)
{
    char *out = format("{\"query\":{\"operator\":\"AND\",\"value\":[{\"field\":"
                       "\"contact.external_id\",\"operator\":\"=\",\"value\":\"%s\"}",
                       contact);

    for (int i = 0; i < filters; i++)
        out = format(
            "%s,{\"field\":\"custom_attributes.k1\",\"operator\":\"=\",\"value\":\"same\"}", out);
    return format("%s]}}", out);
}

/* About as large as a body may be: each character is a six-byte escape. */
static const char *large_attributes(void)
{
    char *body = calloc(1, 70 * 1024), *end = body;

    end += sprintf(end, "{\"custom_attributes\":{");
    for (int k = 0; k < 20; k++) {
        end += sprintf(end, "%s\"k%d\":\"", k > 0 ? "," : "", k);
        for (int i = 0; i < 500; i++)
            end += sprintf(end, "\\u00e9");
        end += sprintf(end, "\"");
    }
    sprintf(end, "}}");
    return body;
}

static void fill_with_lists(struct steady_load *load, const struct hostile *hostile)
{
    static const char *const paths[] = {"/data/keys", "/data/audit?operation=unknown",
                                        "/data/members", "/data/conversations", "/data/changes"};
    const char *const base = stack_setting("DASHBOARD_URL");
    struct dashboard_session session;

    dashboard_client_new_user(&session, hostile->org.id, "member");
    load->port = atoi(strrchr(base, ':') + 1);
    load->n_requests = ARRAY_SIZE(paths);
    for (int i = 0; i < load->n_requests; i++)
        load->requests[i] = format("GET %s HTTP/1.1\r\nHost: %s\r\nCookie: session=%s\r\n\r\n",
                                   paths[i], base + strlen("http://"), session.token);
}

static void make_keys(const struct org *org, int n)
{
    sql_integer(
        "WITH made AS (INSERT INTO access.api_keys (organization_id, api_key_id, token_hash,"
        " name, scope, prefix, last_four) SELECT $1::uuid, gen_random_uuid(),"
        " sha256(convert_to($1::text || i, 'UTF8')), repeat('n', 255), 'read', 'x', 'y'"
        " FROM generate_series(1, $2::integer) i RETURNING 1) SELECT count(*) FROM made",
        org->id, format("%d", n), NULL);
}

/* -- the comparison --------------------------------------------------------------------------- */

struct setup {
    struct hostile hostile;
    struct org neighbour;
    const char *conversation; /* the neighbour's */
    struct steady_load *load;
};

static void set_up(struct setup *setup)
{
    hostile_new(&setup->hostile);
    org_new(&setup->neighbour);
    json_decref(convctl("org", "set", setup->neighbour.id, "--rate-limit", "100000", NULL));
    setup->conversation = new_conversation(&setup->neighbour, "n1", "small");
    make_conversations(&setup->neighbour, "few", 20, false);
    setup->load = calloc(1, sizeof(*setup->load));
    setup->load->per_second = PER_SECOND;
}

static bool felt(const struct view *beside, const struct view *before, int times_max)
{
    for (int kind = 0; kind < PROBE_KINDS; kind++)
        if (beside->p99_us[kind] >= times_max * before->p99_us[kind])
            return true;
    return false;
}

static void compare(struct setup *setup, void (*expensive)(struct setup *setup),
                    int times_most_short)
{
    const int seconds = long_form_or(30, 4), times_max = long_form_or(TIMES_MAX, times_most_short);
    const char *const plain = new_conversation(&setup->hostile.org, "plain", "u");
    struct view beside_reads, beside_expensive;

    fill(setup->load, &setup->hostile, "GET", format("/conversations/%s", plain), "");
    (void)see(&setup->neighbour, setup->conversation, setup->load, "at first", 1);
    beside_reads =
        see(&setup->neighbour, setup->conversation, setup->load, "beside reads", seconds);
    cr_expect_gt(beside_reads.load.responses, 0);
    expensive(setup);
    for (int n = 0; n < VIEWS_MAX; n++) {
        beside_expensive = see(&setup->neighbour, setup->conversation, setup->load,
                               "with expensive ones", seconds);
        cr_expect_gt(beside_expensive.load.responses, 0);
        cr_expect_eq(beside_expensive.failures, 0);
        if (!felt(&beside_expensive, &beside_reads, times_max))
            return;
    }
    for (int kind = 0; kind < PROBE_KINDS; kind++)
        cr_expect_lt(beside_expensive.p99_us[kind], times_max * beside_reads.p99_us[kind],
                     "%s: %lld us against %lld", probe_name[kind],
                     (long long)beside_expensive.p99_us[kind],
                     (long long)beside_reads.p99_us[kind]);
}

static void rare_entries(struct setup *setup)
{
    fill(setup->load, &setup->hostile, "GET", "/audit?operation=unknown", "");
}

Test(expensive_organization, does_not_slow_others_by_a_search_for_rare_entries)
{
    struct setup setup;

    set_up(&setup);
    make_entries(&setup.hostile.org, long_form_or(100000, 20000));
    compare(&setup, rare_entries, TIMES_MAX_SHORT);
}

static void many_conversations(struct setup *setup)
{
    fill(setup->load, &setup->hostile, "POST", "/conversations/search", search_of("many", 0));
}

Test(expensive_organization, does_not_slow_others_by_a_contact_with_very_many_conversations)
{
    struct setup setup;

    set_up(&setup);
    make_conversations(&setup.hostile.org, "many", long_form_or(100000, 20000), false);
    compare(&setup, many_conversations, TIMES_MAX_SHORT);
}

static void many_filters(struct setup *setup)
{
    fill(setup->load, &setup->hostile, "POST", "/conversations/search", search_of("large", 48));
}

Test(expensive_organization, does_not_slow_others_by_many_filters_over_large_attributes)
{
    struct setup setup;

    set_up(&setup);
    make_conversations(&setup.hostile.org, "large", long_form_or(8000, 2000), true);
    compare(&setup, many_filters, TIMES_MAX_SHORT);
}

static void lists(struct setup *setup)
{
    fill_with_lists(setup->load, &setup->hostile);
}

Test(expensive_organization, does_not_slow_others_by_the_lists_of_the_dashboard)
{
    struct setup setup;

    set_up(&setup);
    make_keys(&setup.hostile.org, 900);
    make_entries(&setup.hostile.org, long_form_or(100000, 20000));
    compare(&setup, lists, TIMES_MAX_SHORT);
}

/* Each request updates its own conversation, so that none waits for another. */
static void large_bodies(struct setup *setup)
{
    const char *const body = large_attributes();

    setup->load->n_requests = REQUESTS_MAX;
    for (int i = 0; i < REQUESTS_MAX; i++) {
        const char *const id =
            new_conversation(&setup->hostile.org, format("large-%d", i), format("u-%d", i));

        setup->load->requests[i] =
            write_request(setup->hostile.keys[i % 3], "PUT", format("/conversations/%s", id), body);
    }
}

Test(expensive_organization, does_not_slow_others_by_the_largest_bodies)
{
    struct setup setup;

    set_up(&setup);
    compare(&setup, large_bodies, TIMES_MAX_SHORT);
}

static void large_pages(struct setup *setup)
{
    fill(setup->load, &setup->hostile, "POST", "/conversations/search", LARGE_PAGE_SEARCH);
}

Test(expensive_organization, does_not_slow_others_by_the_largest_pages)
{
    struct setup setup;

    set_up(&setup);
    large_page_make(&setup.hostile.org, "128512");
    compare(&setup, large_pages, TIMES_MAX_PAGES);
}
