#include "services/access/passwords.h"

#include <criterion/criterion.h>

#define EMAIL "grace.hopper@navy-yard.example"

Test(passwords, that_are_easily_guessed_are_recognized)
{
    static const char *const easy[] = {
        "aaaaaaaaaaaaaaaa",   "abababababababab", "123456789012345",   "qwertyuiopasdfgh",
        "abcdefghijklmnop",   "passwordpassword", "P@ssw0rdP@ssw0rd!", "Welcome2026!!!!!",
        "Summer2026Summer26", "gracehopper2026!", "Grace.Hopper.1906", "navyyardnavyyard",
        "conversations2026",  "LetMeInLetMeIn1!", "dashboard-admin-1", "iloveyou1234567",
        "changemechangeme",   "monkeydragon1234",
    };

    for (size_t i = 0; i < ARRAY_SIZE(easy); i++)
        cr_expect(password_is_easy(str_of(easy[i]), STR(EMAIL)), "%s", easy[i]);
}

Test(passwords, of_words_or_at_random_may_be_chosen)
{
    static const char *const good[] = {
        "correct horse battery",
        "not the password of others",
        "830175923746193",
        "k3Jx9Qw2Lm5Zt7B",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "pflaumenkuchen im regen",
        "\xe6\xad\xa3\xe7\xa1\xae\xe9\xa9\xac\xe7\x94\xb5\xe6\xb1\xa0\xe8\xae\xa2\xe4\xb9\xa6"
        "\xe9\x92\x89",
        "grace hopper found a moth there",
    };

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        cr_expect_not(password_is_easy(str_of(good[i]), STR(EMAIL)), "%s", good[i]);
    cr_expect_not(password_is_easy(STR("correct horse battery"), STR_NONE));
}
