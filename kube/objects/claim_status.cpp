#include "kube/objects/claim_status.h"

#include <utility>

#include "kube/objects/kinds.h"

namespace sliced::kube {

Json encode_status_device(std::string_view driver, std::string_view pool, std::string_view device,
                          std::string_view share_id) {
  Json entry = Json::Object{
      {"driver", std::string(driver)}, {"pool", std::string(pool)}, {"device", std::string(device)}};
  if (!share_id.empty()) entry.set("shareID", Json(std::string(share_id)));
  return entry;
}

std::string encode_claim_devices(const std::string& namespace_, const std::string& name,
                                 const std::string& uid, Json::Array devices) {
  return encode_json(
      Json::Object{{"apiVersion", api_version(kResourceClaims)},
                   {"kind", kResourceClaims.kind},
                   {"metadata", Json::Object{{"name", name}, {"namespace", namespace_}, {"uid", uid}}},
                   {"status", Json::Object{{"devices", std::move(devices)}}}});
}

bool is_claim_gone(const Failure& failure) {
  return failure.code == Errc::kNotFound || failure.code == Errc::kConflict;
}

bool is_claim_write_final(const Failure& failure) {
  return is_claim_gone(failure) || failure.code == Errc::kInvalid || failure.code == Errc::kTooLarge;
}

std::string_view remedy_for_claim_write(const Failure& failure) {
  return failure.code == Errc::kDenied ? "grant patch on resourceclaims/status, and associated-node:patch on "
                                         "resourceclaims/driver (config/deploy/rbac.yaml)"
                                       : "none: it is retried";
}

}  // namespace sliced::kube
