#include "kube/objects/resource_slice.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

// ------------------------------------------------------------------------------------------------------------
// reading

// The place of a value in the object. Its text is created only for errors and unknown fields. Outer places
// outlive inner ones.
class FieldPath {
 public:
  enum Kind { kMember, kEntry };
  explicit FieldPath(std::string_view root) : name_(root) {}
  FieldPath(const FieldPath& above, Kind kind, std::string_view name)
      : above_(&above), kind_(kind), name_(name) {}
  FieldPath(const FieldPath& above, size_t index) : above_(&above), index_(index) {}

  std::string text() const {  // "spec.devices[3].attributes[example.com/x].string"
    if (above_ == nullptr) return std::string(name_);
    const std::string above = above_->text();
    if (index_) return above + "[" + std::to_string(*index_) + "]";
    if (kind_ == kEntry) return above + "[" + escaped(name_) + "]";
    return (above.empty() ? "" : above + ".") + escaped(name_);
  }

 private:
  const FieldPath* above_ = nullptr;
  Kind kind_ = kMember;
  std::string_view name_;
  std::optional<size_t> index_;
};

/// Stores the first field of a wrong type and the unknown fields.
class SliceDecoder {
 public:
  Result<ResourceSlice> decode(const Json& object) {
    ResourceSlice out;
    auto meta = decode_object_meta(object);
    if (!meta.ok()) return meta.error();
    out.meta = std::move(*meta);
    const Json* spec = object.find("spec");
    if (spec == nullptr || spec->object() == nullptr) return Error{Errc::kInvalid, "spec: must be a map"};
    read(object, *spec, out);
    if (!error_.what.empty()) return error_;
    std::sort(unknown_.begin(), unknown_.end());
    out.unknown_fields = std::move(unknown_);
    return out;
  }

  Result<ResourceSlice> salvage(const Json& object) {
    ResourceSlice out;
    auto meta = decode_object_meta(object);
    if (!meta.ok()) return meta.error();
    out.meta = std::move(*meta);
    if (const Json* spec = object.find("spec"); spec != nullptr && spec->object() != nullptr)
      read(object, *spec, out);
    std::erase_if(out.devices, [](const DevicePtr& device) { return device->name.empty(); });
    out.unknown_fields = {std::string(kUnreadable), error_.what};
    return out;
  }

  Result<AttributeValue> decode_one(const Json& value) {
    AttributeValue out;
    const bool known = attribute(value, FieldPath(""), out);
    if (!error_.what.empty()) return error_;
    if (!known)
      return Error{Errc::kInvalid, "exactly one of int, bool, string, version and their lists must be set"};
    return out;
  }

 private:
  // An error does not prevent reading the rest.
  void read(const Json& object, const Json& spec, ResourceSlice& out) {
    for (const auto& [key, value] : *object.object()) {
      if (key != "apiVersion" && key != "kind" && key != "metadata" && key != "spec")
        unknown(FieldPath(key), value);
    }
    members(spec, FieldPath("spec"), [&](const std::string& key, const Json& value, const FieldPath& path) {
      if (key == "driver") return text(value, path, out.driver);
      if (key == "pool") return pool(value, path, out.pool);
      if (key == "nodeName") return text(value, path, out.node_name);
      if (key == "devices") return list(value, path, out.devices, &SliceDecoder::shared_device);
      if (key == "skipNodeOperations")
        return list(value, path, out.skip_node_operations, &SliceDecoder::text);
      if (key == "sharedCounters") return list(value, path, out.shared_counters, &SliceDecoder::counter_set);
      return unknown(path, value);
    });
  }

  void wrong(const FieldPath& path, std::string what) {
    if (!error_.what.empty()) return;
    const std::string prefix = path.text();
    error_ = {Errc::kInvalid, (prefix.empty() ? "" : prefix + ": ") + std::move(what)};
  }
  void wrong_kind(const FieldPath& path, std::string_view expected, const Json& found) {
    wrong(path, "must be a " + std::string(expected) + ", not " + std::string(found.kind_name()));
  }
  void unknown(const FieldPath& path, const Json& value) {
    if (!value.is_null()) unknown_.push_back(path.text());
  }

  /// Each member of a map that is not null; a null map has none.
  template <class Visit>
  void members(const Json& value, const FieldPath& path, Visit visit) {
    if (value.is_null()) return;
    if (value.object() == nullptr) return wrong_kind(path, "map", value);
    for (const auto& [key, member] : *value.object()) {
      if (!member.is_null()) visit(key, member, FieldPath(path, FieldPath::kMember, key));
    }
  }
  template <class Visit>  // as members(), of a map whose keys are names
  void entries(const Json& value, const FieldPath& path, Visit visit) {
    if (value.is_null()) return;
    if (value.object() == nullptr) return wrong_kind(path, "map", value);
    for (const auto& [key, member] : *value.object())
      visit(key, member, FieldPath(path, FieldPath::kEntry, key));
  }
  template <class T>
  void list(const Json& value, const FieldPath& path, std::vector<T>& out,
            void (SliceDecoder::*read)(const Json&, const FieldPath&, T&)) {
    if (value.array() == nullptr) return wrong_kind(path, "list", value);
    for (const auto& item : *value.array()) {
      const FieldPath item_path(path, out.size());
      out.emplace_back();
      (this->*read)(item, item_path, out.back());
    }
  }

  void text(const Json& value, const FieldPath& path, std::string& out) {
    if (value.string() == nullptr) return wrong_kind(path, "string", value);
    out = *value.string();
  }
  void integer(const Json& value, const FieldPath& path, int64_t& out) {
    if (value.integer() == nullptr) return wrong_kind(path, "whole number", value);
    out = *value.integer();
  }
  void boolean(const Json& value, const FieldPath& path, bool& out) {
    if (value.boolean() == nullptr) return wrong_kind(path, "boolean", value);
    out = *value.boolean();
  }
  void quantity(const Json& value, const FieldPath& path, Quantity& out) {
    auto decoded = Quantity::decode(value);
    if (!decoded.ok()) return wrong(path, decoded.error().what);
    out = std::move(*decoded);
  }
  void quantity(const Json& value, const FieldPath& path, std::optional<Quantity>& out) {
    quantity(value, path, out.emplace());
  }

  void pool(const Json& value, const FieldPath& path, Pool& out) {
    members(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      if (key == "name") return text(member, at, out.name);
      if (key == "generation") return integer(member, at, out.generation);
      if (key == "resourceSliceCount") return integer(member, at, out.slice_count);
      return unknown(at, member);
    });
  }

  void shared_device(const Json& value, const FieldPath& path, DevicePtr& out) {
    Device device;
    this->device(value, path, device);
    out = std::move(device);
  }
  void device(const Json& value, const FieldPath& path, Device& out) {
    members(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      if (key == "name") return text(member, at, out.name);
      if (key == "attributes") return attributes(member, at, out.attributes);
      if (key == "capacity") return capacities(member, at, out.capacity);
      if (key == "consumesCounters")
        return list(member, at, out.consumes_counters, &SliceDecoder::consumption);
      if (key == "taints") return list(member, at, out.taints, &SliceDecoder::taint);
      if (key == "bindingConditions") return list(member, at, out.binding_conditions, &SliceDecoder::text);
      if (key == "bindingFailureConditions")
        return list(member, at, out.binding_failure_conditions, &SliceDecoder::text);
      if (key == "allowMultipleAllocations") return boolean(member, at, out.allow_multiple_allocations);
      return unknown(at, member);
    });
  }

  void attributes(const Json& value, const FieldPath& path, Attributes& out) {
    entries(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      AttributeValue decoded;
      if (!attribute(member, at, decoded)) return;
      const SharedText& shared = keys_.try_emplace(key, key).first->second;
      out.insert_or_assign(shared, std::move(decoded));
    });
  }

  /// Returns false if no known type of value is present.
  bool attribute(const Json& value, const FieldPath& path, AttributeValue& out) {
    int found = 0;
    members(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      found += attribute_member(key, member, at, out) ? 1 : 0;
    });
    if (found > 1) wrong(path, "exactly one value must be set");
    return found == 1;
  }

  bool attribute_member(const std::string& key, const Json& value, const FieldPath& path,
                        AttributeValue& out) {
    if (key == "int") {
      integer(value, path, out.emplace<int64_t>());
    } else if (key == "bool") {
      boolean(value, path, out.emplace<bool>());
    } else if (key == "string") {
      text(value, path, out.emplace<std::string>());
    } else if (key == "version") {
      text(value, path, out.emplace<Version>().text);
    } else if (key == "ints") {
      list(value, path, out.emplace<std::vector<int64_t>>(), &SliceDecoder::integer);
    } else if (key == "bools") {
      bools(value, path, out.emplace<std::vector<bool>>());
    } else if (key == "strings") {
      list(value, path, out.emplace<std::vector<std::string>>(), &SliceDecoder::text);
    } else if (key == "versions") {
      list(value, path, out.emplace<std::vector<Version>>(), &SliceDecoder::version);
    } else {
      unknown(path, value);
      return false;
    }
    return true;
  }
  void version(const Json& value, const FieldPath& path, Version& out) { text(value, path, out.text); }
  void bools(const Json& value, const FieldPath& path, std::vector<bool>& out) {
    if (value.array() == nullptr) return wrong_kind(path, "list", value);
    for (const auto& item : *value.array()) {
      bool one = false;
      boolean(item, FieldPath(path, out.size()), one);
      out.push_back(one);
    }
  }

  void capacities(const Json& value, const FieldPath& path, std::map<std::string, Capacity>& out) {
    entries(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      capacity(member, at, out[key]);
    });
  }
  void capacity(const Json& value, const FieldPath& path, Capacity& out) {
    members(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      if (key == "value") return quantity(member, at, out.value);
      if (key == "requestPolicy") return request_policy(member, at, out.request_policy.emplace());
      return unknown(at, member);
    });
  }
  void request_policy(const Json& value, const FieldPath& path, RequestPolicy& out) {
    members(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      if (key == "default") return quantity(member, at, out.default_);
      if (key == "validValues") return list(member, at, out.valid_values, &SliceDecoder::quantity);
      if (key == "validRange") return valid_range(member, at, out.valid_range.emplace());
      return unknown(at, member);
    });
  }
  void valid_range(const Json& value, const FieldPath& path, ValidRange& out) {
    members(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      if (key == "min") return quantity(member, at, out.min);
      if (key == "max") return quantity(member, at, out.max);
      if (key == "step") return quantity(member, at, out.step);
      return unknown(at, member);
    });
  }

  void counters(const Json& value, const FieldPath& path, Counters& out) {
    entries(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      Quantity& counter = out[key];
      members(member, at, [&](const std::string& name, const Json& inner, const FieldPath& inner_path) {
        if (name == "value") return quantity(inner, inner_path, counter);
        return unknown(inner_path, inner);
      });
    });
  }
  void counter_set(const Json& value, const FieldPath& path, CounterSet& out) {
    members(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      if (key == "name") return text(member, at, out.name);
      if (key == "counters") return counters(member, at, out.counters);
      return unknown(at, member);
    });
  }
  void consumption(const Json& value, const FieldPath& path, CounterConsumption& out) {
    members(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      if (key == "counterSet") return text(member, at, out.counter_set);
      if (key == "counters") return counters(member, at, out.counters);
      if (key == "compatibilityGroups")
        return list(member, at, out.compatibility_groups, &SliceDecoder::text);
      return unknown(at, member);
    });
  }
  void taint(const Json& value, const FieldPath& path, Taint& out) {
    members(value, path, [&](const std::string& key, const Json& member, const FieldPath& at) {
      if (key == "key") return text(member, at, out.key);
      if (key == "value") return text(member, at, out.value);
      if (key == "effect") return text(member, at, out.effect);
      if (key == "timeAdded") return;  // set by the server
      return unknown(at, member);
    });
  }

  Error error_{Errc::kInvalid, ""};
  std::vector<std::string> unknown_;
  std::map<std::string, SharedText> keys_;  // one text for all entries
};

// ------------------------------------------------------------------------------------------------------------
// writing

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

template <class List, class Encode>
Json encode_list(const List& list, Encode encode) {
  Json::Array items;
  items.reserve(list.size());
  for (const auto& item : list) items.push_back(encode(item));
  return items;
}
template <class Map, class Encode>
Json encode_map(const Map& map, Encode encode) {
  Json::Object members;
  members.reserve(map.size());
  for (const auto& [key, value] : map) members.emplace_back(std::string(key), encode(value));
  return members;
}

Json encode_counters(const Counters& counters) {
  return encode_map(counters,
                    [](const Quantity& value) { return Json(Json::Object{{"value", value.text()}}); });
}

Json encode_request_policy(const RequestPolicy& policy) {
  Json out = Json::Object();
  if (policy.default_) out.set("default", policy.default_->text());
  if (!policy.valid_values.empty()) {
    out.set("validValues",
            encode_list(policy.valid_values, [](const Quantity& value) { return Json(value.text()); }));
  }
  if (policy.valid_range) {
    Json range = Json::Object{{"min", policy.valid_range->min.text()}};
    if (policy.valid_range->max) range.set("max", policy.valid_range->max->text());
    if (policy.valid_range->step) range.set("step", policy.valid_range->step->text());
    out.set("validRange", std::move(range));
  }
  return out;
}

Json encode_capacity(const Capacity& capacity) {
  Json out = Json::Object{{"value", capacity.value.text()}};
  if (capacity.request_policy) out.set("requestPolicy", encode_request_policy(*capacity.request_policy));
  return out;
}

Json encode_consumption(const CounterConsumption& consumption) {
  Json out = Json::Object{{"counterSet", consumption.counter_set},
                          {"counters", encode_counters(consumption.counters)}};
  if (!consumption.compatibility_groups.empty())
    out.set("compatibilityGroups", encode_list(consumption.compatibility_groups,
                                               [](const std::string& group) { return Json(group); }));
  return out;
}

Json encode_taint(const Taint& taint) {
  Json out = Json::Object{{"key", taint.key}};
  if (!taint.value.empty()) out.set("value", taint.value);
  out.set("effect", taint.effect);
  return out;
}

Json encode_device(const Device& device) {
  Json out = Json::Object{{"name", device.name}};
  if (!device.attributes.empty()) out.set("attributes", encode_map(device.attributes, encode_attribute));
  if (!device.capacity.empty()) out.set("capacity", encode_map(device.capacity, encode_capacity));
  if (!device.consumes_counters.empty()) {
    out.set("consumesCounters", encode_list(device.consumes_counters, encode_consumption));
  }
  if (!device.taints.empty()) out.set("taints", encode_list(device.taints, encode_taint));
  const auto as_json = [](const std::string& one) { return Json(one); };
  if (!device.binding_conditions.empty())
    out.set("bindingConditions", encode_list(device.binding_conditions, as_json));
  if (!device.binding_failure_conditions.empty())
    out.set("bindingFailureConditions", encode_list(device.binding_failure_conditions, as_json));
  if (device.allow_multiple_allocations) out.set("allowMultipleAllocations", true);
  return out;
}

Json encode_counter_set(const CounterSet& set) {
  return Json::Object{{"name", set.name}, {"counters", encode_counters(set.counters)}};
}

}  // namespace

Result<ResourceSlice> decode_resource_slice(const Json& object) {
  auto decoded = SliceDecoder().decode(object);
  if (!decoded.ok()) return std::move(decoded.error()).in(describe_object(object));
  return decoded;
}

Result<ResourceSlice> salvage_resource_slice(const Json& object) { return SliceDecoder().salvage(object); }

Json encode_resource_slice(const ResourceSlice& slice) {
  Json spec = Json::Object{{"driver", slice.driver},
                           {"pool", Json::Object{{"name", slice.pool.name},
                                                 {"generation", slice.pool.generation},
                                                 {"resourceSliceCount", slice.pool.slice_count}}}};
  if (!slice.node_name.empty()) spec.set("nodeName", slice.node_name);
  // Beside counters even an empty list of devices is refused: it must be absent.
  if (!slice.devices.empty()) spec.set("devices", encode_list(slice.devices, encode_device));
  if (!slice.shared_counters.empty()) {
    spec.set("sharedCounters", encode_list(slice.shared_counters, encode_counter_set));
  }
  if (!slice.skip_node_operations.empty())
    spec.set("skipNodeOperations",
             encode_list(slice.skip_node_operations, [](const std::string& one) { return Json(one); }));
  return Json::Object{{"apiVersion", "resource.k8s.io/v1"},
                      {"kind", "ResourceSlice"},
                      {"metadata", encode_object_meta(slice.meta)},
                      {"spec", std::move(spec)}};
}

Result<AttributeValue> decode_attribute(const Json& value) { return SliceDecoder().decode_one(value); }

Json encode_attribute(const AttributeValue& value) {
  const auto one = [](std::string_view key, Json content) {
    return Json(Json::Object{{std::string(key), std::move(content)}});
  };
  return std::visit(
      Overloaded{
          [&](int64_t number) { return one("int", number); },
          [&](bool boolean) { return one("bool", boolean); },
          [&](const std::string& text) { return one("string", text); },
          [&](const Version& version) { return one("version", version.text); },
          [&](const std::vector<int64_t>& all) {
            return one("ints", encode_list(all, [](int64_t i) { return Json(i); }));
          },
          [&](const std::vector<bool>& all) {
            return one("bools", encode_list(all, [](bool b) { return Json(b); }));
          },
          [&](const std::vector<std::string>& all) {
            return one("strings", encode_list(all, [](const std::string& s) { return Json(s); }));
          },
          [&](const std::vector<Version>& all) {
            return one("versions", encode_list(all, [](const Version& v) { return Json(v.text); }));
          },
      },
      value);
}

std::string describe_attribute(const AttributeValue& value) {
  const Json encoded = encode_attribute(value);
  const Json& content = encoded.object()->front().second;
  if (content.array() == nullptr) return encode_json(content);
  std::string out = "[";
  for (const auto& item : *content.array()) out += (out.size() > 1 ? ", " : "") + encode_json(item);
  return out + "]";
}

}  // namespace sliced::kube
