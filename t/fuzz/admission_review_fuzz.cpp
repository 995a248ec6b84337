// What the API server asks, or anybody in its place: a whole request, or an object in one that is sound.
#include "controller/webhook/review.h"
#include "kube/objects/json_scanner.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/programs.h"
#include "policy/sriov/policy.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::admission_review_target {

namespace {

const webhook::Drivers kDrivers{"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"};

// What is answered can be read by the API server, and decides as the review says.
bool is_allowed(const webhook::Review& review, std::string_view uid) {
  fuzz::check_text(review.why);
  fuzz::must(review.body.size() < 200'000, "an answer is bounded");
  fuzz::must(is_utf8(review.body), "an answer is UTF-8");
  const auto body = kube::decode_json(review.body);
  fuzz::must(body.ok(), "an answer is JSON", review.body);
  const kube::Json* response = body->find("response");
  fuzz::must(response != nullptr && (uid.empty() || response->text("uid") == uid),
             "it has the question's uid", review.body);
  const kube::Json* allowed = response->find("allowed");
  fuzz::must(allowed != nullptr && allowed->boolean() != nullptr, "it decides", review.body);
  fuzz::must(*allowed->boolean() == (response->find("status") == nullptr), "who is refused is told why",
             review.body);
  fuzz::must(*allowed->boolean() != review.is_refused, "what is logged is what is answered");
  return *allowed->boolean();
}

void look_at_request(std::string_view body) {
  const webhook::Review review = webhook::review(body, kDrivers);
  const webhook::Review late = webhook::unjudged(body, "it took too long");
  fuzz::must(review.status == late.status, "who can be answered can be answered late");
  if (review.status != 200) return fuzz::check_text(review.body);
  is_allowed(review, "");
  fuzz::must(is_allowed(late, ""), "what is not judged is allowed");
}

// By the decoders that nodes use: whether they would use nothing, or less, of it.
bool is_sound(const kube::Json& object) {
  const std::string_view kind = object.text("kind"), group = object.text("apiVersion");
  if (kind == "SriovResourcePolicy" && group == "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1")
    return problems_of(policy::decode_sriov_policy(object)).empty();
  if (kind == "DeviceAttributes" && group == "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1")
    return policy::decode_device_attributes(object, kDrivers.sriov).problems.empty();
  if (kind != "DeviceExposurePolicy" || group != "networking.dra.io/v1alpha1") return true;
  policy::ExposurePolicy policy = policy::decode_exposure_policy(object, kDrivers.exposure);
  policy::check_selector(policy, kDrivers.exposure);
  return policy.problems.empty();
}

std::string request(std::string_view operation, std::string_view object, std::string_view old) {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":")" +
         std::string(operation) + R"(","object":)" + std::string(object) + R"(,"oldObject":)" +
         std::string(old) + "}}";
}

void look_at_object(const kube::Json& object) {
  const std::string text = kube::encode_json(object);
  const std::string_view kind = object.text("kind"), group = object.text("apiVersion");
  if (object.object() == nullptr || kind.empty() || group.empty()) return;
  const bool is_policy =
      kind == "SriovResourcePolicy" || kind == "DeviceAttributes" || kind == "DeviceExposurePolicy";
  const bool is_created = is_allowed(webhook::review(request("CREATE", text, "null"), kDrivers), "u");
  if (is_policy && kube::decode_json(text, webhook::kObjectLimits))
    fuzz::must(!is_sound(object) ? !is_created : true, "what no node would use is refused", text);
  if (is_policy &&
      (group == "networking.dra.io/v1alpha1" || group == "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1") &&
      kube::decode_json(text, webhook::kObjectLimits) && is_created)
    fuzz::must(is_sound(object), "what is stored nodes use", text);
  fuzz::must(kind != "DeviceClass" || is_created || object.find({"spec", "config"}) != nullptr,
             "selectors of a class are the server's", text);
  fuzz::must(is_allowed(webhook::review(request("DELETE", "null", text), kDrivers), "u"), "deletions pass",
             text);
  fuzz::must(is_allowed(webhook::review(request("UPDATE", text, text), kDrivers), "u"), "nothing new passes",
             text);
}

}  // namespace

FUZZ_TARGET(admission_review) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  look_at_request(input);
  for (const kube::Json& object : fuzz::documents_of(input)) look_at_object(object);
  return 0;
}

}  // namespace sliced::fuzz::admission_review_target
