#include "daemon/reports/fill_report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "daemon/reports/overruled.h"
#include "kube/objects/kinds.h"
#include "policy/link_type.h"
#include "policy/summary.h"

namespace sliced::reports {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;
using policy::Decision;
using policy::Disposition;
using policy::Outcome;

constexpr size_t kPoliciesMax = 1'024;  // also the limit of the CRD's list

PolicyRef ref_of(const policy::SriovPolicy& policy) {
  return {kube::kSriovResourcePolicies.kind, policy.id.namespace_, policy.id.name};
}
PolicyRef ref_of(const policy::ExposurePolicy& policy) {
  return {kube::kDeviceExposurePolicies.kind, "", policy.id.name};
}

bool is_excluded(Outcome outcome) {
  return outcome == Outcome::kExcluded || outcome == Outcome::kExcludeUnreadable ||
         outcome == Outcome::kExcludeUnknown;
}

// The report of each policy that selects the node, by its index in the set.
class Policies {
 public:
  explicit Policies(const Decision& decision) : decision_(decision) {
    const policy::PolicySet& set = *decision.inputs->policies;
    add(set.sriov, sriov_, [&](size_t at) { return unused(decision.sriov_problems, at); });
    add(set.exposures, exposures_, [&](size_t at) {
      const policy::Problem* problem = policy::selector_problem(decision, static_cast<int32_t>(at));
      return problem != nullptr ? problem : unused(decision.exposure_problems, at);
    });
    for (auto& [at, report] : exposures_)
      report.action = name_of(set.exposures[static_cast<size_t>(at)]->action);
  }

  void count(const policy::Verdict& verdict) {
    if (is_excluded(verdict.outcome)) return count(exposures_, verdict.exposure, verdict.outcome);
    if (verdict.policy >= 0) count(sriov_, verdict.policy, verdict.outcome);
  }
  void count(const policy::PersonaVerdict& persona) { count(exposures_, persona.policy, persona.outcome); }

  void tell(const OverruledPolicies& overruled) {
    tell(overruled.sriov, sriov_);
    tell(overruled.exposures, exposures_);
  }

  void move_to(NodeReport& out) {
    for (auto* all : {&sriov_, &exposures_})
      for (auto& [at, report] : *all)
        if (out.policies.size() < kPoliciesMax)
          out.policies.push_back(std::move(report));
        else
          ++out.left_out.policies;
  }

 private:
  using ByIndex = std::map<int32_t, PolicyReport>;

  static const policy::Problem* unused(const std::map<int32_t, policy::Problem>& problems, size_t at) {
    const auto found = problems.find(static_cast<int32_t>(at));
    return found == problems.end() ? nullptr : &found->second;
  }

  static policy::Problems problems_in(const policy::SriovPolicy& policy) { return problems_of(policy); }
  static const policy::Problems& problems_in(const policy::ExposurePolicy& policy) { return policy.problems; }

  template <class All, class Unused>
  void add(const All& all, ByIndex& into, Unused unused_because) {
    for (size_t at = 0; at < all.size(); ++at) {
      const auto& policy = *all[at];
      if (!kube::match_node(policy.node_selector, decision_.inputs->node).matched) continue;
      PolicyReport report{.policy = ref_of(policy), .generation = policy.generation, .action = "expose"};
      const auto& problems = problems_in(policy);
      const policy::Problem* problem = problems.empty() ? unused_because(at) : &problems.front();
      if (problem != nullptr)
        report.problem = problem->field + (problem->field.empty() ? "" : ": ") + problem->what;
      report.more_problems = problems.empty() ? 0 : static_cast<int64_t>(problems.size()) - 1;
      into.emplace(static_cast<int32_t>(at), std::move(report));
    }
  }

  static void count(ByIndex& policies, int32_t index, Outcome outcome) {
    const auto at = policies.find(index);
    if (at == policies.end()) return;
    ++at->second.matched;
    if (outcome == Outcome::kOffered)
      ++at->second.offered;
    else
      ++at->second.hidden[std::string(name_of(outcome))];
  }

  static void tell(const std::map<int32_t, Overruled>& overruled, ByIndex& policies) {
    for (const auto& [at, one] : overruled) {
      const auto loser = policies.find(at);
      const auto most = std::ranges::max_element(one.by, {}, [](const auto& by) { return by.second; });
      const auto winner = most == one.by.end() ? policies.end() : policies.find(most->first);
      if (loser == policies.end() || winner == policies.end()) continue;
      const PolicyRef& by = winner->second.policy;
      loser->second.overruled = one.devices;
      loser->second.overruled_by = (by.namespace_.empty() ? "" : by.namespace_ + "/") + by.name;
    }
  }

  const Decision& decision_;
  ByIndex sriov_, exposures_;
};

// ---- groups

std::vector<PolicyVerdict> verdicts_of(const Decision& decision, const HostDevice& device) {
  std::vector<PolicyVerdict> out;
  const policy::PolicySet& set = *decision.inputs->policies;
  const std::string& id = device.id.text;
  const policy::Verdict& verdict = decision.verdicts.at(id);
  const auto refusal = decision.refusals.find(id);
  PolicyVerdict first{.outcome = std::string(name_of(verdict.outcome)),
                      .why = refusal != decision.refusals.end() ? refusal->second : device.broken};
  if (is_excluded(verdict.outcome) && verdict.exposure >= 0)
    first.policy = ref_of(*set.exposures[static_cast<size_t>(verdict.exposure)]);
  else if (const int32_t by = std::max(verdict.policy, verdict.may_offer); by >= 0)
    first.policy = ref_of(*set.sriov[static_cast<size_t>(by)]);
  const auto personas = decision.personas.find(id);
  const bool has_personas = personas != decision.personas.end() && !personas->second.empty();
  if (!first.policy.kind.empty() || !has_personas) out.push_back(std::move(first));
  if (!has_personas) return out;
  for (const policy::PersonaVerdict& persona : personas->second)
    out.push_back(
        {persona.policy < 0 ? PolicyRef{} : ref_of(*set.exposures[static_cast<size_t>(persona.policy)]),
         std::string(name_of(persona.outcome)), persona.why});
  return out;
}

// "ens1f0v" of the interface "ens1f0v3" of VF 3.
void tell_interface(const HostDevice& device, DeviceGroup& out) {
  if (!device.netdev) return;
  out.mtu = device.netdev->mtu;
  out.master = device.netdev->master;
  if (out.link_type.empty()) out.link_type = policy::text_of_link_type(device.netdev->link_type);
  const std::string& name = device.netdev->name;
  const std::string number = device.vf_index ? std::to_string(*device.vf_index) : "";
  if (number.empty())
    out.interface = name;
  else if (name.size() > number.size() && name.ends_with(number))
    out.interface_base = name.substr(0, name.size() - number.size());
  else
    out.named_otherwise = true;
}

bool is_vf_of_pf(const HostDevice& device) {
  return device.type == DeviceType::kVf && device.pf && device.vf_index && device.pci;
}

DeviceGroup group_of(const Decision& decision, const HostDevice& device) {
  DeviceGroup out{.type = std::string(name_of(device.type)),
                  .pf = device.pf ? device.pf->text() : "",
                  .pf_name = device.pf_name,
                  .pci_address = device.pci ? device.pci->text() : "",
                  .vendor = device.vendor,
                  .product = device.product,
                  .subsystem_vendor = device.subsystem_vendor,
                  .subsystem_product = device.subsystem_product,
                  .driver = device.driver,
                  .link_type = std::string(policy::text_of_link_type(device.pf_link_type)),
                  .eswitch_mode = device.eswitch_mode,
                  .pf_product = device.pf_product,
                  .numa_node = device.numa_node,
                  .total_vfs = device.total_vfs,
                  .num_vfs = device.num_vfs,
                  .rdma = !device.rdma_device.empty(),
                  .host_use = device.host_use,
                  .disposition = std::string(name_of(policy::disposition_of(decision, device.id.text))),
                  .verdicts = verdicts_of(decision, device)};
  if (is_vf_of_pf(device)) out.vfs = {{*device.vf_index, *device.vf_index}};
  tell_interface(device, out);
  return out;
}

// Returns all facts that distinguish groups, except number, address and the text of a reason.
auto key_of(const DeviceGroup& group) {
  std::vector<std::string> verdicts;
  for (const PolicyVerdict& one : group.verdicts)
    verdicts.insert(verdicts.end(), {one.policy.kind, one.policy.namespace_, one.policy.name, one.outcome});
  return std::tuple{group.pf,          group.interface_base, group.named_otherwise,  group.pf_name,
                    group.vendor,      group.product,        group.subsystem_vendor, group.subsystem_product,
                    group.driver,      group.link_type,      group.pf_product,       group.numa_node,
                    group.mtu,         group.rdma,           group.master,           group.host_use,
                    group.disposition, std::move(verdicts)};
}
using Key = decltype(key_of(DeviceGroup{}));

int routing_id(const DeviceGroup& group) {
  const auto address = hotplug::PciAddress::decode(group.pci_address);
  return address ? address->bus << 8 | address->device << 3 | address->function : 0;
}

// VFs of one key, each with its number, into as few groups as their addresses allow.
class Joiner {
 public:
  void add(DeviceGroup vf, std::vector<DeviceGroup>& out) {
    const int number = vf.vfs.front().first, id = routing_id(vf);
    if (is_begun_ && number > number_) {
      const int step = id - id_, steps = number - number_;
      const bool fits = size_ == 1 ? step > 0 && step % steps == 0 : step == steps * out[at_].stride;
      if (fits) {
        if (size_ == 1) out[at_].stride = step / steps;
        VfRange& last = out[at_].vfs.back();
        if (number == last.last + 1)
          last.last = number;
        else
          out[at_].vfs.push_back({number, number});
        number_ = number;
        id_ = id;
        ++size_;
        return;
      }
    }
    is_begun_ = true;
    number_ = number;
    id_ = id;
    size_ = 1;
    at_ = out.size();
    out.push_back(std::move(vf));
  }

 private:
  bool is_begun_ = false;
  int number_ = 0, id_ = 0;
  size_t size_ = 0, at_ = 0;
};

// Devices that are not offered first, and VFs before their PFs.
int place_of(const DeviceGroup& group) {
  constexpr Disposition kOrder[] = {Disposition::kHeldBack, Disposition::kHidden, Disposition::kUnmatched,
                                    Disposition::kOffered};
  const auto at = std::ranges::find_if(
      kOrder, [&](Disposition disposition) { return policy::name_of(disposition) == group.disposition; });
  return static_cast<int>(at - kOrder) * 2 + (group.vfs.empty() ? 1 : 0);
}

std::vector<DeviceGroup> join(std::vector<DeviceGroup> devices) {
  std::map<Key, std::vector<DeviceGroup>> by_key;
  std::vector<DeviceGroup> out;
  for (DeviceGroup& device : devices)
    if (device.vfs.empty())
      out.push_back(std::move(device));
    else
      by_key[key_of(device)].push_back(std::move(device));
  for (auto& [key, vfs] : by_key) {
    std::ranges::sort(vfs, {}, [](const DeviceGroup& vf) { return vf.vfs.front().first; });
    Joiner joiner;
    for (DeviceGroup& vf : vfs) joiner.add(std::move(vf), out);
  }
  // A group of one has a name of its own.
  for (DeviceGroup& group : out)
    if (device_count(group) == 1 && !group.interface_base.empty())
      group.interface = std::exchange(group.interface_base, {}) + text_of(group.vfs);
  std::ranges::stable_sort(out, {}, [](const DeviceGroup& group) {
    return std::tuple{place_of(group), group.pf, group.pci_address, group.interface};
  });
  return out;
}

void count_disposition(Disposition disposition, NodeReport& out) {
  ++out.devices;
  ++(disposition == Disposition::kOffered    ? out.offered
     : disposition == Disposition::kHidden   ? out.hidden
     : disposition == Disposition::kHeldBack ? out.held_back
                                             : out.unmatched);
}

}  // namespace

void fill_report(const policy::Decision& decision, NodeReport& out) {
  Policies policies(decision);
  std::vector<DeviceGroup> devices;
  for (const auto& [id, verdict] : decision.verdicts) {
    const hotplug::HostDevice* device = decision.inputs->inventory->find(id);
    if (device == nullptr) continue;
    const policy::Disposition disposition = policy::disposition_of(decision, id);
    if (device->type == hotplug::DeviceType::kVirtual && disposition != policy::Disposition::kOffered &&
        disposition != policy::Disposition::kHeldBack)
      continue;
    count_disposition(disposition, out);
    ++out.sriov[std::string(name_of(verdict.outcome))];
    policies.count(verdict);
    if (const auto personas = decision.personas.find(id); personas != decision.personas.end())
      for (const policy::PersonaVerdict& persona : personas->second) {
        ++out.exposure[std::string(name_of(persona.outcome))];
        policies.count(persona);
      }
    devices.push_back(group_of(decision, *device));
  }
  policies.tell(overruled_in(decision));
  policies.move_to(out);
  out.groups = join(std::move(devices));
}

}  // namespace sliced::reports
