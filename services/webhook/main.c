#include "common/audit_log/audit_log.h"
#include "common/base/log.h"
#include "common/bus/bus.h"
#include "common/crypto/certificates.h"
#include "common/runtime/service.h"
#include "proto/subject.h"
#include "services/webhook/sender.h"
#include "services/webhook/webhook.h"

/* A batch has all its replies in memory, each in up to three copies: 25 MB if all are large. */
enum { SLOTS_MIN = 8, PAGES_MAX = 16 };

struct webhook_config {
    const char *secret_key, *secret_key_previous;
    const char *allow_cidrs, *deny_cidrs, *nat64_prefixes, *ca_file, *dns_server;
    int64_t concurrency, claim_ms, budget, endpoints_max;
};

#define AT(member) offsetof(struct webhook_config, member)

static const struct setting settings[] = {
    {.name = "WEBHOOK_SECRET_KEY",
     .type = SETTING_STRING,
     .offset = AT(secret_key),
     .secret = true,
     .meaning = "Key that encrypts the secrets of endpoints: 64 hex digits, the same for all "
                "replicas"},
    {.name = "WEBHOOK_SECRET_KEY_PREVIOUS",
     .type = SETTING_STRING,
     .offset = AT(secret_key_previous),
     .fallback = "",
     .secret = true,
     .meaning = "A second key whose secrets can be read; they are re-encrypted with the first one"},
    {.name = "WEBHOOK_ALLOW_CIDRS",
     .type = SETTING_STRING,
     .offset = AT(allow_cidrs),
     .fallback = "",
     .meaning = "Comma-separated CIDRs that deliveries may be sent to although they are private; "
                "link-local and cloud metadata addresses are never allowed"},
    {.name = "WEBHOOK_DENY_CIDRS",
     .type = SETTING_STRING,
     .offset = AT(deny_cidrs),
     .fallback = "",
     .meaning = "Comma-separated CIDRs that deliveries are never sent to, public or allowed: the "
                "deployment's own networks"},
    {.name = "WEBHOOK_NAT64_PREFIXES",
     .type = SETTING_STRING,
     .offset = AT(nat64_prefixes),
     .fallback = "",
     .meaning =
         "Comma-separated prefixes with which the network translates IPv6 to IPv4 (64:ff9b::/96 "
         "or its own); the IPv4 address inside decides whether a delivery may be sent"},
    {.name = "WEBHOOK_CA_FILE",
     .type = SETTING_STRING,
     .offset = AT(ca_file),
     .fallback = "",
     .meaning = "Additional CA certificates trusted for deliveries, in PEM"},
    {.name = "WEBHOOK_DNS_SERVER",
     .type = SETTING_STRING,
     .offset = AT(dns_server),
     .fallback = "",
     .meaning = "DNS servers for deliveries: ADDRESS[:PORT],...; empty = those of "
                "the system"},
    {.name = "WEBHOOK_CONCURRENCY",
     .type = SETTING_INT,
     .offset = AT(concurrency),
     .fallback = "256",
     .min = SLOTS_MIN,
     .max = SENDER_SLOTS_MAX,
     .meaning = "Deliveries that this process may have claimed at a time"},
    {.name = "WEBHOOK_LEASE_MS",
     .type = SETTING_INT,
     .offset = AT(claim_ms),
     .fallback = "5000",
     .min = 1000,
     .max = 60000,
     .meaning = "Milliseconds after which a claim that was not renewed expires and its delivery is "
                "attempted again"},
    {.name = "WEBHOOK_DELIVERIES_PER_MINUTE",
     .type = SETTING_INT,
     .offset = AT(budget),
     .fallback = "30000",
     .min = 60,
     .max = 10000000,
     .meaning = "Deliveries per organization and minute; those beyond the limit are skipped"},
    {.name = "WEBHOOK_MAX_ENDPOINTS",
     .type = SETTING_INT,
     .offset = AT(endpoints_max),
     .fallback = "50",
     .min = 1,
     .max = 2000,
     .meaning = "Endpoints per organization; existing ones beyond the limit are kept"},
};

static struct webhook webhook;
static struct sender *sender;

/* These are not operations of the API, so the audit log has no entries for them; the log of changes
   has those that change something. */
static const struct command_handler *const handlers[] = {
    &webhook_endpoint_create, &webhook_endpoint_set, &webhook_rotate_secret,
    &webhook_endpoint_delete, &webhook_resend,       &webhook_test,
    &webhook_publish,
};

static int64_t outbox_age_s(const void *self)
{
    const struct webhook *of = self;

    return metric_read(of->outbox_age);
}

/* Commands that read much. They have their own actor so that they do not prolong a batch that holds
   the queue's lock. */
static const struct command_handler *const page_handlers[] = {
    &webhook_endpoint_list,
    &webhook_deliveries,
    &webhook_resend_failed,
    &webhook_statistics,
};

static struct service page_service = {
    .name = "pages",
    .group = "webhook", /* the whole process is one group on the bus */
    .handlers = page_handlers,
    .n_handlers = ARRAY_SIZE(page_handlers),
    .statements = webhook_sql,
    .n_statements = WEBHOOK_SQL_COUNT,
    .self = &webhook,
    .audit_sink = &audit_log,
    .batch_max = PAGES_MAX,
    .actors = 1,
};

static struct service webhook_service = {
    .name = "webhook",
    .handlers = handlers,
    .n_handlers = ARRAY_SIZE(handlers),
    .statements = webhook_sql,
    .n_statements = WEBHOOK_SQL_COUNT,
    .self = &webhook,
    .audit_sink = &audit_log,
    .on_idle = webhook_upkeep,
    .lag_s = outbox_age_s,
    .next_in_process = &page_service,
};

static bool set_networks(const char *value, struct networks *out, const char *complaint)
{
    struct str wrong;

    if (networks_parse(str_of(value), out, &wrong))
        return true;
    LOG(LOG_ERROR, complaint, log_slice("invalid", wrong), log_int("networks_max", NETWORKS_MAX));
    return false;
}

static bool set_rules(const struct webhook_config *config, struct address_rules *rules)
{
    if (!set_networks(
            config->allow_cidrs, &rules->allowed,
            "WEBHOOK_ALLOW_CIDRS must be networks such as 10.0.0.0/8, separated by commas") ||
        !set_networks(
            config->deny_cidrs, &rules->denied,
            "WEBHOOK_DENY_CIDRS must be networks such as 2001:db8::/32, separated by commas") ||
        !set_networks(
            config->nat64_prefixes, &rules->nat64,
            "WEBHOOK_NAT64_PREFIXES must be networks such as 64:ff9b::/96, separated by commas"))
        return false;
    if (address_rules_are_sound(rules))
        return true;
    LOG(LOG_ERROR, "each of WEBHOOK_NAT64_PREFIXES must have 32, 40, 48, 56, 64 or 96 bits");
    return false;
}

static enum status open_webhook(struct service *service, void *closure)
{
    const struct webhook_config *config = closure;

    bus_wipe_what_is_freed();
    if (!secret_keys_read(str_of(config->secret_key), str_of(config->secret_key_previous),
                          &webhook.keys)) {
        LOG(LOG_ERROR, "WEBHOOK_SECRET_KEY and WEBHOOK_SECRET_KEY_PREVIOUS must be 64 hex digits");
        return ST_REFUSED;
    }
    if (!set_rules(config, &webhook.rules))
        return ST_REFUSED;
    certificates_watch("webhook_authorities", config->ca_file);
    webhook.endpoints_max = config->endpoints_max;
    webhook.unpartitioned = metric_gauge("conversations_webhook_deliveries_without_partition", NULL,
                                         "Deliveries in the log's default partition");
    webhook.expired = metric_counter("conversations_webhook_expired_total", NULL,
                                     "Deliveries that had waited in the queue for a day");
    webhook_outbox_stats_open(&webhook);
    return ST_OK;
}

static enum status start_sender(const struct process *process, void *closure)
{
    const struct webhook_config *config = closure;

    sender = sender_start(&(struct sender_options){
        .name = process->name,
        .bus_url = process->bus_url,
        .bus_settings = process->bus_settings,
        .database_url = process->database_url,
        .cell = process->cell,
        .dns_servers = config->dns_server[0] != '\0' ? config->dns_server : NULL,
        .ca_file = config->ca_file[0] != '\0' ? config->ca_file : NULL,
        .slots = (int)config->concurrency,
        .claim_ms = (int)config->claim_ms,
        .budget = (int)config->budget,
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
        .n_settings = ARRAY_SIZE(settings),
        .config = &config,
        .open = open_webhook,
        .start = start_sender,
        .is_ready = is_ready,
        .stop = stop_sender,
    };

    return service_main(argc, argv, &webhook_service, &extra);
}
