#include "controller/webhook/review.h"

#include <gtest/gtest.h>

#include "t/fixture/golden.h"
#include "watchers/policy_watcher.h"

namespace sliced::webhook {
namespace review_test {
namespace {

const Drivers kDrivers{"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"};

const std::string kMisspelt =
    R"({"apiVersion":"sriovnetwork.k8snetworkplumbingwg.io/v1alpha1","kind":"SriovResourcePolicy",)"
    R"("metadata":{"name":"p","namespace":"n"},"spec":{"configs":[{"resourceFilters":[{"vendor":["8086"]}]}]}})";
const std::string kWarned =
    R"({"apiVersion":"sriovnetwork.k8snetworkplumbingwg.io/v1alpha1","kind":"SriovResourcePolicy",)"
    R"("metadata":{"name":"p","namespace":"n"},"spec":{"configs":[{"resourceFilters":[]}]}})";

const std::string kSound = R"(device.attributes[\"dra.networking\"].type == \"vf\")";

std::string exposure(const std::string& cel) {
  return R"({"apiVersion":"networking.dra.io/v1alpha1","kind":"DeviceExposurePolicy","metadata":{"name":"e"},)"
         R"("spec":{"selector":{"cel":")" +
         cel + R"("},"exposure":{"supportedCNIPlugins":[{"name":"sriov"}]}}})";
}

std::string asked(const std::string& operation, const std::string& object, const std::string& old = "null",
                  const std::string& more = "") {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","namespace":"n","operation":")" +
         operation + R"(","userInfo":{"username":"ann"},"object":)" + object + R"(,"oldObject":)" + old +
         more + "}}";
}

kube::Json response_of(const Review& review) {
  EXPECT_EQ(review.status, 200) << review.body;
  const auto body = kube::decode_json(review.body);
  EXPECT_TRUE(body) << review.body;
  EXPECT_EQ(body->text("apiVersion"), "admission.k8s.io/v1");
  EXPECT_EQ(body->text("kind"), "AdmissionReview");
  const kube::Json* response = body->find("response");
  return response == nullptr ? kube::Json() : *response;
}

bool is_allowed(const Review& review) {
  const kube::Json response = response_of(review);
  EXPECT_EQ(response.text("uid"), "u-1");
  const kube::Json* allowed = response.find("allowed");
  EXPECT_NE(allowed, nullptr);
  EXPECT_EQ(response.find("status") != nullptr, *allowed == kube::Json(false)) << "a reason, and only then";
  return *allowed == kube::Json(true);
}

// Red when a refusal has another code, lacks a cause, or has another text than `validate`.
TEST(Review, ARefusalNamesItsFieldsAsCauses) {
  const Review review = webhook::review(asked("CREATE", kMisspelt), kDrivers);
  const kube::Json response = response_of(review), status = *response.find("status");
  EXPECT_EQ(*status.find("code"), kube::Json(422));
  EXPECT_EQ(status.text("reason"), "Invalid");
  EXPECT_EQ(status.text("status"), "Failure");
  const std::string field = "spec.configs[0].resourceFilters[0].vendor";
  EXPECT_EQ(status.text("message"),
            "SriovResourcePolicy p: " + field + " unknown field; did you mean vendors?");
  const kube::Json details = *status.find("details");
  EXPECT_EQ(details.text("name"), "p");
  EXPECT_EQ(details.text("kind"), "SriovResourcePolicy");
  EXPECT_EQ(details.text("group"), "sriovnetwork.k8snetworkplumbingwg.io");
  ASSERT_EQ(details.find("causes")->array()->size(), 1u);
  EXPECT_EQ((*details.find("causes")->array())[0].text("field"), field);
  EXPECT_EQ((*details.find("causes")->array())[0].text("message"), "unknown field; did you mean vendors?");
  EXPECT_EQ(review.user, "ann");
  EXPECT_EQ(review.object, "SriovResourcePolicy p");
  EXPECT_TRUE(review.is_judged && review.is_refused);
}

// Red when a class is refused for a selector that the API server, which is newer, has compiled before it asked.
TEST(Review, LeavesSelectorsOfClassesToTheServer) {
  const auto of = [](const std::string& expression, const std::string& config) {
    return webhook::review(
        asked(
            "CREATE",
            R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"c"},"spec":{"selectors":[{"cel":)"
            R"({"expression":")" +
                expression + R"("}}],"config":[)" + config + "]}}"),
        kDrivers);
  };
  const Review odd = of("device.driver == 'dra.networking' && device.newer()", "");
  ASSERT_TRUE(is_allowed(odd)) << odd.why;
  const kube::Json warnings = *response_of(odd).find("warnings");
  ASSERT_EQ(warnings.array()->size(), 1u);
  EXPECT_NE((*warnings.array())[0].string()->find("spec.selectors[0].cel.expression column "),
            std::string::npos);
  EXPECT_TRUE(is_allowed(of("device.attributes['dra.networking'].zone == 'a'", "")));
  const Review misspelt = of(
      "device.driver == 'dra.networking'",
      R"({"opaque":{"driver":"dra.networking","parameters":{"apiVersion":"sriovnetwork.k8snetworkplumbingwg.io/v1alpha1",)"
      R"("kind":"VfConfig","ifNames":"x"}}})");
  EXPECT_FALSE(is_allowed(misspelt)) << "no node would understand it";
  fixture::expect_golden(misspelt.why);
  std::string many;
  for (int i = 0; i < 25; ++i)
    many += (i == 0 ? "" : ",") + std::string(R"({"opaque":{"driver":"dra.networking","parameters":{}}})");
  EXPECT_EQ(of("device.driver == 'dra.networking'", many).errors, 25u) << "also those that are counted alone";
}

TEST(Review, AnExpressionThatDoesNotCompileIsRefusedWithItsColumn) {
  const Review review = webhook::review(asked("CREATE", exposure("device.typo == 1")), kDrivers);
  EXPECT_FALSE(is_allowed(review));
  fixture::expect_golden(review.why);
  EXPECT_NE(review.why.find("column "), std::string::npos) << review.why;
}

TEST(Review, ReturnsWarningsWithAllowedObjects) {
  const Review review = webhook::review(asked("CREATE", kWarned), kDrivers);
  EXPECT_TRUE(is_allowed(review));
  const kube::Json response = response_of(review);
  ASSERT_NE(response.find("warnings"), nullptr);
  EXPECT_TRUE((*response.find("warnings")->array())[0].string()->starts_with(
      "SriovResourcePolicy p: spec.configs[0].resourceFilters"));
  EXPECT_TRUE(is_allowed(webhook::review(asked("CREATE", exposure(kSound)), kDrivers)));
  EXPECT_EQ(response_of(webhook::review(asked("CREATE", exposure(kSound)), kDrivers)).find("warnings"),
            nullptr);
}

// Red when an object that was stored before the webhook was can no more be labelled, finalized or deleted; or when such an
// update brings in what is refused.
TEST(Review, OnlyChangesOfSpecAreChecked) {
  std::string labelled = kMisspelt;
  labelled.replace(labelled.find(R"("namespace":"n")"), 15,
                   R"("namespace":"n","labels":{"a":"b"},"finalizers":["x/y"])");
  EXPECT_TRUE(is_allowed(webhook::review(asked("UPDATE", labelled, kMisspelt), kDrivers)));
  EXPECT_TRUE(is_allowed(webhook::review(asked("DELETE", "null", kMisspelt), kDrivers)));
  EXPECT_TRUE(is_allowed(webhook::review(asked("CONNECT", kMisspelt), kDrivers)));
  EXPECT_TRUE(is_allowed(
      webhook::review(asked("UPDATE", kMisspelt, kWarned, R"(,"subResource":"status")"), kDrivers)));
  EXPECT_FALSE(is_allowed(webhook::review(asked("UPDATE", kMisspelt, kWarned), kDrivers)));
  EXPECT_FALSE(is_allowed(webhook::review(asked("CREATE", kMisspelt), kDrivers)));
}

TEST(Review, OtherKindsAreAllowed) {
  EXPECT_TRUE(is_allowed(webhook::review(
      asked("CREATE", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"vendor":1}})"),
      kDrivers)));
}

TEST(Review, RefusesAnInvalidRequest) {
  for (const char* body :
       {"", "{", "null", "[]", "garbage \xff\xfe", R"({"kind":"AdmissionReview"})",
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u"}})",
        R"({"kind":"Review","apiVersion":"admission.k8s.io/v1","request":{"uid":"u"}})",
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})",
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null})",
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"operation":"CREATE"}})",
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":7}})",
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u")"}) {
    const Review review = webhook::review(body, kDrivers);
    EXPECT_EQ(review.status, 400) << body;
    EXPECT_TRUE(review.body.starts_with("no AdmissionReview: ")) << review.body;
    EXPECT_EQ(unjudged(body, "x").status, 400) << body;
  }
}

TEST(Review, RefusesABodyOtherThanAnObject) {
  for (const char* body : {"garbage", "[]", "{"})
    EXPECT_EQ(webhook::review(body, kDrivers).body, "no AdmissionReview: the body is not a JSON object\n")
        << body;
}

// What no node would read is not stored; of a claim that is the server's to judge.
TEST(Review, APolicyThatCannotBeReadIsRefused) {
  std::string many = "1";
  for (size_t i = 0; i < kObjectLimits.nodes_max; ++i) many += ",1";
  const auto with = [&](const char* version, const char* kind) {
    return std::string(R"({"apiVersion":")") + version + R"(","kind":")" + kind +
           R"(","metadata":{"name":"p"},"spec":{"a":[)" + many + "]}}";
  };
  const Review review =
      webhook::review(asked("CREATE", with("networking.dra.io/v1alpha1", "DeviceExposurePolicy")), kDrivers);
  EXPECT_FALSE(is_allowed(review));
  fixture::expect_golden(review.why);
  EXPECT_TRUE(
      is_allowed(webhook::review(asked("CREATE", with("resource.k8s.io/v1", "ResourceClaim")), kDrivers)));
  EXPECT_EQ(kObjectLimits.size_max, watchers::kPolicyLimits.size_max);
  EXPECT_EQ(kObjectLimits.depth_max, watchers::kPolicyLimits.depth_max);
  EXPECT_EQ(kObjectLimits.nodes_max, watchers::kPolicyLimits.nodes_max);
}

TEST(Review, BoundsTheAnswerToManyMistakes) {
  std::string fields = R"("a0":1)";
  for (int i = 1; i < 20'000; ++i) fields += ",\"" + std::string(50, 'x') + std::to_string(i) + "\":1";
  const Review review = webhook::review(
      asked(
          "CREATE",
          R"({"apiVersion":"networking.dra.io/v1alpha1","kind":"DeviceExposurePolicy","metadata":{"name":"e"},"spec":{)" +
              fields + "}}"),
      kDrivers);
  EXPECT_FALSE(is_allowed(review));
  EXPECT_GE(review.errors, 20'000u);
  EXPECT_LT(review.body.size(), 100'000u);
  EXPECT_NE(review.body.find("more problems"), std::string::npos);
}

TEST(Review, UncheckedObjectsAreAllowedWithAWarning) {
  const Review review = unjudged(asked("CREATE", kMisspelt), "it took too long");
  EXPECT_TRUE(is_allowed(review));
  const kube::Json response = response_of(review);
  const std::string warning = *(*response.find("warnings")->array())[0].string();
  fixture::expect_golden(warning);
  EXPECT_LE(warning.size(), 256u) << "the API server cuts longer ones";
  EXPECT_EQ(review.user, "ann");
}

}  // namespace
}  // namespace review_test
}  // namespace sliced::webhook
