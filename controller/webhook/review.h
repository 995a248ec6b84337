#pragma once
// An AdmissionReview in, its answer out (admission.k8s.io/v1, k8s.io/api/admission/v1/types.go). Pure.
//
// Whoever answers decides for the whole cluster, so what is not ours is allowed: other kinds, other drivers' claims,
// updates that leave spec as it was (labels, finalizers, objects that were stored before the webhook was), deletions,
// subresources. What is ours and cannot be read is refused, because no node would read it either. Selectors of DeviceClasses and claims are
// the API server's: it compiles them before it asks, so what they look like here is a warning.
//
// Reading: members of the request are taken from the bytes as they came, and only the object is decoded: what
//          an API server sends beside it (options, the old object) costs a scan. Whether spec has changed is
//          whether its bytes have, because one server writes both.
#include <cstddef>
#include <string>
#include <string_view>

#include "controller/webhook/judgement.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// Of a policy: more of it no node reads (watchers/policy_watcher.h). Of a claim more is nobody's here.
inline constexpr kube::JsonLimits kObjectLimits{.size_max = 3u << 19, .depth_max = 64, .nodes_max = 150'000};

/// What is answered, and what a log says of it.
struct Review {
  int status = 200;                     // of HTTP; 400: nothing that could be answered, and body is text
  std::string body;                     // an AdmissionReview as JSON
  std::string user, operation, object;  // "admin", "UPDATE", "DeviceExposurePolicy nics"; foreign
  bool is_judged = false;               // something of ours was looked at
  bool is_refused = false;              // then why is the first reason
  std::string why;
  size_t errors = 0, warnings = 0;
};

/// body: of the request, whatever it is. Bounds: kObjectLimits, and judge()'s; views into the body are not kept.
/// A refusal is a Status of 422 with each problem as a cause (field and words) and as a line of its message: the same
/// words as `validate`'s. At most 20 causes and 20 warnings, each of at most 2 KiB.
Review review(std::string_view body, const Drivers& drivers);

/// Whether judging it takes no longer than reading it: by the resource that the request names, of which there is nothing to
/// compile. Looks at the beginning of what an API server sends.
/// ResourceClaims, their templates, NetworkAttachmentDefinitions, SriovResourcePolicies and DeviceAttributes; what is not known is dear.
bool is_cheap(std::string_view body);

/// The answer to a review that there was no time or room for: allowed, with a warning that says so and why.
/// 400 where there is nothing that could be answered, as review() has it.
Review unjudged(std::string_view body, std::string_view why);

}  // namespace sliced::webhook
