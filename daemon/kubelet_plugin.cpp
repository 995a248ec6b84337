#include "daemon/kubelet_plugin.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <utility>

#include "daemon/attach_helper.h"
#include "daemon/bind_helper.h"
#include "daemon/played_kernel.h"
#include "daemon/prepared_page.h"
#include "kubelet/child_binder.h"
#include "kubelet/cni/sysctls.h"
#include "kubelet/interfaces/host_interface.h"
#include "kubelet/interfaces/native_interface.h"
#include "kubelet/known_entries.h"
#include "kubelet/network_namespace.h"
#include "kubelet/node_host.h"
#include "policy/identity.h"
#include "reactor/base/text.h"
#include "reactor/net/unix_stream.h"
#include "reactor/open_files.h"

namespace sliced::daemon {
namespace {

// Multus' directory (NAD's utilities, for device plugins).
constexpr const char* kDeviceInfoDirectory = "/var/run/k8s.cni.cncf.io/devinfo/dp";

kubelet::NodeHost::Kernel kernel_of(const HostProcess& process, const config::Options& options) {
  return process.host->is_live() ? kubelet::NodeHost::running_kernel() : played_kernel(options.host_root);
}

// Returns the directory below the host's root, unless that is this machine's.
std::string device_info_directory(const HostProcess& process, const config::Options& options) {
  return (process.host->is_live() ? "" : options.host_root) + kDeviceInfoDirectory;
}

// CNI plugins call programs of the host's.
std::vector<std::string> plugin_environment() {
  const char* path = std::getenv("PATH");
  return {"PATH=" + std::string(path != nullptr ? path : "/usr/sbin:/usr/bin:/sbin:/bin")};
}

constexpr Millis kDialMax{2'000};

// Only in a pod: on a node, /proc/sys is the administrator's.
void let_plugins_set_sysctls(const HostProcess& process, const config::Options& options) {
  if (options.pod_uid.empty() || !process.host->is_live()) return;
  if (const auto made = cni::make_writable(); !made)
    process.log->warning("CNI plugins cannot write sysctls of pods: their IPv6 settings fail",
                         {{"problem", made.error().what},
                          {"remedy",
                           "give the container CAP_SYS_ADMIN, and no AppArmor profile that denies "
                           "mount (docs/install-kubernetes.md)"}});
}

bool is_multus(const config::Options& options) {
  return options.configuration_mode == config::ConfigurationMode::kMultus;
}

std::string interface_records(const config::Options& options) {
  return options.kubelet_plugins_directory + "/" + options.sriov_driver_name + "/interfaces";
}

// In mode MULTUS only remaining attachments of the other mode are handled.
bool has_entries(const std::string& directory) {
  std::error_code none;
  return std::filesystem::directory_iterator(directory, none) != std::filesystem::directory_iterator();
}

std::string text_of(const std::map<std::string, std::string>& others) {
  std::vector<std::string> out;
  for (const auto& [driver, where] : others) out.push_back("driver " + driver + ": " + where);
  return join(out, "; ");
}

std::string refusal_beside(const std::map<std::string, std::string>& others) {
  return others.empty() ? ""
                        : "no claim is prepared while another program serves " + text_of(others) +
                              "; stop that program on this node (docs/from-dra-driver-sriov.md)";
}

// A descriptor per sandbox namespace, the pipes of a helper, a connection: a booting node has hundreds
// concurrently.
void raise_limits(Log& log) {
  constexpr uint64_t kEnough = 4'096;
  const auto raised = reactor::raise_open_files();
  if (raised && raised->now >= kEnough) return;
  log.warning("limit of open files is low: attachments may fail and be retried when many pods start at once",
              {{"limit", raised ? std::to_string(raised->now) : "unknown: " + raised.error().what},
               {"remedy", "a hard limit of open files of " + std::to_string(kEnough) +
                              " or more (systemd: LimitNOFILE=)"}});
}

kubelet::NetworkSettings network_settings(const config::Options& options) {
  return {.exclusive_plugins = {options.cni_plugins_exclusive.begin(), options.cni_plugins_exclusive.end()},
          .shared_plugins = {options.cni_plugins_shared.begin(), options.cni_plugins_shared.end()},
          .allows_vf_settings = options.vf_settings == config::VfSettings::kAll};
}

}  // namespace

std::unique_ptr<kubelet::Interfaces> KubeletPlugin::interfaces(HostProcess& process,
                                                               const config::Options& options) {
  if (!is_multus(options) || has_entries(interface_records(options)))
    let_plugins_set_sysctls(process, options);
  cni::Place place{.directories = {}, .environment = plugin_environment()};
  for (const std::string_view directory : split(options.cni_path, ':'))
    if (!directory.empty()) place.directories.emplace_back(directory);
  reactor::Loop& loop = process.loop;
  const auto sysctls = std::make_shared<kubelet::HostSysctls>();
  return std::make_unique<kubelet::Interfaces>(
      kubelet::InterfacesPorts{
          .cluster = *process.cluster,
          .scheduler = loop.scheduler(),
          .executor = *process.executor,
          .log = *process.log,
          .run =
              [&loop, place, took = attaches_](
                  cni::Network network, cni::Command command, cni::Attachment attachment,
                  std::optional<cni::Attached> previous, Millis deadline, cni::OnRun on_run) {
                if (command == cni::Command::kAdd)
                  on_run = [&loop, took, begun = loop.now(), on_run = std::move(on_run)](auto outcome) {
                    took->add(loop.now() - begun);
                    on_run(std::move(outcome));
                  };
                if (cni::is_native(network))
                  return kubelet::run_native(loop, attach_helper_program(), place, network, command,
                                             attachment, deadline, std::move(on_run));
                return cni::run_chain(loop, place, std::move(network), command, std::move(attachment),
                                      std::move(previous), deadline, std::move(on_run));
              },
          .dial =
              [&loop, socket = options.nri_socket](reactor::net::OnConnected then) {
                return reactor::net::connect_unix(loop, socket, kDialMax, std::move(then));
              },
          .host = {.is_back =
                       [host = process.host](const std::string& pci) { return kubelet::is_back(*host, pci); },
                   .is_namespace = process.host->is_live() ? &kubelet::is_network_namespace : nullptr,
                   .prepare_host = [sysctls, host = process.host](cni::Record& record) -> Result<Unit> {
                     if (auto named = kubelet::use_present_names(record, *host); !named) return named;
                     kubelet::record_host_interface(record);
                     if (auto kept = kubelet::protect_bridge(record); !kept) return kept;
                     sysctls->note(record);
                     return Unit{};
                   },
                   .restore_host_sysctls = [sysctls](cni::Record& record) { sysctls->restore(record); },
                   .host_addresses = &kubelet::read_addresses,
                   .on_interface_moved = &kubelet::record_moved_interface,
                   .before_del = &kubelet::restore_names_in_sandbox,
                   .bring_back = &kubelet::bring_interface_back}},
      kubelet::Interfaces::Settings{
          .runtime = {.name = options.nri_plugin_name,
                      .index = options.nri_plugin_index,
                      .socket = options.nri_socket},
          .records = interface_records(options),
          .only_ends = is_multus(options),
          .addresses = process.host->is_live() ? std::string(kubelet::kAddressDirectory) : "",
          .networks = network_settings(options)},
      [this]() -> const kubelet::PreparedClaims& { return preparer_.prepared(); },
      kubelet::Sandboxes::Handlers{
          .on_attached =
              [this](const kubelet::AttachedInterface& one) {
                status_.attached(one);
                preparer_.set_network_data(one.wanted.claim, one.wanted.device, one.wanted.share_id,
                                           kubelet::pod_network_of(one.wanted.interface, one.result));
              },
          .on_trouble = [this] { plugin_.refresh_health(); },
          .on_adopted = [this](const auto& networks) { preparer_.adopt_peer_networks(networks); },
          .on_pod = [this](const auto& claim, const auto& pod) { preparer_.add_pod(claim, pod); },
          .refresh_nodes =
              [this](const std::string& pod_uid, bool is_new_sandbox,
                     std::function<void(Result<Unit>)> done) {
                preparer_.refresh_nodes(pod_uid, is_new_sandbox, std::move(done));
              }});
}

kubelet::PreparerPorts KubeletPlugin::ports(HostProcess& process, const config::Options& options) {
  const std::string directory = options.kubelet_plugins_directory + "/" + options.sriov_driver_name;
  return {*process.cluster,
          process.loop.scheduler(),
          *process.executor,
          *process.log,
          std::make_shared<const kubelet::NodeHost>(
              process.host, kernel_of(process, options),
              kubelet::NodeHost::Paths{.cdi_root = options.cdi_root,
                                       .checkpoint = checkpoint_path(options),
                                       .peer_checkpoint = directory + "/checkpoint.json",
                                       .original_macs = original_macs_path(options),
                                       .original_settings = original_settings_path(options),
                                       .plugins = options.kubelet_plugins_directory}),
          interfaces_.get(),
          std::make_shared<kubelet::ChildBinder>(
              process.loop, kubelet::ChildBinder::Settings{.program = bind_helper_program(options)})};
}

std::map<std::string, std::string> KubeletPlugin::unknown_macs() const {
  const hotplug::InventoryPtr inventory = daemon_.host_inventory();
  return kubelet::unknown_macs(preparer_.original_macs(), [&](const std::string& pci) {
    const hotplug::HostDevice* device = inventory != nullptr ? inventory->devices.find(pci) : nullptr;
    return device != nullptr ? device->admin_mac : std::string();
  });
}

std::string KubeletPlugin::connection_problem() const {
  const policy::Decision* decision = daemon_.decision();
  const auto lists_plugins = [decision](const policy::PersonaVerdict& persona) {
    return persona.policy >= 0 && !decision->inputs->policies->exposures[static_cast<size_t>(persona.policy)]
                                       ->exposure.plugins.empty();
  };
  const bool is_needed =
      decision != nullptr && std::ranges::any_of(decision->personas, [&](const auto& device) {
        return std::ranges::any_of(device.second, lists_plugins);
      });
  return interfaces_->connection_problem(is_needed);
}

kubelet::ClaimPreparer::DaemonState KubeletPlugin::knowledge(HostProcess& process) {
  const auto waits_for = [this]() -> std::string {
    if (daemon_.decision() != nullptr) return "";
    const auto all = daemon_.waiting_for();
    return all.empty() ? "nothing is decided" : join(all, "; ");
  };
  return {.waits_for = waits_for,
          .find = [this](const std::string& driver, const std::string& pool,
                         const std::string& entry) { return find(driver, pool, entry); },
          .node = [this] { return daemon_.decision()->inputs->node; },
          .boot_id = [id = process.host->read("proc/sys/kernel/random/boot_id").value_or("")] { return id; }};
}

std::optional<kubelet::KnownEntry> KubeletPlugin::find(const std::string& driver, const std::string& pool,
                                                       const std::string& entry) const {
  const auto holding = [&](const std::string& one, const std::string& name) {
    return daemon_.ledger().find({exposure_driver_, one}, name);
  };
  return kubelet::find_entry({*daemon_.decision(), *daemon_.inventory(), holding}, driver, pool, entry);
}

bool KubeletPlugin::is_own_pool(const std::string& driver, const std::string& pool) const {
  const std::string& node = daemon_.decision()->inputs->node.name;
  if (driver == sriov_driver_) return pool == node;
  const policy::PoolNames names(node);
  const std::string_view net = names.net();
  return pool.starts_with(net.substr(0, net.rfind('/') + 1));
}

// The reasons for which a prepare would be refused, except those of other claims, which the scheduler knows.
std::optional<BindingReadiness> KubeletPlugin::judge(const BindingDevice& device) const {
  using Is = BindingReadiness::Is;
  if (!is_known_ || daemon_.decision() == nullptr || !plugin_.other_programs().empty() ||
      !is_own_pool(device.driver, device.pool))
    return std::nullopt;
  const auto known = find(device.driver, device.pool, device.device);
  if (!known) return BindingReadiness{Is::kLost, "the device is not on the node any more"};
  if (!known->entry)
    return BindingReadiness{
        Is::kLost, "the device is not offered any more" +
                       (known->not_ready.empty() ? "" : ", since it is not ready: " + known->not_ready)};
  if (!known->not_ready.empty()) return BindingReadiness{Is::kWaiting, known->not_ready};
  return BindingReadiness{};
}

void KubeletPlugin::on_decided(const policy::Decision& decision) {
  plugin_.refresh_health();
  if (!conditions_.is_started() && decision.inputs->settings.binding_conditions) {
    const auto has_any = [](const PoolPublisher& offer) {
      return std::ranges::any_of(offer.desired_last(), [](const policy::DesiredPool& pool) {
        return std::ranges::any_of(
            pool.devices, [](const kube::DevicePtr& device) { return !device->binding_conditions.empty(); });
      });
    };
    if (std::ranges::any_of(daemon_.offers(), has_any)) conditions_.start();
  }
  conditions_.look();
}

KubeletPlugin::KubeletPlugin(HostProcess& process, const config::Options& options, Daemon& daemon)
    : daemon_(daemon),
      sriov_driver_(options.sriov_driver_name),
      exposure_driver_(options.exposure_driver_name),
      status_(*process.cluster, process.loop.scheduler(), *process.log,
              [this]() -> const kubelet::PreparedClaims& { return preparer_.prepared(); }),
      interfaces_(interfaces(process, options)),
      preparer_(
          ports(process, options), knowledge(process),
          {.on_prepared = [this](const policy::Prepared& one) { daemon_.take(one); },
           .on_unprepared =
               [this](const policy::Unprepared& one) {
                 daemon_.take(one);
                 plugin_.refresh_health();
               },
           .on_pinned = [this](const std::string& by,
                               const hotplug::HostDevice& facts) { daemon_.hold(by, facts); },
           .on_unpinned = [this](const std::string& by) { daemon_.let_go(by); },
           .on_answered = [this](const kubelet::PreparedClaim& claim) { status_.tell(key_of(claim)); },
           .on_record_removed = [this](const kubelet::PreparedClaim& claim) { status_.released(claim); },
           .on_not_returned = [this](auto all) { daemon_.withhold(std::move(all)); }},
          {.files = {.drivers = {options.sriov_driver_name, options.exposure_driver_name},
                     .device_info_directory = device_info_directory(process, options),
                     .writes_device_infos = is_multus(options),
                     .writes_metadata = options.enable_device_metadata},
           .plan = {.names_interfaces = !is_multus(options),
                    .interface_prefix = options.interface_prefix,
                    .names_requests = options.kubevirt_environment,
                    .writes_metadata = options.enable_device_metadata},
           .mac_annotation = options.mac_annotation}),
      plugin_({.loop = process.loop,
               .log = *process.log,
               .preparer = counted_,
               .clock = [] { return static_cast<int64_t>(std::time(nullptr)); },
               .on_registered = [this] { preparer_.reconcile(); },
               .on_other_program =
                   [this] {
                     preparer_.refuse_until_start(refusal_beside(plugin_.other_programs()));
                     on_change_();
                   }},
              {.directories = {.plugins = options.kubelet_plugins_directory,
                               .registrar = options.kubelet_registrar_directory},
               .pod_uid = options.pod_uid},
              {driver(options.sriov_driver_name), driver(options.exposure_driver_name)}),
      conditions_({.ports = {.cluster = *process.cluster,
                             .scheduler = process.loop.scheduler(),
                             .log = *process.log,
                             .random = reactor::system_random()},
                   .drivers = {options.sriov_driver_name, options.exposure_driver_name},
                   .judge = [this](const BindingDevice& device) { return judge(device); },
                   .is_prepared =
                       [this](const std::string& driver, const std::string& uid) {
                         return preparer_.prepared().contains({driver, uid});
                       }}) {}

void KubeletPlugin::start(std::function<void()> on_change) {
  on_change_ = std::move(on_change);
  plugin_.start([this] {
    preparer_.start([this] {
      is_known_ = true;
      on_change_();
      interfaces_->start();
    });
  });
}

std::set<std::string> KubeletPlugin::claims_of(const std::string& driver, const std::string& pool,
                                               const std::string& device) const {
  std::set<std::string> uids;
  for (const auto& [key, claim] : preparer_.prepared())
    if (claim.driver == driver &&
        std::any_of(claim.devices.begin(), claim.devices.end(),
                    [&](const auto& one) { return one.pool == pool && one.device == device; }))
      uids.insert(claim.uid);
  return uids;
}

namespace {

// Returns whether test(claim, device) is true for a device of a claim that is this entry.
template <class Test>
bool any_prepared(const kubelet::PreparedClaims& prepared, const std::string& driver, const std::string& pool,
                  const std::string& device, const Test& test) {
  return std::ranges::any_of(prepared, [&](const auto& one) {
    const kubelet::PreparedClaim& claim = one.second;
    return claim.driver == driver && std::ranges::any_of(claim.devices, [&](const auto& its) {
             return its.pool == pool && its.device == device && test(claim, its);
           });
  });
}

}  // namespace

bool KubeletPlugin::may_be_in_pod(const std::string& driver, const std::string& pool,
                                  const std::string& device) const {
  return any_prepared(preparer_.prepared(), driver, pool, device, [&](const auto& claim, const auto& its) {
    return interfaces_->may_be_in_pod(claim, its);
  });
}

bool KubeletPlugin::has_moved(const std::string& driver, const std::string& pool,
                              const std::string& device) const {
  return any_prepared(preparer_.prepared(), driver, pool, device,
                      [&](const auto& claim, const auto& its) { return interfaces_->has_moved(claim, its); });
}

kubelet::Plugin::Driver KubeletPlugin::driver(const std::string& name) {
  return {
      .name = name, .judge = [this, name, book = std::make_shared<kubelet::HealthBook>(name)] {
        auto all = book->judge(
            daemon_.offer_of(name).desired_last(), *daemon_.host_inventory(),
            [&](const std::string& pool, const std::string& device) { return claims_of(name, pool, device); },
            [&](const std::string& pool, const std::string& device) {
              return may_be_in_pod(name, pool, device);
            },
            [&](const std::string& pool, const std::string& device) {
              return has_moved(name, pool, device);
            });
        for (kubelet::DeviceHealth& one : all) {
          if (one.trouble.empty()) one.trouble = interfaces_->trouble_of(name, one.pool, one.device);
          if (one.trouble.empty())
            one.trouble = kubelet::trouble_of_recreated(preparer_.prepared(), name, one.pool, one.device);
        }
        return all;
      }};
}

PluginState state_of(const KubeletPlugin* plugin) {
  if (plugin == nullptr) return {"off", ""};
  std::string other = text_of(plugin->other_programs());
  PluginState out{other.empty() ? "on" : "waiting", std::move(other)};
  for (auto& [pci, text] : plugin->unknown_macs()) out.unknown_macs.push_back(text);
  for (auto& [device, text] : plugin->settings_problems()) out.settings_problems.push_back(text);
  out.connection_problem = plugin->connection_problem();
  for (const policy::NotReturned& one : plugin->not_returned())
    out.not_returned.push_back("device " + one.holding.entry + " is not offered: " + one.why);
  return out;
}

std::unique_ptr<KubeletPlugin> open_kubelet_plugin(HostProcess& process, const config::Options& options,
                                                   Daemon& daemon) {
  if (options.kubelet_plugin == config::Switch::kOff) return nullptr;
  raise_limits(*process.log);
  return std::make_unique<KubeletPlugin>(process, options, daemon);
}

}  // namespace sliced::daemon
