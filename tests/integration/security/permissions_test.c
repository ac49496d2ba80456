/*
 * What each user of the bus may do, compared with proto/subject.def by trying every user at every
 * subject, and at others. Subjects added to the table are covered automatically.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"
#include "proto/subject.h"
#include "tests/support/api_client.h"
#include "tests/support/nats_client.h"
#include "tests/support/replica.h"

TestSuite(permissions, .init = stack_have_alone);

static int bus_port(void)
{
    return atoi(strrchr(stack_setting("NATS_URL"), ':') + 1);
}

static const char *password_of(const char *user)
{
    static char password[256];
    FILE *file = fopen(format("%s/secrets/bus-%s", stack_setting("RUN_DIR"), user), "re");

    cr_assert(file != NULL && fgets(password, sizeof(password), file) != NULL, "%s", user);
    fclose(file);
    return password;
}

static void open_as(struct nats_client *client, enum bus_user user)
{
    const char *name = bus_user_name(user);

    cr_assert(nats_client_open(client, bus_port(), name, password_of(name)), "%s", name);
}

/* v1.conversation.get and v1.conversation.* itself fit v1.conversation.* */
static bool fits(const char *mailbox, const char *subject)
{
    return strncmp(mailbox, subject, strlen(mailbox) - 1) == 0;
}

/* A command arrives at the mailbox that its subject fits. */
static bool takes_in(enum bus_user user, const char *subject)
{
    for (size_t i = 0; i < n_bus_permissions; i++) {
        const struct bus_permission *p = &bus_permissions[i];

        if (p->kind == BUS_MAILBOX && p->listeners >> user & 1 && fits(p->subject, subject))
            return true;
    }
    return false;
}

static void try_subject(struct nats_client *client, enum bus_user user,
                        const struct bus_permission *p)
{
    const char *name = bus_user_name(user), *subject = p->subject;
    const bool sends = p->senders >> user & 1;
    const bool hears = p->kind == BUS_NOTICE && p->listeners >> user & 1;
    const bool takes = p->kind != BUS_NOTICE && takes_in(user, p->subject);

    cr_expect_eq(nats_client_may_publish(client, subject), sends, "%s publishes %s", name, subject);
    cr_expect_eq(nats_client_may_subscribe(client, subject, NULL), hears, "%s hears %s", name,
                 subject);
    cr_expect_eq(nats_client_may_subscribe(client, subject, name), hears || takes, "%s takes %s",
                 name, subject);
    if (p->kind != BUS_NOTICE)
        cr_expect_not(nats_client_may_subscribe(client, subject, "thief"), "%s steals %s", name,
                      subject);
}

Test(permissions, match_the_table_for_every_user_and_subject)
{
    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        struct nats_client client;

        open_as(&client, user);
        for (size_t i = 0; i < n_bus_permissions; i++)
            try_subject(&client, user, &bus_permissions[i]);
        nats_client_close(&client);
    }
}

static void try_inbox(struct nats_client *client, enum bus_user user, enum bus_user owner)
{
    const char *inbox = bus_user_inbox(owner), *name = bus_user_name(user);
    const bool is_own = owner == user && bus_user_asks(user);

    cr_expect_eq(nats_client_may_subscribe(client, format("%s.>", inbox), NULL), is_own, "%s at %s",
                 name, inbox);
    cr_expect_eq(nats_client_may_subscribe(client, format("%s.a.1.*", inbox), NULL), is_own,
                 "%s at %s", name, inbox);
    cr_expect_eq(nats_client_may_publish(client, format("%s.a.1.2", inbox)), is_own, "%s to %s",
                 name, inbox);
    cr_expect_not(nats_client_may_subscribe(client, inbox, NULL), "%s at %s", name, inbox);
}

Test(permissions, reach_no_inbox_but_ones_own)
{
    static const char *const shared[] = {"_INBOX.>", "_INBOX.*", "_INBOX.*.>", "_INBOX.*.*.*",
                                         "_INBOX.a"};

    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        struct nats_client client;

        open_as(&client, user);
        for (enum bus_user owner = 0; owner < BUS_USER_COUNT; owner++)
            try_inbox(&client, user, owner);
        for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
            cr_expect_not(nats_client_may_subscribe(&client, shared[i], NULL), "%s at %s",
                          bus_user_name(user), shared[i]);
        cr_expect_not(nats_client_may_publish(&client, "_INBOX.a"));
        nats_client_close(&client);
    }
}

/* The mailbox at which a command arrives. */
static const struct bus_permission *mailbox_of(const char *subject)
{
    size_t i = 0;

    while (bus_permissions[i].kind != BUS_MAILBOX || !fits(bus_permissions[i].subject, subject))
        cr_assert_lt(++i, n_bus_permissions, "%s", subject);
    return &bus_permissions[i];
}

/* Replies come to a subject of the asker's inbox that names the command: there the service of that
   command may publish, and no other. */
static void try_replies(struct nats_client *client, enum bus_user user,
                        const struct bus_permission *command, enum bus_user asker)
{
    const char *inbox = bus_user_inbox(asker), *name = bus_user_name(user);
    const bool is_own = user == asker && bus_user_asks(user);
    const struct bus_permission *mailbox = mailbox_of(command->subject);
    const bool answers = bus_user_asks_at(asker, mailbox) && takes_in(user, command->subject);

    cr_expect_eq(nats_client_may_publish(client, format("%s.a.%s.1", inbox, command->subject)),
                 is_own || answers, "%s answers %s to %s", name, command->subject, inbox);
    if (!answers)
        return;
    cr_expect_not(
        nats_client_may_subscribe(client, format("%s.a.%s.1", inbox, command->subject), NULL),
        "%s hears answers to %s at %s", name, command->subject, inbox);
    cr_expect_not(nats_client_may_publish(client, format("%s.a.1.%s.1", inbox, command->subject)),
                  "%s elsewhere at %s", name, inbox);
    cr_expect_not(nats_client_may_publish(client, format("%s.a.%s.1.1", inbox, command->subject)),
                  "%s elsewhere at %s", name, inbox);
}

Test(permissions, allow_a_service_to_answer_only_its_own_commands)
{
    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        struct nats_client client;

        open_as(&client, user);
        for (size_t i = 0; i < n_bus_permissions; i++)
            for (enum bus_user asker = 0;
                 bus_permissions[i].kind == BUS_COMMAND && asker < BUS_USER_COUNT; asker++)
                try_replies(&client, user, &bus_permissions[i], asker);
        nats_client_close(&client);
    }
}

Test(permissions, allow_only_access_to_tell_the_time)
{
    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        struct nats_client client;

        open_as(&client, user);
        for (enum bus_user asker = 0; asker < BUS_USER_COUNT; asker++)
            cr_expect_eq(nats_client_may_publish(&client, format("%s.a." BUS_CLOCK_SUBJECT ".1",
                                                                 bus_user_inbox(asker))),
                         (user == asker && bus_user_asks(user)) ||
                             (user == BUS_USER_ACCESS && bus_user_checks_clock(asker)),
                         "%s to %s", bus_user_name(user), bus_user_name(asker));
        nats_client_close(&client);
    }
}

Test(permissions, do_not_reach_beyond_the_table)
{
    static const char *const beyond[] = {
        ">",
        "*.>",
        "v1.>",
        "v1.*.*",
        "*.*.*",
        "v1.*.create",
        "v1.notice.*",
        "v1.notice.>",
        "$SYS.>",
        "$SYS.REQ.SERVER.PING",
        "$JS.API.INFO",
        "$JS.>",
        "v1.access.>",
        "v1.search.>",
        "v1.audit.>",
        "v1.webhook.>",
        "v2.access.org-list",
        "v1.notice.nothing",
        "v1.conversation.create.x",
        "v1.access",
    };

    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        struct nats_client client;

        open_as(&client, user);
        for (size_t i = 0; i < ARRAY_SIZE(beyond); i++) {
            cr_expect_not(nats_client_may_publish(&client, beyond[i]), "%s publishes %s",
                          bus_user_name(user), beyond[i]);
            cr_expect_not(nats_client_may_subscribe(&client, beyond[i], NULL), "%s hears %s",
                          bus_user_name(user), beyond[i]);
            /* nats-server 2.9 takes "v1.access.>" as part of "v1.access.*": the same mailbox. */
            cr_expect(!nats_client_may_subscribe(&client, beyond[i], bus_user_name(user)) ||
                          takes_in(user, beyond[i]),
                      "%s takes %s", bus_user_name(user), beyond[i]);
        }
        nats_client_close(&client);
    }
}

static void try_discovery(struct nats_client *client, enum bus_user user, enum bus_user of)
{
    static const char *const verbs[] = {"PING", "INFO", "STATS"};
    const char *name = bus_user_name(user), *other = bus_user_name(of);
    const bool asks = user == BUS_USER_OPERATOR, responses = bus_user_answers(user);

    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        const char *all = format("$SRV.%s", verbs[i]), *named = format("%s.%s", all, other);

        cr_expect_eq(nats_client_may_publish(client, all),
                     asks || (strcmp(all, BUS_STATS_SUBJECT) == 0 && bus_user_reads_stats(user)),
                     "%s asks %s", name, all);
        cr_expect_eq(nats_client_may_publish(client, named),
                     asks || (strcmp(named, BUS_CLOCK_SUBJECT) == 0 && bus_user_checks_clock(user)),
                     "%s asks %s", name, named);
        cr_expect_eq(nats_client_may_subscribe(client, all, NULL), responses, "%s hears %s", name,
                     all);
        cr_expect_eq(nats_client_may_subscribe(client, named, NULL), responses && of == user,
                     "%s hears %s", name, named);
        cr_expect_eq(nats_client_may_subscribe(client, format("%s.id", named), NULL),
                     responses && of == user, "%s hears %s.id", name, named);
    }
}

Test(permissions, let_services_be_discovered_by_the_operator_and_counted_by_the_dashboard)
{
    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        struct nats_client client;

        open_as(&client, user);
        for (enum bus_user of = 0; of < BUS_USER_COUNT; of++)
            try_discovery(&client, user, of);
        cr_expect_not(nats_client_may_subscribe(&client, "$SRV.>", NULL), "%s",
                      bus_user_name(user));
        nats_client_close(&client);
    }
}

/* Rules that the table must never break. */
Test(permissions, keep_the_services_apart)
{
    const unsigned services = 1U << BUS_USER_ACCESS | 1U << BUS_USER_CONVERSATION |
                              1U << BUS_USER_SEARCH | 1U << BUS_USER_AUDIT | 1U << BUS_USER_WEBHOOK;
    const unsigned edge = 1U << BUS_USER_GATEWAY | 1U << BUS_USER_DASHBOARD;

    for (size_t i = 0; i < n_bus_permissions; i++) {
        const struct bus_permission *p = &bus_permissions[i];

        /* Access sends its changes to the change log; the command only appends to it. */
        if (p->kind == BUS_COMMAND && strcmp(p->subject, SUBJECT_AUDIT_RECORD) == 0)
            cr_expect_eq(p->senders, 1U << BUS_USER_ACCESS);
        else if (p->kind == BUS_COMMAND)
            cr_expect_eq(p->senders & services, 0U, "a service may command %s", p->subject);
        else if (p->kind == BUS_NOTICE)
            cr_expect_eq(p->senders & edge, 0U, "the edge may announce %s", p->subject);
        if (p->senders & 1U << BUS_USER_EXTERNAL)
            cr_expect(strcmp(p->subject, SUBJECT_WEBHOOK_PUBLISH) == 0 ||
                          strcmp(p->subject, SUBJECT_ACCESS_ORG_CELL) == 0,
                      "%s", p->subject);
    }
}

Test(permissions, are_granted_only_with_the_password)
{
    struct nats_client client;

    cr_expect_not(nats_client_open(&client, bus_port(), "gateway", password_of("search")));
    nats_client_close(&client);
    cr_expect_not(nats_client_open(&client, bus_port(), "gateway", ""));
    nats_client_close(&client);
    cr_expect_not(nats_client_open(&client, bus_port(), "", ""));
    nats_client_close(&client);
}

/* The table is not too narrow either. */
Test(permissions, were_enough_for_every_process_up_to_now)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    const size_t n = replicas_of_stack(replicas);

    for (size_t i = 0; i < n; i++)
        cr_expect_eq(replica_metric(&replicas[i], "conversations_bus_permission_violations_total"),
                     0, "%s was refused something: see its log", replicas[i].name);
}
