#include "policy/exposure/selector.h"

#include <algorithm>

#include "cel/published_device.h"
#include "policy/given_attribute.h"

namespace sliced::policy {
namespace {

cel::Kind kind_of(AttributeType type) {
  switch (type) {
    case AttributeType::kString:
      return cel::Kind::kString;
    case AttributeType::kInt:
      return cel::Kind::kInt;
    case AttributeType::kBool:
      break;
  }
  return cel::Kind::kBool;
}

class Known final : public cel::KnownAttributes {
 public:
  explicit Known(const std::string& driver) : driver_(driver) {}
  std::optional<Attribute> find(std::string_view domain, std::string_view id) const override {
    const KnownAttribute* known = find_known_attribute(domain, id, driver_);
    if (known == nullptr) return std::nullopt;
    return Attribute{static_cast<int>(known - known_attributes().data()), kind_of(known->type)};
  }
  std::vector<std::string_view> domains() const override { return {driver_, kStandardDomain}; }
  std::vector<std::string_view> ids(std::string_view domain) const override {
    std::vector<std::string_view> out;
    for (const KnownAttribute& known : known_attributes())
      if (known.is_standard == (domain == kStandardDomain)) out.push_back(known.id);
    return out;
  }

 private:
  const std::string& driver_;
};

// The known attributes of one domain as a map. It contains those that the device has. Finding one costs
// kSearchSteps.
constexpr uint64_t kSearchSteps = 8;

class DomainView final : public cel::Map {
 public:
  DomainView(const HostDeviceView& device, bool is_standard) : device_(device), is_standard_(is_standard) {}
  size_t size() const override {
    size_t count = 0;
    for (size_t i = 0; i < known_attributes().size(); ++i) count += is_present(i);
    return count;
  }
  std::pair<cel::Value, cel::Value> at(size_t index, cel::Arena& arena) const override {
    arena.step(kSearchSteps);
    for (size_t i = 0; i < known_attributes().size(); ++i)
      if (is_present(i) && index-- == 0)
        return {cel::Value::of(known_attributes()[i].id), device_.value_or_zero(i)};
    return {};
  }
  std::optional<cel::Value> get(const cel::Value& key, cel::Arena& arena) const override {
    arena.step(kSearchSteps);
    const auto known = find(key);
    if (!known || device_.is_unknown(*known)) return std::nullopt;
    return device_.value_or_zero(*known);
  }
  bool has(const cel::Value& key, cel::Arena& arena) const override {
    arena.step(kSearchSteps);
    const auto known = find(key);
    if (known) device_.unverified(*known);
    return known && device_.value(*known) != nullptr;
  }

 private:
  bool is_present(size_t known) const {
    if (known_attributes()[known].is_standard != is_standard_) return false;
    device_.unverified(known);
    return device_.value(known) != nullptr;
  }
  std::optional<size_t> find(const cel::Value& key) const {
    if (key.kind != cel::Kind::kString) return std::nullopt;
    const auto all = known_attributes();
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].is_standard == is_standard_ && all[i].id == key.text()) return i;
    return std::nullopt;
  }
  const HostDeviceView& device_;
  const bool is_standard_;
};

cel::Value to_value(const kube::AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return cel::Value::of(std::string_view(*text));
  if (const auto* number = std::get_if<int64_t>(&value)) return cel::Value::of(*number);
  return cel::Value::of(std::get<bool>(value));  // known attributes have one of these three types
}

}  // namespace

Result<cel::Program> compile_selector(const std::string& cel, const std::string& driver,
                                      cel::Mistake* mistake, uint64_t steps_max) {
  const Known known(driver);
  cel::Environment environment = cel::selector_environment();
  environment.known = &known;
  return cel::Program::compile(cel, environment, mistake, steps_max);
}

HostDeviceView::HostDeviceView(std::string driver)
    : driver_(std::move(driver)), known_(known_attributes().size()) {}

void HostDeviceView::set_device(const DeviceFacts& facts) {
  facts_.emplace(facts);
  for (Known& known : known_) known.is_read = false;
}

const kube::AttributeValue* HostDeviceView::value(size_t known) const {
  Known& kept = known_[known];
  if (!kept.is_read) {
    const KnownAttribute& attribute = known_attributes()[known];
    kept.value = value_of(attribute, *facts_);
    kept.names.clear();
    for (const std::string_view name : other_names_of(attribute, *facts_)) {
      if (kept.names.empty()) kept.names = std::get<std::string>(*kept.value);
      kept.names.append(1, '\0').append(name);
    }
    kept.is_read = true;
  }
  return kept.value ? &*kept.value : nullptr;
}

cel::Value HostDeviceView::value_or_zero(size_t known) const {
  if (const kube::AttributeValue* there = value(known)) {
    const std::string& names = known_[known].names;
    if (names.empty()) return to_value(*there);
    const size_t length = std::get<std::string>(*there).size();
    return cel::Value::with_others(std::string_view(names).substr(0, length),
                                   static_cast<uint32_t>(names.size() - length));
  }
  const KnownAttribute& attribute = known_attributes()[known];
  if (attribute.type == AttributeType::kString) return cel::Value::of(std::string_view());
  return to_value(zero_of(attribute));
}

void HostDeviceView::read_unknown(Unknown as) {
  unknown_ = as;
  unknown_asked_ = nullptr;
  is_doubtful_ = false;
}

bool HostDeviceView::is_unknown(size_t known) const {
  if (unknown_ == Unknown::kIsAbsent || !policy::is_unknown(known_attributes()[known], *facts_)) return false;
  if (unknown_asked_ == nullptr) unknown_asked_ = &known_attributes()[known];
  return true;
}

bool HostDeviceView::is_unknown(const cel::Path& path) const {
  return !path.is_capacity && path.known >= 0 && is_unknown(static_cast<size_t>(path.known));
}

std::optional<cel::Value> HostDeviceView::read(const cel::Path& path, cel::Arena&) const {
  if (path.is_capacity || path.known < 0) return std::nullopt;  // a host device has no capacity
  if (is_unknown(path)) return std::nullopt;
  return value_or_zero(static_cast<size_t>(path.known));
}

bool HostDeviceView::has(const cel::Path& path, cel::Arena&) const {
  if (path.is_capacity || path.known < 0) return false;
  // If read() fails, it is unknown whether the attribute exists.
  return is_unknown(path) || value(static_cast<size_t>(path.known)) != nullptr;
}

const cel::Map* HostDeviceView::attributes(cel::Arena& arena) const {
  const cel::Map* own = arena.make<DomainView>(*this, false);
  const cel::Map* standard = arena.make<DomainView>(*this, true);
  if (own == nullptr || standard == nullptr) return nullptr;
  return cel::make_domain_map({{driver_, own}, {kStandardDomain, standard}}, arena);
}

const cel::Map* HostDeviceView::capacity(cel::Arena& arena) const { return cel::make_domain_map({}, arena); }

}  // namespace sliced::policy
