#include "cli/snapshot/recording.h"

#include <array>
#include <cstdint>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::snapshot {
namespace {

using kube::Json;

// By Errc, in its order; readers distinguish the codes of a host view.
constexpr std::array<std::pair<std::string_view, Errc>, 5> kCodes = {{{"not found", Errc::kNotFound},
                                                                      {"invalid", Errc::kInvalid},
                                                                      {"denied", Errc::kDenied},
                                                                      {"too large", Errc::kTooLarge},
                                                                      {"io", Errc::kIo}}};

std::string_view name_of(Errc code) {
  for (const auto& [name, its] : kCodes)
    if (its == code) return name;
  return "io";
}

Json encode_error(const Error& error) {
  Json out = Json::Object{};
  out.set("error", name_of(error.code));
  out.set("what", error.what);
  return out;
}

std::optional<Error> decode_error(const Json& value) {
  if (value.object() == nullptr) return std::nullopt;
  for (const auto& [name, code] : kCodes)
    if (value.text("error") == name) return Error{code, cut(std::string(value.text("what")), 1024)};
  return std::nullopt;
}

Json encode_one(const std::string& text) { return text; }
Json encode_one(const std::vector<std::string>& names) { return Json::Array(names.begin(), names.end()); }

bool decode_one(const Json& value, std::string& out) {
  if (value.string() != nullptr) out = *value.string();
  return value.string() != nullptr;
}
bool decode_one(const Json& value, std::vector<std::string>& out) {
  if (value.array() == nullptr || value.array()->size() > hotplug::kDirEntriesMax) return false;
  for (const Json& item : *value.array()) {
    if (item.string() == nullptr) return false;
    out.push_back(*item.string());
  }
  return true;
}

// Pairs instead of members, because there are tens of thousands.
template <class T>
Json encode_all(const std::map<std::string, Result<T>>& answers) {
  Json::Array out;
  for (const auto& [path, answer] : answers)
    out.push_back(Json::Array{path, answer ? encode_one(*answer) : encode_error(answer.error())});
  return out;
}

template <class T>
bool decode_all(const Json* list, std::map<std::string, Result<T>>& out) {
  if (list == nullptr || list->array() == nullptr) return false;
  for (const Json& pair : *list->array()) {
    if (pair.array() == nullptr || pair.array()->size() != 2 || (*pair.array())[0].string() == nullptr)
      return false;
    const Json& value = (*pair.array())[1];
    T answer;
    if (auto error = decode_error(value))
      out.insert_or_assign(*(*pair.array())[0].string(), std::move(*error));
    else if (decode_one(value, answer))
      out.insert_or_assign(*(*pair.array())[0].string(), std::move(answer));
    else
      return false;
  }
  return true;
}

std::optional<int> int_of(const Json& value) {
  if (value.integer() == nullptr || *value.integer() < 0 || *value.integer() > INT32_MAX) return std::nullopt;
  return static_cast<int>(*value.integer());
}

// Missing in snapshots of earlier releases, which did not read them.
bool decode_routes(const Json* list, std::optional<hotplug::RouteLinks>& routes,
                   std::set<int> hotplug::RouteLinks::* links) {
  if (list == nullptr || list->is_null()) return true;
  if (list->array() == nullptr) return false;
  if (!routes) routes.emplace();
  std::set<int>* const out = &((*routes).*links);
  for (const Json& item : *list->array()) {
    const auto index = int_of(item);
    if (!index) return false;
    out->insert(*index);
  }
  return true;
}

// Decodes [[ifindex, vf, mac], ...].
bool decode_macs(const Json* list, std::map<int, std::map<int, std::string>>& out) {
  if (list == nullptr || list->is_null()) return true;
  if (list->array() == nullptr) return false;
  for (const Json& item : *list->array()) {
    if (item.array() == nullptr || item.array()->size() != 3) return false;
    const auto index = int_of((*item.array())[0]), vf = int_of((*item.array())[1]);
    const std::string* mac = (*item.array())[2].string();
    if (!index || !vf || mac == nullptr || mac->size() > 64) return false;
    out[*index][*vf] = *mac;
  }
  return true;
}

// [[ifindex, [name, ...]], ...]; missing in snapshots of earlier releases.
bool decode_alternative_names(const Json* list, std::map<int, hotplug::LinkProperties>& out) {
  if (list == nullptr || list->is_null()) return true;
  if (list->array() == nullptr) return false;
  for (const Json& item : *list->array()) {
    if (item.array() == nullptr || item.array()->size() != 2) return false;
    const auto index = int_of((*item.array())[0]);
    if (!index || !decode_one((*item.array())[1], out[*index].alternative_names)) return false;
  }
  return true;
}

// [[ifindex, true], ...], for interfaces whose kernel reports it.
bool decode_netns_immutable(const Json* list, std::map<int, hotplug::LinkProperties>& out) {
  if (list == nullptr || list->is_null()) return true;
  if (list->array() == nullptr) return false;
  for (const Json& item : *list->array()) {
    if (item.array() == nullptr || item.array()->size() != 2) return false;
    const auto index = int_of((*item.array())[0]);
    const bool* is_immutable = (*item.array())[1].boolean();
    if (!index || is_immutable == nullptr) return false;
    out[*index].is_netns_immutable = *is_immutable;
  }
  return true;
}

// [[ifindex, name], ...]
bool decode_devlink_ports(const Json* list, std::map<int, std::string>& out) {
  if (list == nullptr || list->is_null()) return true;
  if (list->array() == nullptr) return false;
  for (const Json& item : *list->array()) {
    if (item.array() == nullptr || item.array()->size() != 2) return false;
    const auto index = int_of((*item.array())[0]);
    const std::string* name = (*item.array())[1].string();
    if (!index || name == nullptr || name->size() > 64) return false;
    out[*index] = *name;
  }
  return true;
}

template <class T>
Result<T> said(const std::map<std::string, Result<T>>& answers, std::string_view path) {
  const auto found = answers.find(std::string(path));
  if (found != answers.end()) return found->second;
  return Error{Errc::kNotFound, escaped(path) + ": not in the snapshot"};
}

}  // namespace

Json encode(const Recording& recording) {
  Json out = Json::Object{};
  out.set("reads", encode_all(recording.reads));
  out.set("lists", encode_all(recording.lists));
  out.set("links", encode_all(recording.links));
  if (recording.routes) {
    Json::Array links, others, learned;
    for (const int index : recording.routes->defaults) links.push_back(index);
    for (const int index : recording.routes->others) others.push_back(index);
    for (const int index : recording.routes->learned) learned.push_back(index);
    out.set("defaultRouteLinks", std::move(links));
    out.set("otherRouteLinks", std::move(others));
    out.set("learnedRouteLinks", std::move(learned));
  }
  Json::Array macs;
  for (const auto& [index, by_vf] : recording.admin_macs)
    for (const auto& [vf, mac] : by_vf) macs.push_back(Json::Array{index, vf, mac});
  out.set("adminMacs", std::move(macs));
  Json::Array names, immutable;
  for (const auto& [index, its] : recording.properties) {
    if (!its.alternative_names.empty())
      names.push_back(Json::Array{index, encode_one(its.alternative_names)});
    if (its.is_netns_immutable) immutable.push_back(Json::Array{index, *its.is_netns_immutable});
  }
  out.set("altNames", std::move(names));
  out.set("netnsImmutable", std::move(immutable));
  Json::Array ports;
  for (const auto& [index, name] : recording.devlink_ports) ports.push_back(Json::Array{index, name});
  if (!ports.empty()) out.set("devlinkPorts", std::move(ports));
  return out;
}

Result<Recording> decode_recording(const Json& value) {
  for (const char* list : {"reads", "lists", "links", "defaultRouteLinks", "otherRouteLinks",
                           "learnedRouteLinks", "adminMacs", "altNames", "netnsImmutable", "devlinkPorts"})
    if (const Json* all = value.find(list);
        all != nullptr && all->array() != nullptr && all->array()->size() > kAnswersMax)
      return Error{Errc::kTooLarge,
                   "its host has more than " + std::to_string(kAnswersMax) + " answers of one sort"};
  Recording out;
  if (!decode_all(value.find("reads"), out.reads) || !decode_all(value.find("lists"), out.lists) ||
      !decode_all(value.find("links"), out.links) ||
      !decode_routes(value.find("defaultRouteLinks"), out.routes, &hotplug::RouteLinks::defaults) ||
      !decode_routes(value.find("otherRouteLinks"), out.routes, &hotplug::RouteLinks::others) ||
      !decode_routes(value.find("learnedRouteLinks"), out.routes, &hotplug::RouteLinks::learned) ||
      !decode_macs(value.find("adminMacs"), out.admin_macs) ||
      !decode_alternative_names(value.find("altNames"), out.properties) ||
      !decode_netns_immutable(value.find("netnsImmutable"), out.properties) ||
      !decode_devlink_ports(value.find("devlinkPorts"), out.devlink_ports))
    return Error{Errc::kInvalid, "its member host is invalid: take the snapshot again"};
  return out;
}

namespace {

// Returns the time of initialization in udevd's record of an interface. The rest of the record contains
// addresses and serial numbers in spellings that Aliases does not replace.
Result<std::string> when_done(const Result<std::string>& record) {
  if (!record) return record;
  for (const std::string_view line : split(*record, '\n'))
    if (line.starts_with("I:")) return std::string(line);
  return std::string();
}

}  // namespace

Result<std::string> RecordingHost::read(std::string_view path, size_t size_max) const {
  auto answer = host_->read(path, size_max);
  const std::lock_guard lock(mutex_);
  noted_.reads.insert_or_assign(std::string(path),
                                path.starts_with("run/udev/data/") ? when_done(answer) : answer);
  return answer;
}

Result<std::vector<std::string>> RecordingHost::list(std::string_view path) const {
  auto answer = host_->list(path);
  const std::lock_guard lock(mutex_);
  noted_.lists.insert_or_assign(std::string(path), answer);
  return answer;
}

Result<std::string> RecordingHost::readlink(std::string_view path) const {
  auto answer = host_->readlink(path);
  const std::lock_guard lock(mutex_);
  noted_.links.insert_or_assign(std::string(path), answer);
  return answer;
}

Result<std::optional<hotplug::RouteLinks>> RecordingHost::route_links() const {
  auto answer = host_->route_links();
  const std::lock_guard lock(mutex_);
  if (answer) noted_.routes = *answer;
  return answer;
}

Result<hotplug::LinkProperties> RecordingHost::link_properties(int ifindex) const {
  auto answer = host_->link_properties(ifindex);
  const std::lock_guard lock(mutex_);
  if (answer) noted_.properties[ifindex] = *answer;
  return answer;
}

Result<std::string> RecordingHost::devlink_port(int ifindex) const {
  auto answer = host_->devlink_port(ifindex);
  const std::lock_guard lock(mutex_);
  if (answer && !answer->empty()) noted_.devlink_ports[ifindex] = *answer;
  return answer;
}

void RecordingHost::note_admin_macs(int ifindex, const std::map<int, std::string>& macs) const {
  const std::lock_guard lock(mutex_);
  noted_.admin_macs[ifindex] = macs;
}

Recording RecordingHost::recording() const {
  const std::lock_guard lock(mutex_);
  return noted_;
}

Result<std::string> RecordedHost::read(std::string_view path, size_t size_max) const {
  auto answer = said(recording_.reads, path);
  if (answer && answer->size() > size_max) return Error{Errc::kTooLarge, escaped(path) + ": too large"};
  return answer;
}
Result<std::vector<std::string>> RecordedHost::list(std::string_view path) const {
  return said(recording_.lists, path);
}
Result<std::string> RecordedHost::readlink(std::string_view path) const {
  return said(recording_.links, path);
}

Result<hotplug::LinkProperties> RecordedHost::link_properties(int ifindex) const {
  const auto found = recording_.properties.find(ifindex);
  return found == recording_.properties.end() ? hotplug::LinkProperties{} : found->second;
}

Result<std::string> RecordedHost::devlink_port(int ifindex) const {
  const auto found = recording_.devlink_ports.find(ifindex);
  return found == recording_.devlink_ports.end() ? std::string() : found->second;
}

std::map<int, std::string> RecordedHost::admin_macs(int ifindex) const {
  const auto found = recording_.admin_macs.find(ifindex);
  return found != recording_.admin_macs.end() ? found->second : std::map<int, std::string>{};
}

}  // namespace sliced::snapshot
