#include "common/actor/service.h"
#include "common/base/log.h"
#include "common/trail/trail.h"
#include "proto/subject.h"
#include "services/webhook/sender.h"
#include "services/webhook/webhook.h"

enum { SLOTS_LEAST = 8 };

struct webhook_config {
    const char *secret_key, *secret_key_previous;
    const char *allow_cidrs, *ca_file, *dns_server;
    int64_t concurrency, lease_ms;
};

#define AT(member) offsetof(struct webhook_config, member)

static const struct setting settings[] = {
    {.name = "WEBHOOK_SECRET_KEY",
     .type = SETTING_STRING,
     .offset = AT(secret_key),
     .secret = true,
     .meaning = "Key that endpoints' secrets are stored under: 64 hex digits, the same for all "
                "replicas"},
    {.name = "WEBHOOK_SECRET_KEY_PREVIOUS",
     .type = SETTING_STRING,
     .offset = AT(secret_key_previous),
     .fallback = "",
     .secret = true,
     .meaning = "Another key whose secrets can be read; they are sealed anew with the first one"},
    {.name = "WEBHOOK_ALLOW_CIDRS",
     .type = SETTING_STRING,
     .offset = AT(allow_cidrs),
     .fallback = "",
     .meaning = "Destinations in these comma-separated CIDRs are allowed although private; link-"
                "local and cloud metadata addresses never are"},
    {.name = "WEBHOOK_CA_FILE",
     .type = SETTING_STRING,
     .offset = AT(ca_file),
     .fallback = "",
     .meaning = "Further certificate authorities trusted for deliveries, in PEM"},
    {.name = "WEBHOOK_DNS_SERVER",
     .type = SETTING_STRING,
     .offset = AT(dns_server),
     .fallback = "",
     .meaning = "Names for deliveries are looked up there: ADDRESS[:PORT],...; empty = as the "
                "system does"},
    {.name = "WEBHOOK_CONCURRENCY",
     .type = SETTING_INT,
     .offset = AT(concurrency),
     .fallback = "256",
     .least = SLOTS_LEAST,
     .most = SENDER_SLOTS_MOST,
     .meaning = "Deliveries under way at a time in this process"},
    {.name = "WEBHOOK_LEASE_MS",
     .type = SETTING_INT,
     .offset = AT(lease_ms),
     .fallback = "5000",
     .least = 1000,
     .most = 60000,
     .meaning = "Milliseconds without a sign of life of the process that makes it after which a "
                "delivery is made again"},
};

static struct webhook webhook;
static struct sender *sender;

/* Nothing here is in the audit trail: that is the API's, and these are not its operations. What
   changes something is in the trail of changes. */
static const struct route routes[] = {
    {SUBJECT_WEBHOOK_ENDPOINT_CREATE, OP_NONE, CHANGE_ENDPOINT_CREATE, true, endpoint_create_judge,
     webhook_ask, webhook_tell, NULL},
    {SUBJECT_WEBHOOK_ENDPOINT_LIST, OP_NONE, CHANGE_NONE, false, endpoint_list_judge, webhook_ask,
     webhook_tell, NULL},
    {SUBJECT_WEBHOOK_ENDPOINT_SET, OP_NONE, CHANGE_ENDPOINT_SET, true, endpoint_set_judge,
     webhook_ask, webhook_tell, NULL},
    {SUBJECT_WEBHOOK_ENDPOINT_DELETE, OP_NONE, CHANGE_ENDPOINT_DELETE, true, endpoint_delete_judge,
     webhook_ask, webhook_tell, NULL},
    {SUBJECT_WEBHOOK_DELIVERIES, OP_NONE, CHANGE_NONE, false, deliveries_judge, webhook_ask,
     webhook_tell, NULL},
    {SUBJECT_WEBHOOK_RESEND, OP_NONE, CHANGE_DELIVERY_RESEND, true, resend_judge, webhook_ask,
     webhook_tell_work, NULL},
    {SUBJECT_WEBHOOK_RESEND_FAILED, OP_NONE, CHANGE_ENDPOINT_RESEND_FAILED, true,
     resend_failed_judge, webhook_ask, webhook_tell_work, NULL},
    {SUBJECT_WEBHOOK_TEST, OP_NONE, CHANGE_ENDPOINT_TEST, true, test_judge, webhook_ask,
     webhook_tell_work, NULL},
    {SUBJECT_WEBHOOK_STATISTICS, OP_NONE, CHANGE_NONE, false, statistics_judge, webhook_ask,
     webhook_tell, NULL},
    {SUBJECT_WEBHOOK_PUBLISH, OP_NONE, CHANGE_NONE, true, publish_judge, webhook_ask,
     webhook_tell_work, NULL},
};

static struct service webhook_service = {
    .name = "webhook",
    .mailbox = SUBJECT_WEBHOOK,
    .routes = routes,
    .n_routes = sizeof(routes) / sizeof(routes[0]),
    .statements = webhook_sql,
    .n_statements = WEBHOOK_SQL_COUNT,
    .self = &webhook,
    .looks_up_organizations = true,
    .ledger = &trail,
    .on_idle = webhook_upkeep,
};

static enum status open_webhook(struct service *service, void *closure)
{
    const struct webhook_config *config = closure;

    if (!secret_keys_read(str_of(config->secret_key), str_of(config->secret_key_previous),
                          &webhook.keys)) {
        LOG(LOG_ERROR, "WEBHOOK_SECRET_KEY and WEBHOOK_SECRET_KEY_PREVIOUS must be 64 hex digits");
        return ST_REFUSED;
    }
    if (!networks_parse(str_of(config->allow_cidrs), &webhook.allowed)) {
        LOG(LOG_ERROR, "WEBHOOK_ALLOW_CIDRS must be CIDRs with commas between them");
        return ST_REFUSED;
    }
    webhook.stray = metric_gauge("conversations_webhook_deliveries_without_partition", NULL,
                                 "Deliveries in the log for whose day no partition was made");
    webhook_survey_open(&webhook);
    return ST_OK;
}

static enum status start_sender(const struct service_process *process, void *closure)
{
    const struct webhook_config *config = closure;

    sender = sender_start(&(struct sender_options){
        .name = process->name,
        .bus_url = process->bus_url,
        .bus_tls = process->bus_tls,
        .database_url = process->database_url,
        .dns_servers = config->dns_server[0] != '\0' ? config->dns_server : NULL,
        .ca_file = config->ca_file[0] != '\0' ? config->ca_file : NULL,
        .slots = (int)config->concurrency,
        .lease_ms = (int)config->lease_ms,
        .webhook = &webhook,
    });
    return sender != NULL ? ST_OK : ST_REFUSED;
}

static bool is_ready(char reason[128])
{
    return sender_is_ready(sender, reason);
}

static void stop_sender(void)
{
    sender_stop(sender);
}

int main(int argc, char **argv)
{
    static struct webhook_config config;
    const struct service_extra extra = {
        .settings = settings,
        .n_settings = sizeof(settings) / sizeof(settings[0]),
        .config = &config,
        .open = open_webhook,
        .start = start_sender,
        .is_ready = is_ready,
        .stop = stop_sender,
    };

    return service_main(argc, argv, &webhook_service, &extra);
}
