#include "services/gateway/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFRESH_US  3000000
#define RELY_US     5000000
#define REMEMBER_US 60000000
#define TIMEOUT_US  1000000 /* between two look-ups of a key while access is unreachable */

/* Known, and confirmed lately enough to be used without access. */
static bool can_do_without(const struct key *key, int64_t mono_us)
{
    return key->state == KEY_KNOWN && !key->stale && mono_us - key->confirmed_us < REMEMBER_US;
}

enum key_result key_check(const struct key *key, int64_t mono_us, int64_t now_s, bool can_ask)
{
    int64_t age_us = mono_us - key->confirmed_us;
    bool expired = key->state == KEY_KNOWN && key->record.expires_at <= now_s;
    bool may_ask = can_ask && mono_us >= key->ask_again_us && !key->asking;

    if (key->state != KEY_NEW && !key->stale && age_us < RELY_US) {
        if (key->state == KEY_REFUSED || expired)
            return KEY_BAD;
        return age_us < REFRESH_US || key->asking || !can_ask ? KEY_GOOD : KEY_GOOD_ASK;
    }
    /* After one failed call to access, requests do not wait for it. */
    if ((key->ask_again_us != 0 || !can_ask) && can_do_without(key, mono_us)) {
        if (expired)
            return KEY_BAD;
        return may_ask ? KEY_GOOD_ASK : KEY_GOOD;
    }
    return may_ask || (key->asking && can_ask) ? KEY_ASK : KEY_OUT_OF_REACH;
}

void key_confirm(struct key *key, struct key_record *record)
{
    key_record_release(&key->record);
    key->record = *record;
    *record = (struct key_record){0};
    key->state = KEY_KNOWN;
    key->confirmed_us = key->asked_us;
    key->ask_again_us = 0;
    key->stale = false;
}

void key_refuse(struct key *key)
{
    key->state = KEY_REFUSED;
    key->confirmed_us = key->asked_us;
    key->ask_again_us = 0;
    key->stale = false;
}

void key_unreachable(struct key *key, int64_t mono_us)
{
    key->ask_again_us = mono_us + TIMEOUT_US;
}

void key_reachable(struct key *key)
{
    key->ask_again_us = 0;
}

void key_doubt(struct key *key, struct str organization_id)
{
    key->stale = true;
    key->ask_again_us = 0;
    if (!key->asking || str_equal(str_of(key->overtaken_by), organization_id))
        return;
    key->overtaken_again = key->overtaken_by[0] != '\0';
    snprintf(key->overtaken_by, sizeof(key->overtaken_by), "%.*s", STR_ARG(organization_id));
}

bool key_is_overtaken(const struct key *key, const struct key_record *record)
{
    if (key->overtaken_by[0] == '\0')
        return false;
    return key->overtaken_again || record == NULL ||
           strcmp(key->overtaken_by, record->organization_id) == 0;
}

void key_record_release(struct key_record *record)
{
    free(record->addresses);
    record->addresses = NULL;
    record->n_addresses = 0;
}

bool key_record_lists(const struct key_record *record, const struct address *address)
{
    for (size_t i = 0; i < record->n_addresses; i++)
        if (address_equal(&record->addresses[i], address))
            return true;
    return false;
}
