#include "policy/offer_change.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

struct Author {
  std::string policy;
  int64_t generation = 0;
  std::string manager, outcome;
  auto operator<=>(const Author&) const = default;
};

template <class Policy>
Author author_of(const Policy& policy, std::string_view title) {
  return {std::string(title) + " " + text_of(policy.id), policy.generation, policy.manager, ""};
}
Author author_of(const PolicySet& set, bool is_sriov, int32_t index) {
  if (index < 0) return {};
  const auto at = static_cast<size_t>(index);
  return is_sriov ? author_of(*set.sriov[at], "policy")
                  : author_of(*set.exposures[at], "DeviceExposurePolicy");
}

// Returns the present version of the policy, or the former one if it was deleted.
template <class Policies>
const auto& current_form(const Policies& now, const typename Policies::value_type& before) {
  const auto at = std::ranges::find_if(now, [&](const auto& one) { return one->id == before->id; });
  return at == now.end() ? *before : **at;
}
Author former_author(const Decision& before, const Decision& now, bool is_sriov, int32_t index) {
  if (index < 0) return {};
  const auto at = static_cast<size_t>(index);
  const PolicySet &was = *before.inputs->policies, &is = *now.inputs->policies;
  return is_sriov ? author_of(current_form(is.sriov, was.sriov[at]), "policy")
                  : author_of(current_form(is.exposures, was.exposures[at]), "DeviceExposurePolicy");
}

// The policy that offers an entry, and its device.
struct Source {
  std::string device;  // host device id
  int32_t policy = -1;
};
using Sources = std::map<std::string_view, Source, std::less<>>;

void find_in_personas(const Decision& decision, const std::vector<std::string>& names, Sources& out) {
  for (const auto& [id, personas] : decision.personas)
    for (const PersonaVerdict& persona : personas)
      if (const auto at = std::ranges::lower_bound(names, persona.entry);
          at != names.end() && *at == persona.entry)
        out[*at] = {id, persona.policy};
}

// Requires: names are sorted and outlive the result.
Sources sources_of(const Decision& decision, bool is_sriov, const std::vector<std::string>& names) {
  Sources out;
  if (!is_sriov && !names.empty()) find_in_personas(decision, names, out);
  if (!is_sriov) return out;
  for (const std::string& name : names) {
    const auto function = function_named_by(name);
    if (!function) continue;
    const std::string id = function->text();
    const auto verdict = decision.verdicts.find(id);
    out[name] = {id, verdict == decision.verdicts.end() ? -1 : verdict->second.policy};
  }
  return out;
}

// Returns the reason that the device is not offered now; policy is "" if none applies to it.
Author author_of_withdrawal(const Decision& now, bool is_sriov, const std::string& device) {
  const auto verdict = now.verdicts.find(device);
  if (verdict == now.verdicts.end()) return {.outcome = "gone"};
  const PolicySet& policies = *now.inputs->policies;
  if (verdict->second.exposure >= 0) {
    Author out = author_of(policies, false, verdict->second.exposure);
    out.outcome = name_of(verdict->second.outcome);
    return out;
  }
  if (is_sriov) {
    Author out = author_of(policies, true, std::max(verdict->second.policy, verdict->second.may_offer));
    out.outcome = name_of(verdict->second.outcome);
    return out;
  }
  const auto personas = now.personas.find(device);
  if (personas == now.personas.end()) return {.outcome = std::string(name_of(Outcome::kNoMatch))};
  const auto held = std::ranges::find_if(
      personas->second, [](const PersonaVerdict& one) { return one.outcome != Outcome::kOffered; });
  if (held == personas->second.end()) return {.outcome = std::string(name_of(Outcome::kNoMatch))};
  Author out = author_of(policies, false, held->policy);
  out.outcome = name_of(held->outcome);
  return out;
}

class Teller {
 public:
  Teller(std::string driver, std::string why) : driver_(std::move(driver)), why_(std::move(why)) {}
  void add(OfferChange::Kind kind, Author author, const std::string& name) {
    OfferChange& change = by_author_[{kind, std::move(author)}];
    if (change.devices.size() < kOfferChangeDevicesMax)
      change.devices.push_back(name);
    else
      ++change.left_out;
  }
  std::vector<OfferChange> all() {
    std::vector<OfferChange> out;
    for (auto& [key, change] : by_author_) {
      const auto& [kind, author] = key;
      change.kind = kind;
      change.driver = driver_;
      change.policy = author.policy;
      change.generation = author.generation;
      change.manager = author.manager;
      change.outcome = author.outcome;
      change.why = why_;
      out.push_back(std::move(change));
    }
    return out;
  }

 private:
  const std::string driver_, why_;
  std::map<std::pair<OfferChange::Kind, Author>, OfferChange> by_author_;
};

}  // namespace

std::string_view name_of(OfferChange::Kind kind) {
  constexpr std::string_view kNames[] = {"found", "offered", "changed", "withdrawn"};
  return kNames[static_cast<size_t>(kind)];
}

std::string some_devices_of(const OfferChange& change) {
  constexpr size_t kInLogMax = 60;  // of names of at most 63 bytes
  const auto end = change.devices.begin() + static_cast<long>(std::min(change.devices.size(), kInLogMax));
  return join({change.devices.begin(), end}, ",");
}

std::vector<OfferChange> offer_changes_of(const Decision* before, const Decision& now, bool is_sriov,
                                          const std::string& driver, const OfferDifference& difference,
                                          const std::string& why) {
  using Kind = OfferChange::Kind;
  Teller changes(driver, why);
  const auto add_present = [&](Kind kind, const std::vector<std::string>& names) {
    const Sources sources = sources_of(now, is_sriov, names);
    for (const std::string& name : names) {
      const auto at = sources.find(name);
      changes.add(kind,
                  author_of(*now.inputs->policies, is_sriov, at == sources.end() ? -1 : at->second.policy),
                  name);
    }
  };
  add_present(before == nullptr ? Kind::kFound : Kind::kOffered, difference.added);
  add_present(Kind::kChanged, difference.changed);
  if (before == nullptr) return changes.all();
  const Sources sources = sources_of(*before, is_sriov, difference.removed);
  // Each policy is looked up once, because a policy may offer thousands of devices.
  std::map<int32_t, Author> former;
  const auto former_of = [&](int32_t policy) -> const Author& {
    const auto [at, fresh] = former.try_emplace(policy);
    if (fresh) at->second = former_author(*before, now, is_sriov, policy);
    return at->second;
  };
  for (const std::string& name : difference.removed) {
    const auto at = sources.find(name);
    Author author;
    if (at != sources.end()) {
      author = author_of_withdrawal(now, is_sriov, at->second.device);
      if (author.policy.empty()) {
        const std::string outcome = std::move(author.outcome);
        author = former_of(at->second.policy);
        author.outcome = outcome;
      }
    }
    changes.add(Kind::kWithdrawn, std::move(author), name);
  }
  return changes.all();
}

Withdrawer withdrawer_of(const Decision& now, const std::string& device) {
  const auto verdict = now.verdicts.find(device);
  if (verdict == now.verdicts.end()) return {.is_on_host = false};
  const PolicySet& policies = *now.inputs->policies;
  const auto by_exposure = [&](int32_t index, Outcome outcome) {
    const ExposurePolicy& policy = *policies.exposures[static_cast<size_t>(index)];
    return Withdrawer{"DeviceExposurePolicy " + text_of(policy.id), policy.generation, outcome};
  };
  if (verdict->second.exposure >= 0) return by_exposure(verdict->second.exposure, verdict->second.outcome);
  if (const int32_t index = std::max(verdict->second.policy, verdict->second.may_offer); index >= 0) {
    const SriovPolicy& policy = *policies.sriov[static_cast<size_t>(index)];
    return {"SriovResourcePolicy " + text_of(policy.id), policy.generation, verdict->second.outcome};
  }
  if (const auto personas = now.personas.find(device); personas != now.personas.end())
    for (const PersonaVerdict& persona : personas->second)
      if (persona.outcome != Outcome::kOffered && persona.policy >= 0)
        return by_exposure(persona.policy, persona.outcome);
  return {};
}

}  // namespace sliced::policy
