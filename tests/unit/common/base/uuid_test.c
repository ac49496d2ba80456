#include "common/base/uuid.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW_US 1700000000123456

Test(uuid, is_of_version_7_and_carries_its_time)
{
    struct uuid id = uuid_v7(NOW_US);
    char text[UUID_TEXT + 1];

    uuid_format(&id, text);
    cr_assert_eq(strlen(text), UUID_TEXT);
    cr_assert_eq(text[14], '7');
    cr_assert(strchr("89ab", text[19]));
    cr_assert_eq(uuid_v7_ms(&id), NOW_US / 1000);
}

Test(uuid, ascends_strictly_within_one_millisecond)
{
    struct uuid last = uuid_v7(NOW_US);

    for (int i = 0; i < 20000; i++) {
        struct uuid id = uuid_v7(NOW_US);

        cr_assert_gt(memcmp(id.b, last.b, sizeof(id.b)), 0);
        last = id;
    }
}

Test(uuid, ascends_over_a_small_step_back_of_the_clock)
{
    struct uuid before = uuid_v7(NOW_US), after = uuid_v7(NOW_US - 5000);

    cr_assert_gt(memcmp(after.b, before.b, sizeof(after.b)), 0);
}

Test(uuid, follows_a_clock_that_was_set_back)
{
    struct uuid id;

    uuid_v7(NOW_US);
    id = uuid_v7(NOW_US - 3600000000);
    cr_assert_eq(uuid_v7_ms(&id), NOW_US / 1000 - 3600000);
}

Test(uuid, differs_between_parent_and_child)
{
    struct uuid mine, theirs;
    int ends[2];
    pid_t child;

    cr_assert_eq(pipe(ends), 0);
    uuid_v7(NOW_US);
    child = fork();
    if (child == 0) {
        mine = uuid_v7(NOW_US);
        _exit(write(ends[1], &mine, sizeof(mine)) == sizeof(mine) ? 0 : 1);
    }
    mine = uuid_v7(NOW_US);
    cr_assert_eq(read(ends[0], &theirs, sizeof(theirs)), sizeof(theirs));
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_assert_not(uuid_equal(&mine, &theirs));
}

Test(uuid, reads_back_what_it_writes)
{
    struct uuid id = {{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76,
                       0x54, 0x32, 0x10}};
    struct uuid back;
    char text[UUID_TEXT + 1];

    uuid_format(&id, text);
    cr_assert_str_eq(text, "01234567-89ab-cdef-fedc-ba9876543210");
    cr_assert(uuid_parse(str_of(text), &back));
    cr_assert(uuid_equal(&id, &back));
}

Test(uuid, refuses_any_single_wrong_byte)
{
    char text[] = "01234567-89ab-cdef-fedc-ba9876543210";
    struct uuid out = {{7}};

    for (size_t at = 0; at < UUID_TEXT; at++) {
        char good = text[at];

        for (int c = 0; c < 256; c++) {
            bool dash = at == 8 || at == 13 || at == 18 || at == 23;
            bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');

            text[at] = (char)c;
            if (uuid_parse((struct str){text, UUID_TEXT}, &out) != (dash ? c == '-' : digit))
                cr_assert_fail("byte %d at %zu", c, at);
        }
        text[at] = good;
    }
}

Test(uuid, refuses_other_forms_and_leaves_the_output)
{
    static const char *const bad[] = {
        "",
        "01234567-89AB-cdef-fedc-ba9876543210",
        "0123456789abcdeffedcba9876543210",
        "{01234567-89ab-cdef-fedc-ba9876543210}",
        "01234567-89ab-cdef-fedc-ba987654321",
        "01234567-89ab-cdef-fedc-ba98765432100",
    };
    struct uuid out = {{7}};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_assert_not(uuid_parse(str_of(bad[i]), &out), "%s", bad[i]);
    cr_assert_not(uuid_parse(STR_NONE, &out));
    cr_assert_eq(out.b[0], 7);
}

Test(uuid, knows_nil)
{
    cr_assert(uuid_is_nil(&(struct uuid){{0}}));
    cr_assert_not(uuid_is_nil(&(struct uuid){.b = {[15] = 1}}));
}
