#pragma once
// Answers AdmissionReviews (admission.k8s.io/v1, k8s.io/api/admission/v1/types.go). Pure.
//
// The answer applies to the whole cluster, so other objects are allowed: other kinds, claims for other
// drivers, updates that leave spec unchanged (labels, finalizers, objects that are older than the webhook),
// deletions, subresources. Objects for our drivers that cannot be read are refused, because no node would
// read them either. The API server compiles selectors of DeviceClasses and claims before it calls the
// webhook, so their problems are warnings here.
//
// Reading: members of the request are extracted from its bytes, and only the object is decoded; other members
// (options, the old object) cost a scan. spec is unchanged if its bytes are, because one server writes both.
#include <cstddef>
#include <string>
#include <string_view>

#include "controller/webhook/judgement.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// Of a policy: nodes read no larger one (watchers/policy_watcher.h). Larger claims are not for our drivers.
inline constexpr kube::JsonLimits kObjectLimits{.size_max = 3u << 19, .depth_max = 64, .nodes_max = 150'000};

/// The answer, and its log fields.
struct Review {
  int status = 200;                     // of HTTP; 400: not a review, and body is text
  std::string body;                     // an AdmissionReview as JSON
  std::string user, operation, object;  // "admin", "UPDATE", "DeviceExposurePolicy nics"; foreign text
  bool is_judged = false;               // the object was checked
  bool is_refused = false;              // `why` is the first reason
  std::string why;
  size_t errors = 0, warnings = 0;
};

/// body: of the request, unvalidated. Bounds: kObjectLimits and those of judge(). Keeps no views into the
/// body.
/// A refusal is a Status of 422 with each problem as a cause (field and text) and as a line of its message,
/// in the texts of `validate`. At most 20 causes and 20 warnings, each of at most 2 KiB.
Review review(std::string_view body, const Drivers& drivers);

/// Returns true if checking costs no more than reading, by the resource of the request: ResourceClaims, their
/// templates, NetworkAttachmentDefinitions, SriovResourcePolicies and DeviceAttributes. False for unknown
/// resources. Reads the beginning of the body only.
bool is_cheap(std::string_view body);

/// Returns the answer to a review without time or memory for a check: allowed, with a warning and the reason.
/// 400 if the body is not a review, as in review().
Review unjudged(std::string_view body, std::string_view why);

}  // namespace sliced::webhook
