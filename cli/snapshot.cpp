#include "cli/snapshot/snapshot.h"

#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/host_once.h"
#include "cli/read_file.h"
#include "cli/recorded_process.h"
#include "cli/snapshot/archive.h"
#include "daemon/host_process.h"
#include "kube/directory/manifest.h"
#include "kube/objects/kinds.h"
#include "publishers/diff_pool.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using kube::Json;
using snapshot::Snapshot;

constexpr Millis kSnapshotListMax{30'000};
// The host uses a few MB of a snapshot's limit, and there are five kinds.
constexpr size_t kOfAKindMax = snapshot::kObjectsMax / 5, kOfAKindBytesMax = snapshot::kUnpackedBytesMax / 8;

// Removes the server's fields, which are useless elsewhere.
Json plain(Json object) {
  const Json* old = object.find("metadata");
  if (old == nullptr || old->object() == nullptr) return object;
  Json meta = Json::Object{};
  for (const auto& [key, value] : *old->object())
    if (key != "managedFields") meta.set(key, value);
  object.set("metadata", std::move(meta));
  return object;
}

// The rest of a Node is large and unused.
Json plain_node(const Json& node) {
  Json meta = Json::Object{};
  for (const char* key : {"name", "uid", "labels"})
    if (const Json* value = node.find({"metadata", key})) meta.set(key, *value);
  Json out = Json::Object{};
  out.set("apiVersion", "v1");
  out.set("kind", "Node");
  out.set("metadata", std::move(meta));
  return out;
}

// Lists the cluster's objects, one kind after the other. Omits kinds that are not served, and those that may
// not be listed, with a message.
class Objects {
 public:
  Objects(daemon::HostProcess& process, const config::Options& options, Snapshot& out)
      : process_(process), options_(options), out_(out) {}

  void read() {
    read_node();
    list({kube::kSriovResourcePolicies, options_.namespace_, ""});
    list({kube::kDeviceAttributes, options_.namespace_, ""});
    list({kube::kDeviceExposurePolicies, "", ""});
    list({kube::kResourceSlices, "", "spec.nodeName=" + options_.node_name});
    bool done = false;
    const auto call = process_.cluster->server_info(
        [&](const kube::ServerInfo& info) { out_.server = info.git_version, done = true; },
        [&](const kube::Failure&) { done = true; });
    process_.run_until([&] { return done; }, kSnapshotListMax);
  }

 private:
  // Slices of other drivers contain private data (serial numbers), and do not affect decisions here; those of
  // other nodes come from a server that ignores selectors.
  bool is_own_slice(const Json& slice) const {
    const Json* spec = slice.find("spec");
    if (spec == nullptr || spec->text("nodeName") != options_.node_name) return false;
    const std::string_view driver = spec->text("driver");
    return driver == options_.sriov_driver_name || driver == options_.exposure_driver_name;
  }
  void wait(const bool& done, const std::string& what) {
    if (!process_.run_until([&] { return done; }, kSnapshotListMax))
      daemon::print_error(what + " is left out: no answer in time");
  }
  void say(const kube::Failure& failure, const std::string& what) {
    if (failure.code != Errc::kNotFound) daemon::print_error(what + " is left out: " + failure.what);
  }
  // Reads by a list, as the daemon does: it may list nodes, but not get one (config/deploy/rbac.yaml).
  void read_node() {
    bool done = false, is_found = false, is_answered = false;
    const auto call = process_.cluster->list(
        {{kube::kNodes, "", "metadata.name=" + options_.node_name}},
        {.on_item =
             [&](std::string_view text) {
               auto node = kube::decode_json(text);
               const Json* name = node ? node->find({"metadata", "name"}) : nullptr;
               if (name == nullptr || name->string() == nullptr || *name->string() != options_.node_name)
                 return;
               out_.objects.push_back(plain_node(*node));
               is_found = true;
             },
         .on_done = [&](const std::string&) { done = is_answered = true; },
         .on_failure = [&](const kube::Failure& failure) { say(failure, "the Node"), done = true; }});
    wait(done, "the Node");
    if (is_answered && !is_found && config::has_api_server(options_.cluster))
      daemon::print_error("the Node is left out: there is none of the name " + in_quotes(options_.node_name) +
                          " (--node-name)");
  }
  void list(kube::Scope scope) {
    const std::string what = scope.resource.plural;
    const kube::Resource kind = scope.resource;
    bool done = false;
    std::vector<Json> found;
    size_t left_out = 0, bytes = 0, unread = 0;
    const auto call = process_.cluster->list(
        {.scope = std::move(scope)},
        {.on_item =
             [&](std::string_view text) {
               auto object = kube::decode_json(text);
               if (!object || object->object() == nullptr) {
                 ++unread;
                 return;
               }
               if (kind.kind == kube::kResourceSlices.kind && !is_own_slice(*object)) return;
               if (found.size() >= kOfAKindMax || bytes + text.size() > kOfAKindBytesMax) {
                 ++left_out;
                 return;
               }
               bytes += text.size();
               Json whole = Json::Object{};
               whole.set("apiVersion", api_version(kind));  // items of a list lack both
               whole.set("kind", kind.kind);
               for (const auto& [key, value] : *object->object()) whole.set(key, value);
               found.push_back(plain(std::move(whole)));
             },
         .on_done = [&](const std::string&) { done = true; },
         .on_failure =
             [&](const kube::Failure& failure) { say(failure, what), found.clear(), done = true; }});
    wait(done, what);
    if (!done) return;
    if (left_out > 0)
      daemon::print_error(std::to_string(left_out) + " " + what + " are left out: a snapshot has room for " +
                          std::to_string(kOfAKindMax) + ", and for " +
                          std::to_string(kOfAKindBytesMax >> 20) + " MiB of them");
    if (unread > 0)
      daemon::print_error(std::to_string(unread) + " " + what + " are left out: they cannot be read");
    // Readers must not treat devices as offered if the omitted policies may exclude them.
    if (left_out + unread > 0 && kind.kind == kube::kDeviceExposurePolicies.kind)
      out_.objects.push_back(
          kube::placeholder_for("the cluster's", "policies are left out of the snapshot").value);
    for (Json& object : found) out_.objects.push_back(std::move(object));
  }

  daemon::HostProcess& process_;
  const config::Options& options_;
  Snapshot& out_;
};

// Names of sliced's slices contain the node's name and the pool's, so they change with the alias. Slices of
// other programs contain a truncated node name (generateName keeps 58 bytes), which no alias covers: they get
// numbers.
void rename_slices(Snapshot& out) {
  const auto aliased = [&](std::string pool) {
    return pool.starts_with(out.node) ? snapshot::kNodeAlias + pool.substr(out.node.size()) : pool;
  };
  int others = 0;
  for (Json& object : out.objects) {
    if (object.text("kind") != kube::kResourceSlices.kind) continue;
    const Json *spec = object.find("spec"), *pool = object.find({"spec", "pool"}),
               *meta = object.find("metadata");
    if (spec == nullptr || meta == nullptr || meta->object() == nullptr) continue;
    Json renamed = *meta;
    renamed.set("name", "slice-" + std::to_string(++others));
    if (renamed.find("generateName") != nullptr) renamed.set("generateName", "slice-");
    const std::string name(meta->text("name")), driver(spec->text("driver")),
        its_pool(pool == nullptr ? "" : pool->text("name"));
    const auto index = parse_hex(std::string_view(name).substr(0, 5));
    constexpr int kSalts = 4;
    for (int salt = 0; index && salt < kSalts; ++salt) {
      if (publishers::slice_name(*index, driver, out.node, its_pool, salt) != name) continue;
      renamed.set("name",
                  publishers::slice_name(*index, driver, snapshot::kNodeAlias, aliased(its_pool), salt));
      --others;
      break;
    }
    object.set("metadata", std::move(renamed));
  }
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// Returns false if the host could not be read in time.
bool record_host(daemon::HostProcess& process, Snapshot& out) {
  const auto recorder = std::make_shared<snapshot::RecordingHost>(process.host);
  auto ports = process.host_ports(/*live_events=*/false);
  ports.host = recorder;
  if (const auto ask = ports.read_vf_configs)
    ports.read_vf_configs = [ask, recorder](int ifindex) {
      auto configs = ask(ifindex);
      if (!configs) return configs;
      std::map<int, std::string> macs;
      for (const auto& [vf, config] : *configs) macs[vf] = config.mac;
      recorder->note_admin_macs(ifindex, macs);
      return configs;
    };
  bool done = false;
  hotplug::HostSource source(std::move(ports), [&](const hotplug::InventoryUpdate&) { done = true; });
  source.start();
  if (!process.run_until([&] { return done; }, kReadHostMax)) {
    print_slow_host();
    return false;
  }
  out.host = recorder->recording();
  return true;
}

}  // namespace

int snapshot(const config::Options& options) {
  if (options.arguments[0] == "-" && ::isatty(STDOUT_FILENO) != 0) {
    daemon::print_error("a snapshot is not text for a terminal: name a file");
    return daemon::kExitError;
  }
  auto process = open_process(options);
  if (!process) {
    daemon::print_error("of the host alone, without policies and slices: " + process.error().what);
    process = open_host_process(options);
  }
  if (!process) {
    daemon::print_error(process.error().what);
    return daemon::kExitError;
  }
  Snapshot out{.version = SLICED_VERSION, .node = options.node_name, .is_raw = options.raw};
  if (!record_host(**process, out)) return (*process)->leave(daemon::kExitError);
  if ((*process)->cluster != nullptr) Objects(**process, options, out).read();
  if (!options.raw) rename_slices(out);
  std::string bytes = encode(out, {host_name()});
  auto read = snapshot::decode(bytes);
  if (!read && !out.objects.empty()) {
    daemon::print_error("of the host alone: with policies and slices it could not be read again: " +
                        read.error().what);
    out.objects.clear();
    bytes = encode(out, {host_name()});
    read = snapshot::decode(bytes);
  }
  if (!read) {
    daemon::print_error("it could not be read again: " + read.error().what +
                        (options.raw ? "" : "; use --raw"));
    return (*process)->leave(daemon::kExitError);
  }
  const std::string& to = options.arguments[0];
  if (to == "-") return (*process)->leave(daemon::print(bytes) ? daemon::kExitSame : daemon::kExitError);
  const auto written = write_whole(to, bytes);
  if (!written) daemon::print_error(escaped(to) + " cannot be written: " + written.error().what);
  return (*process)->leave(written ? daemon::kExitSame : daemon::kExitError);
}

}  // namespace sliced::cli
