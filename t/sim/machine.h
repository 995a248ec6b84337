#pragma once
// A machine in memory: PFs, VFs, interfaces, network namespaces, drivers and routes, with the kernel's order
// of doing things. It is the truth that the oracle asks, the files that the daemon reads, and the source of
// events.
//
// Threads: one. Names and addresses that do not exist are ignored, so that any subset of a history can be
// run.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/event_source.h"
#include "hotplug/facts.h"
#include "hotplug/host_view.h"
#include "reactor/base/time.h"

namespace sliced::sim {

/// What the oracle knows of a PF. names: those that selectors may see. There are several if the design leaves
/// the name open (an interface that returned under a new name while no daemon read it). "" if its name may be
/// unknown.
struct PfFacts {
  bool is_there = false;
  std::string vendor, device;
  int numa = -1;
  std::set<std::string> names;
  bool operator==(const PfFacts&) const = default;
};
struct VfFacts {
  bool is_there = false;  // in sysfs with its links to and from its PF
  std::string pf, vendor, device, driver;
  int index = 0, numa = -1;
  bool host_use = false;
  std::set<bool> rdma;          // both where the design leaves it open
  std::set<std::string> names;  // of its interface: as of a PF's; "" also where it is known to have none
  bool is_configured = true;    // has an admin MAC, or needs none
  bool is_open = false;         // whether the daemon knows that is left open
  bool operator==(const VfFacts&) const = default;
};

class Machine {
 public:
  struct Interface {
    int ifindex = 0;
    std::string name;
    std::string function;  // "" for a bridge or VLAN
    std::string kind;      // "pci", "bridge", "vlan", "virtual"
    bool is_here = true;   // false: in a pod's namespace
    int master = 0, parent = 0, vlan_id = 0;
    bool has_default_route = false;
    bool has_host_route = false;  // beyond its own subnet, through a gateway
    bool has_address = false;     // and with it the kernel's route to its own subnet: no use by the host
    bool is_finished = false;     // by udevd
    TimePoint finished_at{};
    bool has_come_back = false;
    bool has_left_unfinished = false;  // or before anybody need have read that it was finished
  };
  struct Function {
    std::string address, pf;  // pf "" for a PF
    int index = -1;
    std::string vendor, device, driver;
    int numa = -1, total_vfs = 0, num_vfs = 0;
    bool is_linked = false;  // physfn and virtfnN exist
    bool has_rdma = false;   // its driver makes an RDMA device
    bool is_rdma_here = true;
    bool has_mac = true;                 // its PF enforces one
    bool is_rdma_open = false;           // whether the daemon knows of it is left open
    std::set<std::string> names;         // as in PfFacts and VfFacts
    std::set<std::string> names_so_far;  // since the daemon started
    bool was_away = false;               // since the daemon started
    TimePoint named_at{};                // the last time that it got an interface, or that a new name
  };
  /// key: events of one key keep their order on the way to udev's listeners; netlink keeps all.
  using OnEvent = std::function<void(hotplug::HostEvent event, const std::string& key)>;
  using OnChange = std::function<void(const std::string& function)>;  // its facts may differ now

  /// What is younger than this may not have been read before it is gone.
  static constexpr Millis kReadBound{3'000};

  std::function<TimePoint()> now;
  OnEvent on_event;
  OnChange on_change;
  /// Asked before every access to a file; an Error is the answer. May be abandoned (t/fake/abandon.h).
  std::function<std::optional<Error>(const char* operation, std::string_view path)> on_access;
  std::string boot_id = "boot-1";
  bool are_names_told = false;  // by slices, of VFs too
  bool are_macs_asked = false;  // policies may want admin MACs
  bool has_udevd = false;
  bool is_blind = false;  // files could not be read lately: what leaves now may never have been seen

  // Hardware. A PF's slot (0..) gives its address.
  static std::string pf_address(int slot);
  static std::string vf_address(const std::string& pf, int index);
  static std::string vf_product(const std::string& vendor) { return vendor == "15b3" ? "101e" : "1889"; }
  void plug_pf(int slot, const std::string& name, const std::string& vendor, int numa,
               int total_vfs);               // 0: a NIC without SR-IOV
  void unplug(const std::string& function);  // one function, its interface first
  void announce_num_vfs(const std::string& pf, int count);
  void add_vf(const std::string& pf, int index);   // in sysfs, without its links
  void link_vf(const std::string& pf, int index);  // physfn and virtfn
  void unlink_vf(const std::string& pf, int index);
  void bind(const std::string& function, const std::string& driver);  // with its interface and RDMA device
  /// A driver that takes its time: the interface comes with make_interface().
  void bind_without_interface(const std::string& function);
  void make_interface(const std::string& function);
  void unbind(const std::string& function);

  // Interfaces.
  void rename(int ifindex, const std::string& name);
  void move_away(int ifindex);
  /// The RDMA device follows its interface, in a step of its own as CNI plugins do it.
  void move_rdma_away(const std::string& function);
  void come_back(int ifindex, const std::string& name);  // "" as it left
  void add_bridge(const std::string& name) { add_link(name, "bridge"); }
  void add_virtual(const std::string& name) { add_link(name, "virtual"); }
  void add_vlan(int parent, int id);
  void remove_link(int ifindex);
  void enslave(int ifindex, int master);  // 0 frees
  void set_default_route(int ifindex, bool on);
  void set_host_route(int ifindex, bool on);  // gives it an address, too
  void set_address(int ifindex, bool on);     // without one there is no host route
  /// Since when the host has used the function without a break; nullopt: it does not.
  std::optional<TimePoint> used_since(const std::string& function) const;
  /// Sets the MAC of a VF through its PF. is_told: the kernel reports it.
  void set_mac(const std::string& vf, bool on, bool is_told);
  /// What is answered to who asks the PF with that interface; nullopt: it is not here.
  std::optional<std::map<int, hotplug::VfConfig>> vf_configs(int ifindex) const;
  void poke(int ifindex);  // a synthetic "change"
  /// udevd has finished with it. Its name; "" it is not here.
  std::string finish(int ifindex);
  void poke_function(const std::string& function);

  /// Events were lost: what can only be known from events is left open.
  void forget_what_events_told();
  /// A daemon starts and knows what files say and what was published.
  void daemon_starts();

  /// A route beyond its own subnet, or the best default route. The metric of each is the number of its interface.
  bool carries_routes(const Interface& netdev) const;
  const std::map<std::string, Function>& functions() const { return functions_; }
  const std::map<int, Interface>& interfaces() const { return interfaces_; }
  const Interface* interface_of(const std::string& function) const;  // wherever it is
  /// Returns whether a function, or a link by its name, has an interface that udevd is still processing, or
  /// may have been processing when the interface left.
  bool is_unfinished(const std::string& id) const;
  /// Its interface was in a pod since the daemon started, or that of a function that had its address.
  bool was_away(const std::string& function) const { return were_away_.contains(function); }
  // Returns whether its driver had created no interface when the daemon started. Such a function cannot be
  // distinguished from one whose interface is in a pod.
  bool was_without_interface(const std::string& function) const { return were_without_.contains(function); }
  std::vector<std::string> pfs() const;
  std::vector<std::string> vfs_of(const std::string& pf) const;
  bool is_name_taken(const std::string& name) const;
  std::string free_name(const std::string& wish) const;

  PfFacts pf_facts(const std::string& address) const;
  VfFacts vf_facts(const std::string& address) const;

  /// The files; valid while the machine lives.
  std::shared_ptr<const hotplug::HostView> view() const;

 private:
  friend class MachineView;
  Function* find(const std::string& address);
  Interface* find(int ifindex);
  static std::string devices_path(const std::string& function);  // below /sys/devices
  bool attach(Function* function, const std::string& driver);
  bool is_used_by_host(const std::string& function) const;
  std::map<std::string, TimePoint> used_since_;  // by function
  void changed(const std::string& function);
  void changed_all();
  void say_pci(const std::string& action, const Function& function);
  void say_rdma(const std::string& action, const Function& function);
  void say_net(const std::string& action, const Interface& netdev, const std::string& old_name = "");
  void say_link(const Interface& netdev, bool deleted = false, bool moved = false);
  std::string devpath(const Interface& netdev) const;
  void add_link(const std::string& name, const std::string& kind);
  void drop_interface(int ifindex);
  void note_departure(const std::string& function);

  std::map<std::string, Function> functions_;
  std::map<int, Interface> interfaces_;
  /// Names by the address of functions, of all cards: a published name of a PF may be that of an earlier
  /// card.
  std::map<std::string, std::set<std::string>> names_ever_;
  std::set<std::string> were_without_;
  std::set<std::string> were_away_;  // functions by address, since the daemon started, replugged or not
  std::map<std::string, TimePoint> given_at_;  // names by renaming
  std::optional<TimePoint> forgot_at_;         // the last loss of events
  int next_ifindex_ = 2;
  TimePoint daemon_started_{};
};

}  // namespace sliced::sim
