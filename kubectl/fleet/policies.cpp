#include <limits>
#include <map>
#include <set>

#include "cli/read_file.h"
#include "cli/show.h"
#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "kubectl/commands.h"
#include "kubectl/fleet/ask_cluster.h"
#include "kubectl/fleet/fleet_policies.h"
#include "kubectl/fleet/fleet_reading.h"
#include "kubectl/fleet/policy_tables.h"
#include "kubectl/page/questions.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

// "ns/name" and "name" are the same policy's.
bool is_named(const reports::PolicyRef& policy, const std::string& name) {
  return policy.name == name || policy.namespace_ + "/" + policy.name == name;
}

Result<FleetPolicies> edited_by_file(const std::string& file, const FleetPolicies& now) {
  const auto text = cli::read_whole(file, kube::JsonLimits{}.size_max);
  if (!text) return Error{text.error().code, file + ": " + text.error().what};
  auto edited = edited_by(*text, now);
  if (!edited) return Error{edited.error().code, file + ":" + edited.error().what};
  if (edited->changed_since(now).empty())
    daemon::print_error(file + ": equals the objects in the cluster: nothing would change");
  return edited;
}

// Applies the edit of the options.
Result<FleetPolicies> edited_policies(const config::Options& options, const FleetPolicies& now) {
  if (options.diff_delete.empty()) return edited_by_file(options.diff_file, now);
  auto left = without(options.diff_delete, now);
  if (!left || options.diff_file.empty()) return left;
  auto edited = edited_by_file(options.diff_file, now);
  if (!edited) return edited;
  // A policy that is both edited and deleted would be created again, which is not intended.
  const auto deleted = left->changed_since(now);
  for (const std::string& name : edited->changed_since(now))
    if (deleted.contains(name))
      return Error{Errc::kInvalid, "--diff-delete: " + name + " is in " + options.diff_file +
                                       ", too; leave it out of one of them"};
  return edited_by_file(options.diff_file, *left);
}

// Returns whether an edit concerns the node: a policy of it selects the node, before or after.
bool is_concerned(const kube::NodeView& node, const std::set<std::string>& changed,
                  const policy::PolicySet& before, const policy::PolicySet& after) {
  for (const auto& attributes : after.attributes)
    if (changed.contains(text_of(policy::SriovPolicy::Id{attributes->id.namespace_, attributes->id.name})))
      return true;
  for (const policy::PolicySet* set : {&before, &after})
    for (const reports::PolicyRef& policy : policies_selecting(*set, node))
      if (changed.contains(policy.namespace_.empty() ? policy.name : policy.namespace_ + "/" + policy.name))
        return true;
  return false;
}

// Returns the bytes of its texts; its JSON is longer.
size_t bytes_of(const EntryChange& change) {
  size_t out = change.driver.size() + change.name.size() + change.device.size() + change.before.size() +
               change.after.size();
  for (const std::string& one : change.attributes) out += one.size();
  for (const std::string& one : change.claims) out += one.size();
  return out;
}

class Differing {
 public:
  /// knows_nodes: their labels are known. unlisted: kinds of policies that may not be listed. bytes_max: for
  /// the texts of changes; further ones are dropped.
  Differing(const FleetPolicies& now, const FleetPolicies& edited, bool knows_nodes,
            std::set<std::string> unlisted, size_t bytes_max)
      : bytes_max_(bytes_max),
        drivers_(now.drivers()),
        knows_nodes_(knows_nodes),
        unlisted_(std::move(unlisted)),
        before_(now.set()),
        after_(edited.set()),
        changed_(edited.changed_since(now)),
        unreported_(unreported_facts(*after_, changed_)) {
    for (std::string& one : unreported_facts(*before_, changed_)) unreported_.push_back(std::move(one));
  }
  void add(const kube::NodeView& node, const reports::NodeReport* report, std::string_view why_none) {
    NodePolicies its{before_, after_, ""};
    if (is_too_large()) return;
    if (!knows_nodes_ && report != nullptr) its = policies_without_labels(*before_, *after_, *report);
    if (its.why_not.empty() && !is_concerned(node, changed_, *its.before, *its.after)) {
      ++out_.same;
      return;
    }
    if (report == nullptr) {
      out_.unjudged[node.name] = why_none;
      return;
    }
    std::string why = its.why_not;
    if (why.empty()) why = missing_for_edit(unlisted_, *report, *its.before, *its.after, node);
    const JudgedNode before = judge_node(*report, node, its.before, drivers_);
    if (why.empty()) why = cannot_be_judged(*report, node, *its.before, before);
    if (why.empty() && !unreported_.empty()) why = unreported_.front() + ", which reports do not have";
    for (const policy::PolicySet* set : {&*after_, &*before_})
      if (why.empty()) why = unreported_facts_of(*report, *set, changed_);
    if (!why.empty()) {
      out_.unjudged[node.name] = std::move(why);
      return;
    }
    JudgedNode after = judge_node(*report, node, its.after, drivers_, &before);
    std::erase_if(after.problems,
                  [&](const std::string& problem) { return before.problems.contains(problem); });
    if (problems_.size() < kUnreadMax) problems_.merge(after.problems);
    auto changes = entry_changes(before, after);
    for (const EntryChange& change : changes) bytes_ += bytes_of(change);
    if (changes.empty())
      ++out_.same;
    else if (!is_too_large())
      out_.changes[node.name] = std::move(changes);
  }
  const FleetDiff& diff() const { return out_; }
  bool is_too_large() const { return bytes_ > bytes_max_; }
  /// Adds the holders of devices that would disappear.
  void add_claims(const Fleet& claims) {
    const auto held = claims.held_entries();
    for (auto& [node, changes] : out_.changes) {
      const auto of_node = held.find(node);
      if (of_node == held.end()) continue;
      for (EntryChange& change : changes)
        if (const auto at = of_node->second.find({change.driver, change.name});
            change.what == '-' && at != of_node->second.end())
          change.claims = at->second;
    }
  }
  void set_knows_claims(bool knows) { out_.knows_claims = knows; }
  /// Problems of the edit, found by evaluating its selectors for nodes.
  const std::set<std::string>& problems() const { return problems_; }

 private:
  const size_t bytes_max_;
  size_t bytes_ = 0;
  const FleetDrivers drivers_;
  const bool knows_nodes_;
  const std::set<std::string> unlisted_;
  const policy::PolicySetPtr before_, after_;
  const std::set<std::string> changed_;
  std::vector<std::string> unreported_;
  FleetDiff out_;
  std::set<std::string> problems_;
};

// The inputs of `policies`.
struct PolicyReading {
  std::map<std::string, FleetPolicies> others =
      {};  // SriovResourcePolicies of other namespaces (-A), by namespace
  bool knows_nodes = true;
  std::set<std::string> unlisted;  // kinds of policies
};

Error too_large_for_page() { return {Errc::kTooLarge, kEditTooLarge}; }

Result<CommandOutput> write_diff(ClusterObjects& objects, const config::Options& options,
                                 const FleetPolicies& policies, const NodeViews& nodes,
                                 const PolicyReading& reading, std::vector<std::string>& unread,
                                 size_t bytes_max) {
  const auto edited = edited_policies(options, policies);
  if (!edited) return edited.error();
  for (const std::string& problem : edited->problems()) daemon::print_error(problem);
  Differing differing(policies, *edited, reading.knows_nodes, reading.unlisted, bytes_max);
  auto visited = visit_nodes(objects, reading.knows_nodes ? &nodes : nullptr, unread,
                             [&](const auto& node, const auto* report, std::string_view why_none) {
                               differing.add(node, report, why_none);
                             });
  if (!visited) return visited.error();
  if (differing.is_too_large()) return too_large_for_page();
  Fleet claims({options.sriov_driver_name, options.exposure_driver_name});
  const auto read = read_claims(objects, claims, unread);
  if (!read && read.error().code != Errc::kDenied) return read.error();
  if (!read) unread.push_back("which of the devices are allocated is unknown: " + read.error().what);
  differing.set_knows_claims(read.ok());
  differing.add_claims(claims);
  for (const std::string& problem : differing.problems()) daemon::print_error(problem);
  const FleetDiff& diff = differing.diff();
  // An object that cannot be decoded may be a policy, or an unjudged node.
  const bool is_same = diff.changes.empty() && diff.unjudged.empty() && unread.empty();
  CommandOutput output{is_for_people(options) ? diff_text(diff, style_of(options))
                                              : cli::formatted(json_of(diff), options.output),
                       is_same ? daemon::kExitSame : daemon::kExitChanges};
  if (output.text.size() > bytes_max) return too_large_for_page();
  return output;
}

Result<CommandOutput> write_policies(ClusterObjects& objects, const config::Options& options,
                                     const FleetPolicies& policies, const NodeViews& nodes,
                                     const PolicyReading& reading, std::vector<std::string>& unread) {
  Fleet fleet({});
  if (auto leases = read_leases(objects, options.namespace_, fleet, unread); !leases) return leases.error();
  PolicyCounts counts(policies, [&](const std::string& node) { return fleet.silent_for(node); });
  counts.set_knows_nodes(reading.knows_nodes);
  for (const std::string& kind : reading.unlisted) counts.set_unlisted(kind);
  const std::string name = options.arguments.empty() ? "" : options.arguments[0];
  std::vector<reports::PolicyRef> named;
  for (const PolicyRow& row : counts.rows())
    if (!name.empty() && is_named(row.policy, name)) named.push_back(row.policy);
  std::map<std::string, PolicyCounts> others;
  for (const auto& [namespace_, theirs] : reading.others)
    others.emplace(namespace_, PolicyCounts(theirs)).first->second.set_knows_nodes(false);
  auto visited = visit_nodes(objects, reading.knows_nodes ? &nodes : nullptr, unread,
                             [&](const auto& node, const auto* report, auto) {
                               counts.add(node, report);
                               for (auto& [namespace_, theirs] : others) theirs.add(node, report);
                               if (report == nullptr || !reading.knows_nodes || !reading.unlisted.empty())
                                 return;
                               for (const reports::PolicyRef& policy : named)
                                 counts.add_precedence(node, *report, policy);
                             });
  if (!visited) return visited.error();
  auto rows = counts.rows();
  for (const auto& [namespace_, theirs] : others)
    for (PolicyRow& row : theirs.rows_of_another_namespace()) rows.push_back(std::move(row));
  if (!name.empty()) std::erase_if(rows, [&](const PolicyRow& row) { return !is_named(row.policy, name); });
  if (!name.empty() && rows.empty())
    return Error{Errc::kNotFound,
                 "there is no policy " + escaped(name) +
                     (options.all_namespaces ? std::string()
                                             : "; SriovResourcePolicies are those of namespace " +
                                                   options.namespace_ + " (-A: of every one)")};
  if (!is_for_people(options)) return CommandOutput{cli::formatted(json_of(rows), options.output)};
  if (name.empty()) return CommandOutput{policies_text(rows, style_of(options))};
  std::string text;
  for (const PolicyRow& row : rows) text += policy_text(row, style_of(options));
  return CommandOutput{std::move(text)};
}

// Reads policies of other namespaces; those of the requested one are read as usual.
Result<Unit> read_others(ClusterObjects& objects, const config::Options& options, PolicyReading& reading,
                         std::vector<std::string>& unread) {
  auto listed = objects.list(
      kube::kSriovResourcePolicies, "",
      {.on_object =
           [&](const kube::Json& object) {
             const auto meta = kube::decode_object_meta(object);
             if (!meta || meta->namespace_ == options.namespace_) return;
             reading.others
                 .try_emplace(meta->namespace_,
                              FleetDrivers{options.sriov_driver_name, options.exposure_driver_name},
                              meta->namespace_)
                 .first->second.put(object);
           },
       .on_bad = [&](std::string what) { unread.push_back(std::move(what)); },
       .on_restart = [&] { reading.others.clear(); }});
  if (!listed && listed.error().code == Errc::kDenied) {
    unread.push_back("SriovResourcePolicies of other namespaces are unknown: " + listed.error().what);
    return Unit{};
  }
  return !listed && listed.error().code == Errc::kNotFound ? Result<Unit>(Unit{}) : std::move(listed);
}

// Without permission to list nodes or a kind of policies, compares the nodes whose reports contain enough.
// diff_bytes_max: of the answer to --diff.
Result<CommandOutput> read_and_write(ClusterObjects& objects, const config::Options& options,
                                     std::vector<std::string>& unread, size_t diff_bytes_max) {
  FleetPolicies policies({options.sriov_driver_name, options.exposure_driver_name}, options.namespace_);
  const bool is_diff = !options.diff_file.empty() || !options.diff_delete.empty();
  if (is_diff && options.all_namespaces)
    return Error{
        Errc::kInvalid,
        "--all-namespaces: is not for --diff and --diff-delete, which are of the namespace that daemons "
        "read (--namespace)"};
  PolicyReading reading;
  if (options.all_namespaces)
    if (auto others = read_others(objects, options, reading, unread); !others) return others.error();
  auto read = read_policies(objects, options.namespace_, policies, unread, &reading.unlisted);
  if (!read) return read.error();
  NodeViews nodes;
  auto listed = read_node_views(objects, nodes, unread);
  if (!listed && listed.error().code != Errc::kDenied) return listed.error();
  reading.knows_nodes = listed.ok();
  if (!listed && is_diff)
    unread.push_back("nodes without a report are unknown, and labels of all: " + listed.error().what);
  if (is_diff) return write_diff(objects, options, policies, nodes, reading, unread, diff_bytes_max);
  if (!listed) unread.push_back("NODES is unknown, and nodes without a report are: " + listed.error().what);
  return write_policies(objects, options, policies, nodes, reading, unread);
}

Result<CommandOutput> tell(ClusterObjects& objects, const config::Options& options, size_t diff_bytes_max) {
  std::vector<std::string> unread;
  auto output = read_and_write(objects, options, unread, diff_bytes_max);
  print_unread(unread);
  return output;
}

}  // namespace

int policies(const config::Options& options) {
  constexpr size_t kNoBound = std::numeric_limits<size_t>::max();
  return ask_cluster(options, [&](ClusterObjects& objects) { return tell(objects, options, kNoBound); });
}

CommandResult answer_edit(const config::Options& given, const IsCancelled& is_cancelled, size_t bytes_max) {
  config::Options options = given;
  options.command = config::Command::kPolicies;
  options.output = config::OutputFormat::kJson;
  return run_with_cluster(options, is_cancelled,
                          [&](ClusterObjects& objects) { return tell(objects, options, bytes_max); });
}

}  // namespace sliced::kubectl
