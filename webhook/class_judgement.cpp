#include "webhook/class_judgement.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/parser.h"
#include "cel/program.h"
#include "policy/exposure/attributes.h"
#include "policy/sriov/attributes.h"
#include "reactor/base/text.h"
#include "webhook/opaque_config.h"

namespace sliced::webhook {
namespace of_classes {
namespace {

using kube::Json;

constexpr uint64_t kStepsMax = cel::kCompileStepsMax;
constexpr size_t kItemsMax = 32;  // selectors, and configurations, that a class may have

// What a device of the driver has by itself, below the driver's domain.
std::vector<std::string_view> own_attributes(const std::string& driver, const Drivers& drivers) {
  std::vector<std::string_view> out;
  if (driver == drivers.exposure) {
    for (const policy::KnownAttribute& known : policy::known_attributes())
      if (!known.is_standard && known.is_published) out.push_back(known.id);
    out.push_back(policy::kSupportedCnisId);
    return out;
  }
  static const policy::VfAttributes kOfVfs("d");
  for (const SharedText& key : kOfVfs.keys())
    if (const std::string_view text = key.str(); text.starts_with("d/")) out.push_back(text.substr(2));
  out.push_back(policy::kResourceNameId);
  return out;
}

// An expression of a class, with where it stands.
struct Expression {
  std::string field, text;
  int line = 0;
};

// One expression, as far as it can be compiled.
class Selector {
 public:
  Selector(const cel::Program& program, const Drivers& drivers) : program_(program), drivers_(drivers) {}

  void warn(const Expression& about, policy::Problems& out) { visit(program_.root(), about, out); }

 private:
  void visit(const cel::Node& node, const Expression& about, policy::Problems& out) {
    if ((node.op == cel::Op::kAttribute || node.op == cel::Op::kHas) && node.slot >= 0) {
      const cel::Path& path = program_.paths()[static_cast<size_t>(node.slot)];
      if (!path.is_capacity && is_ours(drivers_, path.domain) && known_.insert(path.key).second)
        look_at(path, about, node.offset, out);
    }
    if (node.op == cel::Op::kAnd)
      for (const cel::Node* arg : node.args()) guarded_.insert(guarded_by(*arg));
    for (const cel::Node* arg : node.args()) visit(*arg, about, out);
  }

  // "domain/name" of has(...) and of `"name" in device.attributes["domain"]`; "" of any other condition.
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

  void look_at(const cel::Path& path, const Expression& about, int32_t offset, policy::Problems& out) {
    const bool is_exposures = path.domain == drivers_.exposure;
    const auto own = own_attributes(path.domain, drivers_);
    if (std::ranges::find(own, path.id) != own.end()) return;
    if (is_exposures && path.id.starts_with(policy::cni_attribute_id(""))) return;
    const std::string near = nearest(path.id, own);
    // Where the attribute is absent the selector is false, and no error; a name that is almost another is a mistake still.
    if (guarded_.contains(path.key) && near.empty()) return;
    out.add([&] {
      return policy::Problem{about.field,
                             "column " + std::to_string(cel::Place::column(program_.text(), offset)) +
                                 ": no device has the attribute " + escaped(path.key, 160) + " by itself" +
                                 (near.empty() ? "" : "; did you mean " + near + "?") + "; where no " +
                                 (is_exposures ? "DeviceExposurePolicy" : "DeviceAttributes object") +
                                 " gives it, reading it is an error, which ends the scheduler's attempt",
                             about.line};
    });
  }

  const cel::Program& program_;
  const Drivers& drivers_;
  std::set<std::string> known_;    // that have been looked at
  std::set<std::string> guarded_;  // `"name" in device.attributes[...]` is a condition beside them
};

// In their order.
std::vector<Expression> expressions_of(const Json& object) {
  std::vector<Expression> out;
  const Json* all = object.find({"spec", "selectors"});
  if (all == nullptr || all->array() == nullptr) return out;
  for (size_t i = 0; i < all->array()->size() && i < kItemsMax; ++i) {
    const Json* text = (*all->array())[i].find({"cel", "expression"});
    if (text != nullptr && text->string() != nullptr)
      out.push_back(
          {"spec.selectors[" + std::to_string(i) + "].cel.expression", *text->string(), text->line()});
  }
  return out;
}

void judge_expression(const Expression& one, const Drivers& drivers, Judgement& out) {
  cel::Mistake mistake;
  const auto program = cel::Program::compile(one.text, cel::selector_environment(), &mistake, kStepsMax);
  out.selector_work += program ? program->compile_steps() : mistake.steps;
  if (!program) return out.errors.push_back({one.field, program.error().what, one.line});
  Selector(*program, drivers).warn(one, out.warnings);
}

}  // namespace
}  // namespace of_classes

std::optional<Judgement> judge_class(const kube::Json& object, const Drivers& drivers, bool may_work) {
  const std::vector<of_classes::Expression> expressions = of_classes::expressions_of(object);
  bool concerns_us = false;
  for (const auto& one : expressions)
    concerns_us |= one.text.find(drivers.sriov) != std::string::npos ||
                   one.text.find(drivers.exposure) != std::string::npos;
  const kube::Json* meta = object.find("metadata");
  Judgement out{.who = "DeviceClass " + escaped(meta == nullptr ? "" : meta->text("name")),
                .line = object.line()};
  const kube::Json* configs = object.find({"spec", "config"});
  if (configs != nullptr && configs->array() != nullptr)
    for (size_t i = 0; i < configs->array()->size() && i < of_classes::kItemsMax; ++i) {
      const kube::Json& config = (*configs->array())[i];
      if (!is_our_config(config, drivers)) continue;
      concerns_us = true;
      const std::string path = "spec.config[" + std::to_string(i) + "]";
      if (const auto problem = problem_of_config(config, path, /*is_claims=*/false, ""))
        out.errors.push_back(*problem);
    }
  if (!concerns_us) return std::nullopt;
  for (const auto& one : expressions)
    if (may_work && out.selector_work <= of_classes::kStepsMax)
      judge_expression(one, drivers, out);
    else
      out.is_selector_unchecked = true;
  return out;
}

}  // namespace sliced::webhook
