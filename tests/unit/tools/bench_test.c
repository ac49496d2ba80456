/* How the benchmark evaluates its measurements. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* Lines as tools/bench.d/measure.sh writes them: three rounds of our service, two of a peer. */
static const char measured[] = "ours get 64 1 3000 0 3.000 1.0 4.0 gateway=10.0 wrk=5.0 all=20.0\n"
                               "peer get 64 1 1500 0 3.000 2.0 9.0 server=30.0 wrk=5.0 all=50.0\n"
                               "peer get 64 2 1500 2 3.000 4.0 7.0 server=10.0 wrk=5.0 all=30.0\n"
                               "ours get 64 2 9000 0 3.000 1.5 2.0 gateway=20.0 wrk=5.0 all=30.0\n"
                               "ours get 64 3 6000 1 3.000 9.0 4.0 gateway=90.0 wrk=5.0 all=90.0\n"
                               "ours ping 1 1 6000 0 3.000 9.0 4.0 gateway=90.0 wrk=5.0 all=90.0\n";

static void expect_table(const char *variables, const char *expected)
{
    char command[2048], out[1024] = "";
    FILE *pipe;

    snprintf(command, sizeof(command),
             "printf '%s' | awk %s -f tools/bench.d/tables.awk | tr -s ' '", measured, variables);
    pipe = popen(command, "re");
    cr_assert_not_null(pipe);
    out[fread(out, 1, sizeof(out) - 1, pipe)] = '\0';
    cr_assert_eq(pclose(pipe), 0);
    cr_expect_str_eq(out, expected);
}

Test(bench, shows_the_medians_of_the_rounds_and_all_failures)
{
    expect_table("-v target=ours -v names='gateway all'", "get 64 2000 1.50 4.00 1 20.0 30.0\n"
                                                          "ping 1 2000 9.00 4.00 0 90.0 90.0\n");
}

Test(bench, compares_operations_that_both_ran)
{
    /* 2000 requests a second, the peer 500; 30 us, 40; p50 1.5 ms, 3 ms; p99 4 ms, 8 ms. */
    expect_table("-v target=ours -v other=peer",
                 "get 64 2000 500 4.00 30.0 40.0 0.75 0.50 0.50 3\n");
}

Test(bench, wants_a_program_of_a_peer_before_it_starts_anything)
{
    int status = system("PEER=/nonexistent BIN_DIR=/nonexistent tools/bench 2>&1 | grep -qx "
                        "'bench: /nonexistent has no program named run'");

    cr_expect_eq(status, 0);
}

/* The peer counts the tables of its database, and prints the number as one of its lines. */
static const char peer[] = "#!/bin/sh\n"
                           "psql -qAt \"$2\" -c \"SELECT 'TABLES=' || count(*) FROM pg_tables "
                           "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')\"\n"
                           "sleep 60 >/dev/null 2>&1 &\n"
                           "echo SERVER_PID=$!\n";

Test(bench, starts_a_peer_with_an_empty_database_of_its_own)
{
    static const char script[] =
        "set -euo pipefail; BIN_DIR=$(realpath \"${BIN_DIR:-build/bin}\")\n"
        ". tools/private-stack.sh; . tools/bench.d/measure.sh; . tools/bench.d/peer.sh\n"
        "tree=$(mktemp -d); peer_dir=$tree/run\n"
        "trap 'kill \"${SERVER_PID-}\" || true; stacks_down; rm -rf \"$tree\"' EXIT\n"
        "install -D -m 755 /dev/stdin \"$tree/peer/run\" <<<\"$PEER_SCRIPT\"\n"
        "peer_up \"$tree/peer\"; server=$(<\"$tree/run/pids/postgres\")\n"
        "[[ $TABLES == 0 && /proc/$server/cwd -ef $tree/run/postgres/data ]]\n"
        "grep -qx \"server $SERVER_PID\" \"$tree/run/processes\"\n"
        "grep -qx \"postgres $server\" \"$tree/run/processes\"";

    cr_assert_eq(setenv("PEER_SCRIPT", peer, 1), 0);
    cr_assert_eq(setenv("SCRIPT", script, 1), 0);
    cr_expect_eq(system("bash -c \"$SCRIPT\""), 0);
}
