#include "services/gateway/api_request.h"

#include "common/base/clock.h"
#include "common/http/request_headers.h"
#include "common/json/json.h"
#include "services/gateway/api_auth.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"

/* -- moves ----------------------------------------------------------------------------------- */

void api_request_end(struct api_request *request, enum outcome outcome, struct str body,
                     enum stage stage)
{
    request->outcome = outcome;
    request->body = body;
    api_request_move(request, stage);
}

void api_request_refuse(struct api_request *request, enum outcome outcome)
{
    api_request_end(request, outcome, STR_NONE, STAGE_RESPONDED);
}

bool api_request_park(struct api_request *request)
{
    if (!calls_may_wait(&request->http.edge->calls))
        return false;
    metric_add(gateway_metrics.parked, 1);
    wait_list_add(&request->wait_entry, &request->gateway->parked);
    return true;
}

/* -- check ----------------------------------------------------------------------------------- */

/* The response to a ping, which needs no service. */
static struct str ping(struct api_request *request)
{
    const struct key_record *record = &request->key->record;
    struct buf buf;

    buf_init(&buf, &request->http.arena, 256);
    buf_char(&buf, '{');
    json_add_text(&buf, "type", STR("ping"));
    json_add_text(&buf, "organization_id", str_of(record->organization_id));
    json_add_text(&buf, "scope", record->may_write ? STR("full") : STR("read"));
    json_add_integer(&buf, "server_time", clock_us() / 1000000);
    buf_char(&buf, '}');
    return buf_str(&buf);
}

static void run_check(struct api_request *request)
{
    const struct facts facts = {
        .record = &request->key->record,
        .route = &request->route,
        .client = request->http.client,
        .is_https = request->http.is_https,
        .over_limit = request->is_over_limit,
        .accepts_json = request->accepts_json,
        .sends_json = request->media_error == NULL,
        .too_large = request->http.fault == FRAMING_BODY_TOO_LARGE,
    };
    const enum outcome outcome = checks_run(&facts);

    if (outcome == OUTCOME_UNSUPPORTED_MEDIA)
        request->message = request->media_error;
    if (outcome != OUTCOME_OK)
        api_request_end(request, outcome, STR_NONE, STAGE_RECORD);
    else if (request->route.subject == NULL)
        api_request_end(request, OUTCOME_OK, ping(request), STAGE_RECORD);
    else
        api_request_move(request, STAGE_COMMAND);
}

/* -- the table ------------------------------------------------------------------------------- */

#define TO(stage) (1u << (stage))

static const struct {
    unsigned moves;                            /* allowed next stages */
    void (*run)(struct api_request *request);  /* on entry and on resume */
    void (*late)(struct api_request *request); /* out of time; NULL: the stage never waits */
} stages[] = {
    [STAGE_AUTHENTICATE] = {TO(STAGE_QUOTA) | TO(STAGE_RESPONDED), api_authenticate_run,
                            api_authenticate_late},
    [STAGE_QUOTA] = {TO(STAGE_CHECK) | TO(STAGE_RECORD) | TO(STAGE_DROPPED), api_quota_run,
                     api_quota_late},
    [STAGE_CHECK] = {TO(STAGE_COMMAND) | TO(STAGE_RECORD), run_check, NULL},
    [STAGE_COMMAND] = {TO(STAGE_RECORD) | TO(STAGE_RESPONDED), api_command_run, api_command_late},
    [STAGE_RECORD] = {TO(STAGE_RESPONDED), api_command_record, api_command_record_late},
    [STAGE_RESPONDED] = {0, api_response_run, NULL},
    [STAGE_DROPPED] = {0, api_quota_drop, NULL},
};

void api_request_move(struct api_request *request, enum stage stage)
{
    must((stages[request->stage].moves & TO(stage)) != 0);
    request->stage = stage;
    stages[stage].run(request);
}

static void on_resume(struct wait_entry *entry)
{
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, wait_entry, entry);

    stages[request->stage].run(request);
}

static void on_late(struct edge_request *http)
{
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);

    if (!request->is_late) {
        request->is_late = true;
        edge_request_limit(http, EDGE_REQUEST_LIMIT_RECORD, on_late);
        if (request->stage == STAGE_RECORD)
            return; /* RECORD may use the rest of the time */
    }
    must(stages[request->stage].late != NULL);
    list_remove(&request->wait_entry.link);
    stages[request->stage].late(request);
}

/* -- the beginning and the end --------------------------------------------------------------- */

static void on_end(struct edge_request *http)
{
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);

    list_remove(&request->wait_entry.link);
    api_quota_leave(request);
    bus_message_free(request->reply);
    if (request->key != NULL)
        key_cache_put(request->gateway->keys, request->key);
}

bool api_request_is_unsound(const struct api_request *request)
{
    return request->http.fault != FRAMING_SOUND && request->http.fault != FRAMING_BODY_TOO_LARGE;
}

static void read_request(struct api_request *request, const struct request_headers *headers)
{
    const h2o_req_t *req = request->http.req;

    request->route = api_route_find((struct str){req->input.method.base, req->input.method.len},
                                    (struct str){req->input.path.base, req->input.path.len});
    request->accepts_json = media_accepts_json(headers->accept.at, headers->accept.n);
    request->media_error = media_body_error(headers);
}

int api_request_begin(h2o_handler_t *handler, h2o_req_t *req)
{
    struct edge_request *http = edge_request_begin(req, sizeof(struct api_request), on_end);
    struct api_request *request = H2O_STRUCT_FROM_MEMBER(struct api_request, http, http);
    struct request_headers headers;

    request->gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, edge, http->edge);
    request->wait_entry.resume = on_resume;
    edge_request_limit(http, EDGE_REQUEST_LIMIT_COMMAND, on_late);
    edge_request_read(http, &headers);
    if (api_request_is_unsound(request)) {
        api_request_refuse(request, OUTCOME_PARAMETER_INVALID);
        return 0;
    }
    read_request(request, &headers);
    if (request->route.end == API_ROUTE_OUTSIDE)
        api_request_refuse(request, OUTCOME_NOT_FOUND);
    else if (http->edge->requests > API_REQUESTS_MAX)
        api_request_refuse(request, OUTCOME_BUSY);
    else
        api_authenticate_begin(request, &headers.authorization);
    return 0;
}
