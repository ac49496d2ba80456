#include "common/base/metrics.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct arena arena;

static void setup(void)
{
    arena_init(&arena, 1 << 20);
}

static void teardown(void)
{
    arena_release(&arena);
}

TestSuite(metrics, .init = setup, .fini = teardown);

static const char *rendered(void)
{
    struct buf out;

    buf_init(&out, &arena, 1024);
    metrics_render(&out);
    return arena_cstr(&arena, buf_str(&out));
}

static void assert_has(const char *lines)
{
    cr_assert(strstr(rendered(), lines), "no `%s` in:\n%s", lines, rendered());
}

Test(metrics, series_of_one_name_share_help_and_type)
{
    struct metric *a = metric_counter("t_hits_total", "kind=\"a\"", "Hits.");
    struct metric *b = metric_counter("t_hits_total", "kind=\"b\"", "Hits.");
    struct metric *free_slots = metric_gauge("t_free", NULL, "Free slots.");

    metric_add(a, 2);
    metric_add(b, 3);
    metric_set(free_slots, -4);
    assert_has("# HELP t_hits_total Hits.\n# TYPE t_hits_total counter\n"
               "t_hits_total{kind=\"a\"} 2\nt_hits_total{kind=\"b\"} 3\n"
               "# HELP t_free Free slots.\n# TYPE t_free gauge\nt_free -4\n");
}

Test(metrics, a_list_has_only_current_items_and_no_more_than_fit)
{
    struct metric *list = metric_gauge_list("t_late_seconds", "Those that are late.");
    struct metric_series series[METRIC_LISTED_MAX + 1] = {{"id=\"a\"", 5}, {"id=\"b\"", 7}};

    assert_has("# TYPE t_late_seconds gauge\n# HELP");
    metric_list(list, series, 2);
    assert_has("t_late_seconds{id=\"a\"} 5\nt_late_seconds{id=\"b\"} 7\n");
    metric_list(list, series + 1, 1);
    assert_has("# TYPE t_late_seconds gauge\nt_late_seconds{id=\"b\"} 7\n");
    snprintf(series[METRIC_LISTED_MAX - 1].labels, METRIC_LABELS_MAX, "id=\"last\"");
    snprintf(series[METRIC_LISTED_MAX].labels, METRIC_LABELS_MAX, "id=\"beyond\"");
    metric_list(list, series, METRIC_LISTED_MAX + 1);
    assert_has("t_late_seconds{id=\"last\"} 0\n# HELP");
    cr_assert_null(strstr(rendered(), "beyond"));
}

Test(metrics, durations_are_observed_in_microseconds_and_shown_in_seconds)
{
    struct metric *m = metric_histogram_seconds("t_wait_seconds", "op=\"x\"", "Wait.");

    metric_observe(m, 100);
    metric_observe(m, 101);
    metric_observe(m, 11000000);
    assert_has("t_wait_seconds_bucket{op=\"x\",le=\"0.0001\"} 1\n"
               "t_wait_seconds_bucket{op=\"x\",le=\"0.00025\"} 2\n");
    assert_has("t_wait_seconds_bucket{op=\"x\",le=\"10\"} 2\n"
               "t_wait_seconds_bucket{op=\"x\",le=\"+Inf\"} 3\n"
               "t_wait_seconds_sum{op=\"x\"} 11.000201\n"
               "t_wait_seconds_count{op=\"x\"} 3\n");
}

/* A clock that is set may go back during a measurement; the text must stay valid. */
Test(metrics, a_negative_duration_counts_as_zero)
{
    struct metric *m = metric_histogram_seconds("t_back_seconds", NULL, "Back.");

    metric_observe(m, -1500000);
    metric_observe(m, 1);
    assert_has("t_back_seconds_sum 0.000001\nt_back_seconds_count 2\n");
}

Test(metrics, counts_fall_into_powers_of_two)
{
    struct metric *m = metric_histogram_count("t_batch", NULL, "Batch.");

    metric_observe(m, 0);
    metric_observe(m, 1024);
    metric_observe(m, 1025);
    assert_has("t_batch_bucket{le=\"1\"} 1\n");
    assert_has("t_batch_bucket{le=\"512\"} 1\nt_batch_bucket{le=\"1024\"} 2\n"
               "t_batch_bucket{le=\"+Inf\"} 3\nt_batch_sum 2049\nt_batch_count 3\n");
}

static void assert_lacks(const char *text)
{
    cr_assert_null(strstr(rendered(), text), "`%s` in:\n%s", text, rendered());
}

Test(metrics, are_not_shown_before_their_first_use_if_so_declared)
{
    struct metric *counter = metric_counter("t_rare_total", "kind=\"a\"", "Rare.");
    struct metric *other = metric_counter("t_rare_total", "kind=\"b\"", "Rare.");
    struct metric *seconds = metric_histogram_seconds("t_rare_seconds", NULL, "Rare.");

    metric_show_when_used(counter);
    metric_show_when_used(other);
    metric_show_when_used(seconds);
    assert_lacks("t_rare");
    metric_add(other, 1);
    metric_observe(seconds, 0);
    assert_has("# HELP t_rare_total Rare.\n# TYPE t_rare_total counter\n"
               "t_rare_total{kind=\"b\"} 1\n");
    assert_has("\nt_rare_seconds_count 1\n");
    assert_lacks("kind=\"a\"");
}

Test(metrics, labels_need_not_outlive_the_call)
{
    char labels[] = "k=\"v\"";

    metric_counter("t_kept_total", labels, "Kept.");
    memset(labels, 'x', sizeof(labels) - 1);
    assert_has("t_kept_total{k=\"v\"} 0\n");
}

Test(metrics, the_process_describes_itself)
{
    assert_has("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 0.");
    assert_has("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1");
    assert_has("\nprocess_resident_memory_bytes ");
    assert_has("\nlog_lines_dropped_total 0\n");
    assert_has("# TYPE conversations_build_info gauge\n"
               "conversations_build_info{version=\"0.0.0\",revision=\"unknown\"} 1\n");
    cr_assert_null(strstr(rendered(), "process_resident_memory_bytes 0"));
}

Test(metrics, a_name_cannot_be_taken_up_again_later, .signal = SIGABRT)
{
    metric_counter("t_a_total", NULL, "A.");
    metric_counter("t_b_total", NULL, "B.");
    metric_counter("t_a_total", "k=\"v\"", "A.");
}

Test(metrics, a_counter_must_end_in_total, .signal = SIGABRT)
{
    metric_counter("t_hits", NULL, "Hits.");
}

Test(metrics, a_duration_must_end_in_seconds, .signal = SIGABRT)
{
    metric_histogram_seconds("t_wait_ms", NULL, "Wait.");
}
