#include "daemon/status/exposition.h"

#include <gtest/gtest.h>

namespace sliced::status {
namespace {

TEST(Exposition, FollowsTheFormat) {
  Exposition out;
  out.gauge("sliced_a", "What a is.");
  out.sample(7);
  out.sample(18'446'744'073'709'551'615u, {{"x", "1"}, {"y", ""}});
  out.counter("sliced_b_total", "What b is.");
  out.seconds(1.5, {{"x", "a\"b\\c\nd"}});
  EXPECT_EQ(out.take(),
            "# HELP sliced_a What a is.\n# TYPE sliced_a gauge\n"
            "sliced_a 7\n"
            "sliced_a{x=\"1\",y=\"\"} 18446744073709551615\n"
            "# HELP sliced_b_total What b is.\n# TYPE sliced_b_total counter\n"
            "sliced_b_total{x=\"a\\\"b\\\\c\\nd\"} 1.500\n");
}

TEST(Exposition, EscapesAndBoundsForeignLabels) {
  Exposition out;
  out.gauge("a", "A.");
  out.sample(1, {{"x", "\xff\xfe"}});
  out.sample(1, {{"x", std::string(1u << 20, 'x')}});
  const std::string text = out.take();
  EXPECT_NE(text.find("a{x=\"\\\\xff\\\\xfe\"} 1\n"), std::string::npos) << text.substr(0, 100);
  EXPECT_LT(text.size(), 600u);
}

TEST(Exposition, BucketsAreCumulative) {
  DurationHistogram durations;
  for (const int ms : {0, 5, 6, 1'000, 1'000'000}) durations.add(Millis{ms});
  Exposition out;
  out.histogram("h", "H.");
  out.sample(durations, {{"d", "x"}});
  const std::string text = out.take();
  for (const char* line :
       {"h_bucket{d=\"x\",le=\"0.005\"} 2\n", "h_bucket{d=\"x\",le=\"0.010\"} 3\n",
        "h_bucket{d=\"x\",le=\"1.000\"} 4\n", "h_bucket{d=\"x\",le=\"120.000\"} 4\n",
        "h_bucket{d=\"x\",le=\"+Inf\"} 5\n", "h_sum{d=\"x\"} 1001.011\n", "h_count{d=\"x\"} 5\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace sliced::status
