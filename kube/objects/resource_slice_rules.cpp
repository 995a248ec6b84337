// The API server's rules for slices and devices (pkg/apis/resource/validation), checked before anything is
// sent.
#include <algorithm>
#include <set>

#include "kube/objects/names.h"
#include "kube/objects/resource_slice.h"
#include "kube/objects/selector.h"
#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

constexpr size_t kCounterSetsMax = 8;
constexpr size_t kCountersMax = 32;
constexpr size_t kConsumptionsMax = 2;
constexpr size_t kCompatibilityGroupsMax = 2;
constexpr size_t kTaintsMax = 16;
constexpr size_t kBindingConditionsMax = 4;  // of each kind
constexpr size_t kValidValuesMax = 10;
constexpr size_t kDomainBytesMax = 63;
constexpr size_t kIdBytesMax = 32;

std::string_view id_of(std::string_view key) { return key.substr(key.rfind('/') + 1); }

/// Returns true if the attribute is descriptive: without it the entry still has the same meaning for the
/// scheduler.
bool is_descriptive(std::string_view key) { return id_of(key) != "resourceName"; }

std::string too_long(size_t size, size_t size_max) {
  return std::to_string(size) + " bytes, at most " + std::to_string(size_max) + " are allowed";
}

class DeviceRules {
 public:
  explicit DeviceRules(const Device& device) : device_(device) {}

  std::vector<DeviceProblem> check() {
    if (!is_dns_label(device_.name))
      add_problem("name", in_quotes(device_.name) + " is not a DNS label of at most 63 bytes");
    for (const auto& [key, value] : device_.attributes) check_attribute(key, value);
    for (const auto& [key, capacity] : device_.capacity) check_capacity(key, capacity);
    check_sizes();
    check_consumptions();
    check_taints();
    check_binding_conditions();
    return std::move(problems_);
  }

 private:
  void add_problem(std::string field, std::string what) {
    problems_.push_back({std::move(field), std::move(what), "", false});
  }
  void attribute_problem(const std::string& key, std::string_view kind, std::string what) {
    const bool descriptive = is_descriptive(key);
    std::string field = "attributes[" + escaped(key) + "]";
    if (!kind.empty()) field += "." + std::string(kind);
    problems_.push_back({std::move(field), std::move(what), descriptive ? key : "", descriptive});
  }

  void check_attribute(const std::string& key, const AttributeValue& value) {
    if (!is_qualified_name(key)) {
      return attribute_problem(
          key, "",
          in_quotes(key) +
              " is not an attribute name: expected id or domain/id, id a C identifier of at "
              "most 32 bytes, domain a DNS subdomain of at most 63");
    }
    if (const auto* text = std::get_if<std::string>(&value)) check_text(key, "string", *text);
    if (const auto* version = std::get_if<Version>(&value)) check_version(key, "version", version->text);
    if (const auto* all = std::get_if<std::vector<std::string>>(&value)) {
      for (size_t i = 0; i < all->size(); ++i)
        check_text(key, "strings[" + std::to_string(i) + "]", (*all)[i]);
    }
    if (const auto* all = std::get_if<std::vector<Version>>(&value)) {
      for (size_t i = 0; i < all->size(); ++i)
        check_version(key, "versions[" + std::to_string(i) + "]", (*all)[i].text);
    }
    if (value_count(value) == 0) attribute_problem(key, "", "the list must not be empty");
  }

  void check_text(const std::string& key, const std::string& kind, const std::string& text) {
    if (text.size() > kAttributeValueBytesMax) {
      attribute_problem(key, kind,
                        in_quotes(text, 80) + " has " + too_long(text.size(), kAttributeValueBytesMax));
    }
    if (!is_utf8(text)) attribute_problem(key, kind, in_quotes(text, 80) + " is not UTF-8");
  }
  void check_version(const std::string& key, const std::string& kind, const std::string& text) {
    if (!is_semver(text)) {
      attribute_problem(key, kind,
                        in_quotes(text, 80) + " is not a semantic version (1.2.3, without a leading v)");
    }
    if (text.size() > kAttributeValueBytesMax) {
      attribute_problem(key, kind,
                        in_quotes(text, 80) + " has " + too_long(text.size(), kAttributeValueBytesMax));
    }
  }

  /// Names the excess attributes: the last ones by key, standard ones at the very end.
  void check_sizes() {
    const size_t entries = device_.attributes.size() + device_.capacity.size();
    size_t values = 0;
    for (const auto& [key, value] : device_.attributes) values += value_count(value);
    size_t entries_over = entries > kAttributesAndCapacitiesMax ? entries - kAttributesAndCapacitiesMax : 0;
    size_t values_over = values > kAttributeValuesMax ? values - kAttributeValuesMax : 0;
    const std::string what = std::to_string(entries) + " attributes and capacities with " +
                             std::to_string(values) + " values, at most " +
                             std::to_string(kAttributesAndCapacitiesMax) + " and " +
                             std::to_string(kAttributeValuesMax) + " are allowed";
    for (const bool standard : {false, true}) {
      for (auto at = device_.attributes.rbegin(); at != device_.attributes.rend(); ++at) {
        if (entries_over == 0 && values_over == 0) return;
        if (!is_descriptive(at->first) || at->first.str().starts_with("resource.kubernetes.io/") != standard)
          continue;
        if (entries_over == 0 && value_count(at->second) < 2) continue;  // only lists are worth dropping now
        attribute_problem(at->first, "", "one too many: " + what);
        entries_over -= std::min<size_t>(entries_over, 1);
        values_over -= std::min(values_over, value_count(at->second));
      }
    }
    if (entries_over > 0 || values_over > 0) add_problem("attributes", what);
  }

  void check_capacity(const std::string& key, const Capacity& capacity) {
    const std::string field = "capacity[" + escaped(key) + "]";
    if (!is_qualified_name(key))
      add_problem(field, in_quotes(key) + " is not a capacity name: expected id or domain/id");
    if (!capacity.request_policy) return;
    const std::string policy_field = field + ".requestPolicy";
    if (!device_.allow_multiple_allocations) {
      return add_problem(policy_field, "is only allowed where allowMultipleAllocations is true");
    }
    const RequestPolicy& policy = *capacity.request_policy;
    if (!policy.valid_values.empty() && policy.valid_range) {
      return add_problem(policy_field, "validValues and validRange cannot both be set");
    }
    if ((!policy.valid_values.empty() || policy.valid_range) && !policy.default_) {
      return add_problem(policy_field + ".default", "is required beside validValues or validRange");
    }
    if (!policy.valid_values.empty())
      check_valid_values(capacity.value, policy, policy_field + ".validValues");
    if (policy.valid_range) check_range(capacity.value, policy, policy_field + ".validRange");
  }

  void check_valid_values(const Quantity& value, const RequestPolicy& policy, const std::string& field) {
    const auto& values = policy.valid_values;
    if (values.size() > kValidValuesMax) {
      add_problem(field, std::to_string(values.size()) + " values, at most " +
                             std::to_string(kValidValuesMax) + " are allowed");
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string at = field + "[" + std::to_string(i) + "]";
      if (values[i] > value)
        add_problem(at, values[i].text() + " is larger than the capacity " + value.text());
      if (i > 0 && values[i] <= values[i - 1]) {
        add_problem(
            at, values[i].text() + " does not come after " + values[i - 1].text() + ": values must ascend");
      }
    }
    if (std::find(values.begin(), values.end(), *policy.default_) == values.end()) {
      add_problem(field, "the default " + policy.default_->text() + " is not among them");
    }
  }

  void check_range(const Quantity& value, const RequestPolicy& policy, const std::string& field) {
    const ValidRange& range = *policy.valid_range;
    const auto check_at_most = [&](const Quantity& low, std::string_view low_name, const Quantity& high,
                                   std::string_view high_name) {
      if (low <= high) return;
      add_problem(field, std::string(low_name) + " " + low.text() + " is larger than " +
                             std::string(high_name) + " " + high.text());
    };
    check_at_most(range.min, "min", value, "the capacity");
    check_at_most(range.min, "min", *policy.default_, "the default");
    if (range.max) {
      check_at_most(range.min, "min", *range.max, "max");
      check_at_most(*range.max, "max", value, "the capacity");
      check_at_most(*policy.default_, "the default", *range.max, "max");
    }
    if (range.step) check_step(value, policy, field + ".step");
  }

  void check_step(const Quantity& value, const RequestPolicy& policy, const std::string& field) {
    const ValidRange& range = *policy.valid_range;
    const __int128 step = range.step->nanos();
    if (step <= 0) return add_problem(field, range.step->text() + " must be greater than zero");
    if (range.min.nanos() + step > value.nanos()) {
      add_problem(field, "min plus one step (" + range.step->text() + ") is larger than the capacity " +
                             value.text());
    }
    const auto on_grid = [&](const Quantity& one, std::string_view name) {
      if ((one.nanos() - range.min.nanos()) % step == 0) return;
      add_problem(field, std::string(name) + " " + one.text() + " is not min plus a multiple of " +
                             range.step->text());
    };
    on_grid(*policy.default_, "the default");
    if (range.max) on_grid(*range.max, "max");
  }

  void check_consumptions() {
    const auto& all = device_.consumes_counters;
    if (all.size() > kConsumptionsMax) {
      add_problem("consumesCounters", std::to_string(all.size()) + " entries, at most " +
                                          std::to_string(kConsumptionsMax) + " are allowed");
    }
    std::set<std::string_view> sets;
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string field = "consumesCounters[" + std::to_string(i) + "]";
      if (!is_dns_label(all[i].counter_set))
        add_problem(field + ".counterSet", in_quotes(all[i].counter_set) + " is not a DNS label");
      if (!sets.insert(all[i].counter_set).second) {
        add_problem(field + ".counterSet", in_quotes(all[i].counter_set) + " is named twice");
      }
      for (auto& what : counter_problems(all[i].counters)) add_problem(field + ".counters", std::move(what));
      const auto& groups = all[i].compatibility_groups;
      if (groups.size() > kCompatibilityGroupsMax)
        add_problem(field + ".compatibilityGroups", std::to_string(groups.size()) + " groups, at most " +
                                                        std::to_string(kCompatibilityGroupsMax) +
                                                        " are allowed");
      std::set<std::string_view> named;
      for (const std::string& group : groups) {
        if (!is_dns_label(group))
          add_problem(field + ".compatibilityGroups", in_quotes(group) + " is not a DNS label");
        if (!named.insert(group).second)
          add_problem(field + ".compatibilityGroups", in_quotes(group) + " is named twice");
      }
    }
  }

  void check_taints() {
    if (device_.taints.size() > kTaintsMax) {
      add_problem("taints", std::to_string(device_.taints.size()) + " taints, at most " +
                                std::to_string(kTaintsMax) + " are allowed");
    }
    for (size_t i = 0; i < device_.taints.size(); ++i) {
      const Taint& taint = device_.taints[i];
      const std::string field = "taints[" + std::to_string(i) + "]";
      if (!is_label_key(taint.key)) add_problem(field + ".key", in_quotes(taint.key) + " is not a label key");
      if (!is_label_value(taint.value))
        add_problem(field + ".value", in_quotes(taint.value) + " is not a label value");
      if (taint.effect != "None" && taint.effect != "NoSchedule" && taint.effect != "NoExecute") {
        add_problem(field + ".effect", in_quotes(taint.effect) + ": expected None, NoSchedule or NoExecute");
      }
    }
  }

  void check_binding_conditions() {
    const std::vector<std::string>&ready = device_.binding_conditions,
          &failure = device_.binding_failure_conditions;
    if (ready.empty() != failure.empty())
      add_problem("bindingConditions", "and bindingFailureConditions must both be set, or neither");
    std::set<std::string_view> named;
    for (const auto& [field, all] :
         {std::pair("bindingConditions", &ready), std::pair("bindingFailureConditions", &failure)}) {
      if (all->size() > kBindingConditionsMax)
        add_problem(field, std::to_string(all->size()) + " conditions, at most " +
                               std::to_string(kBindingConditionsMax) + " are allowed");
      for (const std::string& one : *all) {
        if (!is_label_key(one)) add_problem(field, in_quotes(one) + " is not a label key");
        if (!named.insert(one).second) add_problem(field, in_quotes(one) + " is named twice");
      }
    }
  }

 public:
  static std::vector<std::string> counter_problems(const Counters& counters) {
    std::vector<std::string> out;
    if (counters.empty()) out.push_back("must not be empty");
    if (counters.size() > kCountersMax) {
      out.push_back(std::to_string(counters.size()) + " counters, at most " + std::to_string(kCountersMax) +
                    " are allowed");
    }
    for (const auto& [name, value] : counters) {
      if (!is_dns_label(name)) out.push_back(in_quotes(name) + " is not a DNS label");
    }
    return out;
  }

 private:
  const Device& device_;
  std::vector<DeviceProblem> problems_;
};

bool is_pool_name(std::string_view name) {
  const auto parts = split(name, '/');
  return name.size() <= 253 &&
         std::all_of(parts.begin(), parts.end(), [](auto part) { return is_dns_subdomain(part); });
}

void check_heading(const ResourceSlice& slice, std::vector<std::string>& out) {
  if (!is_dns_subdomain(slice.meta.name))
    out.push_back("metadata.name: " + in_quotes(slice.meta.name) + " is not a DNS subdomain");
  if (!is_dns_subdomain(slice.driver, kDomainBytesMax)) {
    out.push_back("spec.driver: " + in_quotes(slice.driver) + " is not a DNS subdomain of at most 63 bytes");
  }
  if (!is_pool_name(slice.pool.name)) {
    out.push_back("spec.pool.name: " + in_quotes(slice.pool.name) +
                  " is not a pool name: expected DNS subdomains joined by /, at most 253 bytes");
  }
  if (slice.pool.generation < 0) {
    out.push_back("spec.pool.generation: " + std::to_string(slice.pool.generation) + " must not be negative");
  }
  if (slice.pool.slice_count <= 0) {
    out.push_back("spec.pool.resourceSliceCount: " + std::to_string(slice.pool.slice_count) +
                  " must be greater than zero");
  }
  if (!is_dns_subdomain(slice.node_name)) {
    out.push_back("spec.nodeName: " + in_quotes(slice.node_name) + " is not a DNS subdomain");
  }
}

void check_devices(const ResourceSlice& slice, std::vector<std::string>& out) {
  const bool advanced = std::any_of(slice.devices.begin(), slice.devices.end(), has_advanced_features);
  const size_t devices_max = advanced ? kDevicesPerSliceAdvancedMax : kDevicesPerSliceMax;
  if (slice.devices.size() > devices_max) {
    out.push_back("spec.devices: " + std::to_string(slice.devices.size()) + " devices, at most " +
                  std::to_string(devices_max) + " are allowed" +
                  (advanced ? " where one has taints, counters or a list attribute" : ""));
  }
  std::set<std::string_view> names;
  for (const Device& device : slice.devices) {
    if (!names.insert(device.name).second)
      out.push_back("spec.devices: " + in_quotes(device.name) + " is there twice");
  }
}

void check_counter_sets(const ResourceSlice& slice, std::vector<std::string>& out) {
  const auto& sets = slice.shared_counters;
  if (!sets.empty() && !slice.devices.empty()) {
    out.push_back("spec: only one of sharedCounters and devices can be set");
  }
  if (sets.size() > kCounterSetsMax) {
    out.push_back("spec.sharedCounters: " + std::to_string(sets.size()) + " counter sets, at most " +
                  std::to_string(kCounterSetsMax) + " are allowed");
  }
  std::set<std::string_view> names;
  for (size_t i = 0; i < sets.size(); ++i) {
    const std::string field = "spec.sharedCounters[" + std::to_string(i) + "]";
    if (!is_dns_label(sets[i].name))
      out.push_back(field + ".name: " + in_quotes(sets[i].name) + " is not a DNS label");
    if (!names.insert(sets[i].name).second)
      out.push_back(field + ".name: " + in_quotes(sets[i].name) + " is there twice");
    for (const auto& what : DeviceRules::counter_problems(sets[i].counters))
      out.push_back(field + ".counters: " + what);
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// One dot-separated identifier of a semantic version; `numeric` ones have no leading zero.
bool is_semver_identifier(std::string_view text, bool zeros_allowed) {
  if (text.empty()) return false;
  const bool numeric = std::all_of(text.begin(), text.end(), is_digit);
  if (numeric && !zeros_allowed && text.size() > 1 && text[0] == '0') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

}  // namespace

AttributeValue::AttributeValue() = default;
AttributeValue::AttributeValue(const AttributeValue& other) = default;
AttributeValue::AttributeValue(AttributeValue&& other) noexcept = default;
AttributeValue& AttributeValue::operator=(const AttributeValue& other) = default;
AttributeValue& AttributeValue::operator=(AttributeValue&& other) noexcept = default;
AttributeValue::~AttributeValue() = default;
bool AttributeValue::operator==(const AttributeValue& other) const {
  return static_cast<const Base&>(*this) == static_cast<const Base&>(other);
}

size_t value_count(const AttributeValue& value) {
  return std::visit(
      [](const auto& alternative) -> size_t {
        using Alternative = std::decay_t<decltype(alternative)>;
        constexpr bool kList = requires { alternative.size(); } && !std::is_same_v<Alternative, std::string>;
        if constexpr (kList) {
          return alternative.size();
        } else {
          return 1;
        }
      },
      value);
}

std::vector<DeviceProblem> validate_device(const Device& device) { return DeviceRules(device).check(); }

std::vector<std::string> validate_slice(const ResourceSlice& slice) {
  std::vector<std::string> out;
  check_heading(slice, out);
  check_devices(slice, out);
  check_counter_sets(slice, out);
  return out;
}

bool has_advanced_features(const Device& device) {
  return !device.taints.empty() || !device.consumes_counters.empty() ||
         std::any_of(device.attributes.begin(), device.attributes.end(), [](const auto& one) {
           return std::holds_alternative<std::vector<int64_t>>(one.second) ||
                  std::holds_alternative<std::vector<bool>>(one.second) ||
                  std::holds_alternative<std::vector<std::string>>(one.second) ||
                  std::holds_alternative<std::vector<Version>>(one.second);
         });
}

bool is_qualified_name(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash != std::string_view::npos && !is_dns_subdomain(key.substr(0, slash), kDomainBytesMax))
    return false;
  const std::string_view id = slash == std::string_view::npos ? key : key.substr(slash + 1);
  return !id.empty() && id.size() <= kIdBytesMax && !is_digit(id[0]) &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
         });
}

bool is_semver(std::string_view text) {
  const size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    const auto build = split(text.substr(plus + 1), '.');
    if (!std::all_of(build.begin(), build.end(), [](auto part) { return is_semver_identifier(part, true); }))
      return false;
    text = text.substr(0, plus);
  }
  const size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto pre = split(text.substr(dash + 1), '.');
    if (!std::all_of(pre.begin(), pre.end(), [](auto part) { return is_semver_identifier(part, false); }))
      return false;
    text = text.substr(0, dash);
  }
  const auto core = split(text, '.');
  return core.size() == 3 && std::all_of(core.begin(), core.end(), [](auto part) {
           return is_semver_identifier(part, false) && std::all_of(part.begin(), part.end(), is_digit);
         });
}

}  // namespace sliced::kube
