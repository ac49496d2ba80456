#include "common/model/attribute_key.h"

#include <criterion/criterion.h>
#include <string.h>

Test(attribute_key, begins_with_a_letter_and_has_letters_digits_and_three_signs)
{
    static const char *const good[] = {"a",   "Z",   "plan",    "a1",         "a_b",       "a-b",
                                       "a.b", "a..", "service", "services_a", "a_service_"};
    static const char *const bad[] = {"",    "1a",  "_a",  "-a",        ".a",  " a",
                                      "a b", "a/b", "a$b", "a\xc3\xa4", "a[0]"};

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        cr_assert_null(attribute_key_error(str_of(good[i])), "%s", good[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_assert_str_eq(
            attribute_key_error(str_of(bad[i])),
            "must begin with a letter and consist of letters, digits, '_', '-' and '.'", "%s",
            bad[i]);
    cr_assert_not_null(attribute_key_error(STR_NONE));
    cr_assert_not_null(attribute_key_error(STR("a\0b")));
}

Test(attribute_key, has_at_most_64_characters)
{
    char key[ATTRIBUTE_KEY_MAX + 1];

    memset(key, 'a', sizeof(key));
    cr_assert_null(attribute_key_error((struct str){key, ATTRIBUTE_KEY_MAX}));
    cr_assert_str_eq(attribute_key_error((struct str){key, ATTRIBUTE_KEY_MAX + 1}),
                     "must be a key of at most 64 characters");
}

Test(attribute_key, does_not_begin_with_the_reserved_prefix)
{
    static const char *const bad[] = {"service_", "service_tier", "Service_x", "SERVICE_X"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_assert_str_eq(attribute_key_error(str_of(bad[i])),
                         "must not use the reserved prefix service_", "%s", bad[i]);
}
