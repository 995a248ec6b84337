#include "controller/webhook/selector_judgement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cel/parser.h"
#include "cel/program.h"
#include "controller/webhook/opaque_config.h"
#include "policy/exposure/attributes.h"
#include "policy/sriov/attributes.h"
#include "reactor/base/text.h"

namespace sliced::webhook {
namespace {

using policy::AttributeType;

constexpr size_t kItemsMax = 32;  // limit of the API for a class or a request
constexpr std::string_view kStandardDomain = "resource.kubernetes.io";

// The attributes, with types, that devices of one driver have by themselves in one domain.
using Known = std::map<std::string_view, AttributeType, std::less<>>;

// In the domain with the driver's own name.
Known own_attributes(std::string_view driver, const Drivers& drivers) {
  Known out;
  if (driver == drivers.exposure) {
    for (const policy::KnownAttribute& known : policy::known_attributes())
      if (!known.is_standard && known.is_published) out.emplace(known.id, known.type);
    out.emplace(policy::kSupportedCnisId, AttributeType::kString);
    return out;
  }
  static const policy::VfAttributes kOfVfs("d");
  static const kube::Attributes kExample = [] {  // numbers and flags of a VF; other attributes are texts
    hotplug::HostDevice vf;
    vf.vf_index = 0;
    vf.iommu_group = 0;
    return kOfVfs.of(vf, nullptr);
  }();
  for (const SharedText& key : kOfVfs.keys()) {
    const std::string_view text = key.str();
    if (!text.starts_with("d/")) continue;
    const auto at = kExample.find(key);
    const bool is_int = at != kExample.end() && std::holds_alternative<int64_t>(at->second),
               is_bool = at != kExample.end() && std::holds_alternative<bool>(at->second);
    out.emplace(text.substr(2), is_int    ? AttributeType::kInt
                                : is_bool ? AttributeType::kBool
                                          : AttributeType::kString);
  }
  out.emplace(policy::kResourceNameId, AttributeType::kString);
  return out;
}

Known standard_attributes() {
  Known out;
  for (const policy::KnownAttribute& known : policy::known_attributes())
    if (known.is_standard) out.emplace(known.id, known.type);
  return out;
}

std::vector<std::string_view> ids_of(const Known& known) {
  std::vector<std::string_view> out;
  for (const auto& [id, type] : known) out.push_back(id);
  return out;
}

std::string_view name_of(AttributeType type) {
  return type == AttributeType::kInt ? "an int" : type == AttributeType::kBool ? "a bool" : "a string";
}

std::string with_article(std::string_view name) {
  return (name.starts_with('i') ? "an " : "a ") + std::string(name);
}

bool is_of_type(cel::Kind kind, AttributeType type) {
  switch (type) {
    case AttributeType::kInt:
      return kind == cel::Kind::kInt || kind == cel::Kind::kUint || kind == cel::Kind::kDouble;
    case AttributeType::kBool:
      return kind == cel::Kind::kBool;
    case AttributeType::kString:
      return kind == cel::Kind::kString;
  }
  return false;
}

bool is_literal_of_a_scalar(const cel::Node& node) {
  return node.op == cel::Op::kLiteral &&
         (node.value.kind == cel::Kind::kBool || node.value.kind == cel::Kind::kInt ||
          node.value.kind == cel::Kind::kUint || node.value.kind == cel::Kind::kDouble ||
          node.value.kind == cel::Kind::kString);
}

// One compiled expression.
class Selector {
 public:
  Selector(const cel::Program& program, const std::string& driver, const Drivers& drivers)
      : program_(program), driver_(driver), drivers_(drivers) {}

  void warn(const Expression& about, policy::Problems& out) { visit(program_.root(), about, out); }

 private:
  void visit(const cel::Node& node, const Expression& about, policy::Problems& out) {
    if ((node.op == cel::Op::kAttribute || node.op == cel::Op::kHas) && node.slot >= 0) {
      const cel::Path& path = program_.paths()[static_cast<size_t>(node.slot)];
      if (node.is_optional) guarded_.insert(path.key);  // `.?name`: absent is not an error
      if (!path.is_capacity && seen_.insert(path.key).second) look_at(path, about, node.offset, out);
    }
    if (node.op == cel::Op::kEqual || node.op == cel::Op::kNotEqual || node.op == cel::Op::kCall)
      compare_types(node, about, out);
    if (node.op == cel::Op::kAnd)
      for (const cel::Node* arg : node.args()) guarded_.insert(guarded_by(*arg));
    for (const cel::Node* arg : node.args()) visit(*arg, about, out);
  }

  // Returns "domain/name" of has(...) and of `"name" in device.attributes["domain"]`; "" of any other
  // condition.
  std::string guarded_by(const cel::Node& node) const {
    if (node.op == cel::Op::kHas && node.slot >= 0)
      return program_.paths()[static_cast<size_t>(node.slot)].key;
    const auto args = node.args();
    if (node.op != cel::Op::kCall || node.name != "@in" || args.size() != 2 || !cel::is_text(*args[0]))
      return "";
    const cel::Node& map = *args[1];
    if (map.op != cel::Op::kIndex || map.args().size() != 2 || !cel::is_text(*map.args()[1])) return "";
    if (map.args()[0]->op != cel::Op::kSelect || map.args()[0]->slot2 != cel::Node::kAttributes) return "";
    return std::string(map.args()[1]->value.text()) + "/" + std::string(args[0]->value.text());
  }

  void add(const Expression& about, int32_t offset, const std::string& what, policy::Problems& out) const {
    out.add([&] {
      return policy::Problem{
          about.field, "column " + std::to_string(cel::Place::column(program_.text(), offset)) + ": " + what,
          about.line};
    });
  }

  void look_at(const cel::Path& path, const Expression& about, int32_t offset, policy::Problems& out) {
    if (path.domain() == kStandardDomain) return look_at_standard(path, about, offset, out);
    if (!is_ours(drivers_, path.domain())) return look_at_domain(path, about, offset, out);
    const bool is_exposures = path.domain() == drivers_.exposure;
    const Known own = own_attributes(path.domain(), drivers_);
    const bool is_others = !driver_.empty() && driver_ != path.domain();
    if (is_others) {
      if (guarded_.contains(path.key)) return;
      return add(about, offset,
                 "devices of driver " + driver_ + ", which are selected here, have no attribute " +
                     escaped(path.key, 160) + " by themselves" + meant(driver_, path.id()) +
                     "; reading it is an error, which ends the scheduler's attempt",
                 out);
    }
    // A PF in another network namespace, or on a driver without an interface, has no name.
    if (path.domain() == drivers_.sriov && path.id() == "PFName" && !guarded_.contains(path.key))
      return add(
          about, offset,
          "attribute " + escaped(path.key, 160) +
              " is absent where the PF has no interface; the scheduler gives up a pod whose selector reads an absent attribute: use "
              "device.attributes[\"" +
              drivers_.sriov + "\"].?PFName.orValue(\"\")",
          out);
    if (own.contains(path.id())) return;
    if (is_exposures && path.id().starts_with(policy::cni_attribute_id(""))) return;
    const std::string near = nearest(path.id(), ids_of(own));
    const std::string elsewhere = near.empty() ? meant_elsewhere(path) : "";
    // If the attribute is absent the selector is false without an error. A misspelled name still is a
    // mistake.
    if (guarded_.contains(path.key) && near.empty()) return;
    add(about, offset,
        "no device has the attribute " + escaped(path.key, 160) + ", unless a " +
            (is_exposures ? "DeviceExposurePolicy" : "DeviceAttributes object") + " adds it" +
            (near.empty() ? elsewhere : "; did you mean " + near + "?") +
            "; the scheduler gives up a pod whose selector reads an absent attribute",
        out);
  }

  // Returns "; did you mean ..." with an attribute of the driver's devices; "" if none is similar.
  std::string meant(const std::string& driver, std::string_view id) const {
    const std::string near = nearest(id, ids_of(own_attributes(driver, drivers_)));
    return near.empty() ? "" : "; did you mean device.attributes[\"" + driver + "\"]." + near + "?";
  }

  // Looks for the same id in another domain of the driver, or of the other driver.
  std::string meant_elsewhere(const cel::Path& path) const {
    const auto suggest = [&](const std::string& domain) {
      return "; did you mean device.attributes[\"" + domain + "\"]." + std::string(path.id()) + "?";
    };
    if (standard_attributes().contains(path.id())) return suggest(std::string(kStandardDomain));
    const std::string& other = path.domain() == drivers_.exposure ? drivers_.sriov : drivers_.exposure;
    return own_attributes(other, drivers_).contains(path.id()) ? suggest(other) : "";
  }

  void look_at_standard(const cel::Path& path, const Expression& about, int32_t offset,
                        policy::Problems& out) const {
    const Known known = standard_attributes();
    if (known.contains(path.id())) return;
    const std::string near = nearest(path.id(), ids_of(known));
    if (near.empty()) return;  // Kubernetes may define more attributes than our devices have
    add(about, offset,
        "no device has the attribute " + escaped(path.key, 160) + "; did you mean " + near +
            "?; reading it is an error, which ends the scheduler's attempt",
        out);
  }

  // Warns of a domain that resembles one of ours. Domains of other drivers are not checked.
  void look_at_domain(const cel::Path& path, const Expression& about, int32_t offset,
                      policy::Problems& out) const {
    const std::string near = nearest(path.domain(), {drivers_.sriov, drivers_.exposure, kStandardDomain});
    if (near.empty()) return;
    add(about, offset,
        "no device has attributes of the domain " + in_quotes(path.domain(), 160) + "; did you mean \"" +
            near + "\"?; reading one is an error, which ends the scheduler's attempt",
        out);
  }

  // Returns nullopt if the node is not an attribute of ours with one type.
  std::optional<std::pair<const cel::Path*, AttributeType>> typed(const cel::Node& node) const {
    if (node.op != cel::Op::kAttribute || node.slot < 0) return std::nullopt;
    const cel::Path& path = program_.paths()[static_cast<size_t>(node.slot)];
    if (path.is_capacity) return std::nullopt;
    const Known known = path.domain() == kStandardDomain   ? standard_attributes()
                        : is_ours(drivers_, path.domain()) ? own_attributes(path.domain(), drivers_)
                                                           : Known();
    const auto at = known.find(path.id());
    if (at == known.end()) return std::nullopt;
    return std::pair(&path, at->second);
  }

  void compare_types(const cel::Node& node, const Expression& about, policy::Problems& out) const {
    const bool is_equality = node.op != cel::Op::kCall;
    const bool is_order =
        node.name == "_<_" || node.name == "_<=_" || node.name == "_>_" || node.name == "_>=_";
    if ((!is_equality && !is_order) || node.args().size() != 2) return;
    for (const auto& [one, other] :
         {std::pair(node.args()[0], node.args()[1]), std::pair(node.args()[1], node.args()[0])}) {
      const auto attribute = typed(*one);
      if (!attribute || !is_literal_of_a_scalar(*other) || is_of_type(other->value.kind, attribute->second))
        continue;
      add(about, one->offset,
          "the attribute " + escaped(attribute->first->key, 160) + " is " +
              std::string(name_of(attribute->second)) + " and is compared with " +
              with_article(cel::name_of(other->value.kind)) +
              (is_equality ? ": they are never equal" : ", which is an error") + "; write " +
              (attribute->second == AttributeType::kString ? "the value in quotes"
               : attribute->second == AttributeType::kInt  ? "a number without quotes"
                                                           : "true or false without quotes"),
          out);
    }
  }

  const cel::Program& program_;
  const std::string& driver_;
  const Drivers& drivers_;
  std::set<std::string> seen_;     // already checked
  std::set<std::string> guarded_;  // `"name" in device.attributes[...]` guards them
};

void judge_expression(const Expression& one, const std::string& driver, const Drivers& drivers,
                      uint64_t steps_max, Judgement& out) {
  cel::Mistake mistake;
  const auto program = cel::Program::compile(one.text, cel::selector_environment(), &mistake, steps_max);
  out.selector_work += program ? program->compile_steps() : mistake.steps;
  // The API server refuses a selector beyond the limit, too.
  if (!program && mistake.steps >= steps_max && steps_max < kSelectorStepsMax) {
    out.is_selector_unchecked = true;
    return;
  }
  if (!program) return out.errors.push_back({one.field, program.error().what, one.line});
  Selector(*program, driver, drivers).warn(one, out.warnings);
}

// Guards count for the whole expression, not inside alternatives.
bool has_comparison_with(std::string_view text, const std::string& driver) {
  if (text.find("||") != std::string_view::npos || text.find(" ? ") != std::string_view::npos) return false;
  for (const char quote : {'"', '\''}) {
    const std::string quoted = quote + driver + quote;
    for (const char* form : {"device.driver == ", "device.driver=="})
      if (text.find(form + quoted) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::vector<Expression> expressions_of(const kube::Json* all, const std::string& path) {
  std::vector<Expression> out;
  if (all == nullptr || all->array() == nullptr) return out;
  for (size_t i = 0; i < all->array()->size() && i < kItemsMax; ++i) {
    const kube::Json* text = (*all->array())[i].find({"cel", "expression"});
    if (text != nullptr && text->string() != nullptr)
      out.push_back({path + "[" + std::to_string(i) + "].cel.expression", *text->string(), text->line()});
  }
  return out;
}

bool names_our_driver(const Expression& expression, const Drivers& drivers) {
  return expression.text.find(drivers.sriov) != std::string::npos ||
         expression.text.find(drivers.exposure) != std::string::npos;
}

std::string near_driver(std::string_view name, const Drivers& drivers) {
  if (name.find('.') == std::string_view::npos || name == drivers.sriov || name == drivers.exposure)
    return "";
  return nearest(name, {drivers.sriov, drivers.exposure});
}

std::string wrong_with_constraint(const std::string& attribute, const std::set<std::string>& of_devices,
                                  const Drivers& drivers) {
  constexpr const char* kConsequence =
      "; a claim whose constraint needs an absent attribute is never allocated";
  const size_t slash = attribute.find('/');
  if (slash == std::string::npos)
    return "is " + in_quotes(attribute, 128) + ", expected DOMAIN/NAME, such as " +
           std::string(kStandardDomain) + "/numaNode; the API server refuses it without a domain";
  const std::string domain = attribute.substr(0, slash), id = attribute.substr(slash + 1);
  const std::string is = "is " + in_quotes(attribute, 160);
  const std::string no_device_has = is + ", which no device has";
  if (domain == kStandardDomain) {
    const Known known = standard_attributes();
    const std::string near = known.contains(id) ? "" : nearest(id, ids_of(known));
    return near.empty() ? "" : no_device_has + "; did you mean " + domain + "/" + near + "?" + kConsequence;
  }
  if (!is_ours(drivers, domain)) {
    const std::string near = nearest(domain, {drivers.sriov, drivers.exposure, kStandardDomain});
    return near.empty() ? "" : no_device_has + "; did you mean " + near + "/" + id + "?" + kConsequence;
  }
  const Known own = own_attributes(domain, drivers);
  const bool is_exposures = domain == drivers.exposure;
  if (own.contains(id) || (is_exposures && id.starts_with(policy::cni_attribute_id("")))) {
    const auto other = std::ranges::find_if(
        of_devices, [&](const std::string& driver) { return driver != domain && is_ours(drivers, driver); });
    if (other == of_devices.end()) return "";
    const std::string meant =
        of_devices.size() == 1 ? nearest(id, ids_of(own_attributes(*other, drivers))) : "";
    return is + ", which devices of driver " + *other + " do not have by themselves" +
           (meant.empty() ? "" : "; did you mean " + *other + "/" + meant + "?") + kConsequence;
  }
  std::string near = nearest(id, ids_of(own));
  if (!near.empty())
    near = domain + "/" + near;
  else if (standard_attributes().contains(id))
    near = std::string(kStandardDomain) + "/" + id;
  return no_device_has + ", unless a " + (is_exposures ? "DeviceExposurePolicy" : "DeviceAttributes object") +
         " adds it" + (near.empty() ? "" : "; did you mean " + escaped(near, 160) + "?") + kConsequence;
}

policy::Problems nearly_our_drivers(const std::vector<Expression>& expressions, const Drivers& drivers) {
  policy::Problems out;
  for (const Expression& one : expressions)
    for (size_t at = one.text.find_first_of("\"'"); at != std::string::npos;) {
      const size_t end = one.text.find(one.text[at], at + 1);
      if (end == std::string::npos) break;
      const std::string_view literal = std::string_view(one.text).substr(at + 1, end - at - 1);
      if (const std::string near = near_driver(literal, drivers); !near.empty())
        out.push_back(
            {one.field, "names " + in_quotes(literal, 128) + "; did you mean " + near + "?", one.line});
      at = one.text.find_first_of("\"'", end + 1);
    }
  return out;
}

std::string selected_driver(const std::vector<Expression>& expressions, const Drivers& drivers) {
  bool compares[2] = {}, names[2] = {};
  const std::string* const ours[] = {&drivers.sriov, &drivers.exposure};
  for (const Expression& one : expressions)
    for (size_t i = 0; i < 2; ++i) {
      compares[i] |= has_comparison_with(one.text, *ours[i]);
      names[i] |= one.text.find(*ours[i]) != std::string::npos;
    }
  for (const auto& found : {compares, names})
    if (found[0] != found[1]) return found[0] ? drivers.sriov : drivers.exposure;
  return "";
}

void judge_selectors(const std::vector<Expression>& expressions, const std::string& driver,
                     const Drivers& drivers, uint64_t steps_max, Judgement& out) {
  for (const Expression& one : expressions)
    if (out.selector_work < steps_max)
      judge_expression(one, driver, drivers, steps_max, out);
    else
      out.is_selector_unchecked = true;
}

}  // namespace sliced::webhook
