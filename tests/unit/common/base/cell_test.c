#include "common/base/cell.h"

#include <criterion/criterion.h>

Test(cell, has_a_name_that_fits_into_subjects_and_variables)
{
    static const char *const good[] = {"main", "a", "b2", "abcdefghijklmnop"};
    static const char *const bad[] = {
        "", "2", "2b", "A", "a-b", "a.b", "a*", ">", "a b", "\xc3\xa9", "abcdefghijklmnopq"};

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        cr_expect(cell_is_name(str_of(good[i])), "%s", good[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_expect_not(cell_is_name(str_of(bad[i])), "%s", bad[i]);
    cr_expect_not(cell_is_name((struct str){"ma\0n", 4}));
}

Test(cell, is_main_by_default)
{
    cr_expect(cell_is_main(NULL));
    cr_expect(cell_is_main("main"));
    cr_expect_not(cell_is_main("b"));
}

Test(cell, is_read_if_it_is_a_name)
{
    char name[CELL_CAPACITY] = "";

    cr_expect(cell_read(STR("b"), name));
    cr_expect_not(cell_read(STR("B"), name));
    cr_expect_not(cell_read(STR_NONE, name));
    cr_expect_str_eq(name, "b");
}

Test(cell, is_found_in_a_list_by_its_whole_name)
{
    cr_expect(cell_is_listed(STR("main,b2"), STR("b2")));
    cr_expect_not(cell_is_listed(STR("main,b2"), STR("b")));
    cr_expect_not(cell_is_listed(STR("main,b2"), STR("main,b2")));
    cr_expect_not(cell_is_listed(STR("main"), STR("")));
}

Test(cell, has_a_list_of_names_each_once)
{
    cr_expect(cell_list_is_sound(STR("main")));
    cr_expect(cell_list_is_sound(STR("main,b2")));
    cr_expect_not(cell_list_is_sound(STR("")));
    cr_expect_not(cell_list_is_sound(STR("main,")));
    cr_expect_not(cell_list_is_sound(STR(",main")));
    cr_expect_not(cell_list_is_sound(STR("main,,b")));
    cr_expect_not(cell_list_is_sound(STR("main, b")));
    cr_expect_not(cell_list_is_sound(STR("b,main,b")));
}
