#include "controller/webhook/admission.h"

#include <gtest/gtest.h>

#include "http/server.h"
#include "kube/objects/json.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/fake_wire.h"
#include "t/fake/memory_log.h"

namespace sliced::webhook {
namespace admission_test {
namespace {

using namespace std::chrono_literals;

const std::string kObject =
    R"({"apiVersion":"networking.dra.io/v1alpha1","kind":"DeviceExposurePolicy","metadata":{"name":"e"},"spec":{"priority":1}})";

std::string review_of(const std::string& object = kObject) {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","operation":"CREATE",)"
         R"("userInfo":{"username":"ann"},"object":)" +
         object + "}}";
}

std::string request(const std::string& body, const std::string& method = "POST",
                    const std::string& type = "application/json", size_t length = 0) {
  return method + " /validate HTTP/1.1\r\nHost: h\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(length == 0 ? body.size() : length) + "\r\n\r\n" + body;
}

// The handler behind a server of HTTP, time stepped by hand; each client has a wire of its own.
struct World {
  std::shared_ptr<fake::WireEnd> client(const std::string& says) {
    auto end = std::make_shared<fake::WireEnd>();
    server.take(std::make_unique<fake::FakeWire>(end), {.name = "client"});
    end->say(says);
    return end;
  }
  fake::FakeScheduler time;
  fake::FakeExecutor executor{time}, selectors{time};
  fake::MemoryLog log;
  Admission admission{{time, executor, selectors, log},
                      {"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"}};
  http::Server server{time,
                      [this](const http::RequestHead& head, http::Response& response) {
                        return admission.serve(head, response);
                      },
                      {.bounds = {.request = {.body_bytes_max = kReviewBytesMax}}}};
};

bool says(const fake::WireEnd& end, std::string_view text) {
  return end.sent.find(text) != std::string::npos;
}

TEST(Admission, JudgesAndLogsAReviewWithItsUser) {
  World world;
  const auto refused = world.client(request(review_of()));
  world.time.advance(10ms);
  EXPECT_TRUE(says(*refused, "HTTP/1.1 200")) << refused->sent;
  EXPECT_TRUE(says(*refused, R"("allowed":false)")) << refused->sent;
  EXPECT_TRUE(says(*refused, "application/json"));
  EXPECT_EQ(world.log.count("refused user=ann operation=CREATE object=DeviceExposurePolicy e problems=1"), 1u)
      << world.log.all();
  EXPECT_EQ(world.admission.bytes(), 0u);
  EXPECT_EQ(world.admission.reviews(), 0u);
}

// Red when a slow check is refused, waited for without end, or answered without a warning.
TEST(Admission, AllowsASlowReviewWithAWarning) {
  World world;
  world.selectors.hang_next = 1;
  world.selectors.keeps_hung_work = true;
  const auto slow = world.client(request(review_of()));
  world.time.advance(kReviewMax - 1ms);
  EXPECT_EQ(slow->sent, "");
  world.time.advance(1ms);
  EXPECT_TRUE(says(*slow, R"("allowed":true)")) << slow->sent;
  EXPECT_TRUE(says(*slow, "longer than 1000 ms")) << slow->sent;
  EXPECT_EQ(world.log.count("object admitted without a check user=ann"), 1u) << world.log.all();
  EXPECT_EQ(world.admission.reviews(), 1u) << "a worker still has it";
  ASSERT_EQ(world.selectors.hung_work.size(), 1u);
  world.selectors.hung_work[0]();  // ends late, when its result is no longer required
  world.selectors.hung_work.clear();
  world.time.advance(1ms);
  EXPECT_EQ(world.admission.reviews(), 0u);
  EXPECT_EQ(world.admission.bytes(), 0u);
  EXPECT_EQ(world.log.count("refused"), 0u) << "it was admitted";
}

// Red when the outcome of a review is not counted, or as another one: an operator could not see that checks do not run.
TEST(Admission, CountsTheResultsOfReviews) {
  World world;
  world.client(request(review_of()));  // refused
  std::string good = review_of();
  good.replace(good.find(R"({"priority":1})"), 14, R"({"action":"exclude","selector":{"cel":"true"}})");
  world.client(request(good));
  world.client(request(review_of(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{}})")));
  world.client(request("{}"));
  world.time.advance(10ms);
  world.selectors.hang_next = 1;
  world.client(request(review_of()));
  world.time.advance(kReviewMax);
  const Admission::Counters& counters = world.admission.counters();
  EXPECT_EQ(counters.refused, 1u);
  EXPECT_EQ(counters.admitted, 1u);
  EXPECT_EQ(counters.not_ours, 1u);
  EXPECT_EQ(counters.failed, 1u) << "no AdmissionReview";
  EXPECT_EQ(counters.unjudged, 1u);
  EXPECT_EQ(counters.took.counts.at(6), 1u) << "a second";
  uint64_t all = 0;
  for (const uint64_t one : counters.took.counts) all += one;
  EXPECT_EQ(all, 5u);
}

TEST(Admission, ASlowReviewDelaysNoOther) {
  World world;
  world.selectors.hang_next = 1;
  const auto slow = world.client(request(review_of()));
  world.time.advance(0ms);
  const auto other = world.client(request(review_of()));
  world.time.advance(0ms);
  EXPECT_EQ(slow->sent, "");
  EXPECT_TRUE(says(*other, R"("allowed":false)")) << other->sent;
}

// Red when claims, which anybody may make, wait behind expressions that take long, or when those come in by another name.
TEST(Admission, KindsWithoutExpressionsHaveTheirOwnWorkers) {
  const auto of = [](const std::string& resource) {
    std::string review = review_of();
    review.replace(review.find(R"("operation")"), 0,
                   R"("resource":{"group":"g","resource":")" + resource + R"("},)");
    return request(review);
  };
  World world;
  for (const char* cheap :
       {"resourceclaims", "resourceclaimtemplates", "sriovresourcepolicies", "deviceattributes"})
    world.client(of(cheap));
  world.time.advance(1ms);
  EXPECT_EQ(world.executor.jobs, 4u);
  EXPECT_EQ(world.selectors.jobs, 0u);
  world.client(of("deviceexposurepolicies"));
  world.client(of("others"));
  world.client(request(review_of()));
  world.client(request("garbage"));
  world.time.advance(1ms);
  EXPECT_EQ(world.executor.jobs, 4u);
  EXPECT_EQ(world.selectors.jobs, 4u);
}

TEST(Admission, DropsABodyThatArrivesTooLate) {
  World world;
  const std::string whole = review_of();
  const auto slow = world.client(request(whole.substr(0, 20), "POST", "application/json", whole.size()));
  world.time.advance(kReviewMax - 1ms);
  EXPECT_EQ(slow->sent, "");
  EXPECT_EQ(world.admission.bytes(), 20u);
  world.time.advance(1ms);
  EXPECT_TRUE(says(*slow, "HTTP/1.1 408")) << slow->sent;
  slow->say(whole.substr(20));
  EXPECT_EQ(world.admission.bytes(), 0u);
  EXPECT_EQ(world.executor.jobs + world.selectors.jobs, 0u);
}

TEST(Admission, RefusesRequestsThatAreNoReviews) {
  World world;
  const auto got = world.client(request("", "GET"));
  const auto text = world.client(request(review_of(), "POST", "text/plain"));
  const auto garbage = world.client(request("garbage"));
  const auto spelt = world.client(request(review_of(), "POST", "Application/JSON; charset=utf-8"));
  const auto large = world.client(request("", "POST", "application/json", kReviewBytesMax + 1));
  world.time.advance(10ms);
  EXPECT_TRUE(says(*got, "HTTP/1.1 405")) << got->sent;
  EXPECT_TRUE(says(*text, "HTTP/1.1 415")) << text->sent;
  EXPECT_TRUE(says(*garbage, "HTTP/1.1 400")) << garbage->sent;
  EXPECT_TRUE(says(*spelt, "HTTP/1.1 200")) << spelt->sent;
  EXPECT_TRUE(says(*large, "HTTP/1.1 413")) << large->sent;
}

// Red when clients together can have more memory than there is for them, or when it is not given back.
TEST(Admission, BoundsTheMemoryOfAllBodies) {
  World world;
  std::vector<std::shared_ptr<fake::WireEnd>> clients;
  const std::string half(kReviewBytesMax / 2, ' ');
  for (size_t i = 0; i < 2 * kBodiesBytesMax / kReviewBytesMax + 3; ++i)
    clients.push_back(world.client(request(half, "POST", "application/json", kReviewBytesMax)));
  EXPECT_LE(world.admission.bytes(), kBodiesBytesMax);
  world.time.advance(1ms);
  EXPECT_TRUE(says(*clients.back(), "HTTP/1.1 503")) << clients.back()->sent;
  EXPECT_EQ(clients.front()->sent, "");
  world.time.advance(kReviewMax);
  EXPECT_EQ(world.admission.bytes(), 0u);
}

TEST(Admission, RequestsBeyondTheLimitAreAnsweredImmediately) {
  World world;
  world.selectors.hang_next = kReviewsMax;
  world.selectors.keeps_hung_work = true;
  std::vector<std::shared_ptr<fake::WireEnd>> clients;
  for (size_t i = 0; i < kReviewsMax; ++i) clients.push_back(world.client(request(review_of())));
  world.time.advance(1ms);
  const auto beyond = world.client(request(review_of()));
  world.time.advance(1ms);
  EXPECT_TRUE(says(*beyond, R"("allowed":true)")) << beyond->sent;
  EXPECT_TRUE(says(*beyond, "too many concurrent")) << beyond->sent;
}

TEST(Admission, AClientThatDisconnectsIsForgotten) {
  World world;
  const auto gone = world.client(request(review_of()));
  gone->fail({Errc::kIo, "reset"});
  world.time.advance(2 * kReviewMax);
  EXPECT_EQ(world.admission.bytes(), 0u);
  EXPECT_EQ(world.admission.reviews(), 0u);
  EXPECT_EQ(world.log.count("admitted"), 0u);
}

}  // namespace
}  // namespace admission_test
}  // namespace sliced::webhook
