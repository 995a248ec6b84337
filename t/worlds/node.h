#pragma once
// One node of a world: the whole daemon over a machine, an API server and a clock that stand still until they
// are told to go on. Everything that happens is decided by the commands and by one seed.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/daemon.h"
#include "kube/objects/json.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_events.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"
#include "t/sim/dice.h"
#include "t/sim/machine.h"

namespace sliced::worlds {

/// What the API server and its scheduler are able to do.
struct Server {
  bool counters = true;  // DRAPartitionableDevices; off: the fields are dropped
  bool shared = true;    // DRAConsumableCapacity
  std::string version = "v1.36.3";
};

/// The last lines of the daemon's log, for whoever reads a history.
class WorldLog final : public Log {
 public:
  explicit WorldLog(const fake::FakeScheduler& scheduler) : scheduler_(scheduler) {}
  void line(Level level, std::string_view message, std::initializer_list<Field> fields) override;
  bool is_loud = false;  // to standard error

 private:
  const fake::FakeScheduler& scheduler_;
};

class Node {
 public:
  static constexpr const char* kName = "node-a";
  static constexpr const char* kNamespace = "dra-driver-sriov";

  Node(uint64_t seed, const Server& server, bool loud);
  ~Node();

  // The host. Names that are not there are ignored.
  /// total_vfs 0: a NIC.
  void plug(int slot, const std::string& name, const std::string& vendor, int numa, int total_vfs);
  /// As the kernel does it, by way of none.
  void set_vfs(const std::string& pf, int count, const std::string& driver);
  void add_vlan(const std::string& parent, int id);
  void enslave(const std::string& interface, const std::string& master);  // "" frees it
  void set_default_route(const std::string& interface, bool on);
  void remove_link(const std::string& interface);
  /// Into a pod's namespace, and back under its name.
  void move_away(const std::string& function);
  void come_back(const std::string& function);
  /// Another boot: the host is empty until it is filled again. The daemon must be stopped.
  void reboot();

  // The daemon.
  void start();
  void stop();

  void run(Millis time);
  /// Runs until nothing has happened for a while; false when time_max was over before.
  bool settle(Millis time_max);

  /// The allocated ResourceClaims of the cluster, all of them.
  void set_claims(const std::vector<kube::Json>& claims);
  void label(const std::map<std::string, std::string>& labels);

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  sim::Machine machine;

 private:
  void wire();
  void deliver(hotplug::HostEvent event, const std::string& key);
  void tick();
  const sim::Machine::Interface* interface_named(const std::string& name) const;

  sim::Dice dice_;
  Server server_;
  WorldLog log_{scheduler};
  fake::FakeExecutor executor_{scheduler};
  fake::FakeEvents::Wire udev_, netlink_;
  std::map<std::string, TimePoint> heard_at_;  // by key: udev keeps the order of one device
  std::map<uint64_t, reactor::Ticket> events_;
  uint64_t next_event_ = 0, life_ = 0;
  int boots_ = 1;
  std::unique_ptr<sliced::daemon::Daemon> daemon_;
};

}  // namespace sliced::worlds
