#pragma once
// What a ResourceClaim has been allocated, out of its text. Nothing else of it is read: who made the claim chose the
// rest, and may write there what cannot be decoded.
#include <string_view>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::publishers {

/// One result (resource/v1, DeviceRequestAllocationResult), as far as it matters here. Views into the list.
struct AllocatedResult {
  std::string_view driver, pool, device;
  bool is_shared = false;
  bool is_admin = false;  // looks on, and holds nothing
};

/// status.allocation.devices.results; null where there is none. Errors: kInvalid, kTooLarge.
Result<kube::Json> results_of_claim(std::string_view claim);

template <class Visit>
void visit_items(const kube::Json* list, const Visit& visit) {
  if (list == nullptr || list->array() == nullptr) return;
  for (const kube::Json& one : *list->array()) visit(one);
}

template <class Visit>
void visit_results(const kube::Json& results, const Visit& visit) {
  visit_items(&results, [&](const kube::Json& one) {
    const kube::Json* admin = one.find("adminAccess");
    visit(AllocatedResult{one.text("driver"), one.text("pool"), one.text("device"),
                          !one.text("shareID").empty(), admin != nullptr && *admin == kube::Json(true)});
  });
}

/// A string of its metadata as it stands; "" where it is none, or has escapes.
std::string_view text_of_metadata(std::string_view claim, const char* key);

}  // namespace sliced::publishers
