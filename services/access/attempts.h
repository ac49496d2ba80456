/*
 * attempts - how often a password may be tried in a minute, at whatever replica.
 *
 * What     An attempt is counted in the transaction in which it is made, before it is judged; one
 *          that was right is taken back there. Who tries the same at the same time waits for it.
 * Owns     Nothing; texts live in the arena.
 * Threads  The actor's.
 */
#ifndef ACCESS_ATTEMPTS_H
#define ACCESS_ATTEMPTS_H

#include "common/actor/command.h"
#include "common/db/db.h"

#define ATTEMPTS_OF_EMAIL   10
#define ATTEMPTS_OF_ADDRESS 30

struct attempts {
    int64_t now_s;
    size_t n;
    struct attempt {
        struct str counted; /* SHA-256 in hex */
        int64_t most;
        size_t index; /* of the statement in the batch */
    } at[2];
};

/* What is counted: an email (or a user), then an address; in this order always, for they are locked
   in it. Of an IPv6 address the first half counts: the rest is its owner's to choose. */
void attempts_of_email(struct attempts *attempts, struct arena *arena, struct str email);
void attempts_of_user(struct attempts *attempts, struct arena *arena, struct str user_id);
void attempts_of_address(struct attempts *attempts, struct arena *arena, struct str address);

/* Queues the counting. */
void attempts_ask(struct attempts *attempts, struct arena *arena, struct db *db);
/* ST_REFUSED: there were too many, and the command is refused. */
enum status attempts_judge(const struct attempts *attempts, struct command *command, struct db *db);
/* Queues taking it back. */
void attempts_forgive(const struct attempts *attempts, struct arena *arena, struct db *db);

#endif
