#include "t/sim/sandboxes.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "kubelet/nri/messages.h"
#include "t/unit/kubelet/nri/wire.h"

namespace sliced::sim {
namespace {

namespace fs = std::filesystem;
using nri::test::field;

constexpr Millis kAgain{2'000};  // after a refusal
constexpr const char* kPodNamespace = "ns";

}  // namespace

/// One ADD or DEL, with a step each millisecond. It ends with the daemon.
struct Sandboxes::Helper final : cni::Run {
  std::vector<std::function<std::optional<Error>()>> steps;
  size_t at = 0;
  cni::Attached result;
  cni::OnRun on_run;
  reactor::Scheduler* scheduler = nullptr;
  reactor::Ticket ticket;

  void go_on() {
    ticket = scheduler->after(Millis{1}, [this] {
      const auto report = on_run;  // may destroy this object
      if (at == steps.size()) return report(result);
      if (const auto error = steps[at++]()) return report(*error);
      go_on();
    });
  }
};

Sandboxes::Sandboxes(World& world, std::function<std::optional<Error>(const std::string& step)> on_step,
                     std::function<void(const std::string& pci)> on_moved)
    : world_(world), on_step_(std::move(on_step)), on_moved_(std::move(on_moved)), dials_(world.scheduler) {
  std::string pattern = fs::temp_directory_path() / "sliced-sim.XXXXXX";
  directory_ = ::mkdtemp(pattern.data());
}

Sandboxes::~Sandboxes() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

kubelet::InterfacesPorts Sandboxes::ports() {
  const auto interface_of = [this](const std::string& pci) { return world_.machine.interface_of(pci); };
  return {.cluster = world_.sim_cluster,
          .scheduler = world_.sim_scheduler,
          .executor = world_.sim_executor,
          .log = world_.log,
          .run = [this](const cni::Network& network, cni::Command command, const cni::Attachment& attachment,
                        const auto&, Millis,
                        cni::OnRun on_run) { return run(network, command, attachment, std::move(on_run)); },
          .dial =
              [this, life = world_.border.life()](reactor::net::OnConnected then) {
                return dials_.dial({}, Millis{0}, [this, life, then = std::move(then)](auto outcome) {
                  world_.border.enter_life(life, [&] { then(std::move(outcome)); });
                });
              },
          .random = [] { return 0.5; },
          .host = {.is_back =
                       [interface_of](const std::string& pci) {
                         const auto* netdev = interface_of(pci);
                         return netdev == nullptr || netdev->is_here;
                       },
                   .prepare_host = [this, interface_of](cni::Record& record) -> Result<Unit> {
                     if (auto error = on_step_("note interface " + record.attachment.device)) return *error;
                     const auto* netdev = interface_of(record.attachment.device);
                     record.host_interface.reset();
                     if (netdev != nullptr && netdev->is_here)
                       record.host_interface = cni::HostInterface{.name = netdev->name, .kind = ""};
                     return Unit{};
                   },
                   .bring_back = [this](const cni::Record& record, int) { return bring_back(record); }}};
}

kubelet::Interfaces::Settings Sandboxes::settings() const { return {.records = directory_ + "/records"}; }

// ---- sandboxes

const Sandboxes::Sandbox* Sandboxes::find(const std::string& uid) const {
  const auto at = std::ranges::find_if(sandboxes_, [&](const auto& one) { return one.second.uid == uid; });
  return at == sandboxes_.end() ? nullptr : &at->second;
}

void Sandboxes::start(const std::string& pod, const std::string& uid) {
  if (has(uid)) return;
  const std::string id = "s" + std::to_string(++ids_);
  std::ofstream(file_of(id)) << "";
  pods_of_[id] = uid;
  sandboxes_[id] = {.id = id, .pod = pod, .uid = uid};
}

void Sandboxes::stop(const std::string& uid) {
  const Sandbox* found = find(uid);
  if (found == nullptr || found->phase == Phase::kStops) return;
  Sandbox& sandbox = sandboxes_.at(found->id);
  sandbox.phase = Phase::kStops;
  sandbox.call = 0;  // the answer to an earlier call is ignored
  sandbox.again = {};
}

bool Sandboxes::runs(const std::string& uid) const {
  const Sandbox* found = find(uid);
  return found != nullptr && found->phase == Phase::kRuns;
}

std::string Sandboxes::user_of(const std::string& pci) const {
  const auto* netdev = world_.machine.interface_of(pci);
  const auto at = netdev == nullptr ? namespace_of_.end() : namespace_of_.find(netdev->ifindex);
  return at == namespace_of_.end() ? "" : pods_of_.at(at->second);
}

void Sandboxes::turn() {
  if (wire_ != nullptr && wire_->is_gone) lose();
  if (wire_ == nullptr) connect();
  read();
  const TimePoint now = world_.scheduler.now();
  std::vector<std::string> ids;
  for (const auto& [id, sandbox] : sandboxes_) ids.push_back(id);
  for (const std::string& id : ids) {
    const auto at = sandboxes_.find(id);
    if (at == sandboxes_.end() || at->second.call != 0 || now < at->second.again) continue;
    Sandbox& sandbox = at->second;
    if (sandbox.phase == Phase::kRuns) continue;
    if (is_connected()) {
      sandbox.call = stream_ + 2;  // before the call, whose answer may come within it
      if (sandbox.phase == Phase::kStarts)
        call("RunPodSandbox", field(1, text_of(sandbox)));
      else if (sandbox.phase == Phase::kStops)
        call("StopPodSandbox", field(1, text_of(sandbox)));
      else
        call("CreateContainer", field(1, text_of(sandbox)) + field(2, nri::test::container("c-" + id, id)));
    } else if (sandbox.phase == Phase::kStarts) {
      ++world_.seen["a sandbox starts without the daemon"];
      sandbox.phase = Phase::kIsMade;
    } else if (sandbox.phase == Phase::kStops) {
      ++world_.seen["a sandbox ends without the daemon"];
      remove(id);
    }
  }
  read();
  end_namespaces();
}

std::string Sandboxes::text_of(const Sandbox& sandbox) const {
  return field(1, sandbox.id) + field(2, sandbox.pod) + field(3, sandbox.uid) + field(4, kPodNamespace) +
         field(8, field(5, field(1, "network") + field(2, file_of(sandbox.id))));
}

void Sandboxes::remove(const std::string& id) {
  fs::remove(file_of(id));
  sandboxes_.erase(id);
}

// Physical interfaces go to the initial namespace (default_device_exit_net()).
void Sandboxes::end_namespaces() {
  if (pods_of_.size() == sandboxes_.size()) return;  // all have their file
  std::vector<std::string> open;
  for (const auto& one : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    std::string path = fs::read_symlink(one, gone);
    if (path.ends_with(" (deleted)")) path.resize(path.size() - 10);
    open.push_back(std::move(path));
  }
  std::erase_if(pods_of_, [&](const auto& one) {
    if (sandboxes_.contains(one.first) || std::ranges::find(open, file_of(one.first)) != open.end())
      return false;
    for (auto at = namespace_of_.begin(); at != namespace_of_.end();) {
      const int ifindex = at->first;
      if (at->second != one.first) {
        ++at;
        continue;
      }
      at = namespace_of_.erase(at);
      ++world_.seen["the kernel returns an interface"];
      const auto netdev = world_.machine.interfaces().find(ifindex);
      if (netdev == world_.machine.interfaces().end()) continue;
      const std::string pci = netdev->second.function;
      world_.machine.come_back(ifindex, "net1");
      on_moved_(pci);
    }
    return true;
  });
}

// ---- the connection

void Sandboxes::connect() {
  if (dials_.wires.empty() || dials_.wires.back()->is_gone || dials_.wires.back()->sent.empty()) return;
  wire_ = dials_.wires.back();
  pieces_ = {};
  frames_ = {};
  stream_ = 1;
  is_synchronized_ = false;
  say(nri::kRuntimeConnection, nri::test::response(1, ""));
  call("Configure", nri::test::number_field(5, 2'000));
  std::string all;
  for (const auto& [id, sandbox] : sandboxes_) {
    all += field(1, text_of(sandbox));
    if (sandbox.phase == Phase::kRuns || sandbox.phase == Phase::kStops)
      all += field(2, nri::test::container("c-" + id, id));
  }
  synchronizing_ = stream_ + 2;
  call("Synchronize", all);
}

// An unanswered call counts as agreed.
void Sandboxes::lose() {
  wire_.reset();
  is_synchronized_ = false;
  std::vector<std::string> gone;
  for (auto& [id, sandbox] : sandboxes_) {
    if (std::exchange(sandbox.call, 0) == 0) continue;
    ++world_.seen["a call of the runtime was lost"];
    if (sandbox.phase == Phase::kStarts) sandbox.phase = Phase::kIsMade;
    if (sandbox.phase == Phase::kStops) gone.push_back(id);
  }
  for (const std::string& id : gone) remove(id);
}

void Sandboxes::say(uint32_t connection, const std::string& bytes) {
  world_.border.enter([&] { wire_->say(nri::test::piece(connection, bytes)); });
}

uint32_t Sandboxes::call(const std::string& method, const std::string& payload) {
  stream_ += 2;
  const uint32_t number = stream_;
  say(nri::kPluginConnection,
      nri::test::request(number, "nri.pkg.api.v1alpha1.Plugin", method, payload, 20'000));
  return number;
}

void Sandboxes::read() {
  if (wire_ == nullptr) return;
  pieces_.add(std::exchange(wire_->sent, ""));
  while (auto piece = pieces_.next().value()) {
    if (piece->connection != nri::kPluginConnection) continue;
    frames_.add(piece->bytes);
    while (const auto frame = frames_.next()) {
      const auto response = nri::decode_response(frame->data);
      answered(frame->stream, response && response->status.code == nri::Code::kOk);
    }
  }
}

void Sandboxes::answered(uint32_t number, bool is_agreed) {
  if (number == synchronizing_) {
    is_synchronized_ = is_agreed;
    return;
  }
  const auto at =
      std::ranges::find_if(sandboxes_, [&](const auto& one) { return one.second.call == number; });
  if (at == sandboxes_.end()) return;
  Sandbox& sandbox = at->second;
  sandbox.call = 0;
  if (!is_agreed) {
    ++world_.seen["the runtime was refused"];
    sandbox.again = world_.scheduler.now() + kAgain;
    if (sandbox.phase == Phase::kStarts) sandbox.phase = Phase::kStops;  // the kubelet makes another one
  } else if (sandbox.phase == Phase::kStarts) {
    sandbox.phase = Phase::kIsMade;
  } else if (sandbox.phase == Phase::kIsMade) {
    ++world_.seen["a pod runs with its interface"];
    sandbox.phase = Phase::kRuns;
  } else if (sandbox.phase == Phase::kStops) {
    remove(sandbox.id);
  }
}

// ---- interfaces

std::unique_ptr<cni::Run> Sandboxes::run(const cni::Network&, cni::Command command,
                                         const cni::Attachment& attachment, cni::OnRun on_run) {
  auto helper = std::make_unique<Helper>();
  helper->scheduler = &world_.sim_scheduler;
  helper->on_run = std::move(on_run);
  helper->result = {.cni_version = "1.1.0"};
  if (command == cni::Command::kAdd) {
    const std::string& pci = attachment.device;
    helper->result.interfaces = {{.name = attachment.interface, .sandbox = attachment.network_namespace}};
    helper->steps = {[this, pci]() -> std::optional<Error> {
                       const auto* netdev = world_.machine.interface_of(pci);
                       if (netdev == nullptr || !netdev->is_here)
                         return Error{Errc::kNotFound, pci + " has no interface here"};
                       return on_step_("interface mtu " + pci);
                     },
                     [this, pci, id = attachment.container_id]() -> std::optional<Error> {
                       if (auto error = on_step_("interface move " + pci)) return error;
                       const auto* netdev = world_.machine.interface_of(pci);
                       if (netdev == nullptr || !netdev->is_here)
                         return Error{Errc::kNotFound, pci + " has no interface here"};
                       const int ifindex = netdev->ifindex;
                       names_on_host_.emplace(ifindex, netdev->name);
                       namespace_of_[ifindex] = id;
                       world_.border.leave([&] { world_.machine.move_away(ifindex), on_moved_(pci); });
                       return std::nullopt;
                     },
                     [this, pci] { return on_step_("interface addresses " + pci); },
                     [this, pci] { return on_step_("interface answer " + pci); }};
  }
  helper->go_on();
  return helper;
}

Result<Unit> Sandboxes::bring_back(const cni::Record& record) {
  const std::string& pci = record.attachment.device;
  const auto* netdev = world_.machine.interface_of(pci);
  const auto at = netdev == nullptr ? namespace_of_.end() : namespace_of_.find(netdev->ifindex);
  if (!record.host_interface || at == namespace_of_.end() || at->second != record.attachment.container_id)
    return Unit{};
  if (auto error = on_step_("interface back " + pci)) return *error;
  const int ifindex = netdev->ifindex;
  world_.border.leave([&] {
    namespace_of_.erase(ifindex);
    world_.machine.come_back(ifindex, record.host_interface->name);
    on_moved_(pci);
  });
  return Unit{};
}

std::string Sandboxes::what_is_left() const {
  std::error_code none;
  for (const auto& one : fs::directory_iterator(directory_ + "/records", none))
    return "the record " + one.path().filename().string();
  for (const auto& [ifindex, name] : names_on_host_) {
    const auto at = world_.machine.interfaces().find(ifindex);
    if (at == world_.machine.interfaces().end()) continue;
    if (!at->second.is_here) return "the interface of " + at->second.function + " is not on the host";
    if (at->second.name != name)
      return "the interface of " + at->second.function + " has the name " + at->second.name + ", and had " +
             name;
  }
  return "";
}

}  // namespace sliced::sim
