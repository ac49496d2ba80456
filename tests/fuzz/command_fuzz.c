/* Every command of every service, from a sender with all permissions. The input is the command's
   subject, a line feed, and its message. Any command is refused with an error that can be sent, or
   becomes parameters that PostgreSQL accepts. Parsing it again has the same result. */
#include <string.h>

#include "common/actor/command_read.h"
#include "common/actor/operator_command.h"
#include "common/base/text.h"
#include "proto/headers.h"
#include "services/access/access.h"
#include "services/audit/audit.h"
#include "services/conversation/conversation.h"
#include "services/search/search.h"
#include "services/webhook/webhook.h"
#include "tests/fuzz/fuzz.h"

#define SECRET "a secret that is long enough for a fuzzer"
#define KEY    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static struct access access_state = {.rate_limit_default = 1000, .cells = "main,second"};
static struct audit audit_state = {.retention_months = 12};
static struct search search_state;
static struct webhook webhook_state = {.endpoints_max = 50};

static const struct {
    const struct command_handler *handler;
    void *self;
} commands[] = {
    {&access_authenticate, &access_state},
    {&access_cell_list, &access_state},
    {&access_invitation, &access_state},
    {&access_key_create, &access_state},
    {&access_key_list, &access_state},
    {&access_key_revoke, &access_state},
    {&access_key_rotate, &access_state},
    {&access_member_invite, &access_state},
    {&access_member_list, &access_state},
    {&access_member_remove, &access_state},
    {&access_member_set, &access_state},
    {&access_move_get, &access_state},
    {&access_move_set, &access_state},
    {&access_org_cell, &access_state},
    {&access_org_count, &access_state},
    {&access_org_create, &access_state},
    {&access_org_get, &access_state},
    {&access_org_list, &access_state},
    {&access_org_set, &access_state},
    {&access_password, &access_state},
    {&access_policy_get, &access_state},
    {&access_policy_set, &access_state},
    {&access_quota, &access_state},
    {&access_read_usage, &access_state},
    {&access_report_usage, &access_state},
    {&access_session_check, &access_state},
    {&access_session_end, &access_state},
    {&access_session_end_all, &access_state},
    {&access_session_list, &access_state},
    {&access_sign_in, &access_state},
    {&access_user_create, &access_state},
    {&audit_append, &audit_state},
    {&audit_changes, &audit_state},
    {&audit_entries, &audit_state},
    {&audit_export, &audit_state},
    {&audit_list, &audit_state},
    {&audit_record, &audit_state},
    {&audit_set_retention, &audit_state},
    {&audit_verify, &audit_state},
    {&conversation_append, NULL},
    {&conversation_create, NULL},
    {&conversation_delete, NULL},
    {&conversation_erase_contact, NULL},
    {&conversation_get, NULL},
    {&conversation_inbox, NULL},
    {&conversation_open, NULL},
    {&conversation_set_status, NULL},
    {&conversation_update, NULL},
    {&conversation_view, NULL},
    {&search_conversations, &search_state},
    {&webhook_deliveries, &webhook_state},
    {&webhook_endpoint_create, &webhook_state},
    {&webhook_endpoint_delete, &webhook_state},
    {&webhook_endpoint_list, &webhook_state},
    {&webhook_endpoint_set, &webhook_state},
    {&webhook_publish, &webhook_state},
    {&webhook_resend, &webhook_state},
    {&webhook_resend_failed, &webhook_state},
    {&webhook_rotate_secret, &webhook_state},
    {&webhook_statistics, &webhook_state},
    {&webhook_test, &webhook_state},
};

static void set_up(void)
{
    static bool is_ready;

    if (is_ready)
        return;
    is_ready = true;
    fuzz_quiet();
    crypto_password_set_cost(1);
    must(cursor_keys_read(SECRET, NULL, &audit_state.keys));
    must(cursor_keys_read(SECRET, NULL, &search_state.keys));
    must(audit_keys_read(SECRET, NULL, &audit_state.signing));
    must(secret_keys_read(STR(KEY), STR_NONE, &webhook_state.keys));
}

/* The outcome as the sender would get it. */
static struct str told(const struct batch_item *item, struct arena *arena)
{
    const struct command *command = &item->command;
    struct buf text;

    buf_init(&text, arena, 256);
    if (item->status == ST_OK)
        return STR("ok");
    must(item->status == ST_REFUSED && command->errors.n > 0 && command->errors.n <= ERRORS_MAX);
    must(outcome_code(command->outcome) != NULL);
    must(strcmp(command->errors.at[0].code, outcome_code(command->outcome)) == 0);
    errors_write(&command->errors, &text);
    fuzz_must_be_json(buf_str(&text));
    return buf_str(&text);
}

/* PostgreSQL ends a text parameter at its first zero byte. */
static void check_parameters(const struct operator_query *query)
{
    must(query->params.n <= PARAMS_MAX);
    for (size_t i = 0; i < query->params.n; i++)
        must(text_is_utf8(query->params.at[i]) && !text_has_nul(query->params.at[i]));
}

static void check_parsed(const struct batch_item *item)
{
    const struct command *command = &item->command;
    struct buf detail = command->change_detail;

    must(command->outcome == OUTCOME_OK && command->errors.n == 0);
    must(text_is_utf8(command->change_target) && command->cost >= 1);
    if (command->handler->query == operator_query)
        check_parameters(command->state);
    if (detail.n > 0) {
        buf_char(&detail, '}');
        fuzz_must_be_json(buf_str(&detail));
    }
}

static void check_caller(const struct command *command)
{
    const struct caller *caller = &command->caller;

    must(command->deadline_us <= command->received_us + INT64_C(45000000));
    must(command->handler->operation == OP_NONE || !uuid_is_nil(&caller->organization_id));
    must(text_is_utf8(caller->user_email));
}

static void run(const struct command_handler *handler, void *self, struct str text)
{
    static struct arena arena = {.cap = 64 << 20};
    struct waiting waiting = {.message = fuzz_message_open(text),
                              .handler = handler,
                              .received_us = INT64_C(1800000000000000)};
    struct batch_item item = {.status = ST_OK};
    struct str first;

    if (command_read(&waiting, &arena, &item)) {
        check_caller(&item.command);
        item.status = command_begin(&item.command, self);
        first = told(&item, &arena);
        if (item.status == ST_OK)
            check_parsed(&item);
        item.status = command_begin(&item.command, self);
        must(str_equal(first, told(&item, &arena)));
    }
    arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n}, subject = str_cut(&text, '\n');

    set_up();
    for (size_t i = 0; text.p != NULL && i < ARRAY_SIZE(commands); i++)
        if (str_equal(subject, str_of(commands[i].handler->subject)))
            run(commands[i].handler, commands[i].self, text);
    return 0;
}
