/*
 * passwords - which passwords may be chosen.
 *
 * What     As NIST SP 800-63B (revision 4) and OWASP's Authentication Cheat Sheet ask for where the
 *          password is the only factor: 15 characters at least, of any kind, and none that is
 *          easily guessed: the same few characters, runs of the keyboard or the alphabet, and what
 *          is left of common words, the user's own email and this service's name when those are
 *          taken away. The words are those that lead every published count of leaked passwords, and
 *          the names of seasons and months. Passwords that were chosen before stay good.
 * Threads  Any; pure.
 */
#ifndef SERVICES_ACCESS_PASSWORDS_H
#define SERVICES_ACCESS_PASSWORDS_H

#include <stdbool.h>

#include "common/base/str.h"

#define PASSWORD_MIN 15
#define PASSWORD_MAX 1024

#define PASSWORD_EASY "is easy to guess; use several unrelated words"

/* `email` may be STR_NONE. */
bool password_is_easy(struct str password, struct str email);

#endif
