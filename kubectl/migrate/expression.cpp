#include "kubectl/migrate/expression.h"

#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

std::string joined(const std::vector<std::string>& parts, const char* by) {
  return parts.size() == 1 ? parts.front() : "(" + join(parts, by) + ")";
}

class Expression {
 public:
  explicit Expression(const std::string& driver) : domain_("device.attributes[\"" + driver + "\"].") {}

  // Values are names and addresses, without quotes and backslashes.
  std::string one_of(const char* attribute, const std::vector<std::string>& values) const {
    if (values.size() == 1) return domain_ + attribute + " == \"" + values.front() + "\"";
    return domain_ + attribute + " in [\"" + join(values, "\", \"") + "\"]";
  }
  std::string one_of(const char* attribute, const std::vector<PfVfs>& entries) const {
    std::vector<std::string> parts;
    for (const PfVfs& entry : entries) {
      std::string part = domain_ + attribute + " == \"" + entry.pf + "\"";
      if (!entry.ranges.empty()) part = "(" + part + " && " + in_ranges(entry) + ")";
      parts.push_back(std::move(part));
    }
    return joined(parts, " || ");
  }
  std::string is_set(const char* attribute) const { return domain_ + attribute; }
  std::string domain() const { return domain_; }

 private:
  std::string in_ranges(const PfVfs& entry) const {
    const std::string index = domain_ + "vfIndex";
    std::vector<std::string> parts;
    for (const auto& [first, last] : entry.ranges)
      parts.push_back(first == last ? index + " == " + std::to_string(first)
                                    : "(" + index + " >= " + std::to_string(first) + " && " + index +
                                          " <= " + std::to_string(last) + ")");
    return joined(parts, " || ");
  }
  const std::string domain_;
};

std::string text_of(const Selector& selector, const Expression& say) {
  std::vector<std::string> all;
  if (!selector.vendors.empty()) all.push_back(say.one_of("vendor", selector.vendors));
  if (!selector.devices.empty()) all.push_back(say.one_of("product", selector.devices));
  if (!selector.drivers.empty()) all.push_back(say.one_of("driver", selector.drivers));
  if (!selector.pci_addresses.empty()) all.push_back(say.one_of("pciAddress", selector.pci_addresses));
  if (!selector.pf_names.empty()) all.push_back(say.one_of("pfName", selector.pf_names));
  if (!selector.root_devices.empty()) all.push_back(say.one_of("pfPciAddress", selector.root_devices));
  if (!selector.link_types.empty()) all.push_back(say.one_of("linkType", selector.link_types));
  if (selector.needs_rdma) all.push_back(say.is_set("rdma"));
  return all.empty() ? "" : joined(all, " && ");
}

}  // namespace

std::string expression_of(const Resource& resource, const std::string& driver) {
  const Expression say(driver);
  // As in is_plugin_device(): a function with a driver, and a PF only without VFs.
  std::string looked_at = say.domain() + "type in [\"pf\", \"vf\", \"nic\"] && " + say.domain() +
                          "numVFs == 0 && " + say.domain() + "driver != \"\"";
  if (resource.is_auxiliary) looked_at = say.domain() + "type == \"sf\"";
  std::vector<std::string> any;
  for (const Selector& selector : resource.selectors) {
    any.push_back(text_of(selector, say));
    if (any.back().empty()) return looked_at;  // matches every device
  }
  return looked_at + " && " + joined(any, " || ");
}

}  // namespace sliced::migrate
