#include <criterion/criterion.h>

#include "common/http/calls.h"

static struct handles handles;

static void set_up(void)
{
    handles_init(&handles, 3);
}

static void tear_down(void)
{
    handles_release(&handles);
}

TestSuite(handles, .init = set_up, .fini = tear_down);

Test(handles, have_an_index_each)
{
    uint64_t a, b, c, d;

    cr_assert(handles_open(&handles, &a) && handles_open(&handles, &b) &&
              handles_open(&handles, &c));
    cr_expect_neq(handles_index(a), handles_index(b));
    cr_expect_neq(handles_index(b), handles_index(c));
    cr_expect_neq(handles_index(a), handles_index(c));
    cr_expect_not(handles_open(&handles, &d));
}

Test(handles, are_not_valid_once_closed)
{
    uint64_t first, second;

    cr_assert(handles_open(&handles, &first));
    cr_expect(handles_close(&handles, first));
    cr_expect_not(handles_close(&handles, first));
    cr_assert(handles_open(&handles, &second));
    cr_expect_eq(handles_index(first), handles_index(second));
    cr_expect_neq(first, second);
    cr_expect_not(handles_close(&handles, first));
    cr_expect(handles_close(&handles, second));
}

Test(handles, are_not_valid_when_never_opened)
{
    cr_expect_not(handles_close(&handles, 0));
    cr_expect_not(handles_close(&handles, 2));
    cr_expect_not(handles_close(&handles, 3));
    cr_expect_not(handles_close(&handles, UINT64_MAX));
}

Test(handles, list_what_is_open)
{
    uint64_t a, b, listed[3] = {0};

    cr_assert(handles_open(&handles, &a) && handles_open(&handles, &b));
    cr_expect(handles_close(&handles, a));
    cr_assert_eq(handles.used, 1);
    handles_list(&handles, listed);
    cr_expect_eq(listed[0], b);
}
