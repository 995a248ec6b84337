#include "policy/sriov/match.h"

#include <algorithm>
#include <bit>

#include "policy/sriov/attributes.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::HostDevice;
using hotplug::PciAddress;

template <class T>
bool listed(const std::vector<T>& wanted, const T& value) {
  return std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

template <class Key>
bool any_covers(const std::vector<PfMatch<Key>>& wanted, const Key& pf, const std::optional<int>& vf_index) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const PfMatch<Key>& match) {
    return match.pf == pf && (match.ranges.empty() || (vf_index && match.covers(*vf_index)));
  });
}

// A filter with other VF indices is known not to match.
bool may_cover(const std::vector<PfMatch<std::string>>& wanted, const std::optional<int>& vf_index) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const PfMatch<std::string>& match) {
    return match.ranges.empty() || (vf_index && match.covers(*vf_index));
  });
}

bool is_contested(const std::string& name, const UnknownFacts& unknown) {
  return unknown.contested != nullptr && unknown.contested->contains(name);
}

bool any_covers_pf_name(const std::vector<PfMatch<std::string>>& wanted, const HostDevice& vf,
                        const UnknownFacts& unknown) {
  return any_covers(wanted, vf.pf_name, vf.vf_index) ||
         std::any_of(vf.pf_alternative_names.begin(), vf.pf_alternative_names.end(),
                     [&](const std::string& name) {
                       return !is_contested(name, unknown) && any_covers(wanted, name, vf.vf_index);
                     });
}

bool is_true(FilterField field, const ResourceFilter& filter, const HostDevice& vf,
             const UnknownFacts& unknown) {
  switch (field) {
    case FilterField::kVendors:
      return filter.vendors.empty() || listed(filter.vendors, vf.vendor);
    case FilterField::kDevices:
      return filter.devices.empty() || listed(filter.devices, vf.product);
    case FilterField::kDrivers:
      return filter.drivers.empty() || listed(filter.drivers, vf.driver);
    case FilterField::kPciAddresses:
      return filter.pci_addresses.empty() || listed(filter.pci_addresses, *vf.pci);
    case FilterField::kPfNames:
      return filter.pf_names.empty() || any_covers_pf_name(filter.pf_names, vf, unknown);
    case FilterField::kPfPciAddresses:
      return filter.pf_pci_addresses.empty() ||
             (vf.pf && any_covers(filter.pf_pci_addresses, *vf.pf, vf.vf_index));
    case FilterField::kRootDevices:
      return filter.root_devices.empty() || (vf.pf && any_covers(filter.root_devices, *vf.pf, vf.vf_index));
    case FilterField::kNumaNodes:
      return filter.numa_nodes.empty() || (vf.numa_node && listed(filter.numa_nodes, *vf.numa_node));
    case FilterField::kLinkType:
      return filter.link_type.empty() || filter.link_type == link_type_of(vf);
  }
  return false;
}

MatchResult match_field(FilterField field, const ResourceFilter& filter, const HostDevice& vf,
                        const UnknownFacts& unknown) {
  if (field == FilterField::kPfNames && unknown.pf_name && !filter.pf_names.empty())
    return may_cover(filter.pf_names, vf.vf_index) ? MatchResult::kUnknown : MatchResult::kNo;
  if (field == FilterField::kLinkType && unknown.link_type && !filter.link_type.empty())
    return MatchResult::kUnknown;
  return is_true(field, filter, vf, unknown) ? MatchResult::kYes : MatchResult::kNo;
}

template <class Key>
std::optional<bool> says_of_pf(const std::vector<PfMatch<Key>>& wanted, const Key& pf) {
  bool is_named = false;
  for (const PfMatch<Key>& match : wanted) {
    if (match.pf != pf) continue;
    if (match.ranges.empty()) return true;
    is_named = true;
  }
  return is_named ? std::nullopt : std::optional(false);
}

std::optional<bool> says_of_pf_names(const std::vector<PfMatch<std::string>>& wanted, const HostDevice& vf,
                                     const UnknownFacts& unknown) {
  std::optional<bool> match_result = says_of_pf(wanted, vf.pf_name);
  for (const std::string& name : vf.pf_alternative_names) {
    if (is_contested(name, unknown)) continue;
    const std::optional<bool> one = says_of_pf(wanted, name);
    if (match_result == true || one == true)
      match_result = true;
    else if (!one)
      match_result = std::nullopt;
  }
  return match_result;
}

// Returns the answer of a field for all VFs of a kind; nullopt if it depends on more than are_alike()
// compares.
std::optional<bool> says_of_kind(FilterField field, const ResourceFilter& filter, const HostDevice& vf,
                                 const UnknownFacts& unknown) {
  switch (field) {
    case FilterField::kPciAddresses:
      return std::nullopt;
    case FilterField::kPfNames:
      return unknown.pf_name ? std::nullopt : says_of_pf_names(filter.pf_names, vf, unknown);
    case FilterField::kPfPciAddresses:
      return vf.pf ? says_of_pf(filter.pf_pci_addresses, *vf.pf) : false;
    case FilterField::kRootDevices:
      return vf.pf ? says_of_pf(filter.root_devices, *vf.pf) : false;
    case FilterField::kVendors:
    case FilterField::kDevices:
    case FilterField::kDrivers:
    case FilterField::kNumaNodes:
      return is_true(field, filter, vf, unknown);
    case FilterField::kLinkType:
      return unknown.link_type ? std::nullopt : std::optional(is_true(field, filter, vf, unknown));
  }
  return std::nullopt;
}

// Compares all facts that filters read, except address and index.
bool are_alike(const HostDevice& a, const HostDevice& b) {
  return a.pf == b.pf && a.driver == b.driver && a.product == b.product && a.vendor == b.vendor &&
         a.pf_name == b.pf_name && a.pf_alternative_names == b.pf_alternative_names &&
         a.numa_node == b.numa_node && a.pf_link_type == b.pf_link_type;
}

// Returns the fields with values.
uint32_t fields_of(const ResourceFilter& filter) {
  uint32_t out = 0;
  const auto note = [&](FilterField field, bool says_anything) {
    if (says_anything) out |= uint32_t{1} << static_cast<int>(field);
  };
  note(FilterField::kVendors, !filter.vendors.empty());
  note(FilterField::kDevices, !filter.devices.empty());
  note(FilterField::kDrivers, !filter.drivers.empty());
  note(FilterField::kPciAddresses, !filter.pci_addresses.empty());
  note(FilterField::kPfNames, !filter.pf_names.empty());
  note(FilterField::kPfPciAddresses, !filter.pf_pci_addresses.empty());
  note(FilterField::kRootDevices, !filter.root_devices.empty());
  note(FilterField::kNumaNodes, !filter.numa_nodes.empty());
  note(FilterField::kLinkType, !filter.link_type.empty());
  return out;
}

std::string with_index(const std::string& pf, const HostDevice& vf) {
  if (pf.empty()) return {};
  return vf.vf_index ? pf + "#" + std::to_string(*vf.vf_index) : pf;
}

std::string altnames_text(const std::vector<std::string>& names, const UnknownFacts& unknown) {
  std::string out;
  for (const std::string& name : names)
    out += (out.empty() ? " (altnames " : ", ") + escaped(name) +
           (is_contested(name, unknown) ? " [ignored: another interface has this name, too]" : "");
  return out.empty() ? out : out + ")";
}

std::string value_found(FilterField field, const HostDevice& vf, const UnknownFacts& unknown) {
  switch (field) {
    case FilterField::kVendors:
      return vf.vendor;
    case FilterField::kDevices:
      return vf.product;
    case FilterField::kDrivers:
      return escaped(vf.driver);
    case FilterField::kPciAddresses:
      return vf.pci->text();
    case FilterField::kPfNames:
      return with_index(escaped(vf.pf_name), vf) + altnames_text(vf.pf_alternative_names, unknown);
    case FilterField::kPfPciAddresses:
    case FilterField::kRootDevices:
      return vf.pf ? with_index(vf.pf->text(), vf) : "";
    case FilterField::kNumaNodes:
      return vf.numa_node ? std::to_string(*vf.numa_node) : "";
    case FilterField::kLinkType:
      return std::string(link_type_of(vf));
  }
  return {};
}

template <class Key, class Text>
std::string pf_text(const PfMatch<Key>& match, Text text) {
  std::string out = text(match.pf);
  for (size_t i = 0; i < match.ranges.size(); ++i) {
    out += i == 0 ? "#" : ",";
    out += std::to_string(match.ranges[i].first);
    if (match.ranges[i].last != match.ranges[i].first) out += "-" + std::to_string(match.ranges[i].last);
  }
  return out;
}

template <class T, class Text>
std::string texts(const std::vector<T>& wanted, Text text) {
  constexpr size_t kShown = 8;
  std::vector<std::string> parts;
  for (size_t i = 0; i < wanted.size() && i < kShown; ++i) parts.push_back(text(wanted[i]));
  if (wanted.size() > kShown) parts.push_back("and " + std::to_string(wanted.size() - kShown) + " more");
  return (wanted.size() > 1 ? "one of " : "") + join(parts, ", ");
}

std::string value_wanted(FilterField field, const ResourceFilter& filter) {
  const auto plain = [](const std::string& text) { return escaped(text); };
  const auto address = [](const PciAddress& a) { return a.text(); };
  switch (field) {
    case FilterField::kVendors:
      return texts(filter.vendors, plain);
    case FilterField::kDevices:
      return texts(filter.devices, plain);
    case FilterField::kDrivers:
      return texts(filter.drivers, plain);
    case FilterField::kPciAddresses:
      return texts(filter.pci_addresses, address);
    case FilterField::kPfNames:
      return texts(filter.pf_names, [&](const auto& m) { return pf_text(m, plain); });
    case FilterField::kPfPciAddresses:
      return texts(filter.pf_pci_addresses, [&](const auto& m) { return pf_text(m, address); });
    case FilterField::kRootDevices:
      return texts(filter.root_devices, [&](const auto& m) { return pf_text(m, address); });
    case FilterField::kNumaNodes:
      return texts(filter.numa_nodes, [](int n) { return std::to_string(n); });
    case FilterField::kLinkType:
      return filter.link_type;
  }
  return {};
}

}  // namespace

UnknownFacts unknown_facts(const HostDevice& vf, const hotplug::Inventory& inventory) {
  UnknownFacts out;
  if (!inventory.contested_names.empty()) out.contested = &inventory.contested_names;
  if (vf.type != hotplug::DeviceType::kVf || !vf.pf || (!vf.pf_name.empty() && vf.pf_link_type)) return out;
  const HostDevice* pf = inventory.find(vf.pf->text());
  if (pf == nullptr || !hotplug::is_netdev_elsewhere(*pf)) return out;
  out.pf_name = vf.pf_name.empty();
  out.link_type = !vf.pf_link_type;
  return out;
}

bool is_any_unknown(const hotplug::Inventory& inventory) {
  return std::any_of(inventory.devices.begin(), inventory.devices.end(),
                     [&](const auto& entry) { return unknown_facts(entry.second, inventory).is_any(); });
}

FilterMatch match_filter(const ResourceFilter& filter, const HostDevice& vf, const UnknownFacts& unknown) {
  FilterMatch out;
  for (int i = 0; i < kFilterFieldCount; ++i) {
    const auto field = static_cast<FilterField>(i);
    const MatchResult match_result = match_field(field, filter, vf, unknown);
    if (match_result == MatchResult::kNo) return {match_result, field};
    if (match_result == MatchResult::kUnknown && out.match_result == MatchResult::kYes)
      out = {match_result, field};
  }
  return out;
}

VfMatcher::VfMatcher(const PolicySet& policies, const std::vector<int32_t>& selected,
                     const hotplug::Inventory& inventory)
    : inventory_(inventory), is_any_selected_(!selected.empty()) {
  for (const int32_t p : selected) {
    const auto& configs = policies.sriov[static_cast<size_t>(p)]->configs;
    for (int32_t c = 0; c < static_cast<int32_t>(configs.size()); ++c) {
      const ResourceConfig& config = configs[static_cast<size_t>(c)];
      if (!config.problems.empty()) continue;
      if (config.filters.empty()) filters_.push_back({nullptr, 0, {Outcome::kOffered, p, c}});
      for (int32_t f = 0; f < static_cast<int32_t>(config.filters.size()); ++f) {
        const ResourceFilter& filter = config.filters[static_cast<size_t>(f)];
        filters_.push_back({&filter, fields_of(filter), {Outcome::kOffered, p, c, f}});
      }
    }
  }
}

const VfMatcher::Kind& VfMatcher::kind_of(const HostDevice& vf) {
  if (!kinds_.empty() && are_alike(*kinds_[last_].like, vf)) return kinds_[last_];
  for (last_ = 0; last_ < kinds_.size(); ++last_)
    if (are_alike(*kinds_[last_].like, vf)) return kinds_[last_];
  if (kinds_.size() < kKindsMax)
    kinds_.emplace_back();
  else
    last_ = oldest_++ % kKindsMax;
  Kind& kind = kinds_[last_];
  kind.like = &vf;
  kind.unknown = unknown_facts(vf, inventory_);
  kind.left.clear();
  for (const PendingFilter& one : filters_) {
    PendingFilter left{one.filter, 0, one.verdict};
    bool is_refused = false;
    for (uint32_t fields = one.fields; fields != 0 && !is_refused; fields &= fields - 1) {
      const auto result =
          says_of_kind(static_cast<FilterField>(std::countr_zero(fields)), *one.filter, vf, kind.unknown);
      if (!result) left.fields |= fields & -fields;
      is_refused = result == false;
    }
    if (is_refused) continue;
    kind.left.push_back(left);
    if (left.fields == 0) break;  // it matches all
  }
  return kind;
}

Verdict VfMatcher::decide(const HostDevice& device) {
  if (!device.broken.empty()) return {Outcome::kBroken};
  if (device.type != hotplug::DeviceType::kVf || !device.pci) return {Outcome::kNotAVf};
  if (!is_any_selected_) return {Outcome::kNoPolicy};
  const Kind& kind = kind_of(device);
  Verdict waits{Outcome::kNoMatch};
  for (const PendingFilter& one : kind.left) {
    MatchResult match_result = MatchResult::kYes;
    for (uint32_t left = one.fields; left != 0 && match_result != MatchResult::kNo; left &= left - 1)
      match_result = std::min(match_result, match_field(static_cast<FilterField>(std::countr_zero(left)),
                                                        *one.filter, device, kind.unknown));
    if (match_result == MatchResult::kNo) continue;
    const bool is_first = waits.outcome == Outcome::kNoMatch;
    const bool is_of_waited = waits.may_offer == one.verdict.policy && waits.config == one.verdict.config;
    if (match_result == MatchResult::kYes) return is_first || is_of_waited ? one.verdict : waits;
    if (is_first) waits = may_be_offered_by({one.verdict.policy, one.verdict.config, one.verdict.filter});
  }
  return waits;
}

Rule rule_of(const Step& step, const HostDevice& vf, const PolicySet& policies, const UnknownFacts& unknown) {
  const SriovPolicy& policy = policies.sriov[step.policy];
  const ResourceConfig& config = policy.configs[step.config];
  Rule rule{.policy = text_of(policy.id), .place = "spec.configs[" + std::to_string(step.config) + "]"};
  if (step.filter >= 0) rule.place += ".resourceFilters[" + std::to_string(step.filter) + "]";
  if (step.unreadable) {
    const Problem& problem = config.problems.front();
    rule.result = "no";
    rule.field = problem.field;
    rule.found = "unreadable (" + problem.what + ")";
    rule.wanted = kUnderstoodConfig;
  } else if (step.refusal) {
    rule.result = step.is_unknown ? "unknown" : "no";
    rule.field = name_of(*step.refusal);
    rule.found = step.is_unknown ? "unknown, since the interface of PF " + vf.pf->text() + " is elsewhere"
                                 : value_found(*step.refusal, vf, unknown);
    rule.wanted = value_wanted(*step.refusal, config.filters[step.filter]);
  } else if (step.host_use) {
    rule.result = "held back";
    rule.field = "spec.allowHostUse";
    rule.found = escaped(vf.host_use);
    rule.wanted = "not in use by the host, or spec.allowHostUse: true";
  } else {
    rule.result = "match";
  }
  return rule;
}

}  // namespace sliced::policy
