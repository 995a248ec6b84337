#pragma once
// Reads the allocation results from the text of a ResourceClaim. The rest of the object is not decoded: its
// author may have written anything there.
#include <string_view>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::publishers {

/// DeviceRequestAllocationResult of resource/v1, in part. Views into the list.
struct AllocatedResult {
  std::string_view driver, pool, device;
  bool is_shared = false;
  bool is_admin = false;  // adminAccess: does not allocate the device
};

/// Returns status.allocation.devices.results, or null if absent. Errors: kInvalid, kTooLarge.
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

/// Returns a string of the metadata; "" if it is absent, not a string, or contains escapes.
std::string_view text_of_metadata(std::string_view claim, const char* key);

}  // namespace sliced::publishers
