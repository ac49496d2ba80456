#include "common/base/list.h"

#include <criterion/criterion.h>

struct letter {
    char letter;
    struct list link;
};

static struct letter a = {'a', {0}}, b = {'b', {0}}, c = {'c', {0}};
static struct list list;

static void set_up(void)
{
    list_init(&list);
}

TestSuite(list, .init = set_up);

static void expect(const struct list *of, const char *letters)
{
    const struct letter *at;
    char text[8] = "";
    size_t n = 0;

    LIST_EACH(at, of, link)
        text[n++] = at->letter;
    cr_expect_str_eq(text, letters);
}

Test(list, begins_empty)
{
    cr_expect(list_is_empty(&list));
    cr_expect_null(LIST_FIRST(&list, struct letter, link));
    expect(&list, "");
}

Test(list, keeps_the_order_in_which_structs_were_added)
{
    list_add(&list, &b.link);
    list_add(&list, &c.link);
    list_add_first(&list, &a.link);
    cr_expect_not(list_is_empty(&list));
    cr_expect_eq(LIST_FIRST(&list, struct letter, link), &a);
    expect(&list, "abc");
}

Test(list, inserts_before_a_link)
{
    list_add(&list, &a.link);
    list_add(&list, &c.link);
    list_add(&c.link, &b.link);
    expect(&list, "abc");
}

Test(list, forgets_what_is_removed)
{
    list_add(&list, &a.link);
    list_add(&list, &b.link);
    list_add(&list, &c.link);
    list_remove(&b.link);
    cr_expect_not(list_is_linked(&b.link));
    cr_expect(list_is_linked(&a.link));
    list_remove(&b.link);
    expect(&list, "ac");
    list_remove(&a.link);
    list_remove(&c.link);
    cr_expect(list_is_empty(&list));
}

Test(list, removes_each_struct_in_a_loop)
{
    struct letter *at;

    list_add(&list, &a.link);
    list_add(&list, &b.link);
    LIST_EACH(at, &list, link)
        list_remove(&at->link);
    cr_expect(list_is_empty(&list));
}

Test(list, takes_all_of_another)
{
    struct list more;

    list_init(&more);
    list_add_all(&list, &more);
    expect(&list, "");
    list_add(&list, &a.link);
    list_add(&more, &b.link);
    list_add(&more, &c.link);
    list_add_all(&list, &more);
    expect(&list, "abc");
    cr_expect(list_is_empty(&more));
}
