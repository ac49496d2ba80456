/* deploy/compose/make-secrets: which files it makes, and that it leaves existing ones alone. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static char folder[] = "/tmp/make-secrets.XXXXXX";

static int shell(const char *command)
{
    int status = system(command);

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void make(void)
{
    cr_assert_eq(shell("umask 077; deploy/compose/make-secrets >/dev/null"), 0);
}

static void open_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    cr_assert_eq(setenv("SECRETS_DIR", folder, 1), 0);
    make();
}

static void remove_folder(void)
{
    shell("rm -rf \"$SECRETS_DIR\"");
}

TestSuite(make_secrets, .init = open_folder, .fini = remove_folder);

Test(make_secrets, closes_the_folder_and_lets_containers_read_its_files)
{
    cr_assert_eq(shell("[ \"$(stat -c %a \"$SECRETS_DIR\")\" = 700 ]"), 0);
    cr_assert_eq(shell("[ \"$(stat -c %a \"$SECRETS_DIR\"/* | sort -u)\" = 644 ]"), 0);
}

Test(make_secrets, changes_nothing_when_it_is_run_again)
{
    cr_assert_eq(shell("cp -r \"$SECRETS_DIR\" \"$SECRETS_DIR.before\""), 0);
    make();
    int differ = shell("diff -r \"$SECRETS_DIR.before\" \"$SECRETS_DIR\"");
    shell("rm -rf \"$SECRETS_DIR.before\"");
    cr_assert_eq(differ, 0);
}

Test(make_secrets, prints_its_usage_and_creates_nothing)
{
    cr_assert_eq(shell("rm -r \"$SECRETS_DIR\""), 0);
    cr_expect_eq(shell("deploy/compose/make-secrets --help | grep -q SECRETS_DIR"), 0);
    cr_expect_eq(shell("deploy/compose/make-secrets --force 2>/dev/null"), 2);
    cr_expect_eq(shell("deploy/kubernetes/make-secrets --help | grep -q 'make-secrets DIR'"), 0);
    cr_expect_eq(shell("deploy/kubernetes/make-secrets --force 2>/dev/null"), 2);
    cr_expect_eq(shell("[ ! -e \"$SECRETS_DIR\" ] && [ ! -e ./--force ]"), 0);
}

Test(make_secrets, gives_every_secret_another_value)
{
    cr_assert_eq(shell("cd \"$SECRETS_DIR\" && "
                       "[ -z \"$(find . -size +0 -type f -exec sha256sum {} + | cut -d' ' -f1 | "
                       "sort | uniq -d)\" ]"),
                 0);
}

Test(make_secrets, updates_everything_that_contains_a_new_password)
{
    cr_assert_eq(shell(": >\"$SECRETS_DIR/database-search\"; : >\"$SECRETS_DIR/nats-audit\""), 0);
    make();
    cr_assert_eq(shell("cd \"$SECRETS_DIR\" && "
                       "grep -q \":$(cat database-search)@\" database-url-search && "
                       "grep -q \":$(cat nats-audit)@\" nats-url-audit && "
                       "grep -q \"NATS_AUDIT_PASSWORD: \\\"$(cat nats-audit)\\\"\" nats.conf"),
                 0);
}

Test(make_secrets, writes_a_configuration_that_the_bus_takes)
{
    cr_assert_eq(shell("nats-server -t -c \"$SECRETS_DIR/nats.conf\" >/dev/null 2>&1"), 0);
}

/* nats-server closes the connections of a user whose password is another one. */
Test(make_secrets, keeps_the_user_of_the_bus_with_the_previous_password)
{
    static const char change[] = "cd \"$SECRETS_DIR\" && cp nats-search old && : >nats-search";
    static const char as_in[] =
        "cd \"$SECRETS_DIR\" && nats-server -t -c nats.conf >/dev/null 2>&1 &&"
        " new=$(cat nats-search) && grep -q \"^nats://$NEW:$new@\" nats-url-search &&"
        " grep -q \"^NATS_SEARCH_PASSWORD: \\\"$new\\\"\" nats.conf &&"
        " grep -q \"user: \\\"$NEW\\\", password: .NATS_SEARCH_PASSWORD\" nats.conf &&"
        " grep -q \"^NATS_SEARCH_PREVIOUS_PASSWORD: \\\"$(cat old)\\\"\" nats.conf &&"
        " grep -q \"user: \\\"$OLD\\\", password: .NATS_SEARCH_PREVIOUS\" nats.conf";
    static const char *const names[][2] = {{"search", "search-2"}, {"search-2", "search"}};

    cr_assert_eq(setenv("KEEP_PREVIOUS", "yes", 1), 0);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(setenv("OLD", names[i][0], 1), 0);
        cr_assert_eq(setenv("NEW", names[i][1], 1), 0);
        cr_assert_eq(shell(change), 0);
        make();
        make();
        cr_expect_eq(shell(as_in), 0, "%s", names[i][1]);
        cr_assert_eq(shell("rm \"$SECRETS_DIR/nats-search-previous\""), 0);
        make();
        cr_expect_eq(shell("[ $(grep -c 'user: \"search' \"$SECRETS_DIR/nats.conf\") = 1 ]"), 0);
    }
}

/* A server refuses a reload with another address. */
Test(make_secrets, sets_the_address_that_the_bus_listens_at)
{
    cr_expect_eq(shell("grep -qx 'listen: \"0.0.0.0:4222\"' \"$SECRETS_DIR/nats.conf\""), 0);
    cr_expect_eq(shell("BUS_LISTEN=127.0.0.1:4333 deploy/compose/make-secrets >/dev/null"), 0);
    make();
    cr_expect_eq(shell("grep -qx 'listen: \"127.0.0.1:4333\"' \"$SECRETS_DIR/nats.conf\""), 0);
    cr_expect_eq(shell("sed -i 's/^listen: .*/listen: \"[::1]:4334\"/' \"$SECRETS_DIR/nats.conf\""),
                 0);
    make();
    cr_expect_eq(shell("grep -qx 'listen: \"\\[::1\\]:4334\"' \"$SECRETS_DIR/nats.conf\""), 0);
    cr_expect_eq(shell("BUS_LISTEN='a/b' deploy/compose/make-secrets 2>/dev/null"), 1);
}

/* For a second server on the same host. */
Test(make_secrets, sets_the_address_of_the_bus_monitoring)
{
    cr_expect_eq(shell("grep -qx 'http: \"127.0.0.1:8222\"' \"$SECRETS_DIR/nats.conf\""), 0);
    cr_expect_eq(shell("BUS_HTTP=127.0.0.1:8333 deploy/compose/make-secrets >/dev/null"), 0);
    make();
    cr_expect_eq(shell("grep -qx 'http: \"127.0.0.1:8333\"' \"$SECRETS_DIR/nats.conf\""), 0);
    cr_expect_eq(shell("grep -qx 'listen: \"0.0.0.0:4222\"' \"$SECRETS_DIR/nats.conf\""), 0);
    cr_expect_eq(shell("BUS_HTTP=8333 deploy/compose/make-secrets 2>/dev/null"), 1);
}

Test(make_secrets, lays_the_same_out_for_kubernetes_with_other_servers)
{
    cr_assert_eq(
        shell("cd \"$SECRETS_DIR\" && mkdir k && cp -p * k 2>/dev/null; mv k .values;"
              "cd - >/dev/null && "
              "BUS_HOST=bus.example:4222 deploy/kubernetes/make-secrets \"$SECRETS_DIR\" "
              "db.example:5432 sslmode=require && "
              "cd \"$SECRETS_DIR\" && "
              "[ \"$(cat nats/NATS_AUDIT_PASSWORD)\" = \"$(cat nats-audit)\" ] && "
              "grep -q \":$(cat nats-audit)@bus.example:4222$\" audit/NATS_URL && "
              "grep -q \"$(cat database-audit)@db.example:5432/conversations?sslmode=require\" "
              "audit/DATABASE_URL && "
              "[ ! -s audit/CURSOR_KEY_PREVIOUS ] && [ ! -e migrate/DATABASE_URL ]"),
        0);
}

/* Includes the bus users of the cell cell2. */
Test(make_secrets, makes_those_of_a_cell_and_never_forgets_it)
{
    cr_assert_eq(setenv("CELL_NAMES", "main,cell2", 1), 0);
    cr_assert_eq(setenv("CELL2_DATABASE_HOST", "db2.example:5433", 1), 0);
    make();
    cr_expect_eq(
        shell("cd \"$SECRETS_DIR\" && nats-server -t -c nats.conf >/dev/null 2>&1 &&"
              " grep -q \"NATS_CELL2_AUDIT_PASSWORD: \\\"$(cat nats-cell2-audit)\\\"\" nats.conf &&"
              " grep -q '^nats://cell2-audit:' nats-url-cell2-audit &&"
              " grep -q \"conv_audit:$(cat database-cell2-audit)@db2.example:5433/\""
              " database-url-cell2-audit && grep -q '^postgresql://admin:'"
              " database-url-cell2-admin && grep -q '@postgres/' database-url-audit"),
        0);
    cr_expect_eq(shell("CELL_NAMES= deploy/compose/make-secrets 2>/dev/null"), 1);
    cr_expect_eq(shell("CELL_NAMES=main,cell2,cell3 deploy/compose/make-secrets 2>&1 |"
                       " grep -q 'make-cells cell2 cell3'"),
                 0);
    cr_expect_eq(
        shell(
            "\"${BIN_DIR:-build/bin}/nats-config\" --cell cell2 --cell cell3 "
            ">\"$SECRETS_DIR/users\" &&"
            " CELL_NAMES=main,cell2,cell3 BUS_USERS=\"$SECRETS_DIR/users\""
            " deploy/compose/make-secrets >/dev/null && [ -s \"$SECRETS_DIR/nats-cell3-search\" ]"),
        0);
}

/* The database of each cell is a pod with its own password, unless the databases are elsewhere. */
Test(make_secrets, gives_the_database_of_each_cell_in_kubernetes_its_password)
{
    cr_assert_eq(setenv("CELL_NAMES", "main,cell2", 1), 0);
    cr_expect_eq(
        shell("cd \"$SECRETS_DIR\" && mkdir k && cd - >/dev/null &&"
              " deploy/kubernetes/make-secrets \"$SECRETS_DIR/k\" && cd \"$SECRETS_DIR/k\" &&"
              " grep -q \":$(cat cell2-postgres/POSTGRES_PASSWORD)@cell2-postgres/\""
              " cell2-migrate/DATABASE_URL &&"
              " grep -q \":$(cat postgres/POSTGRES_PASSWORD)@postgres/\""
              " migrate/DATABASE_URL &&"
              " [ \"$(sed -n 's/^ *- \\(.*\\/.*\\)/\\1/p' kustomization.yaml)\" = \"$(ls -d */*)\" "
              "]"),
        0);
    cr_expect_eq(shell("cd \"$SECRETS_DIR\" && mkdir l && cd - >/dev/null &&"
                       " CELL2_DATABASE_HOST=db2.example:5432 deploy/kubernetes/make-secrets"
                       " \"$SECRETS_DIR/l\" db.example:5432 sslmode=require &&"
                       " [ ! -e \"$SECRETS_DIR/l/postgres\" ] &&"
                       " [ ! -e \"$SECRETS_DIR/l/kustomization.yaml\" ] &&"
                       " [ ! -e \"$SECRETS_DIR/l/cell2-postgres\" ]"),
                 0);
}

/* As compose reads them; the environment takes precedence. */
Test(make_secrets, takes_the_cells_from_the_settings_of_compose)
{
    cr_expect_eq(shell("mkdir \"$SECRETS_DIR/tree\" && cp -r deploy \"$SECRETS_DIR/tree\" &&"
                       " cd \"$SECRETS_DIR/tree\" &&"
                       " printf 'CELL_NAMES=main\\nCELL_NAMES=\"main,cell2\" # two\\n' >.env &&"
                       " export SECRETS_DIR=$PWD/a && deploy/compose/make-secrets >/dev/null &&"
                       " [ -s a/nats-cell2-audit ] && SECRETS_DIR=$PWD/b CELL_NAMES=main"
                       " deploy/compose/make-secrets >/dev/null && [ ! -e b/nats-cell2-audit ] &&"
                       " deploy/kubernetes/make-secrets c && [ ! -e c/cell2-audit ]"),
                 0);
}

Test(make_secrets, refuses_invalid_names)
{
    static const char *const names[] = {"cell2", "main,main", "main,Cell2", "main,cell2,cell2",
                                        "main,a-b"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cr_assert_eq(setenv("CELL_NAMES", names[i], 1), 0);
        cr_expect_eq(shell("deploy/compose/make-secrets 2>/dev/null"), 1, "%s", names[i]);
    }
}
