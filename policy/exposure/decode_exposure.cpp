#include "policy/exposure/decode_exposure.h"

#include <algorithm>
#include <optional>
#include <set>

#include "kube/objects/names.h"
#include "policy/exposure/attributes.h"
#include "policy/field_reader.h"
#include "policy/given_attribute.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using kube::Json;
using kube::Quantity;

// Limits of the kind, equal to config/crd.
constexpr size_t kSuffixBytesMax = 32;  // after the longest device name it still makes a DNS label
constexpr size_t kGroupBytesMax = 57;   // "group-" and this are the name of a counter
constexpr size_t kCapacitiesMax = 8;
constexpr size_t kPluginsMax = 8;
constexpr size_t kPluginBytesMax = 28;  // "cni_" and this are an identifier
constexpr size_t kAdditionalMax = 16;
constexpr size_t kValidValuesMax = 10;
constexpr size_t kQuantityBytesMax = 64;

constexpr std::string_view kPluginsField = "supportedCNIPlugins";
constexpr std::string_view kExposureFields[] = {
    "deviceNameSuffix", "exclusionGroup", "allowMultipleAllocations",
    "capacity",         kPluginsField,    "additionalAttributes"};
constexpr std::string_view kPluginFields[] = {"name", "exclusive", "consumePerAllocation"};

// The capacity of a shared persona without capacities in its policy: enough shares, one for each allocation.
constexpr const char* kSharesId = "shares";
constexpr int64_t kSharesDefault = 1000;

bool is_plugin_name(std::string_view text) {
  const auto is_alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kPluginBytesMax && is_alnum(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

// Returns the line of ".requestPolicy.validRange.min" below value, or of the nearest existing parent.
int line_below(const Json& value, std::string_view path) {
  const Json* at = &value;
  for (const std::string_view part : split(path, '.')) {
    if (part.empty()) continue;
    const Json* next = at->find(part);
    if (next == nullptr) break;
    at = next;
  }
  return at->line();
}

std::string plugins_yaml(const std::vector<std::string>& names, bool exclusive) {
  std::vector<std::string> items;
  for (const std::string& name : names)
    items.push_back("{name: " + name + ", exclusive: " + (exclusive ? "true" : "false") + "}");
  return "[" + join(items, ", ") + "]";
}

class ExposureDecoder {
 public:
  ExposureDecoder(const Json* value, const std::string& policy_name, const std::string& driver,
                  Problems& problems)
      : reader_(value, "spec.exposure", problems),
        policy_name_(policy_name),
        driver_(driver),
        problems_(problems) {}

  Exposure decode() {
    reader_.only(kExposureFields);
    out_.allow_multiple_allocations = reader_.boolean("allowMultipleAllocations", false);
    read_names();
    read_capacities();
    read_plugins();
    read_attributes();
    check_sharing();
    check_published_plugins();
    complete_capacities();
    return std::move(out_);
  }

 private:
  struct Written {  // a capacity as written in the policy
    std::string path;
    const Json* value = nullptr;
    bool is_good = true;
  };
  struct PluginAt {  // parallel to out_.plugins
    std::string path;
    int line = 0;
    std::optional<bool> exclusive;
  };

  void problem(std::string path, std::string what, int line) {
    problems_.push_back({std::move(path), std::move(what), line});
  }

  void read_names() {
    out_.name_suffix = reader_.text("deviceNameSuffix");
    if (out_.name_suffix.size() > kSuffixBytesMax ||
        (!out_.name_suffix.empty() && !kube::is_dns_label("0000-03-00-0" + out_.name_suffix)))
      reader_.problem(
          "deviceNameSuffix",
          "is " + in_quotes(out_.name_suffix, 64) + ", expected at most " + std::to_string(kSuffixBytesMax) +
              " of a-z, 0-9 and -, the last not -, such as \"-macvlan\": the device's name and it "
              "make a DNS label");
    out_.exclusion_group = reader_.text("exclusionGroup");
    if (!out_.exclusion_group.empty() &&
        (out_.exclusion_group.size() > kGroupBytesMax || !kube::is_dns_label(out_.exclusion_group)))
      reader_.problem("exclusionGroup", "is " + in_quotes(out_.exclusion_group, 80) +
                                            ", expected a DNS label (a-z, 0-9, -) of at most " +
                                            std::to_string(kGroupBytesMax) + " bytes");
  }

  std::optional<Quantity> quantity(const Json* value, const std::string& path) {
    if (value == nullptr) return std::nullopt;
    if (value->string() != nullptr && value->string()->size() > kQuantityBytesMax) {
      problem(path, "is " + in_quotes(*value->string(), 32) + ", expected a quantity of at most 64 bytes",
              value->line());
      return std::nullopt;
    }
    auto decoded = Quantity::decode(*value);
    if (!decoded) {
      problem(path, "is not a quantity such as \"64\" or \"10G\": " + decoded.error().what, value->line());
      return std::nullopt;
    }
    if (decoded->nanos() > 0) return *decoded;
    problem(path, "is " + decoded->text() + ", expected more than 0", value->line());
    return std::nullopt;
  }
  std::optional<Quantity> quantity(FieldReader& reader, std::string_view key) {
    return quantity(reader.member(key), reader.path_of(key));
  }
  Quantity needed_quantity(FieldReader& reader, std::string_view key, int line) {
    if (reader.member(key) == nullptr) reader.problem(key, "is missing", line);
    return quantity(reader, key).value_or(Quantity(1));
  }

  void read_capacities() {
    const auto entries = reader_.entries("capacity", kCapacitiesMax);
    for (const Json::Member* entry : entries) {
      const auto& [name, value] = *entry;
      const size_t before = problems_.size();
      const std::string path = reader_.path_of("capacity") + "[" + escaped(name, 64) + "]";
      const std::string full = full_key(name, driver_);
      if (!kube::is_qualified_name(name))
        problem(path, "is not a capacity name; expected DOMAIN/IDENTIFIER or IDENTIFIER", value.line());
      else if (full.starts_with(std::string(kStandardDomain) + "/"))
        problem(path, "is reserved; choose a name of another domain", value.line());
      else if (out_.capacity.contains(full))
        problem(path, "is a duplicate: also given as " + full, value.line());
      kube::Capacity capacity = decode_capacity(value, path);
      if (problems_.size() == before) out_.capacity[full] = std::move(capacity);
      written_[full] = {path, &value, problems_.size() == before};
    }
    if (entries.empty() && is_shared() && reader_.member("capacity") == nullptr)
      out_.capacity[full_key(kSharesId, driver_)] = {Quantity(kSharesDefault), std::nullopt};
  }

  kube::Capacity decode_capacity(const Json& value, const std::string& path) {
    FieldReader reader(&value, path, problems_);
    reader.only({"value", "requestPolicy"});
    kube::Capacity capacity;
    capacity.value = needed_quantity(reader, "value", value.line());
    const Json* policy = reader.member("requestPolicy");
    if (policy == nullptr) return capacity;
    if (!is_shared()) {
      reader.problem("requestPolicy",
                     "is for shared devices, and a claim of an exclusive one takes all of it: remove it, or "
                     "write allowMultipleAllocations: true");
      return capacity;
    }
    FieldReader inner(policy, reader.path_of("requestPolicy"), problems_);
    inner.only({"default", "validValues", "validRange"});
    kube::RequestPolicy& out = capacity.request_policy.emplace();
    out.default_ = quantity(inner, "default");
    for (const Json* item : inner.items("validValues", kValidValuesMax))
      if (auto one = quantity(item, inner.path_of("validValues"))) out.valid_values.push_back(*one);
    if (const Json* range = inner.member("validRange"))
      out.valid_range = decode_range(*range, inner.path_of("validRange"));
    return capacity;
  }

  kube::ValidRange decode_range(const Json& value, const std::string& path) {
    FieldReader reader(&value, path, problems_);
    reader.only({"min", "max", "step"});
    kube::ValidRange range;
    range.min = needed_quantity(reader, "min", value.line());
    range.max = quantity(reader, "max");
    range.step = quantity(reader, "step");
    return range;
  }

  void read_plugins() {
    size_t index = 0;
    out_.lists_plugins = reader_.member("supportedCNIPlugins") != nullptr;
    for (const Json* item : reader_.items("supportedCNIPlugins", kPluginsMax)) {
      const std::string path = reader_.path_of("supportedCNIPlugins") + "[" + std::to_string(index++) + "]";
      FieldReader reader(item, path, problems_);
      reader.only(kPluginFields);
      CniPlugin plugin{reader.text("name"), {}};
      if (!is_plugin_name(plugin.name)) {
        reader.problem("name",
                       "is " + in_quotes(plugin.name, 64) +
                           ", expected the type of a CNI plugin of at most " +
                           std::to_string(kPluginBytesMax) + " letters, digits, -, _ and ., such as macvlan",
                       item->line());
        continue;
      }
      for (const CniPlugin& other : out_.plugins)
        if (cni_attribute_id(other.name) == cni_attribute_id(plugin.name))
          reader.problem("name", "is " + plugin.name + ", and so is the name of another plugin" +
                                     (other.name == plugin.name ? "" : " (" + other.name + ")"));
      PluginAt at{path, item->line(), std::nullopt};
      if (reader.member("exclusive") != nullptr) at.exclusive = reader.boolean("exclusive", !is_shared());
      read_consumption(reader, plugin);
      plugins_at_.push_back(std::move(at));
      out_.plugins.push_back(std::move(plugin));
    }
  }

  void read_consumption(FieldReader& reader, CniPlugin& plugin) {
    for (const Json::Member* entry : reader.entries("consumePerAllocation", kCapacitiesMax)) {
      const auto& [name, value] = *entry;
      const std::string path = reader.path_of("consumePerAllocation") + "[" + escaped(name, 64) + "]";
      const std::string full = full_key(name, driver_);
      const auto amount = quantity(&value, path);
      if (value.is_null()) problem(path, "is null, expected a quantity such as 1", value.line());
      if (!is_shared())
        problem(path,
                "is for shared devices, and a claim of an exclusive one takes all of it: remove it, or write "
                "allowMultipleAllocations: true",
                value.line());
      else if (!out_.capacity.contains(full) && !written_.contains(full))
        problem(path, "is not a capacity of this exposure; " + known_capacities(name), value.line());
      else if (amount)
        plugin.consume_per_allocation[full] = *amount;
    }
  }

  std::string known_capacities(const std::string& name) const {
    std::vector<std::string> known;
    std::vector<std::string_view> candidates;
    for (const auto& [full, capacity] : out_.capacity)
      known.push_back(full.starts_with(driver_ + "/") ? full.substr(driver_.size() + 1) : full);
    for (const std::string& one : known) candidates.push_back(one);
    const std::string near = nearest(name, candidates);
    return near.empty() ? "there are " + join(known, ", ") : "did you mean " + near + "?";
  }

  void read_attributes() {
    for (const Json::Member* entry : reader_.entries("additionalAttributes", kAdditionalMax)) {
      const auto& [name, value] = *entry;
      const std::string path = reader_.path_of("additionalAttributes") + "[" + escaped(name, 64) + "]";
      const std::string full = full_key(name, driver_);
      if (value.string() == nullptr && value.object() == nullptr) {
        problem(
            path,
            "is a " + std::string(value.kind_name()) +
                ", expected a string in quotes, or a typed value such as {int: 5}, {bool: true}, {version: "
                "1.2.3}, {strings: [a, b]}",
            value.line());
        continue;
      }
      auto decoded = decode_given_attribute(
          name, value.string() != nullptr ? Json(Json::Object{{"string", value}}) : value,
          is_reserved_exposure_attribute(full, driver_));
      if (!decoded)
        problem(path, decoded.error().what, value.line());
      else if (!out_.additional_attributes.emplace(full, std::move(*decoded)).second)
        problem(path, "is a duplicate: also given as " + full, value.line());
    }
  }

  // allowMultipleAllocations decides; the plugins must agree with it and with each other.
  void check_sharing() {
    std::vector<std::string> exclusive, shared;
    for (size_t i = 0; i < plugins_at_.size(); ++i)
      if (plugins_at_[i].exclusive)
        (*plugins_at_[i].exclusive ? exclusive : shared).push_back(out_.plugins[i].name);
    if (!exclusive.empty() && !shared.empty()) {
      const auto policy = [&](const char* suffix, bool is_exclusive, const auto& names) {
        return "{metadata: {name: " + escaped(policy_name_, 64) + suffix +
               "}, exposure: {deviceNameSuffix: \"" + escaped(out_.name_suffix, kSuffixBytesMax) + suffix +
               "\", allowMultipleAllocations: " + (is_exclusive ? "false" : "true") +
               ", supportedCNIPlugins: " + plugins_yaml(names, is_exclusive) + "}}";
      };
      return reader_.problem(
          "supportedCNIPlugins",
          "mixes exclusive (" + join(exclusive, ", ") + ") and shared (" + join(shared, ", ") +
              ") plugins, and a device is offered as one or the other: write two policies "
              "with this selector, " +
              policy("-exclusive", true, exclusive) + " and " + policy("-shared", false, shared));
    }
    for (size_t i = 0; i < plugins_at_.size(); ++i)
      if (plugins_at_[i].exclusive && *plugins_at_[i].exclusive == is_shared())
        problem(plugins_at_[i].path + ".exclusive",
                std::string("is ") + (is_shared() ? "true" : "false") + " for " + out_.plugins[i].name +
                    ", but allowMultipleAllocations is " + (is_shared() ? "true" : "false") + ": write " +
                    (is_shared() ? "false" : "true") + " for one of them, so that they agree",
                plugins_at_[i].line);
  }

  // Both forms are published: ",sriov,host-device," in one attribute, and one bool for each plugin.
  void check_published_plugins() {
    size_t bytes = 1;
    for (const CniPlugin& plugin : out_.plugins) bytes += plugin.name.size() + 1;
    if (bytes > kube::kAttributeValueBytesMax)
      reader_.problem("supportedCNIPlugins", "has names of " + std::to_string(bytes) +
                                                 " bytes with their separators, at most " +
                                                 std::to_string(kube::kAttributeValueBytesMax) +
                                                 " can be published; name fewer plugins");
  }

  void complete_capacities() {
    for (auto& [full, capacity] : out_.capacity) {
      const auto at = written_.find(full);
      const Written written =
          at == written_.end() ? Written{reader_.path_of("capacity") + "[" + kSharesId + "]"} : at->second;
      if (written.is_good) complete_capacity(full, capacity, written);
    }
  }

  void complete_capacity(const std::string& full, kube::Capacity& capacity, const Written& written) {
    std::string origin;
    if (is_shared() && !choose_default(full, capacity, written, origin)) return;
    const kube::Device probe{.name = "x",
                             .capacity = {{full, capacity}},
                             .allow_multiple_allocations = out_.allow_multiple_allocations};
    for (const kube::DeviceProblem& found : kube::validate_device(probe)) {
      const std::string below = found.field.substr(found.field.find(']') + 1);
      const bool is_about_default = found.what.find("default") != std::string::npos;
      problem(written.path + below, found.what + (is_about_default ? origin : ""), line_of(written, below));
    }
  }

  // Sets the default: the given one, else that of consumePerAllocation, else 1. origin: its source, for
  // messages. Returns false if it is a problem.
  bool choose_default(const std::string& full, kube::Capacity& capacity, const Written& written,
                      std::string& origin) {
    if (!capacity.request_policy) capacity.request_policy.emplace();
    std::optional<Quantity>& chosen = capacity.request_policy->default_;
    const bool is_explicit = chosen.has_value();
    for (size_t i = 0; i < out_.plugins.size(); ++i) {
      const auto consumed = out_.plugins[i].consume_per_allocation.find(full);
      if (consumed == out_.plugins[i].consume_per_allocation.end()) continue;
      if (!chosen) {
        chosen = consumed->second;
        origin = "; the default is that of consumePerAllocation";
      } else if (*chosen != consumed->second) {
        problem(plugins_at_[i].path + ".consumePerAllocation",
                "takes " + consumed->second.text() + " of " + full + ", but " +
                    (is_explicit ? "its requestPolicy.default" : "another plugin's") + " is " +
                    chosen->text() + ", and there is one default for all: write the same",
                plugins_at_[i].line);
        return false;
      }
    }
    if (!chosen) {
      chosen = Quantity(1);
      origin = "; the default is 1 because neither requestPolicy.default nor consumePerAllocation gives one";
    }
    if (*chosen <= capacity.value) return true;
    problem(
        written.path,
        "is " + capacity.value.text() + ", but the default of an allocation is " + chosen->text() + origin,
        line_of(written, ""));
    return false;
  }

  static int line_of(const Written& written, std::string_view below) {
    return written.value == nullptr ? 0 : line_below(*written.value, below);
  }
  bool is_shared() const { return out_.allow_multiple_allocations; }

  FieldReader reader_;
  const std::string& policy_name_;
  const std::string& driver_;
  Problems& problems_;
  Exposure out_;
  std::map<std::string, Written> written_;  // by full key
  std::vector<PluginAt> plugins_at_;
};

}  // namespace

Exposure decode_exposure(const Json* value, const std::string& policy_name, const std::string& driver,
                         Problems& problems) {
  return ExposureDecoder(value, policy_name, driver, problems).decode();
}

std::vector<std::string> exposure_fields() {
  std::vector<std::string> out;
  for (const std::string_view field : kExposureFields) {
    const std::string path = "spec.exposure." + std::string(field);
    if (field != kPluginsField)
      out.push_back(path);
    else
      for (const std::string_view part : kPluginFields) out.push_back(path + "[]." + std::string(part));
  }
  return out;
}

}  // namespace sliced::policy
