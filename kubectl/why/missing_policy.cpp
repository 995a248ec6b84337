#include "kubectl/why/missing_policy.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <set>

#include "kube/objects/kinds.h"
#include "kubectl/why/hidden_devices.h"
#include "policy/exposure/attributes.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/selector.h"
#include "policy/sriov/match.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

using kube::Json;

constexpr size_t kExistingMax = 2, kNamesMax = 8, kLiteralsMax = 16, kChangesMax = 2;
constexpr size_t kNameBytesMax = 60;

// A request that has too few devices.
struct Wanted {
  std::string claim, request, device_class;
  std::vector<std::string> selectors;
  std::map<std::string, kube::Quantity> capacity;
  size_t count = 1;
  bool is_matched = false;  // a node offers matching devices, which are all allocated
  std::string text() const { return "request " + request + " of claim " + claim; }
};

std::vector<Wanted> wanted_by(const why::Answer& answer) {
  const auto too_short = short_requests(answer);
  std::vector<Wanted> out;
  for (const why::Claim& claim : answer.claims) {
    if (claim.allocation) continue;
    for (const auto& group : claim.requests)
      for (const auto& request : group.alternatives) {
        Wanted one{claim.id(), why::request_id(group, request), request.device_class, {}, request.capacity};
        const auto its = std::find_if(answer.classes.begin(), answer.classes.end(),
                                      [&](const auto& of) { return of.name == request.device_class; });
        if (its == answer.classes.end() ||
            std::find(too_short.begin(), too_short.end(), one.claim + ", " + one.request) == too_short.end())
          continue;
        for (const why::NodeAnswer& node : answer.nodes)
          for (const why::RequestView& view : node.requests)
            if (view.claim == one.claim && view.request == one.request && !view.all)
              one.count = static_cast<size_t>(std::max<int64_t>(view.wanted, 1));
        for (const why::NodeAnswer& node : answer.nodes)
          for (const why::RequestView& view : node.requests)
            one.is_matched |= view.claim == one.claim && view.request == one.request && view.matching > 0;
        one.selectors = its->selectors;
        one.selectors.insert(one.selectors.end(), request.selectors.begin(), request.selectors.end());
        out.push_back(std::move(one));
      }
  }
  return out;
}

std::string facts_text(const reports::DeviceGroup& group) {
  std::string out;
  for (const std::string* one :
       {&group.type, &group.pf, &group.pf_name, &group.pci_address, &group.interface, &group.interface_base,
        &group.vendor, &group.product, &group.subsystem_vendor, &group.subsystem_product, &group.driver,
        &group.link_type, &group.eswitch_mode, &group.pf_product, &group.master, &group.host_use})
    out += *one + "\x01";
  out += reports::text_of(group.vfs) + "\x01";
  for (const int number : {group.stride, group.numa_node.value_or(-1), group.mtu.value_or(-1),
                           group.total_vfs, group.num_vfs, static_cast<int>(group.rdma)})
    out += std::to_string(number) + "\x01";
  return out;
}

// The devices that a policy would offer, and their nodes.
struct FoundDevices {
  size_t devices = 0;  // on all nodes
  std::vector<std::string> nodes;
  std::string device;            // one of them
  std::set<std::string> groups;  // by index of shape and group
  std::set<std::string> ids;     // of the devices
  size_t most = 0;               // on one node
  bool has_more = false;         // the policy would offer other devices, too
};

std::string nodes_text(std::vector<std::string> nodes) {
  std::sort(nodes.begin(), nodes.end(), natural_less);
  const size_t more = nodes.size() > 3 ? nodes.size() - 3 : 0;
  nodes.resize(nodes.size() - more);
  return join(nodes, ", ") + (more > 0 ? " " + and_more(more, "node") : "");
}

std::string count_text(const FoundDevices& found) {
  return std::to_string(found.devices) + (found.devices == 1 ? " device on " : " devices on ") +
         nodes_text(found.nodes);
}

// Returns the string literals of expressions.
std::vector<std::string> literals_of(const std::vector<std::string>& selectors) {
  std::vector<std::string> out;
  for (const std::string& text : selectors)
    for (size_t at = 0; at < text.size(); ++at) {
      const char quote = text[at];
      if (quote != '"' && quote != '\'') continue;
      const size_t end = text.find(quote, at + 1);
      if (end == std::string::npos) break;
      std::string literal = text.substr(at + 1, end - at - 1);
      at = end;
      if (!literal.empty() && literal.size() <= 64 && literal.find('\\') == std::string::npos &&
          std::find(out.begin(), out.end(), literal) == out.end() && out.size() < kLiteralsMax)
        out.push_back(std::move(literal));
    }
  return out;
}

// The attributes that selectors compare with a value, device.attributes["DRIVER"].NAME == VALUE: a policy of
// DRIVER can add them.
std::map<std::string, Json> compared_attributes(const std::vector<std::string>& selectors,
                                                const std::string& driver) {
  std::map<std::string, Json> out;
  const auto is_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (const std::string& text : selectors)
    for (const std::string& start : {"[\"" + driver + "\"].", "['" + driver + "']."})
      for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
        size_t end = at + start.size();
        std::string name;
        while (end < text.size() && is_word(text[end])) name += text[end++];
        while (end < text.size() && text[end] == ' ') ++end;
        std::string value;
        if (text.compare(end, 2, "==") == 0) {
          end += 2;
          while (end < text.size() && text[end] == ' ') ++end;
          const char quote = end < text.size() ? text[end] : '\0';
          if (quote == '"' || quote == '\'') {
            const size_t close = text.find(quote, end + 1);
            if (close == std::string::npos) continue;
            out.emplace(name, Json(text.substr(end + 1, close - end - 1)));
            continue;
          }
          while (end < text.size() && (is_word(text[end]) || text[end] == '-')) value += text[end++];
          if (const auto number = parse_int(value)) out.emplace(name, Json::Object{{"int", *number}});
        }
        if (value.empty() || value == "true" || value == "false")
          out.emplace(name, Json::Object{{"bool", value != "false"}});
      }
  std::erase_if(out, [&](const auto& one) {
    return one.first.empty() || policy::is_reserved_exposure_attribute(driver + "/" + one.first, driver);
  });
  return out;
}

bool has_word(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (at + word.size() == text.size() || !is_part(text[at + word.size()])) return true;
  return false;
}

// Returns whether the expressions read this attribute of a device: `].NAME` or `].?NAME`.
bool reads(const std::vector<std::string>& selectors, const std::string& attribute) {
  return std::any_of(selectors.begin(), selectors.end(), [&](const std::string& text) {
    return has_word(text, "]." + attribute) || has_word(text, "].?" + attribute);
  });
}

// Returns other values of an attribute: a request that matches all of them does not test it.
std::vector<kube::AttributeValue> other_values(const kube::AttributeValue& value) {
  if (std::holds_alternative<std::string>(value)) return {std::string("another value")};
  if (std::holds_alternative<int64_t>(value))
    return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  if (const bool* flag = std::get_if<bool>(&value)) return {!*flag};
  if (std::holds_alternative<std::vector<std::string>>(value))
    return {std::vector<std::string>{"another value"}};
  return {};
}

// Determines which devices a request describes. A label from a policy (resourceName) does not count, because
// any device may get it. Nor does a value that the request excludes.
class Meant {
 public:
  explicit Meant(const Wanted& wanted) {
    for (std::string& literal : literals_of(wanted.selectors)) literals_.insert(std::move(literal));
    for (const policy::KnownAttribute& known : policy::known_attributes())
      if (reads(wanted.selectors, std::string(known.id))) read_.insert(std::string(known.id));
  }
  // entry: the published form of a device of the group. is_needed: returns whether the request matches the
  // entry because of this attribute's value ("dra.networking/type").
  template <class IsNeeded>
  bool is_meant(const reports::DeviceGroup& group, const kube::Device& entry, IsNeeded is_needed) const {
    bool describes = false, names = false, has_plugin_list = false;
    std::set<std::string_view> plugins;  // boolean attributes of requested plugins
    for (const auto& [key, value] : entry.attributes) {
      const std::string_view full = key;
      const std::string_view id = full.substr(full.find('/') + 1);
      const bool is_plugin = id.starts_with("cni_"), is_list = id == policy::kSupportedCnisId;
      if (!is_plugin && !is_list && !read_.contains(id)) continue;
      if (!is_needed(full)) continue;
      if (is_plugin) plugins.insert(id);
      has_plugin_list |= is_list;
      describes |= !is_plugin && !is_list;
      const auto* text = std::get_if<std::string>(&value);
      names |= text != nullptr && literals_.contains(*text) &&
               (*text == group.type || *text == group.interface || *text == group.pci_address);
    }
    if (names) return true;
    const auto asks_for_one_of = [&](std::initializer_list<const char*> all) {
      return std::any_of(all.begin(), all.end(), [&](const std::string plugin) {
        return plugins.contains(policy::cni_attribute_id(plugin)) ||
               (has_plugin_list && (literals_.contains(plugin) || literals_.contains("," + plugin + ",")));
      });
    };
    if (group.type == "vf" && (describes || asks_for_one_of({"sriov", "ib-sriov"}))) return true;
    return entry.allow_multiple_allocations && asks_for_one_of({"macvlan", "ipvlan", "vlan", "bridge"});
  }

 private:
  std::set<std::string, std::less<>> literals_;
  std::set<std::string, std::less<>> read_;  // known attributes that the selectors read
};

// A name of an object, of a class's.
std::string object_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_plain = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');
    if (out.size() < kNameBytesMax && (is_plain || !out.empty())) out += is_plain ? low : '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "devices" : out;
}

class Advising {
 public:
  Advising(const why::Answer& answer, const UnmatchedDevices& devices,
           const std::map<std::string_view, const kube::NodeView*>& nodes,
           const std::map<std::string, FleetPolicies>& policies, const FleetDrivers& drivers,
           const std::string& namespace_, why::Selectors& selectors,
           const std::map<std::string, FleetPolicies>& elsewhere)
      : nodes_(nodes),
        policies_(policies),
        drivers_(drivers),
        selectors_(selectors),
        taken_(devices.taken()),
        elsewhere_(elsewhere) {
    std::set<std::string_view> kept_away;
    for (const why::NodeAnswer& node : answer.nodes)
      if (!node.kept_away.empty()) kept_away.insert(node.name);
    for (const UnmatchedDevices::Shape& shape : devices.shapes()) {
      UnmatchedDevices::Shape& one = shapes_.emplace_back(shape);
      std::erase_if(one.nodes, [&](const std::string& node) { return kept_away.contains(node); });
      if (one.namespace_.empty()) one.namespace_ = namespace_;
      if (one.nodes.empty()) shapes_.pop_back();
    }
  }

  // Requests for which one policy is sufficient.
  const std::set<std::string>& enough() const { return enough_; }

  void advise(const Wanted& wanted, MissingPolicies& out) {
    if (!wanted.is_matched && advise_misplaced(wanted, out.causes)) return;
    // The intended policy is unknown, so a new one is proposed as well.
    if (!wanted.is_matched) name_broken(wanted, out.causes);
    std::vector<std::pair<size_t, std::string>> existing;  // by the size of the change
    std::set<std::string> exposures;                       // of no namespace: known with those of each
    for (const auto& [namespace_, policies] : policies_) {
      const policy::PolicySetPtr set = policies.exposing();
      for (const auto& one : set->sriov) change_sriov(wanted, *one, *set, existing);
      for (const auto& one : set->exposures)
        if (!wanted.is_matched && exposures.insert(one->id.name).second)
          change_exposure(wanted, *one, existing);
    }
    std::stable_sort(existing.begin(), existing.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (existing.size() > kExistingMax) existing.resize(kExistingMax);
    for (auto& [changes, text] : existing) out.remedies.push_back(std::move(text));
    if (!existing.empty() || wanted.is_matched) return;
    std::string text = new_sriov(wanted);
    if (text.empty()) text = new_exposure(wanted);
    if (!text.empty()) out.remedies.push_back(std::move(text));
  }

 private:
  // Adds policies that would offer the devices, and that no daemon reads. Returns whether there are any.
  bool advise_misplaced(const Wanted& wanted, std::vector<std::string>& out) {
    std::set<std::string> namespaces;
    for (const auto& shape : shapes_) namespaces.insert(shape.namespace_);
    bool is_any = false;
    for (const auto& [namespace_, policies] : elsewhere_) {
      if (namespaces.contains(namespace_)) continue;
      const policy::PolicySetPtr set = policies.exposing();
      for (const auto& one : set->sriov) {
        const FoundDevices found = found_by(wanted, "", any_device, [&] {
          policy::SriovPolicy ready = *one;
          ready.readiness = {};
          return set_of({std::move(ready)}, {}, set->attributes);
        });
        if (found.devices == 0) continue;
        record_enough(wanted, found);
        is_any = true;
        out.push_back("SriovResourcePolicy " + policy::text_of(one->id) + " would offer " +
                      count_text(found) + " for " + wanted.text() + ", but no daemon there reads namespace " +
                      namespace_ + ": create it in namespace " +
                      join(std::vector<std::string>(namespaces.begin(), namespaces.end()), ", "));
      }
    }
    return is_any;
  }
  // Adds policies with errors, of the kind whose driver the request names, otherwise of both.
  void name_broken(const Wanted& wanted, std::vector<std::string>& into) const {
    const auto names = [&](const std::string& driver) {
      return std::any_of(wanted.selectors.begin(), wanted.selectors.end(),
                         [&](const std::string& text) { return text.find(driver) != std::string::npos; });
    };
    const bool names_sriov = names(drivers_.sriov), names_exposure = names(drivers_.exposure);
    std::vector<std::string> out;
    const auto add = [&](const std::string& policy, const policy::Problem& problem) {
      const std::string line = policy + " cannot be used: " + problem.field +
                               (problem.field.empty() ? "" : " ") + problem.what + "; it may be meant for " +
                               wanted.text() + ": correct it first";
      if (out.size() < kNamesMax && std::find(out.begin(), out.end(), line) == out.end()) out.push_back(line);
    };
    std::set<std::string> read;  // by nodes with such devices
    for (const auto& shape : shapes_) read.insert(shape.namespace_);
    for (const auto& [namespace_, policies] : policies_) {
      const policy::PolicySetPtr set = policies.exposing();
      if (read.contains(namespace_) && (names_sriov || !names_exposure))
        for (const auto& one : set->sriov) {
          const std::string name = "SriovResourcePolicy " + policy::text_of(one->id);
          for (const auto& problem : one->problems) add(name, problem);
          for (const auto& config : one->configs)
            for (const auto& problem : config.problems) add(name, problem);
        }
      if (names_exposure || !names_sriov)
        for (const auto& one : set->exposures)
          for (const auto& problem : one->problems) add("DeviceExposurePolicy " + one->id.name, problem);
    }
    into.insert(into.end(), out.begin(), out.end());
  }

  bool is_spent() const { return selectors_.is_spent() || tries_ >= kPolicyTriesMax; }

  bool says_no(const Wanted& wanted, const JudgedEntry& entry) {
    why::Slice slice;
    slice.common.driver = entry.driver;
    const why::Candidate candidate{.device = &*entry.entry, .slice = &slice};
    return std::any_of(wanted.selectors.begin(), wanted.selectors.end(), [&](const std::string& expression) {
      return selectors_.ask(expression, candidate) == SelectorResult::kNo && !is_spent();
    });
  }
  bool matches(const Wanted& wanted, const JudgedEntry& entry) {
    why::Slice slice;
    slice.common.driver = entry.driver;
    const why::Candidate candidate{.device = &*entry.entry, .slice = &slice};
    if (!std::all_of(wanted.selectors.begin(), wanted.selectors.end(), [&](const std::string& expression) {
          return selectors_.ask(expression, candidate) == SelectorResult::kYes;
        }))
      return false;
    const auto taking = why::taking_of(wanted.capacity, *entry.entry, /*fractional_range=*/true);
    return taking && taking->misfit.empty();
  }

  static bool any_device(const reports::DeviceGroup&, const JudgedEntry&) { return true; }
  // Requires: the entry matches.
  bool is_meant(const Wanted& wanted, const Meant& meant, const reports::DeviceGroup& group,
                const JudgedEntry& entry) {
    return meant.is_meant(group, *entry.entry, [&](std::string_view attribute) {
      for (const kube::AttributeValue& other : other_values(entry.entry->attributes.at(attribute))) {
        JudgedEntry& changed = altered_.emplace_back(entry);
        changed.entry.edit([&](kube::Device& device) { device.attributes[std::string(attribute)] = other; });
        if (says_no(wanted, changed)) return true;
      }
      return false;
    });
  }

  // Adds the devices of the shape that the policies would offer to the request, on nodes for which `selected`
  // is true.
  template <class Selected, class Takes>
  void add_found(const Wanted& wanted, size_t index, const policy::PolicySetPtr& set, Selected selected,
                 Takes takes, FoundDevices& out) {
    const UnmatchedDevices::Shape& shape = shapes_[index];
    std::vector<std::string> nodes;
    for (const std::string& node : shape.nodes)
      if (selected(view_of(node))) nodes.push_back(node);
    if (nodes.empty() || is_spent()) return;
    ++tries_;
    const JudgedNode judged = judge_node(shape.report, view_of(nodes.front()), set, drivers_);
    std::set<std::string> devices;
    std::map<std::string, const reports::DeviceGroup*> groups;  // by device
    for (const reports::DeviceGroup& group : shape.report.groups)
      for (const auto& device : reports::devices_of(group)) groups[device.id.text] = &group;
    for (const auto& [key, entry] : judged.entries) {
      const auto group = groups.find(entry.device);
      if (group != groups.end() && matches(wanted, entry) && takes(*group->second, entry))
        devices.insert(entry.device);
      else
        out.has_more = true;
    }
    selectors_.forget();
    altered_.clear();
    out.ids.insert(devices.begin(), devices.end());
    out.most = std::max(out.most, devices.size());
    if (devices.empty()) return;
    if (out.device.empty()) out.device = *devices.begin();
    for (size_t i = 0; i < shape.report.groups.size(); ++i)
      for (const auto& device : reports::devices_of(shape.report.groups[i]))
        if (devices.contains(device.id.text))
          out.groups.insert(std::to_string(index) + "/" + std::to_string(i));
    out.devices += devices.size() * nodes.size();
    out.nodes.insert(out.nodes.end(), nodes.begin(), nodes.end());
  }
  kube::NodeView view_of(const std::string& node) const {
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? kube::NodeView{node, {}} : *found->second;
  }
  bool is_known(const std::string& node) const { return nodes_.contains(node); }

  static policy::PolicySetPtr set_of(std::vector<policy::SriovPolicy> sriov,
                                     std::vector<policy::ExposurePolicy> exposures,
                                     std::vector<Shared<policy::DeviceAttributes>> attributes = {}) {
    return std::make_shared<const policy::PolicySet>(policy::make_policy_set(
        policy::share(std::move(sriov)), std::move(attributes), policy::share(std::move(exposures))));
  }

  // ---- existing policies

  // One changed field or part of a policy. key: without the example device.
  struct Edit {
    std::string text, key;
  };
  static std::string keys_of(const std::vector<Edit>& edits) {
    std::string out;
    for (const Edit& edit : edits) out += edit.key + "\x01";
    return out;
  }
  static std::string text_of(const std::vector<Edit>& edits) {
    std::string out;
    for (const Edit& edit : edits) out += (out.empty() ? "" : "; ") + edit.text;
    return out;
  }

  // Also evaluates nodes that the policy does not select, with the node selector as one more change.
  template <class Policy, class Change, class Takes>
  void change_policy(const Wanted& wanted, const Policy& policy, const std::string& name, Change change,
                     Takes takes, std::vector<std::pair<size_t, std::string>>& out,
                     const std::string& namespace_) {
    for (const bool is_selected : {true, false}) {
      struct Sum {
        std::string text;
        FoundDevices found;
      };
      std::map<std::pair<size_t, std::string>, Sum> sums;  // by the changed parts
      for (size_t i = 0; i < shapes_.size(); ++i) {
        if (!namespace_.empty() && shapes_[i].namespace_ != namespace_) continue;
        const auto selected = [&](const kube::NodeView& node) {
          const bool is_there = !is_known(node.name) || kube::match_node(policy.node_selector, node).matched;
          return is_there == is_selected;
        };
        const auto node = std::find_if(shapes_[i].nodes.begin(), shapes_[i].nodes.end(),
                                       [&](const std::string& one) { return selected(view_of(one)); });
        if (node == shapes_[i].nodes.end()) continue;
        std::vector<Edit> before;
        if (!is_selected) {
          const kube::NodeMatch match = kube::match_node(policy.node_selector, view_of(*node));
          const std::string wants = "spec.nodeSelector requires " + match.field + " " + match.wanted;
          before.push_back({wants + ", and " + *node +
                                (match.found.empty() ? " has no such label" : " has " + match.found),
                            wants});
        }
        std::set<std::string> seen;
        for (const reports::DeviceGroup& group : shapes_[i].report.groups) {
          const auto devices = reports::devices_of(group);
          if (devices.empty() || is_spent()) continue;
          for (auto& [set, changes] : change(devices.front(), before)) {
            const std::string key = keys_of(changes);
            if (changes.size() > kChangesMax || !seen.insert(key).second) continue;
            Sum& sum = sums[{changes.size(), key}];
            if (sum.text.empty()) sum.text = text_of(changes);
            add_found(wanted, i, set, selected, takes, sum.found);
          }
        }
      }
      for (const auto& [key, one] : sums)
        if (one.found.devices > 0) {
          record_enough(wanted, one.found);
          out.emplace_back(key.first, name + " would offer " + count_text(one.found) + " for " +
                                          wanted.text() + " without this mismatch: " + one.text);
        }
    }
  }

  using Changed = std::vector<std::pair<policy::PolicySetPtr, std::vector<Edit>>>;

  void change_sriov(const Wanted& wanted, const policy::SriovPolicy& policy, const policy::PolicySet& of,
                    std::vector<std::pair<size_t, std::string>>& out) {
    if (!policy.problems.empty()) return;
    change_policy(
        wanted, policy, "SriovResourcePolicy " + policy::text_of(policy.id),
        [&](const hotplug::HostDevice& device, const std::vector<Edit>& before) {
          Changed found;
          if (device.type != hotplug::DeviceType::kVf || !device.pci) return found;
          for (size_t c = 0; c < policy.configs.size(); ++c) {
            const policy::ResourceConfig& config = policy.configs[c];
            if (!config.problems.empty()) continue;
            for (size_t f = 0; f < std::max<size_t>(config.filters.size(), 1); ++f) {
              policy::SriovPolicy edited = policy;
              edited.node_selector = kube::NodeSelector{};
              edited.readiness = {};
              edited.configs = {config};
              std::vector<Edit> changes = before;
              if (!config.filters.empty()) {
                edited.configs[0].filters = {config.filters[f]};
                open_filter(device, c, f, edited, changes);
              }
              if (!changes.empty() && changes.size() <= kChangesMax)
                found.emplace_back(set_of({edited}, {}, of.attributes), std::move(changes));
            }
          }
          return found;
        },
        any_device, out, policy.id.namespace_);
  }
  // Removes the fields of one filter that do not match the device.
  static void open_filter(const hotplug::HostDevice& device, size_t config, size_t filter,
                          policy::SriovPolicy& edited, std::vector<Edit>& changes) {
    policy::ResourceFilter& open = edited.configs[0].filters[0];
    while (changes.size() <= kChangesMax) {
      const policy::FilterMatch answer = policy::match_filter(open, device, {});
      if (answer.match_result == policy::MatchResult::kYes || !answer.field) return;
      const auto set = set_of({edited}, {});
      const policy::Rule rule =
          policy::rule_of({.policy = 0, .config = 0, .filter = 0, .refusal = answer.field}, device, *set, {});
      const std::string is = "spec.configs[" + std::to_string(config) + "].resourceFilters[" +
                             std::to_string(filter) + "]." + rule.field + " is " + rule.wanted;
      changes.push_back(
          {is + ", and " + device.id.text + " has " + (rule.found.empty() ? "none" : rule.found), is});
      clear(open, *answer.field);
    }
  }
  static void clear(policy::ResourceFilter& filter, policy::FilterField field) {
    using policy::FilterField;
    switch (field) {
      case FilterField::kVendors:
        return filter.vendors.clear();
      case FilterField::kDevices:
        return filter.devices.clear();
      case FilterField::kDrivers:
        return filter.drivers.clear();
      case FilterField::kPciAddresses:
        return filter.pci_addresses.clear();
      case FilterField::kPfNames:
        return filter.pf_names.clear();
      case FilterField::kPfPciAddresses:
        return filter.pf_pci_addresses.clear();
      case FilterField::kRootDevices:
        return filter.root_devices.clear();
      case FilterField::kNumaNodes:
        return filter.numa_nodes.clear();
      case FilterField::kLinkType:
        return filter.link_type.clear();
    }
  }

  void change_exposure(const Wanted& wanted, const policy::ExposurePolicy& policy,
                       std::vector<std::pair<size_t, std::string>>& out) {
    if (!policy.problems.empty() || policy.action != policy::ExposureAction::kExpose) return;
    change_policy(
        wanted, policy, "DeviceExposurePolicy " + policy.id.name,
        [&](const hotplug::HostDevice& device, const std::vector<Edit>& before) {
          std::vector<Edit> changes = before;
          const auto parts = why::conjuncts(policy.selector.cel);
          std::string no = mismatch_of(parts, device);
          if (no == kSeveral || reads({no}, "type")) return Changed{};
          if (!no.empty())
            changes.push_back(
                {"spec.selector.cel does not match " + device.id.text + ": " + no, "cel " + no});
          policy::ExposurePolicy edited = policy;
          edited.node_selector = kube::NodeSelector{};
          edited.readiness = {};
          if (!no.empty()) edited.selector.cel = without(parts, no);
          if (changes.empty()) return Changed{};
          return Changed{{set_of({}, {edited}), std::move(changes)}};
        },
        // A selector without one of its parts may select devices of other types than the policy means.
        [&, meant = Meant(wanted)](const reports::DeviceGroup& group, const JudgedEntry& entry) {
          const std::vector<std::string> cel = {policy.selector.cel};
          const auto literals = literals_of(cel);
          return is_meant(wanted, meant, group, entry) ||
                 (reads(cel, "type") &&
                  std::find(literals.begin(), literals.end(), group.type) != literals.end());
        },
        out, "");
  }
  static constexpr const char* kSeveral = "\x01";
  static std::string without(const std::vector<std::string>& parts, const std::string& no) {
    std::string out;
    for (const std::string& part : parts)
      if (part != no) out += (out.empty() ? "" : " && ") + part;
    return out.empty() ? "true" : out;
  }
  // The one part of the expression that is not true of the device; "" all are, kSeveral more than one is not.
  std::string mismatch_of(const std::vector<std::string>& parts, const hotplug::HostDevice& device) const {
    hotplug::Inventory inventory;
    inventory.devices[device.id.text] = device;
    policy::HostDeviceView view(drivers_.exposure);
    view.set_device(policy::facts_of(inventory.devices.begin()->second, inventory));
    cel::Evaluator evaluator;
    std::string out;
    for (const std::string& part : parts) {
      const auto program = policy::compile_selector(part, drivers_.exposure);
      if (!program) return kSeveral;
      if (evaluator.select(*program, view) == cel::Answer::Is::kTrue) continue;
      if (!out.empty()) return kSeveral;
      out = part;
    }
    return out;
  }

  // ---- a new one

  static Json sriov_object(const std::string& namespace_, const std::string& name, Json::Object config) {
    Json::Array configs;
    configs.push_back(std::move(config));
    return Json::Object{{"apiVersion", kube::api_version(kube::kSriovResourcePolicies)},
                        {"kind", kube::kSriovResourcePolicies.kind},
                        {"metadata", Json::Object{{"name", name}, {"namespace", namespace_}}},
                        {"spec", Json::Object{{"configs", std::move(configs)}}}};
  }
  static Json exposure_object(const std::string& name, const std::string& cel, const Json::Object& exposure) {
    Json spec = Json::Object{{"selector", Json::Object{{"cel", cel}}}};
    if (!exposure.empty()) spec.set("exposure", Json(exposure));
    return Json::Object{{"apiVersion", kube::api_version(kube::kDeviceExposurePolicies)},
                        {"kind", kube::kDeviceExposurePolicies.kind},
                        {"metadata", Json::Object{{"name", name}}},
                        {"spec", std::move(spec)}};
  }

  template <class SetOf, class Takes>
  FoundDevices found_by(const Wanted& wanted, const std::string& namespace_, Takes takes,
                        SetOf set_of_namespace) {
    FoundDevices out;
    const policy::PolicySetPtr set = set_of_namespace();
    for (size_t i = 0; i < shapes_.size(); ++i)
      if (namespace_.empty() || shapes_[i].namespace_ == namespace_)
        add_found(wanted, i, set, [](const kube::NodeView&) { return true; }, takes, out);
    return out;
  }

  // Returns the values of the found groups, at most kNamesMax different ones; {} if one has none, or there
  // are more.
  template <class Get>
  std::vector<std::string> values_of(const FoundDevices& found, Get get) const {
    std::set<std::string> out;
    for (const std::string& place : found.groups) {
      const size_t slash = place.find('/');
      const auto shape = static_cast<size_t>(*parse_int(place.substr(0, slash)));
      const auto group = static_cast<size_t>(*parse_int(place.substr(slash + 1)));
      const std::string value = get(shapes_[shape].report.groups[group]);
      if (value.empty()) return {};
      out.insert(value);
    }
    if (out.size() > kNamesMax) return {};
    return {out.begin(), out.end()};
  }
  static Json::Array array_of(const std::vector<std::string>& all) {
    Json::Array out;
    for (const std::string& one : all) out.push_back(one);
    return out;
  }

  // Returns whether a VF of a PF with this name or address, in the range, must not be selected by a new
  // policy. namespace_: of the policy; nullptr if none.
  bool is_reserved(const std::string& pf, const std::string* namespace_, reports::VfRange range) const {
    return std::any_of(taken_.vfs.begin(), taken_.vfs.end(), [&](const auto& of) {
      if (namespace_ != nullptr && !of.first.empty() && of.first != *namespace_) return false;
      const auto found = of.second.find(pf);
      if (found == of.second.end()) return false;
      const auto at = found->second.lower_bound(range.first);
      return at != found->second.end() && *at <= range.last;
    });
  }
  static constexpr reports::VfRange kAllVfs = {0, std::numeric_limits<int>::max()};
  // Returns "ens1f0", or "ens1f0#4-7" if other VFs of PFs with that name must not be selected; "" if these
  // must not be on another node.
  std::string vfs_text(const std::string& pf, const std::string& namespace_,
                       const reports::DeviceGroup& group) const {
    if (pf.empty() || !is_reserved(pf, &namespace_, kAllVfs)) return pf;
    for (const reports::VfRange& range : group.vfs)
      if (is_reserved(pf, &namespace_, range)) return "";
    return pf + "#" + reports::text_of(group.vfs);
  }

  // Returns filters that match all of them, from the shortest to the narrowest: PFs by name or address, VFs
  // by address; their kind if nothing is excluded.
  std::vector<Json::Object> filters_of(const FoundDevices& found, const std::string& namespace_) const {
    std::vector<Json::Object> out;
    if (auto names =
            values_of(found, [&](const auto& group) { return vfs_text(group.pf_name, namespace_, group); });
        !names.empty())
      out.push_back({{"pfNames", array_of(names)}});
    else if (auto pfs =
                 values_of(found, [&](const auto& group) { return vfs_text(group.pf, namespace_, group); });
             !pfs.empty())
      out.push_back({{"pfPciAddresses", array_of(pfs)}});
    if (!out.empty()) {
      if (auto drivers = values_of(found, [](const auto& group) { return group.driver; }); !drivers.empty()) {
        out.push_back(out.front());
        out.back().emplace_back("drivers", array_of(drivers));
      }
      if (taken_.vfs.empty() && found.ids.size() <= kNamesMax)
        out.push_back({{"pciAddresses", array_of({found.ids.begin(), found.ids.end()})}});
    } else if (taken_.vfs.empty()) {
      Json::Object kind;
      if (auto vendors = values_of(found, [](const auto& group) { return group.vendor; }); !vendors.empty())
        kind.emplace_back("vendors", array_of(vendors));
      if (auto devices = values_of(found, [](const auto& group) { return group.product; }); !devices.empty())
        kind.emplace_back("devices", array_of(devices));
      if (!kind.empty()) out.push_back(std::move(kind));
    }
    return out;
  }

  std::string new_sriov(const Wanted& wanted) {
    std::set<std::string> namespaces;
    for (const auto& shape : shapes_) namespaces.insert(shape.namespace_);
    std::vector<std::string> names = {"", object_name(wanted.device_class)};
    for (const std::string& literal : literals_of(wanted.selectors)) names.push_back(literal);
    for (const std::string& namespace_ : namespaces) {
      std::vector<Shared<policy::DeviceAttributes>> attributes;
      if (const auto at = policies_.find(namespace_); at != policies_.end())
        attributes = at->second.exposing()->attributes;
      // Alternatives: no DeviceAttributes, and those of each object with labels.
      std::vector<Json> selectors = {Json()};
      for (const auto& one : attributes) {
        Json labels = Json::Object{};
        for (const auto& [key, value] : one->labels) labels.set(key, value);
        if (!one->labels.empty() && selectors.size() < kNamesMax)
          selectors.push_back(Json::Object{{"matchLabels", std::move(labels)}});
      }
      for (const Json& selector : selectors)
        for (const std::string& name : names) {
          const auto config = [&](const std::string& resource, const Json::Object& filter) {
            Json::Object out;
            if (!resource.empty()) out.emplace_back("resourceName", resource);
            if (selector.object() != nullptr) out.emplace_back("deviceAttributesSelector", selector);
            if (!filter.empty()) {
              Json::Array filters;
              filters.push_back(Json(filter));
              out.emplace_back("resourceFilters", std::move(filters));
            }
            return out;
          };
          const auto found_with = [&](const Json& object) {
            return found_by(wanted, namespace_, any_device, [&] {
              policy::SriovPolicy policy = policy::decode_sriov_policy(object);
              return set_of({std::move(policy)}, {}, attributes);
            });
          };
          const std::string called = object_name(wanted.device_class);
          const FoundDevices any = found_with(sriov_object(namespace_, called, config(name, {})));
          if (any.devices == 0) continue;
          // If the request names no resource, the config gets a name of its own, which identifies its
          // devices.
          for (const std::string& resource : {name, name.empty() ? called : name})
            for (const Json::Object& filter : filters_of(any, namespace_)) {
              const Json object = sriov_object(namespace_, called, config(resource, filter));
              const FoundDevices found = found_with(object);
              if (found.devices > 0 && !found.has_more) return new_text(wanted, found, object);
            }
        }
    }
    return "";
  }

  // Returns `device.attributes["dra.networking"].ifName in [...]`: a common property of the found devices. ""
  // if every one also selects excluded devices.
  std::string cel_of(const FoundDevices& found) const {
    const std::string of = "device.attributes[\"" + drivers_.exposure + "\"].";
    std::string out;
    const auto add = [&](const char* attribute, const std::vector<std::string>& values) {
      if (values.empty()) return;
      std::vector<std::string> quoted;
      for (const std::string& value : values) quoted.push_back("\"" + value + "\"");
      out += (out.empty() ? "" : " && ") + of + attribute +
             (quoted.size() == 1 ? " == " + quoted[0] : " in [" + join(quoted, ", ") + "]");
    };
    add("type", values_of(found, [](const auto& group) { return group.type; }));
    const auto is_vf = [](const auto& group) { return group.type == "vf"; };
    const auto pf_of = [&](const auto& group) {
      return is_vf(group) && !is_reserved(group.pf_name, nullptr, kAllVfs) ? group.pf_name : std::string();
    };
    const auto interface_of = [&](const auto& group) {
      return is_vf(group) || taken_.interfaces.contains(group.interface) ? std::string() : group.interface;
    };
    if (auto pfs = values_of(found, pf_of); !pfs.empty())
      add("pfName", pfs);
    else if (auto names = values_of(found, interface_of); !names.empty())
      add("ifName", names);
    else
      return "";
    return out;
  }

  // Ways to offer a device that the request may mean: which plugins it names, shared or not, with its
  // attributes and capacities.
  std::vector<Json::Object> exposures_of(const Wanted& wanted) const {
    std::vector<std::vector<std::string>> plugins = {{}};
    std::vector<std::string> named;
    for (const char* plugin :
         {"sriov", "host-device", "macvlan", "ipvlan", "bridge", "vlan", "ib-sriov", "rdma"})
      if (std::any_of(wanted.selectors.begin(), wanted.selectors.end(), [&](const std::string& selector) {
            return selector.find(policy::cni_attribute_id(plugin)) != std::string::npos ||
                   selector.find("," + std::string(plugin) + ",") != std::string::npos ||
                   selector.find("\"" + std::string(plugin) + "\"") != std::string::npos;
          }))
        named.push_back(plugin);
    for (const std::string& one : named) plugins.push_back({one});
    if (named.size() > 1) plugins.push_back(named);
    const auto attributes = compared_attributes(wanted.selectors, drivers_.exposure);
    std::vector<Json::Object> out;
    for (const bool has_attributes : {false, true})
      for (const auto& of : plugins)
        for (const bool is_shared : {false, true}) {
          if (has_attributes && attributes.empty()) continue;
          Json::Object one;
          if (is_shared) one.emplace_back("allowMultipleAllocations", true);
          if (!wanted.capacity.empty()) {
            Json::Object capacity;
            for (const auto& [key, amount] : wanted.capacity)
              capacity.emplace_back(
                  key.starts_with(drivers_.exposure + "/") ? key.substr(drivers_.exposure.size() + 1) : key,
                  Json::Object{{"value", amount.text()}});
            one.emplace_back("capacity", std::move(capacity));
          }
          Json::Array list;
          for (const std::string& plugin : of) list.push_back(Json::Object{{"name", plugin}});
          if (!of.empty()) one.emplace_back("supportedCNIPlugins", std::move(list));
          if (has_attributes) {
            Json::Object values;
            for (const auto& [name, value] : attributes) values.emplace_back(name, value);
            one.emplace_back("additionalAttributes", std::move(values));
          }
          out.push_back(std::move(one));
        }
    return out;
  }

  // Returns whether a policy sets an attribute that the request reads: that policy determines its devices.
  bool is_given(const Wanted& wanted) const {
    const auto asked = compared_attributes(wanted.selectors, drivers_.exposure);
    for (const auto& [namespace_, policies] : policies_) {
      const policy::PolicySetPtr set = policies.exposing();
      for (const auto& one : set->exposures)
        for (const auto& [key, value] : one->exposure.additional_attributes)
          if (const std::string_view text = key; asked.contains(std::string(text.substr(text.find('/') + 1))))
            return true;
    }
    return false;
  }

  std::string new_exposure(const Wanted& wanted) {
    const std::string name = object_name(wanted.device_class);
    const Meant meant(wanted);
    if (is_given(wanted)) return "";
    for (const Json::Object& exposure : exposures_of(wanted)) {
      const auto takes = [&](const reports::DeviceGroup& group, const JudgedEntry& entry) {
        return is_meant(wanted, meant, group, entry);
      };
      const auto found_with = [&](const Json& object) {
        return found_by(wanted, "", takes, [&] {
          return set_of({}, {policy::decode_exposure_policy(object, drivers_.exposure,
                                                            kube::decode_object_meta(object))});
        });
      };
      const FoundDevices any = found_with(exposure_object(name, "true", exposure));
      const std::string cel = any.devices == 0 ? "" : cel_of(any);
      if (cel.empty()) continue;
      const Json object = exposure_object(name, cel, exposure);
      const FoundDevices found = found_with(object);
      if (found.devices > 0 && !found.has_more) return new_text(wanted, found, object);
    }
    return "";
  }

  void record_enough(const Wanted& wanted, const FoundDevices& found) {
    if (found.most >= wanted.count) enough_.insert(wanted.claim + ", " + wanted.request);
  }
  std::string new_text(const Wanted& wanted, const FoundDevices& found, const Json& object) {
    record_enough(wanted, found);
    return "No policy selects " + count_text(found) + " that " + wanted.text() + " could have; this " +
           std::string(object.text("kind")) + " would offer them: " + kube::encode_json(object);
  }

  std::vector<UnmatchedDevices::Shape> shapes_;
  const std::map<std::string_view, const kube::NodeView*>& nodes_;
  const std::map<std::string, FleetPolicies>& policies_;
  const FleetDrivers& drivers_;
  why::Selectors& selectors_;
  const UnmatchedDevices::Taken& taken_;
  const std::map<std::string, FleetPolicies>& elsewhere_;
  std::set<std::string> enough_;
  std::deque<JudgedEntry> altered_;  // kept until selectors_ forgets them, because it identifies devices by
                                     // address
  size_t tries_ = 0;
};

}  // namespace

void UnmatchedDevices::add(const reports::NodeReport& report) {
  if (report.unmatched > 0) counts_[report.node] = report.unmatched;
  Shape shape;
  shape.report.node = report.node;
  shape.namespace_ = namespace_of(report, "");
  shape.nodes = {report.node};
  std::string facts = shape.namespace_ + "\x02";
  for (const reports::DeviceGroup& group : report.groups) {
    if (group.type == "virtual") continue;
    if (group.disposition != "unmatched" || !group.host_use.empty()) {
      for (const std::string& pf : {group.pf_name, group.pf})
        if (group.type == "vf" && !pf.empty())
          for (const reports::VfRange& range : group.vfs)
            for (int vf = range.first; vf <= range.last; ++vf) taken_.vfs[shape.namespace_][pf].insert(vf);
      if (group.type != "vf" && !group.interface.empty()) taken_.interfaces.insert(group.interface);
      continue;
    }
    // It is part of a bridge or bond of the host.
    if (!group.master.empty()) continue;
    shape.report.groups.push_back(group);
    facts += facts_text(group) + "\x02";
  }
  if (shape.report.groups.empty()) return;
  const auto known = by_facts_.find(facts);
  if (known != by_facts_.end()) return shapes_[known->second].nodes.push_back(report.node);
  if (shapes_.size() >= kShapesMax) return;
  by_facts_[facts] = shapes_.size();
  shapes_.push_back(std::move(shape));
}

std::vector<std::string> short_requests(const why::Answer& answer) {
  std::vector<std::string> order;
  std::set<std::string> enough;
  for (const why::NodeAnswer& node : answer.nodes) {
    if (!node.kept_away.empty()) continue;
    for (const why::RequestView& view : node.requests) {
      const std::string id = view.claim + ", " + view.request;
      if (std::find(order.begin(), order.end(), id) == order.end()) order.push_back(id);
      if (view.all ? view.free > 0 && view.free == view.matching
                   : static_cast<int64_t>(view.free) >= view.wanted)
        enough.insert(id);
    }
  }
  std::erase_if(order, [&](const std::string& id) { return enough.contains(id); });
  return order;
}

MissingPolicies missing_policies(const why::Answer& answer, const UnmatchedDevices& devices,
                                 const std::map<std::string_view, const kube::NodeView*>& nodes,
                                 const std::map<std::string, FleetPolicies>& policies,
                                 const FleetDrivers& drivers, const std::string& namespace_,
                                 why::Selectors& selectors, const std::set<std::string>& hidden,
                                 const std::map<std::string, FleetPolicies>& elsewhere) {
  Advising advising(answer, devices, nodes, policies, drivers, namespace_, selectors, elsewhere);
  MissingPolicies out;
  for (const auto& wanted : wanted_by(answer))
    if (!hidden.contains(wanted.request)) advising.advise(wanted, out);
  out.enough = advising.enough();
  return out;
}

}  // namespace sliced::kubectl
