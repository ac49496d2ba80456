/* Credentials files, with a real server in operator mode: which files it lets in, and what is said of
   the others. */
#include "tests/unit/common/bus/bus_fixture.h"

static void run(const char *script)
{
    char command[1024];

    snprintf(command, sizeof(command), "cd %s && %s", folder, script);
    cr_assert_eq(system(command), 0, "%s", command);
}

/* The folder has the server's file, and those of the users `thing`, `other` and `brief`. */
static void make_users(const char *where, const char *options)
{
    char command[512];

    snprintf(command, sizeof(command),
             "(echo 'nsc add user --name thing'; echo 'nsc add user --name other';"
             " echo 'nsc add user --name brief %s') |"
             " tests/support/make-creds %s/%s",
             options, folder, where);
    cr_assert_eq(system(command), 0);
}

static void set_up(void)
{
    open_folder();
    keep_log();
    make_users(".", "");
}

static void tear_down(void)
{
    free_clients();
    stop_server();
    remove_folder();
}

TestSuite(bus_creds, .init = set_up, .fini = tear_down);

static void configure(void)
{
    char config[4096] = "";
    FILE *from = fopen(file("server.conf"), "re");

    cr_assert(from != NULL && fread(config, 1, sizeof(config) - 1, from) > 0);
    fclose(from);
    nats_server_configure(&server, config);
}

static void start_in_operator_mode(void)
{
    nats_server_prepare(&server, NULL);
    configure();
    nats_server_start(&server);
}

static struct bus *open_with(const char *name)
{
    const struct bus_settings settings = {.creds_file = file(name)};

    clients[0] = bus_connect(
        &(struct bus_options){.url = server.url, .name = "test", .settings = &settings});
    cr_assert_not_null(clients[0]);
    return clients[0];
}

/* -- files that are let in --------------------------------------------------------------------- */

static void expect_up(const char *name)
{
    struct bus *const bus = open_with(name);
    struct bus_mailbox *const mailbox = bus_serve(bus, "v1.thing.*", "thing");

    cr_assert(EVENTUALLY(bus_is_up(bus)), "%s", name);
    cr_assert_eq(bus_publish(bus, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
    cr_assert(EVENTUALLY(bus_waiting(mailbox) == 1));
    bus_message_free(bus_take(mailbox));
    free_clients();
}

Test(bus_creds, open_the_bus)
{
    start_in_operator_mode();
    expect_up("thing.creds");
}

Test(bus_creds, may_have_been_saved_on_windows)
{
    start_in_operator_mode();
    run("sed 's/$/\\r/' thing.creds >crlf.creds");
    expect_up("crlf.creds");
}

Test(bus_creds, are_no_obstacle_where_the_server_asks_for_none)
{
    start_server();
    expect_up("thing.creds");
}

/* -- refusals ---------------------------------------------------------------------------------- */

/* Nothing of the file is in the log. */
static void expect_secrecy(void)
{
    cr_expect_eq(n_logged("SU"), 0);
    cr_expect_eq(n_logged("eyJ"), 0);
}

static void expect_refusal(const char *name, const char *reason)
{
    struct bus *const bus = open_with(name);

    cr_assert(EVENTUALLY(bus_trouble(bus) == BUS_DENIED), "%s", name);
    cr_expect_str_eq(bus_trouble_text(bus_trouble(bus)), "the bus refused the credentials");
    cr_expect(EVENTUALLY(n_logged(reason) == 1), "%s: %s", name, reason);
    expect_secrecy();
}

Test(bus_creds, are_refused_with_the_key_of_another_user)
{
    start_in_operator_mode();
    run("(sed 5q thing.creds; sed 1,5d other.creds) >mixed.creds");
    expect_refusal("mixed.creds", "its seed is of another user");
}

Test(bus_creds, are_refused_from_another_operator)
{
    make_users("stranger", "");
    start_in_operator_mode();
    expect_refusal("stranger/thing.creds", "its account or signer is not known to the server");
}

Test(bus_creds, are_refused_once_they_are_out_of_date)
{
    make_users("before", "--expiry -1");
    start_in_operator_mode();
    expect_refusal("before/brief.creds", "the JWT in NATS_CREDS_FILE has expired");
}

/* -- renewal ----------------------------------------------------------------------------------- */

Test(bus_creds, are_read_again_for_the_next_connection)
{
    struct bus *bus;

    make_users("renewed", "");
    start_in_operator_mode();
    bus = open_with("thing.creds");
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    nats_server_kill(&server);
    run("mv renewed/server.conf .");
    configure();
    nats_server_start(&server);
    cr_assert(EVENTUALLY(n_logged("NATS_CREDS_FILE is refused") == 1));
    cr_assert_eq(unlink(file("thing.creds")), 0);
    cr_assert(EVENTUALLY(n_logged("NATS_CREDS_FILE cannot be read: No such file") == 1));
    run("mv renewed/thing.creds .");
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    expect_secrecy();
}

/* -- files that cannot be used ------------------------------------------------------------------- */

static void expect_unusable(const char *url, const char *name, const char *reason)
{
    const struct bus_settings settings = {.creds_file = file(name)};
    const struct bus_options options = {.url = url, .name = "test", .settings = &settings};
    char why[BUS_WHY] = "";

    cr_expect_not(bus_can_use(&options, why), "%s", name);
    cr_expect_str_eq(why, reason);
}

Test(bus_creds, say_what_is_wrong_with_a_file)
{
    static const char url[] = "nats://127.0.0.1:1";
    static const char no_jwt[] =
        "NATS_CREDS_FILE has no JWT below a line -----BEGIN NATS USER JWT-----";
    static const char no_seed[] = "NATS_CREDS_FILE has no seed of a user below a line "
                                  "-----BEGIN USER NKEY SEED-----";

    run("touch empty; grep ^SU thing.creds >seed; sed 5q thing.creds >jwt; mkdir -p folder");
    run("sed 's/^eyJ/\"/' thing.creds >quotes; sed 's/^eyJ[^.]*.//' thing.creds >part");
    run("sed 's/^SU/SA/' thing.creds >account; sed 's/^SU./SU/' thing.creds >short");
    run("sed '/^SU/y/ABCDEFG/BCDEFGA/' thing.creds >changed");
    expect_unusable(url, "none", "NATS_CREDS_FILE cannot be read: No such file or directory");
    expect_unusable(url, "folder", "NATS_CREDS_FILE cannot be read");
    expect_unusable(url, "empty", no_jwt);
    expect_unusable(url, "seed", no_jwt);
    expect_unusable(url, "quotes", no_jwt);
    expect_unusable(url, "part", no_jwt);
    expect_unusable(url, "jwt", no_seed);
    expect_unusable(url, "account", no_seed);
    expect_unusable(url, "short", no_seed);
    expect_unusable(url, "changed",
                    "NATS_CREDS_FILE has a seed that was changed: its checksum is wrong");
}

Test(bus_creds, stand_in_place_of_a_user)
{
    static const char both[] =
        "NATS_CREDS_FILE is given, and NATS_URL has a user: keep one of them";

    expect_unusable("nats://user:password@127.0.0.1:1", "thing.creds", both);
    expect_unusable("nats://token@127.0.0.1:1", "thing.creds", both);
}
