#include "policy/entry_validation.h"

#include "reactor/base/text.h"

namespace sliced::policy {

uint64_t content_hash(const kube::Device& device) {
  kube::ResourceSlice carrier;
  kube::Device content = device;
  content.consumes_counters.clear();  // they depend on the pool
  carrier.devices.push_back(std::move(content));
  return stable_hash(kube::encode_json(kube::encode_resource_slice(carrier)));
}

std::string drop_refused(kube::Device& entry, const std::function<bool(const std::string&)>& is_vital,
                         std::vector<std::string>& notes) {
  for (int round = 0; round < 64; ++round) {
    const auto problems = kube::validate_device(entry);
    if (problems.empty()) break;
    const kube::DeviceProblem& first = problems.front();
    if (!first.descriptive || is_vital(first.attribute)) return first.field + " " + first.what;
    notes.push_back("device " + entry.name + ": attribute " + escaped(first.attribute) +
                    " left out: " + first.what);
    entry.attributes.erase(first.attribute);
  }
  return {};
}

std::string refused_before(const kube::Device& entry, const QuarantinedEntries& quarantine) {
  const auto at = quarantine.find(entry.name);
  return at != quarantine.end() && at->second.content_hash == content_hash(entry) ? at->second.why : "";
}

bool is_trivially_valid(const kube::Device& entry) {
  if (entry.attributes.size() + entry.capacity.size() > kube::kAttributesAndCapacitiesMax) return false;
  for (const auto& [key, value] : entry.attributes) {
    if (kube::is_list(value)) return false;
    if (const auto* text = std::get_if<std::string>(&value);
        text != nullptr && (text->size() > kube::kAttributeValueBytesMax || !is_utf8(*text)))
      return false;
  }
  return true;
}

}  // namespace sliced::policy
