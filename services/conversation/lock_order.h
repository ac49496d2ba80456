/*
 * lock_order - in which order the commands of a batch take their locks.
 *
 * What     A command locks the rows of one contact or of one conversation:
 *
 *            create, open          a conversation that nobody sees yet; its contact (shared, by the
 *                                  foreign key; exclusively when the profile changes or is new)
 *            erase-contact         the contact
 *            update, append, set-status, delete
 *                                  the conversation (and never its contact)
 *
 *          so one key names what it locks, and batches that take their keys in one order (creates
 *          after all others) cannot wait for each other in a circle. Two ways lead to one contact
 *          (its id, the caller's id): batches that mix them, and creates that fight for one
 *          external id or email, may still meet crosswise. PostgreSQL then breaks the tie, and the
 *          batch is run one by one.
 * Threads  Any; pure.
 */
#ifndef SERVICES_CONVERSATION_LOCK_ORDER_H
#define SERVICES_CONVERSATION_LOCK_ORDER_H

#include <stdint.h>

#include "common/base/str.h"
#include "common/base/uuid.h"

/* The same in every replica; never 0. */
uint64_t lock_order(const struct uuid *organization, struct str key);

#endif
