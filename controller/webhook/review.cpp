#include "controller/webhook/review.h"

#include <array>
#include <optional>
#include <utility>

#include "controller/webhook/network_judgement.h"
#include "kube/objects/json_scanner.h"
#include "kube/objects/kinds.h"
#include "reactor/base/text.h"

namespace sliced::webhook {
namespace {

using kube::Json;

constexpr std::string_view kApiVersion = "admission.k8s.io/v1", kKind = "AdmissionReview";
constexpr kube::JsonLimits kTextLimits{.size_max = 4'096, .depth_max = 1, .nodes_max = 1};
constexpr size_t kUidBytesMax = 128;
// Limit for the selectors of a claim, which any user may write: 5 ms. Typical ones take a tenth of it.
constexpr uint64_t kClaimStepsMax = 50'000;

// Members of the request that are read, as bytes.
struct ReviewRequest {
  std::string_view uid, operation, sub_resource, namespace_, user, object, old_object;
};

std::string text_at(std::string_view raw) {
  const auto value = kube::decode_json(raw, kTextLimits);
  return value && value->string() != nullptr ? *value->string() : "";
}

std::string text_in(std::string_view object, std::string_view key) {
  const auto raw = kube::find_raw(object, {key});
  return raw ? text_at(*raw) : "";
}

bool read_request(std::string_view raw, ReviewRequest& out) {
  const std::array<std::pair<std::string_view, std::string_view*>, 6> wanted = {
      {{"uid", &out.uid},
       {"operation", &out.operation},
       {"subResource", &out.sub_resource},
       {"namespace", &out.namespace_},
       {"object", &out.object},
       {"oldObject", &out.old_object}}};
  kube::JsonScanner scanner(raw);
  return scanner.object([&](std::string_view key) {
    const auto value = scanner.value();
    if (!value) return false;
    for (const auto& [name, field] : wanted)
      if (key == name) *field = *value;
    if (key == "userInfo") out.user = *value;
    return true;
  });
}

Review bad(std::string why) { return {.status = 400, .body = "no AdmissionReview: " + why + "\n"}; }

// Returns the request of a body, or the error of an invalid body.
Result<ReviewRequest> request_of(std::string_view body) {
  ReviewRequest out;
  if (!kube::find_raw(body, {"apiVersion"})) return Error{Errc::kInvalid, "the body is not a JSON object"};
  if (const std::string found = text_in(body, "apiVersion"); found != kApiVersion)
    return Error{Errc::kInvalid,
                 "apiVersion is " + in_quotes(found, 64) + ", expected " + std::string(kApiVersion)};
  if (const std::string found = text_in(body, "kind"); found != kKind)
    return Error{Errc::kInvalid, "kind is " + in_quotes(found, 64) + ", expected " + std::string(kKind)};
  const auto raw = kube::find_raw(body, {"request"});
  if (!raw || !read_request(*raw, out)) return Error{Errc::kInvalid, "request is missing, or no object"};
  const std::string uid = text_at(out.uid);
  if (uid.empty() || uid.size() > kUidBytesMax)
    return Error{Errc::kInvalid,
                 "request.uid is missing, or of more than " + std::to_string(kUidBytesMax) + " bytes"};
  return out;
}

Json answer(const std::string& uid, bool is_allowed) {
  return Json::Object{{"uid", uid}, {"allowed", is_allowed}};
}

std::string encoded(Json response) {
  return kube::encode_json(Json::Object{{"apiVersion", std::string(kApiVersion)},
                                        {"kind", std::string(kKind)},
                                        {"response", std::move(response)}});
}

Json cause_of(const policy::Problem& problem) {
  Json cause = Json::Object{{"reason", "FieldValueInvalid"}, {"message", problem.what}};
  if (!problem.field.empty()) cause.set("field", problem.field);
  return cause;
}

// kubectl shows the causes; other clients show the message.
Json status_of(const Judgement& judged, std::string_view object) {
  Json::Array causes;
  std::string message;
  for (const policy::Problem& problem : judged.errors) {
    message += (message.empty() ? "" : "\n") + text_of(judged, problem);
    causes.push_back(cause_of(problem));
  }
  if (judged.errors.more() > 0) message += "\n" + judged.who + ": " + and_more(judged.errors.more());
  const std::string api_version = text_in(object, "apiVersion");
  Json details = Json::Object{{"group", api_version.substr(0, api_version.find('/'))},
                              {"kind", text_in(object, "kind")},
                              {"causes", std::move(causes)}};
  if (const auto name = kube::find_raw(object, {"metadata", "name"}); name && !text_at(*name).empty())
    details.set("name", text_at(*name));
  return Json::Object{{"status", "Failure"},
                      {"message", std::move(message)},
                      {"reason", "Invalid"},
                      {"details", std::move(details)},
                      {"code", 422}};
}

void add_warnings(const Judgement& judged, Json& response) {
  Json::Array warnings;
  for (const policy::Problem& problem : judged.warnings) warnings.push_back(text_of(judged, problem));
  if (const size_t more = judged.warnings.more(); more > 0)
    warnings.push_back(judged.who + ": " + and_more(more, "warning"));
  if (!warnings.empty()) response.set("warnings", std::move(warnings));
}

// Returns true if the request contains changes to check.
bool asks_of_spec(const ReviewRequest& request) {
  const std::string operation = text_at(request.operation);
  if (operation != "CREATE" && operation != "UPDATE") return false;
  if (request.object.empty() || !text_at(request.sub_resource).empty()) return false;
  if (operation == "CREATE") return true;
  const auto spec = kube::find_raw(request.object, {"spec"}),
             before = kube::find_raw(request.old_object, {"spec"});
  // One server writes both in the same form.
  return !spec || !before || *spec != *before;
}

bool is_policy(std::string_view kind) {
  return kind == kube::kSriovResourcePolicies.kind || kind == kube::kDeviceAttributes.kind ||
         kind == kube::kDeviceExposurePolicies.kind;
}

// A newer server may use unknown fields.
void leave_selectors_to_server(Judgement& judged) {
  policy::Problems errors, warnings;
  policy::Problems* last = &errors;
  for (const policy::Problem& problem : judged.errors) {
    last = problem.field.ends_with(".cel.expression") ? &warnings : &errors;
    last->push_back(problem);
  }
  last->count_more(judged.errors);  // counted with the last stored one, because selectors come last
  for (const policy::Problem& problem : judged.warnings) warnings.push_back(problem);
  warnings.count_more(judged.warnings);
  judged.errors = std::move(errors);
  judged.warnings = std::move(warnings);
}

// Multus accepts definitions that our nodes refuse, and most definitions are not for our nodes. Only the
// label identifies those that are.
void leave_others_networks(const Json& object, Judgement& judged) {
  policy::Problems warnings;
  const auto add = [&](const policy::Problems& problems, const std::string& more) {
    for (policy::Problem problem : problems) {
      problem.what += more;
      warnings.push_back(std::move(problem));
    }
    warnings.count_more(problems);
  };
  if (!is_used_by_sliced(object)) {
    add(judged.errors, "; sliced prepares no claim with it");
    judged.errors = policy::Problems();
  }
  add(judged.user_errors, "; sliced prepares no claim that names it itself");
  add(judged.warnings, "");
  judged.warnings = std::move(warnings);
}

std::optional<Judgement> judge_text(const ReviewRequest& request, const Drivers& drivers) {
  const std::string kind = text_in(request.object, "kind");
  const auto object = kube::decode_json(request.object, kObjectLimits);
  if (object) {
    auto judged = judge(*object, drivers, text_at(request.namespace_), /*may_work=*/true, kClaimStepsMax);
    const bool is_of_claims = kind == kube::kResourceClaims.kind || kind == "ResourceClaimTemplate";
    if (judged && (kind == kube::kDeviceClasses.kind || is_of_claims)) leave_selectors_to_server(*judged);
    if (judged && kind == kube::kNetworkAttachmentDefinitions.kind) leave_others_networks(*object, *judged);
    return judged;
  }
  Judgement out{.who = escaped(kind, 64)};
  // A claim that the server accepted and that cannot be read here is left to its node.
  if (is_policy(kind))
    out.errors.push_back({"", "cannot be decoded, by nodes neither: " + object.error().what});
  else
    out.warnings.push_back({"", "not checked: " + object.error().what});
  return out;
}

}  // namespace

Review review(std::string_view body, const Drivers& drivers) {
  const auto request = request_of(body);
  if (!request) return bad(request.error().what);
  Review out{.user = text_in(request->user, "username"), .operation = text_at(request->operation)};
  kube::Json response = answer(text_at(request->uid), true);
  const auto judged = asks_of_spec(*request) ? judge_text(*request, drivers) : std::nullopt;
  if (judged) {
    out.is_judged = true;
    out.object = judged->who;
    out.errors = judged->errors.size();
    out.warnings = judged->warnings.size();
    out.is_refused = !judged->errors.empty();
    if (out.is_refused) {
      out.why = text_of(*judged, judged->errors.front());
      response.set("allowed", false);
      response.set("status", status_of(*judged, request->object));
    }
    add_warnings(*judged, response);
  }
  out.body = encoded(std::move(response));
  return out;
}

bool is_cheap(std::string_view body) {
  const auto raw = kube::find_raw(body, {"request", "resource", "resource"});
  const std::string resource = raw ? text_at(*raw) : "";
  return resource == kube::kResourceClaims.plural || resource == "resourceclaimtemplates" ||
         resource == kube::kNetworkAttachmentDefinitions.plural ||
         resource == kube::kSriovResourcePolicies.plural || resource == kube::kDeviceAttributes.plural;
}

Review unjudged(std::string_view body, std::string_view why) {
  const auto request = request_of(body);
  if (!request) return bad(request.error().what);
  kube::Json response = answer(text_at(request->uid), true);
  response.set("warnings",
               kube::Json::Array{"sliced did not check this object, and it is stored unchecked: " +
                                 std::string(why) + "; look at it with: sliced validate"});
  return {.body = encoded(std::move(response)),
          .user = text_in(request->user, "username"),
          .operation = text_at(request->operation),
          .object = escaped(text_in(request->object, "kind"), 64),
          .why = std::string(why)};
}

}  // namespace sliced::webhook
