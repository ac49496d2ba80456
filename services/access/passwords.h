/*
 * passwords - which passwords may be chosen, and how many wrong attempts are allowed in a minute,
 *             over all replicas.
 *
 * What     Wrong attempts are counted by email or user and by origin. The counts are read in the
 *          round trip that finds the user, and a wrong attempt is counted at the end of its
 *          transaction. So no row is locked while a password is hashed, and the limits may be
 *          exceeded by as many attempts as there are threads that hash at the same time.
 * Owns     Nothing; texts live in the arena.
 * Threads  The actor's; password_is_easy() is pure.
 */
#ifndef SERVICES_ACCESS_PASSWORDS_H
#define SERVICES_ACCESS_PASSWORDS_H

#include <stdbool.h>

#include "common/actor/command.h"
#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/db/db.h"

/* -- attempts ---------------------------------------------------------------------------------- */

#define PASSWORD_ATTEMPTS_OF_EMAIL   10
#define PASSWORD_ATTEMPTS_OF_ADDRESS 30
#define PASSWORD_ATTEMPTS_OF_SITE    60  /* an IPv6 /56, the size of a home's network */
#define PASSWORD_ATTEMPTS_OF_NETWORK 120 /* a /24, an IPv6 /48 */

enum password_attempt_kind {
    /* for an email, or for a user who changes the password, from anywhere */
    PASSWORD_ATTEMPT_SUBJECT,
    PASSWORD_ATTEMPT_PLACE,   /* for an email from one network */
    PASSWORD_ATTEMPT_ADDRESS, /* from an address, and from the networks around it */
};

struct password_attempts {
    int64_t now_s;
    size_t n, index; /* of the statement that reads */
    struct password_attempt {
        enum password_attempt_kind kind;
        struct str counted; /* SHA-256 in hex */
        int64_t max;
    } at[5];
};

/* These add the counters that a wrong attempt will increment. Addresses must be well-formed. */
void password_attempts_of_email(struct password_attempts *attempts, struct arena *arena,
                                struct str email);
void password_attempts_of_user(struct password_attempts *attempts, struct arena *arena,
                               struct str user_id);
void password_attempts_of_place(struct password_attempts *attempts, struct arena *arena,
                                struct str email, struct str network);
void password_attempts_of_address(struct password_attempts *attempts, struct arena *arena,
                                  struct str address);

/* The network that is remembered at a sign-in: a /24 or a /48. */
struct str password_attempts_network(struct arena *arena, struct str address);

/* Queues the statement that reads the counters. */
void password_attempts_ask(struct password_attempts *attempts, struct arena *arena, struct db *db);
/* Whether a counter of this kind has reached its limit. */
bool password_attempts_are_full(const struct password_attempts *attempts, struct db *db,
                                enum password_attempt_kind kind);
/* Refuses the command until the minute is over; returns ST_REFUSED. */
enum status password_attempts_refuse(const struct password_attempts *attempts,
                                     struct command *command);
/* Queues the statement that counts a wrong attempt. */
void password_attempts_note(const struct password_attempts *attempts, struct arena *arena,
                            struct db *db);

/* -- passwords --------------------------------------------------------------------------------- */

/* The rules follow NIST SP 800-63B (revision 4) and OWASP's Authentication Cheat Sheet for
   passwords that are the only factor: at least 15 characters of any kind, and not easy to guess.
   Easy to guess are the same few characters, runs of the keyboard or the alphabet, and little
   besides common words, the user's own email and this service's name. The words are those that lead
   every published count of leaked passwords, and the names of seasons and months. Passwords that
   were chosen before stay valid. */
#define PASSWORD_MIN 15
#define PASSWORD_MAX 1024

#define PASSWORD_EASY "is easy to guess; use several unrelated words"

/* `email` may be STR_NONE. */
bool password_is_easy(struct str password, struct str email);

#endif
