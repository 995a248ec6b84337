#include "kubectl/why/why_page.h"

#include <algorithm>
#include <map>
#include <set>

#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

using kube::Json;
using why::Answer;
using why::Change;
using why::Claim;
using why::NodeAnswer;
using why::Request;
using why::RequestGroup;
using why::RequestView;
using why::SearchResult;
using why::Verdict;

// Joins the lines of an expression, so that foreign text never begins a line.
std::string in_one_line(std::string_view text) {
  std::string out;
  for (const std::string_view part : split(text, '\n')) {
    if (out.empty())
      out = part;
    else if (const std::string_view rest = trim(part); !rest.empty())
      out.append(" ").append(rest);
  }
  return out;
}
std::string plain(const std::string& text) { return printable(in_one_line(text), 2000); }

std::string number(size_t n, const std::string& of) {
  return std::to_string(n) + " " + of + (n == 1 ? "" : "s");
}

// ---- the claims

std::string wanted_of(const RequestView& view) { return view.all ? "all" : std::to_string(view.wanted); }

// Prints a line for each.
void tell_of_request(const Answer& answer, const RequestGroup& group, const Request& request,
                     std::vector<std::string>& out) {
  out.push_back("  request " + why::request_id(group, request) + ": " + why::describe_count(request) +
                " of class " + request.device_class + (request.admin_access ? ", with admin access" : "") +
                (request.source.empty() ? "" : " (" + request.source + ")"));
  for (const auto& one : answer.classes)
    if (one.name == request.device_class)
      for (const std::string& selector : one.selectors) out.push_back("    class: " + selector);
  for (const std::string& selector : request.selectors) out.push_back("    request: " + selector);
  for (const auto& [key, amount] : request.capacity)
    out.push_back("    capacity: " + amount.text() + " of " + key);
}

void tell_of_claim(const Answer& answer, const Claim& claim, std::vector<std::string>& out) {
  const std::string who = "claim " + claim.id();
  if (claim.allocation) {
    std::vector<std::string> devices;
    for (const auto& one : claim.allocation->devices)
      devices.push_back(one.driver + "/" + one.pool + "/" + one.device);
    out.push_back(who + " is allocated: " + join(devices, ", ") +
                  (claim.users.empty() ? "" : "; used by pod " + join(claim.users, ", ")));
    return;
  }
  out.push_back(who + (claim.is_extended ? " is created by the scheduler for the pod's extended resources"
                       : claim.is_made   ? " is not allocated"
                                         : " does not exist yet"));
  for (const RequestGroup& group : claim.requests)
    for (const Request& request : group.alternatives) tell_of_request(answer, group, request, out);
  for (const auto& constraint : claim.constraints)
    out.push_back(std::string("  constraint: ") +
                  (constraint.is_distinct ? "distinctAttribute " : "matchAttribute ") + constraint.attribute +
                  (constraint.requests.empty() ? "" : " of requests " + join(constraint.requests, ", ")));
}

// ---- the nodes

std::string holders_text(const RequestView& view) {
  std::vector<std::string> parts;
  for (const auto& [claim, devices] : view.holders) {
    if (parts.size() == 5) {
      parts.push_back("and " + std::to_string(view.holders.size() - 5) + " more claims");
      break;
    }
    parts.push_back(claim + (devices > 1 ? ": " + std::to_string(devices) : ""));
  }
  return join(parts, ", ");
}

// Returns why the request lacks devices: the obstacles of the closest other ones.
std::string why_of(const RequestView& view) {
  if (!view.all && static_cast<int64_t>(view.free) >= view.wanted) return "";
  if (view.all && view.free == view.matching && view.free > 0) return "";
  if (view.devices == 0) return "no device is published for the node";
  std::vector<std::string> parts;
  for (const auto& group : view.obstacles) {
    // If devices match, those that do not are omitted.
    if (view.matching > 0 && group.obstacle < why::Obstacle::kHeld) continue;
    if (group.obstacle == why::Obstacle::kHeld) {
      parts.push_back("allocated: " + holders_text(view));
      continue;
    }
    parts.push_back((group.devices > 1 ? std::to_string(group.devices) + " devices, such as " : "") +
                    group.device + ": " + group.what);
    if (view.matching == 0) break;
  }
  if (parts.empty() && view.matching > 0 && !view.all && static_cast<int64_t>(view.free) < view.wanted)
    parts.push_back("only " + number(view.free, "device") + " for " + std::to_string(view.wanted));
  return join(parts, "; ");
}

std::string why_of_node(const NodeAnswer& node) {
  if (!node.kept_away.empty()) return node.kept_away;
  if (node.found == SearchResult::kYes) return "can be allocated";
  if (node.found == SearchResult::kUnsure)
    return "not known: " + (node.unsure.empty() ? "too many combinations" : node.unsure);
  if (node.found == SearchResult::kError) {
    // The request's line already names the failure and the suggestion.
    const bool is_said = std::any_of(node.requests.begin(), node.requests.end(), [](const RequestView& view) {
      return view.matching == 0 &&
             std::any_of(view.obstacles.begin(), view.obstacles.end(),
                         [](const auto& one) { return one.obstacle == why::Obstacle::kError; });
    });
    return is_said ? "an error" : "an error: " + node.error;
  }
  return "";
}

std::vector<std::vector<std::string>> rows_of(const NodeAnswer& node) {
  std::vector<std::vector<std::string>> rows;
  std::string first = why_of_node(node);
  bool is_said = !first.empty();
  for (const RequestView& view : node.requests) {
    std::string why = node.found == SearchResult::kYes ? "" : why_of(view);
    is_said |= !why.empty();
    rows.push_back({node.name, view.request, wanted_of(view), std::to_string(view.matching),
                    std::to_string(view.allocated), std::to_string(view.free),
                    in_one_line(first.empty() ? why : first + (why.empty() ? "" : "; " + why))});
    first.clear();
  }
  if (rows.empty()) rows.push_back({node.name, "", "", "", "", "", in_one_line(first)});
  std::vector<std::string> together = node.clashes;
  if (!node.exclusion.empty()) together.push_back(node.exclusion);
  if (!together.empty() && node.found == SearchResult::kNo && node.kept_away.empty()) {
    std::string& last = rows.back().back();
    last += (last.empty() ? "" : "; ") + in_one_line(join(together, "; "));
    is_said = true;
  }
  if (!is_said)
    rows.back().back() = node.requests.size() == 1
                             ? "enough devices are free, but they cannot be allocated together"
                             : "each request alone has enough devices, but not all together";
  for (const std::string& pool : node.pools) rows.push_back({node.name, "", "", "", "", "", pool});
  return rows;
}

// Sorts nodes: those where the pod can run first, then by the number of missing devices.
std::vector<const NodeAnswer*> in_order(const Answer& answer) {
  std::vector<const NodeAnswer*> out;
  for (const NodeAnswer& node : answer.nodes) out.push_back(&node);
  const auto rank = [](const NodeAnswer* node) {
    return std::tuple(!node->can_run(), !node->kept_away.empty(), !node->changes.is_known,
                      node->changes.all.size());
  };
  std::stable_sort(out.begin(), out.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return out;
}

// Nodes with equal texts, apart from their own names.
struct NodeGroup {
  std::vector<std::string> nodes;
  std::vector<std::vector<std::string>> rows;  // of the first
};

std::string without_name(std::string text, const std::string& name) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;) text.replace(at, name.size(), "\x01");
  return text;
}

std::vector<NodeGroup> grouped(const Answer& answer) {
  std::vector<NodeGroup> out;
  std::map<std::string, size_t> places;
  for (const NodeAnswer* node : in_order(answer)) {
    auto rows = rows_of(*node);
    std::string key;
    for (const auto& row : rows) key += without_name(join(row, "\x02"), node->name) + "\x03";
    const auto [at, is_new] = places.emplace(std::move(key), out.size());
    if (is_new) out.push_back({{}, std::move(rows)});
    out[at->second].nodes.push_back(node->name);
  }
  return out;
}

// "worker-1, worker-2, worker-3 and 27 more nodes".
std::string names_of(std::vector<std::string> nodes, size_t names_max) {
  const size_t more = nodes.size() > names_max ? nodes.size() - names_max : 0;
  nodes.resize(nodes.size() - more);
  return join(nodes, ", ") + (more > 0 ? " " + and_more(more, "node") : "");
}

std::string nodes_text(const Answer& answer, size_t rows_max) {
  std::vector<std::vector<std::string>> rows;
  size_t left_out = 0;
  const auto groups = grouped(answer);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i >= rows_max) {
      left_out += groups[i].nodes.size();
      continue;
    }
    for (auto row : groups[i].rows) {
      row[0] = names_of(groups[i].nodes, 3);
      rows.push_back(std::move(row));
    }
  }
  std::string out = table({"NODE", "REQUEST", "WANTED", "MATCH", "ALLOCATED", "FREE", "WHY"}, rows);
  if (left_out > 0) out += and_more(left_out, "node") + "\n";
  return out;
}

// Returns all obstacles by node; nodes with equal ones are grouped.
std::string changes_text(const Answer& answer, size_t nodes_max) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const NodeAnswer* node : in_order(answer)) {
    if (!node->kept_away.empty() || node->changes_text.empty()) continue;
    std::string text;
    for (const std::string& change : node->changes_text) text += "    - " + plain(change) + "\n";
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == text; });
    if (same != groups.end())
      same->second.push_back(node->name);
    else if (groups.size() < nodes_max)
      groups.emplace_back(std::move(text), std::vector<std::string>{node->name});
  }
  std::string out;
  for (auto& [text, nodes] : groups) out += "  on " + plain(names_of(std::move(nodes), 5)) + ":\n" + text;
  return out.empty() ? "" : "To run there, all of these must change:\n" + out;
}

// For a request that asks for more of a capacity than any device gives one claim, on all nodes with matching
// devices.
std::string over_most_text(const Answer& answer) {
  struct Sum {
    size_t matching = 0;
    std::map<std::string, RequestView::OverMost> over;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const NodeAnswer& node : answer.nodes)
    for (const RequestView& view : node.requests) {
      if (!node.kept_away.empty()) continue;
      Sum& sum = sums[{view.claim, view.request}];
      sum.matching += view.matching;
      for (const auto& [key, over] : view.over_most) {
        sum.over[key].devices += over.devices;
        sum.over[key].most = std::max(sum.over[key].most, over.most);
      }
    }
  for (const Claim& claim : answer.claims)
    for (const RequestGroup& group : claim.requests)
      for (const Request& request : group.alternatives) {
        if (group.is_list) continue;
        const auto sum = sums.find({claim.id(), why::request_id(group, request)});
        if (sum == sums.end()) continue;
        for (const auto& [key, over] : sum->second.over) {
          const auto amount = request.capacity.find(key);
          if (over.devices == 0 || over.devices != sum->second.matching || amount == request.capacity.end())
            continue;
          return "request " + request.name + " asks for " + amount->second.text() + " of capacity " + key +
                 ", and no device gives one claim more than " + why::describe(over.most);
        }
      }
  return "";
}

// A constraint that cannot be met on any node that the pod may go to.
std::string clash_text(const Answer& answer) {
  const NodeAnswer* first = nullptr;
  size_t nodes = 0;
  for (const NodeAnswer& node : answer.nodes) {
    if (!node.kept_away.empty()) continue;
    if (node.clashes.empty() || node.found != SearchResult::kNo) {
      if (std::any_of(node.requests.begin(), node.requests.end(),
                      [](const RequestView& view) { return view.matching > 0; }))
        return "";
      continue;
    }
    ++nodes;
    if (first == nullptr) first = &node;
  }
  if (first == nullptr) return "";
  return first->clashes.front() + (nodes > 1 ? " (on " + first->name + ")" : "");
}

// No node to which the pod may go has a device for one of the requests.
bool is_nothing_matched(const Answer& answer) {
  std::map<std::pair<std::string, std::string>, size_t> matching;
  for (const NodeAnswer& node : answer.nodes)
    for (const RequestView& view : node.requests)
      if (node.kept_away.empty()) matching[{view.claim, view.request}] += view.matching;
  return std::any_of(matching.begin(), matching.end(), [](const auto& one) { return one.second == 0; });
}

// A pool whose devices the scheduler does not use, on a node to which the pod may go.
std::string unusable_pool_text(const Answer& answer) {
  for (const NodeAnswer& node : answer.nodes)
    if (node.kept_away.empty() && !node.pools.empty())
      return "; " + node.pools.front() + ", so the scheduler does not use its devices";
  return "";
}

// For requests that all have enough devices on some node, and no node has enough for all of them.
std::string together_text(const Answer& answer) {
  constexpr size_t kNodesMax = 3;
  std::vector<std::string> lacks;
  size_t nodes = 0;
  for (const NodeAnswer& node : answer.nodes) {
    if (!node.kept_away.empty()) continue;
    if (node.found != SearchResult::kNo || node.requests.empty()) return "";
    const std::set<std::string> lacking = why::lacking_requests(node);
    if (lacking.empty() && node.clashes.empty()) {
      const std::string others = answer.nodes.size() > 1 ? ", and no other node has enough" : "";
      if (!node.exclusion.empty()) return node.exclusion + (others.empty() ? "" : " (on " + node.name + ")");
      if (node.requests.size() == 1)
        return "request " + node.requests.front().request + " has enough free devices on " + node.name +
               ", but they cannot be allocated together" + others;
      return "each of its requests alone has enough devices on " + node.name + ", but not all together" +
             others;
    }
    if (lacking.empty()) return "";
    std::vector<std::string> names;
    for (const std::string& one : lacking) names.push_back(one.substr(one.find(", ") + 2));
    if (++nodes <= kNodesMax) lacks.push_back(node.name + " has too few devices for " + join(names, ", "));
  }
  if (nodes < 2) return "";
  return "no node has devices for all its requests: " + join(lacks, ", ") +
         (nodes > kNodesMax ? ", and " + number(nodes - kNodesMax, "more node") : "");
}

std::string pending_text(const Answer& answer);

// For claims that are allocated already: the pod can run only where their devices are.
std::string allocated_elsewhere_text(const Answer& answer) {
  struct Home {
    std::vector<std::string> nodes;
    std::string remedy;
  };
  std::map<std::string, Home> homes;  // by claim
  for (const NodeAnswer& node : answer.nodes)
    for (const auto& one : node.elsewhere) homes[one.claim].remedy = one.remedy;
  if (homes.empty()) return "";
  Answer there = answer;
  std::erase_if(there.nodes, [](const NodeAnswer& node) { return !node.elsewhere.empty(); });
  std::vector<std::string> parts;
  std::string remedy;
  for (auto& [claim, home] : homes) {
    for (const NodeAnswer& node : answer.nodes)
      if (std::none_of(node.elsewhere.begin(), node.elsewhere.end(),
                       [&, &id = claim](const auto& one) { return one.claim == id; }))
        home.nodes.push_back(node.name);
    parts.push_back("claim " + claim + " is allocated for " +
                    (home.nodes.empty() ? "no node that exists" : names_of(home.nodes, 3) + " only"));
    if (remedy.empty()) remedy = home.remedy;
  }
  const std::string claims = join(parts, ", ");
  if (there.nodes.empty()) return claims + (homes.size() > 1 ? ": no node has all of them" : "") + remedy;
  const NodeAnswer& first = there.nodes.front();
  return claims + ", where the pod cannot run: " +
         (there.nodes.size() == 1 && !first.kept_away.empty() ? first.kept_away : pending_text(there)) +
         remedy;
}

// The devices of a request on all nodes to which the pod may go.
struct Supply {
  size_t most_free = 0, most_matching = 0, matching = 0;
  std::map<std::string, size_t> used_up;  // devices by capacity
  const NodeAnswer* best = nullptr;       // has the most free devices, then the most that match
  const RequestView* best_view = nullptr;
  bool is_short = true;  // on each node
};
Supply supply_of(const Answer& answer, const RequestView& of) {
  Supply out;
  for (const NodeAnswer& node : answer.nodes) {
    if (!node.kept_away.empty()) continue;
    const auto view = std::find_if(node.requests.begin(), node.requests.end(), [&](const auto& one) {
      return one.claim == of.claim && one.request == of.request;
    });
    // Nodes may leave an extended resource to device plugins.
    out.is_short &= view != node.requests.end() && (of.all ? view->free < view->matching || view->free == 0
                                                           : static_cast<int64_t>(view->free) < of.wanted);
    if (view == node.requests.end()) continue;
    out.most_matching = std::max(out.most_matching, view->matching);
    out.matching += view->matching;
    for (const auto& [key, devices] : view->used_up) out.used_up[key] += devices.size();
    if (out.best == nullptr ||
        std::tuple(view->free, view->matching) > std::tuple(out.best_view->free, out.best_view->matching)) {
      out.most_free = view->free;
      out.best = &node;
      out.best_view = &*view;
    }
  }
  return out;
}

// Returns ", because ...": the obstacles of matching devices, the most frequent first.
std::string because_text(const RequestView& view) {
  std::vector<const why::ObstacleGroup*> groups;
  for (const auto& group : view.obstacles)
    if (group.obstacle >= why::Obstacle::kHeld) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto* a, const auto* b) { return a->devices > b->devices; });
  std::vector<std::string> parts;
  for (const auto* group : groups)
    parts.push_back(
        group->obstacle == why::Obstacle::kHeld
            ? std::to_string(group->devices) + (group->devices == 1 ? " is" : " are") + " allocated (" +
                  holders_text(view) + ")"
            : group->device + " " + group->what +
                  (group->devices > 1 ? " (and " + number(group->devices - 1, "more device") + ")" : ""));
  return parts.empty() ? "" : ", because " + join(parts, "; ");
}

// For a request without alternatives that has too little on each node.
std::string short_request_text(const Answer& answer, const RequestView& of, const Supply& supply) {
  const std::string what = "request " + of.request + " (class " + of.device_class + ")";
  if (supply.most_matching == 0)
    return "no device on " + number(answer.nodes.size(), "node") + " matches " + what +
           unusable_pool_text(answer);
  for (const auto& [key, devices] : supply.used_up)
    if (devices == supply.matching && supply.most_free == 0)
      return "capacity " + key + " is used up: of " + number(supply.matching, "device") +
             (supply.matching == 1 ? " that matches " : " that match ") + what + ", " +
             (supply.matching == 1 ? "it has" : "all have") + " too little of it left";
  const bool is_too_many = static_cast<int64_t>(supply.most_matching) < of.wanted;
  return "no node has " + number(static_cast<size_t>(of.wanted), "free device") + " for " + what +
         "; the most is " + std::to_string(supply.most_free) +
         (supply.most_free > 0 ? ", on " + supply.best->name
                               : ", of " + std::to_string(supply.most_matching) + " that match") +
         (is_too_many             ? "; ask for at most " + std::to_string(supply.most_matching)
          : supply.most_free == 0 ? because_text(*supply.best_view)
                                  : "");
}

// For a request for all devices of which some are not free on each node.
std::string short_request_for_all_text(const Answer& answer, const RequestView& of, const Supply& supply) {
  return "request " + of.request + " asks for all devices of class " + of.device_class + ", and only " +
         std::to_string(supply.most_free) + " of " + std::to_string(supply.best_view->matching) +
         " are free" +
         (answer.nodes.size() > 1 ? " on " + supply.best->name + ", the node with the most" : "");
}

// "at most 1 is free, on w-1"; if more match, with their number and obstacles.
std::string most_free_text(const RequestView& of, const Supply& supply) {
  std::string out =
      "at most " + std::to_string(supply.most_free) + (supply.most_free == 1 ? " is free" : " are free");
  if (supply.most_free > 0) out += ", on " + supply.best->name;
  if (supply.most_free > 0 && !of.all) return out;
  out += ", of " + std::to_string(supply.best_view->matching) + " that match";
  return static_cast<int64_t>(supply.most_matching) < of.wanted ? out : out + because_text(*supply.best_view);
}

// For a request with alternatives, of which each has too little on each node; "" if one has enough.
std::string short_alternatives_text(const Answer& answer, const NodeAnswer& node, const RequestView& of) {
  const std::string list = of.request.substr(0, of.request.find('/') + 1);
  std::vector<std::string> parts;
  for (const RequestView& view : node.requests) {
    if (view.claim != of.claim || !view.request.starts_with(list)) continue;
    const Supply supply = supply_of(answer, view);
    if (!supply.is_short || supply.best == nullptr) return "";
    parts.push_back(view.request.substr(list.size()) +
                    (supply.most_matching == 0
                         ? " (class " + view.device_class + ") matches no device"
                         : " asks for " + wanted_of(view) + ", and " + most_free_text(view, supply)));
  }
  return "no alternative of request " + list.substr(0, list.size() - 1) +
         " has enough devices on any node: " + join(parts, "; ") +
         (is_nothing_matched(answer) ? unusable_pool_text(answer) : "");
}

// For the first request that has too little on each node; "" if there is none.
std::string short_text(const Answer& answer) {
  const auto first = std::find_if(answer.nodes.begin(), answer.nodes.end(),
                                  [](const NodeAnswer& node) { return node.kept_away.empty(); });
  if (first == answer.nodes.end()) return "";
  for (const RequestView& of : first->requests) {
    if (of.request.find('/') != std::string::npos) {
      if (std::string text = short_alternatives_text(answer, *first, of); !text.empty()) return text;
      continue;
    }
    const Supply supply = supply_of(answer, of);
    if (!supply.is_short || supply.best == nullptr) continue;
    return of.all && supply.most_matching > 0 ? short_request_for_all_text(answer, of, supply)
                                              : short_request_text(answer, of, supply);
  }
  return "";
}

// Returns the common reason of all nodes.
std::string pending_text(const Answer& answer) {
  if (!answer.everywhere.empty()) return answer.everywhere.front();
  if (!answer.slips.empty()) return answer.slips.front().text;
  if (!answer.aborted_by.empty())
    return "allocating fails with an error on node " + answer.aborted_by +
           ", and the scheduler then tries no other node";
  if (!answer.causes.empty() && is_nothing_matched(answer)) return answer.causes.front();
  if (std::string elsewhere = allocated_elsewhere_text(answer); !elsewhere.empty()) return elsewhere;
  // Nodes that have the devices: by reason without the node's name, their number and the text of the first
  // one.
  std::map<std::string, std::pair<size_t, std::string>> reasons;
  const auto add_reason = [&](const NodeAnswer& node) {
    auto& reason = reasons[without_name(node.kept_away, node.name)];
    if (reason.first++ == 0) reason.second = node.kept_away;
  };
  size_t kept_away = 0, has_devices = 0;
  for (const NodeAnswer& node : answer.nodes) {
    kept_away += !node.kept_away.empty();
    if (node.kept_away.empty() || node.found != SearchResult::kYes) continue;
    ++has_devices;
    add_reason(node);
  }
  const auto kept = [&] {
    const auto most = std::max_element(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
      return a.second.first < b.second.first;
    });
    return most->second.second + (reasons.size() > 1 ? " (" + number(most->second.first, "node") + ")" : "");
  };
  if (has_devices > 0)
    return number(has_devices, "node") + (has_devices == 1 ? " has" : " have") +
           " what its claims ask for, but the pod is kept away from " + (has_devices == 1 ? "it" : "them") +
           ": " + kept();
  if (kept_away == answer.nodes.size()) {
    for (const NodeAnswer& node : answer.nodes) add_reason(node);
    return "the pod is kept away from " +
           (kept_away == 1 ? std::string("the one node") : "all " + number(kept_away, "node")) + ": " +
           kept();
  }
  for (const auto text : {over_most_text, clash_text, short_text, together_text})
    if (std::string of_all = text(answer); !of_all.empty()) return of_all;
  return "none of " + number(answer.nodes.size(), "node") + " has what its claims ask for";
}

std::string headline(const Answer& answer, const std::string& subject) {
  size_t possible = 0;
  for (const NodeAnswer& node : answer.nodes) possible += node.can_run();
  switch (answer.verdict) {
    case Verdict::kRuns:
      return subject + (answer.pod ? " is on node " + answer.pod->node_name : " is allocated") +
             (answer.notes.empty() ? ""
              : answer.pod && answer.pod->phase == "Running"
                  ? ", but: " + answer.notes.front()
                  : ", and its containers do not start: " + answer.notes.front());
    case Verdict::kCan:
      return subject + " can be scheduled, as far as its claims go, on " + std::to_string(possible) + " of " +
             number(answer.nodes.size(), "node");
    case Verdict::kPending:
      return subject + (answer.pod && answer.pod->phase == "Failed" ? " does not run: " : " is pending: ") +
             pending_text(answer);
    case Verdict::kUnsure:
      for (const NodeAnswer& node : answer.nodes)
        if (node.found == SearchResult::kUnsure && node.kept_away.empty() && !node.unsure.empty())
          return subject + ": unsure whether a node has what it asks for: on " + node.name + ", " +
                 node.unsure;
      return subject + ": unsure whether a node has what its claims ask for" +
             (answer.unsure.empty() ? "" : ": " + answer.unsure.front());
  }
  return "";
}

constexpr const char* kNotLookedAt =
    "Not checked: processors, memory, ports, volumes, spreading, priorities, extenders and plugins of the scheduler.\n";

// ---- data

Json json_of(const Change& change, const std::string& text) {
  Json out = Json::Object{{"asks", why::name_of(change.asks)}, {"text", text}};
  if (!change.claim.empty()) out.set("claim", change.claim);
  if (!change.request.empty()) out.set("request", change.request);
  if (!change.device_class.empty()) out.set("deviceClass", change.device_class);
  if (!change.key.empty()) out.set("capacity", change.key);
  if (change.count > 0) out.set("count", change.count);
  if (!change.taint.key.empty())
    out.set("taint",
            Json::Object{
                {"key", change.taint.key}, {"value", change.taint.value}, {"effect", change.taint.effect}});
  Json::Array pools;
  for (const auto& [driver, pool] : change.pools)
    pools.push_back(Json::Object{{"driver", driver}, {"pool", pool}});
  if (!pools.empty()) out.set("pools", std::move(pools));
  const bool has_index =
      change.asks == why::ChangeKind::kNoConstraint || change.asks == why::ChangeKind::kNoSelector ||
      change.asks == why::ChangeKind::kCorrectSelector || change.asks == why::ChangeKind::kGuardSelector ||
      change.asks == why::ChangeKind::kNoClassSelector;
  if (!change.expression.empty()) out.set("expression", change.expression);
  if (change.holder != nullptr) out.set("users", why::name_of(why::release_impact(*change.holder)));
  if (has_index) out.set("index", static_cast<int64_t>(change.index));
  if (!change.taint_rules.empty()) out.set("deviceTaintRules", change.taint_rules);
  if (change.most) out.set("atMost", why::describe(*change.most));
  return out;
}

Json json_of(const RequestView& view) {
  Json out =
      Json::Object{{"claim", view.claim}, {"request", view.request}, {"deviceClass", view.device_class}};
  if (view.all)
    out.set("wanted", "all");
  else
    out.set("wanted", view.wanted);
  out.set("devices", static_cast<int64_t>(view.devices));
  out.set("matching", static_cast<int64_t>(view.matching));
  out.set("allocated", static_cast<int64_t>(view.allocated));
  out.set("free", static_cast<int64_t>(view.free));
  Json holders = Json::Object{};
  for (const auto& [claim, devices] : view.holders) holders.set(claim, static_cast<int64_t>(devices));
  if (!view.holders.empty()) out.set("holders", std::move(holders));
  Json over = Json::Object{};
  for (const auto& [key, one] : view.over_most) over.set(key, why::describe(one.most));
  if (!view.over_most.empty()) out.set("capacityAtMost", std::move(over));
  Json::Array obstacles;
  for (const auto& one : view.obstacles)
    obstacles.push_back(Json::Object{
        {"devices", static_cast<int64_t>(one.devices)}, {"device", one.device}, {"why", one.what}});
  if (!obstacles.empty()) out.set("obstacles", std::move(obstacles));
  return out;
}

std::string_view name_of(SearchResult found) {
  switch (found) {
    case SearchResult::kYes:
      return "yes";
    case SearchResult::kNo:
      return "no";
    case SearchResult::kError:
      return "error";
    case SearchResult::kUnsure:
      return "unsure";
  }
  return "";
}

Json texts(const std::vector<std::string>& all) {
  Json::Array out;
  for (const std::string& one : all) out.push_back(is_utf8(one) ? one : escaped(one));
  return out;
}

Json json_of(const NodeAnswer& node) {
  Json out =
      Json::Object{{"name", node.name}, {"canRun", node.can_run()}, {"allocatable", name_of(node.found)}};
  if (!node.kept_away.empty()) out.set("keptAway", node.kept_away);
  if (!node.error.empty()) out.set("error", node.error);
  if (!node.unsure.empty()) out.set("unsure", node.unsure);
  Json::Array requests, changes, alone, picks;
  for (const RequestView& view : node.requests) requests.push_back(json_of(view));
  for (size_t i = 0; i < node.changes_text.size(); ++i)
    changes.push_back(json_of(node.changes.all[i], node.changes_text[i]));
  for (size_t i = 0; i < node.alone_text.size(); ++i)
    alone.push_back(json_of(node.changes.alone[i], node.alone_text[i]));
  for (const auto& pick : node.picks)
    picks.push_back(Json::Object{{"claim", pick.claim},
                                 {"request", pick.request},
                                 {"driver", pick.device.driver},
                                 {"pool", pick.device.pool},
                                 {"device", pick.device.device}});
  if (!requests.empty()) out.set("requests", std::move(requests));
  if (!node.pools.empty()) out.set("pools", texts(node.pools));
  if (!node.clashes.empty()) out.set("clashes", texts(node.clashes));
  if (!node.exclusion.empty()) out.set("exclusion", node.exclusion);
  if (!changes.empty()) out.set("changes", std::move(changes));
  if (!alone.empty()) out.set("anyOneOf", std::move(alone));
  if (!picks.empty()) out.set("picks", std::move(picks));
  return out;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRuns:
      return "runs";
    case Verdict::kCan:
      return "schedulable";
    case Verdict::kPending:
      return "pending";
    case Verdict::kUnsure:
      return "unsure";
  }
  return "";
}

std::string pools_text(const why::Cluster& cluster, const std::vector<std::string>& own_drivers) {
  std::map<std::string, std::set<std::string>> pools;
  for (const auto& slice : cluster.slices) pools[slice->common.driver].insert(slice->common.pool.name);
  std::vector<std::string> parts;
  for (const auto& [driver, names] : pools) {
    const bool is_own = std::find(own_drivers.begin(), own_drivers.end(), driver) != own_drivers.end();
    parts.push_back(number(names.size(), "pool") + " of " + driver +
                    (is_own ? " (sliced's)" : " (another driver's)"));
  }
  return parts.empty() ? "There is no pool: no driver has published a ResourceSlice."
                       : "Pools: " + join(parts, ", ") + ".";
}

std::string why_text(const Answer& answer, const std::string& subject, const std::string& pools,
                     size_t nodes_max) {
  std::string out = plain(headline(answer, subject)) + "\n";
  if (answer.verdict == Verdict::kCan && answer.claims.empty())
    out += "It requests no devices, so it does not wait for one.\n";
  for (size_t i = answer.verdict == Verdict::kRuns ? 1 : 0; i < answer.notes.size(); ++i)
    out += "  - " + plain(answer.notes[i]) + "\n";
  for (size_t i = 1; i < answer.everywhere.size(); ++i) out += "  - " + plain(answer.everywhere[i]) + "\n";
  std::vector<std::string> causes;
  for (const Answer::Slip& slip : answer.slips) causes.push_back(slip.text);
  causes.insert(causes.end(), answer.causes.begin(), answer.causes.end());
  for (const std::string& cause : causes)
    if (const std::string line = plain(cause); out.find(line) == std::string::npos)
      out += "  - " + line + "\n";
  if (!answer.hints.empty()) out += "\n";
  for (const std::string& line : answer.hints) out += plain(line) + "\n";
  if (!answer.advice.empty()) {
    out += answer.advice.size() == 1 ? "\nThe one change that would help:\n"
                                     : "\nAny one of these would help:\n";
    for (const std::string& line : answer.advice) out += "  - " + plain(line) + "\n";
  }
  if (answer.verdict == Verdict::kPending)
    if (const std::string changes = changes_text(answer, nodes_max); !changes.empty()) out += "\n" + changes;
  std::vector<std::string> claims;
  for (const Claim& claim : answer.claims) tell_of_claim(answer, claim, claims);
  if (!claims.empty() && !answer.nodes.empty()) out += "\n";
  for (const std::string& line : claims) out += plain(line) + "\n";
  // Without a known claim the nodes are not evaluated.
  const bool is_any_asked = std::any_of(answer.nodes.begin(), answer.nodes.end(),
                                        [](const NodeAnswer& node) { return !node.requests.empty(); });
  if (!answer.nodes.empty() && (is_any_asked || answer.everywhere.empty()))
    out += "\n" + nodes_text(answer, nodes_max) + plain(pools) + "\n";
  if (!answer.unsure.empty()) out += "\nNot sure:\n";
  for (const std::string& line : answer.unsure) out += "  - " + plain(line) + "\n";
  if (!answer.nodes.empty()) out += std::string("\n") + kNotLookedAt;
  return out;
}

Json json_of(const Answer& answer, const std::string& subject) {
  Json out = Json::Object{{"subject", subject}, {"verdict", name_of(answer.verdict)}};
  if (answer.pod && !answer.pod->node_name.empty()) out.set("node", answer.pod->node_name);
  if (!answer.everywhere.empty()) out.set("everywhere", texts(answer.everywhere));
  if (!answer.aborted_by.empty()) out.set("abortedBy", answer.aborted_by);
  Json::Array claims, nodes;
  for (const Claim& claim : answer.claims)
    claims.push_back(Json::Object{{"name", claim.id()}, {"allocated", claim.allocation.has_value()}});
  for (const NodeAnswer& node : answer.nodes) nodes.push_back(json_of(node));
  out.set("claims", std::move(claims));
  out.set("nodes", std::move(nodes));
  std::vector<std::string> causes;
  for (const Answer::Slip& slip : answer.slips) causes.push_back(slip.text);
  causes.insert(causes.end(), answer.causes.begin(), answer.causes.end());
  if (!causes.empty()) out.set("causes", texts(causes));
  if (!answer.advice.empty()) out.set("advice", texts(answer.advice));
  if (!answer.hints.empty()) out.set("hints", texts(answer.hints));
  if (!answer.notes.empty()) out.set("notes", texts(answer.notes));
  if (!answer.unsure.empty()) out.set("unsure", texts(answer.unsure));
  return out;
}

}  // namespace sliced::kubectl
