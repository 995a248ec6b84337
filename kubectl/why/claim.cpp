#include "kubectl/why/claim.h"

#include <map>
#include <utility>

#include "kube/objects/object_meta.h"
#include "kubectl/why/fields.h"

namespace sliced::why {
namespace {

kube::Quantity read_quantity(const Fields& at) {
  if (!at.is_there()) return {};
  auto decoded = kube::Quantity::decode(*at.value());
  if (!decoded) {
    at.wrong(decoded.error().what);
    return kube::Quantity();
  }
  return *std::move(decoded);
}

std::map<std::string, kube::Quantity> read_quantities(const Fields& at) {
  std::map<std::string, kube::Quantity> out;
  at.each_member(
      [&](const std::string& key, const Fields& value) { out.insert_or_assign(key, read_quantity(value)); });
  return out;
}

std::vector<std::string> read_selectors(const Fields& at, std::vector<std::string>& unknown) {
  std::vector<std::string> out;
  at.each([&](const Fields& item) {
    const Fields expression = item["cel"]["expression"];
    if (!expression.is_there()) return unknown.push_back(item.path() + " is not a CEL expression");
    out.push_back(expression.text());
  });
  return out;
}

Request read_request(const std::string& name, const Fields& at, std::vector<std::string>& unknown) {
  Request out;
  out.name = name;
  out.device_class = at["deviceClassName"].text();
  out.selectors = read_selectors(at["selectors"], unknown);
  const std::string mode = at["allocationMode"].text();
  out.all = mode == "All";
  if (!mode.empty() && mode != "All" && mode != "ExactCount")
    unknown.push_back(at.path() + ".allocationMode " + mode);
  out.count = at["count"].integer(1);
  out.admin_access = at["adminAccess"].flag();
  at["tolerations"].each([&](const Fields& item) {
    out.tolerations.push_back(
        {item["key"].text(), item["operator"].text(), item["value"].text(), item["effect"].text()});
  });
  out.capacity = read_quantities(at["capacity"]["requests"]);
  if (const Fields derived = at["derivedAttributes"]; derived.is_there()) unknown.push_back(derived.path());
  return out;
}

RequestGroup read_group(const Fields& at, std::vector<std::string>& unknown) {
  RequestGroup out;
  out.name = at["name"].text();
  if (const Fields exactly = at["exactly"]; exactly.is_there())
    out.alternatives.push_back(read_request(out.name, exactly, unknown));
  at["firstAvailable"].each([&](const Fields& item) {
    out.is_list = true;
    out.alternatives.push_back(read_request(item["name"].text(), item, unknown));
  });
  if (out.alternatives.empty()) unknown.push_back(at.path() + " is neither exactly nor firstAvailable");
  return out;
}

void read_spec(const Fields& spec, Claim& out) {
  const Fields devices = spec["devices"];
  devices["requests"].each(
      [&](const Fields& item) { out.requests.push_back(read_group(item, out.unknown)); });
  devices["constraints"].each([&](const Fields& item) {
    const Fields match = item["matchAttribute"], distinct = item["distinctAttribute"];
    if (match.is_there() == distinct.is_there())
      return out.unknown.push_back(item.path() + " is neither matchAttribute nor distinctAttribute");
    out.constraints.push_back(
        {item["requests"].texts(), distinct.is_there(), match.is_there() ? match.text() : distinct.text()});
  });
}

// Implements the scheduler's isClaimReadyForBinding (pkg/scheduler/framework/plugins/dynamicresources).
std::string read_held(const Fields& result, const Fields& statuses) {
  std::map<std::string, std::pair<bool, std::string>> conditions;  // by type: is it True, and its message
  statuses.each([&](const Fields& status) {
    for (const char* key : {"driver", "pool", "device", "shareID"})
      if (status[key].text() != result[key].text()) return;
    status["conditions"].each([&](const Fields& one) {
      conditions[one["type"].text()] = {one["status"].text() == "True", one["message"].text()};
    });
  });
  const auto about = [&](const std::string& type, const char* is) {
    const auto at = conditions.find(type);
    return "condition " + type + is +
           (at == conditions.end() || at->second.second.empty() ? "" : ": " + at->second.second);
  };
  const std::vector<std::string> wanted = result["bindingConditions"].texts();
  if (wanted.empty()) return "";
  for (const std::string& type : result["bindingFailureConditions"].texts())
    if (const auto at = conditions.find(type); at != conditions.end() && at->second.first)
      return about(type, " is True");
  for (const std::string& type : wanted)
    if (const auto at = conditions.find(type); at == conditions.end())
      return about(type, " is not set by the driver yet");
    else if (!at->second.first)
      return about(type, " is not True");
  return "";
}

Allocation read_allocation(const Fields& at, const Fields& statuses) {
  Allocation out;
  at["devices"]["results"].each([&](const Fields& item) {
    AllocationResult& one = out.devices.emplace_back();
    one.request = item["request"].text();
    one.driver = item["driver"].text();
    one.pool = item["pool"].text();
    one.device = item["device"].text();
    one.admin_access = item["adminAccess"].flag();
    one.is_share = item["shareID"].is_there();
    one.held = read_held(item, statuses);
    if (const Fields consumed = item["consumedCapacity"]; consumed.is_there())
      one.consumed = read_quantities(consumed);
  });
  if (const Fields nodes = at["nodeSelector"]; nodes.is_there()) {
    kube::FieldProblems problems;
    out.nodes = kube::decode_node_selector(*nodes.value(), problems);
    if (!problems.empty()) nodes.wrong(problems.front().field + ": " + problems.front().what);
  }
  return out;
}

void read_status(const Fields& status, Claim& out) {
  if (const Fields allocation = status["allocation"]; allocation.is_there())
    out.allocation = read_allocation(allocation, status["devices"]);
  status["reservedFor"].each([&](const Fields& item) {
    const std::string resource = item["resource"].text();
    out.users.push_back((resource == "pods" ? "" : resource + "/") + item["name"].text());
  });
}

template <class T>
Result<T> decode(const kube::Json& object, void (*read)(const Fields& root, T& out)) {
  auto meta = kube::decode_object_meta(object);
  if (!meta) return std::move(meta.error()).in(kube::describe_object(object));
  T out;
  out.name = meta->name;
  if constexpr (requires { out.namespace_; }) out.namespace_ = meta->namespace_;
  Error error{Errc::kInvalid, ""};
  read(Fields(&object, "", error), out);
  if (!error.what.empty()) return std::move(error).in(kube::describe_object(object));
  return out;
}

}  // namespace

bool tolerates(const Toleration& toleration, const kube::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
}

Result<DeviceClass> decode_device_class(const kube::Json& object) {
  return decode<DeviceClass>(object, [](const Fields& root, DeviceClass& out) {
    out.selectors = read_selectors(root["spec"]["selectors"], out.unknown);
    out.extended_resource = root["spec"]["extendedResourceName"].text();
    out.created = root["metadata"]["creationTimestamp"].text();
  });
}

Result<Claim> decode_claim(const kube::Json& object) {
  return decode<Claim>(object, [](const Fields& root, Claim& out) {
    read_spec(root["spec"], out);
    read_status(root["status"], out);
    out.is_deleted = root["metadata"]["deletionTimestamp"].is_there();
  });
}

Result<Claim> decode_claim_template(const kube::Json& object) {
  return decode<Claim>(object, [](const Fields& root, Claim& out) {
    out.is_made = false;
    read_spec(root["spec"]["spec"], out);
  });
}

std::string request_id(const RequestGroup& group, const Request& request) {
  return group.is_list ? group.name + "/" + request.name : group.name;
}

std::string describe_count(const Request& request) {
  if (request.all) return "all devices";
  return std::to_string(request.count) + (request.count == 1 ? " device" : " devices");
}

}  // namespace sliced::why
