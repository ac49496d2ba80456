#include "tests/support/known.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { ROOM = 4 };

static struct known_list list;

static void open_list(void)
{
    known_init(&list, ROOM);
}

static void release_list(void)
{
    known_release(&list);
}

TestSuite(known, .init = open_list, .fini = release_list);

static void add(unsigned first, unsigned n)
{
    char id[16];

    for (unsigned number = first; number < first + n; number++) {
        snprintf(id, sizeof(id), "id-%u", number);
        known_add(&list, id, number);
    }
}

static unsigned pick(unsigned choice, unsigned among)
{
    struct known known;

    cr_assert(known_pick(&list, choice, among, &known));
    return known.number;
}

Test(known, none_can_be_picked_if_there_is_none)
{
    struct known known;

    cr_expect_not(known_pick(&list, 0, ROOM, &known));
}

Test(known, picks_among_the_latest)
{
    struct known known;

    add(0, 3);
    cr_expect_eq(pick(0, ROOM), 2);
    cr_expect_eq(pick(2, ROOM), 0);
    cr_expect_eq(pick(3, ROOM), 2);
    cr_expect_eq(pick(3, 2), 1);
    cr_assert(known_pick(&list, 0, ROOM, &known));
    cr_expect_str_eq(known.id, "id-2");
}

Test(known, the_latest_are_kept_if_there_is_no_room_for_all)
{
    add(0, ROOM * 2 + 1);
    cr_expect_eq(pick(0, ROOM), ROOM * 2);
    cr_expect_eq(pick(ROOM - 1, ROOM), ROOM + 1);
    cr_expect_eq(pick(ROOM, ROOM * 2), ROOM * 2);
}
