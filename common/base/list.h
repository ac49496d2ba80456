/*
 * list - doubly linked lists of structs that have a link as a member.
 *
 * What     A list is a link of its own, at which it begins and ends; list_init() makes it empty. A
 *          link of zeros, and one that was removed, is in no list.
 * Owns     Nothing. A struct leaves its lists before it is freed.
 */
#ifndef COMMON_BASE_LIST_H
#define COMMON_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *prev, *next;
};

/* The struct of this type that has `link` as its member. */
#define STRUCT_OF(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/* NULL: the list is empty. */
#define LIST_FIRST(all, type, member)                                                              \
    (list_is_empty(all) ? NULL : STRUCT_OF((all)->next, type, member))

#define LIST_LAST(all, type, member)                                                               \
    (list_is_empty(all) ? NULL : STRUCT_OF((all)->prev, type, member))

/* Runs the statement for each struct of the list, which `item`, a pointer to its type, points to. It
   may remove that one from the list, and no other. */
#define LIST_EACH(item, all, member)                                                               \
    for (struct list *at_ = (all)->next, *next_ = at_->next;                                       \
         at_ != (all) && ((item) = STRUCT_OF(at_, __typeof__(*(item)), member), true);             \
         at_ = next_, next_ = at_->next)

static inline void list_init(struct list *list)
{
    list->prev = list->next = list;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->next == list;
}

static inline bool list_is_linked(const struct list *link)
{
    return link->next != NULL;
}

/* At the end. Inserts before `list` if that is a link in a list. */
static inline void list_add(struct list *list, struct list *link)
{
    link->prev = list->prev;
    link->next = list;
    /* The analyzer does not know that links of a list are never NULL.
       NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    link->prev->next = link->next->prev = link;
}

static inline void list_add_first(struct list *list, struct list *link)
{
    list_add(list->next, link);
}

/* One that is in no list is fine. */
static inline void list_remove(struct list *link)
{
    if (link->next == NULL)
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->prev = link->next = NULL;
}

/* Adds all of `from`, which is empty then. */
static inline void list_add_all(struct list *list, struct list *from)
{
    if (list_is_empty(from))
        return;
    from->next->prev = list->prev;
    list->prev->next = from->next;
    from->prev->next = list;
    list->prev = from->prev;
    list_init(from);
}

#endif
