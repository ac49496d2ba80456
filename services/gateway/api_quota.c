#include "services/gateway/api_request.h"

#include "services/gateway/key_cache.h"
#include "services/gateway/postponed.h"
#include "services/gateway/quota_lease.h"

void api_quota_leave(struct api_request *request)
{
    if (request->is_postponed)
        postponed_leave(request->gateway->postponed, request->key);
    request->is_postponed = false;
}

/* Its key has had all answers that this window has for it. */
static void postpone(struct api_request *request)
{
    request->is_postponed =
        postponed_add(request->gateway->postponed, request->key, &request->wait_entry);
    if (!request->is_postponed)
        api_request_move(request, STAGE_DROPPED);
}

/* False: the request waits for a lease. */
static bool use_request(struct api_request *request)
{
    struct quota_account *account = &request->key->requests;
    enum quota_result result = quota_use(request->gateway, account, &request->wait_entry);

    if (result == QUOTA_ASK)
        return false;
    request->view = quota_view(&account->quota);
    request->has_view = true;
    request->is_over_limit = result == QUOTA_OVER;
    return true;
}

/* A request that was postponed takes its refusal from the window in which it runs again. */
void api_quota_run(struct api_request *request)
{
    api_quota_leave(request);
    if (!request->is_over_limit && !use_request(request))
        return;
    if (!request->is_over_limit) {
        api_request_move(request, STAGE_CHECK);
        return;
    }
    switch (quota_use(request->gateway, &request->key->refusals, &request->wait_entry)) {
    case QUOTA_TAKEN:
        api_request_move(request, STAGE_CHECK);
        return;
    case QUOTA_OVER:
        postpone(request);
        return;
    case QUOTA_ASK:
        return;
    }
}

void api_quota_late(struct api_request *request)
{
    if (!request->is_postponed) {
        api_request_end(request, OUTCOME_UNAVAILABLE, STR_NONE, STAGE_RECORD);
        return;
    }
    api_quota_leave(request);
    api_request_move(request, STAGE_DROPPED);
}

void api_quota_drop(struct api_request *request)
{
    postponed_note_drop(request->gateway->postponed, request->key);
    edge_request_drop(&request->http);
}
