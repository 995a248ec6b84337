#pragma once
// The kubelet beside the daemon, and the node that both share: pods that start and end, calls that are repeated
// until they are answered, a plugin that is killed at any step of what it does to the node.
//
// Judged: K1 a device is prepared for one claim at a time · K2 what is prepared is charged · K3 preparing and
// taking back write no slice · K4 what is answered is there, and is the same when it is asked for again · K5 at
// rest there are files of what is prepared and no others · K6 when nothing is prepared, every function has the
// driver that it had · K7 at rest a pod runs whose device nobody else has · K8 a function that carries routes of the
// host's is prepared for no pod · K9 a device that cannot be given back, and whose claim is gone, is not offered, and is again after the
// daemon alone has given it back · K10 a pod runs with the interface of its device in its namespace · K11 at rest no other interface is
// in a namespace; when nothing is prepared each is on the host under its name, and there is no record of one · K12 the original settings of
// a device are never lost.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/preparer.h"
#include "t/fake/fake_node.h"
#include "t/sim/faults.h"
#include "t/sim/sandboxes.h"
#include "t/sim/world.h"

namespace sliced::sim {

class Kubelet final : public Companion {
 public:
  Kubelet(World& world, uint64_t seed);
  ~Kubelet() override;

  void begin(std::function<void()> ready) override;
  void end() override;

  /// One of what may happen here, and some time.
  void step();
  /// Faults end; whatever can start has started, and what is there is judged.
  void rest();
  /// All pods end.
  void finish();
  const std::optional<Violation>& violation() const { return violation_; }

 private:
  struct Pod {
    std::string name, uid, claim, claim_uid, entry, pci;
    bool is_vfio = false, is_native = false;  // sliced itself attaches its interface
    bool ends = false, passes_claim_on = false;
    bool is_forgotten = false;           // deleted by force: unprepare is called once
    bool is_prepared = false;            // as far as the kubelet has been told
    uint64_t call = 0;                   // the newest
    bool is_asked = false;               // it is under way
    TimePoint asked_first_at{};          // for this claim
    kubelet::PrepareAnswer answer = {};  // the first
    reactor::Ticket retry = {};
  };

  // the node
  std::optional<Error> on_step(const std::string& step);
  void note_unrestored_settings();
  void read_machine();
  void read_interface(const std::string& pci);
  void move_machine();

  // the API server
  void put_claim(Pod& pod);
  std::vector<std::string> published() const;

  // pods
  void start_pod();
  void start_pod_of(const std::string& entry);
  void route();  // of the host's, on a function that no pod has, and now and then a pod for it
  void end_routes();
  void end_pod(bool by_force);
  void stick();    // a device that cannot be given back, and whose kubelet forgets it
  void unstick();  // after it was judged
  void restart();
  void ask(Pod& pod);
  void ask_later(Pod& pod);
  void prepared(const std::string& name, uint64_t call, const kubelet::PrepareAnswer& answer);
  void taken_back(const std::string& name, uint64_t call, const std::string& error);
  Pod* find(const std::string& name, uint64_t call);
  bool is_contested(const Pod& pod) const;

  // judging
  void advance(Millis time);
  void judge();
  void judge_answer(const Pod& pod, const kubelet::PrepareAnswer& answer);
  void judge_files();
  void judge_interfaces();  // at rest
  void fail(const std::string& invariant, const std::string& what);

  World& world_;
  Dice dice_;
  fake::FakeNode node_;
  std::map<std::string, std::string> originals_;  // drivers by address
  Sandboxes sandboxes_;
  std::unique_ptr<kubelet::Interfaces> interfaces_;  // outlives the preparer
  std::unique_ptr<kubelet::ClaimPreparer> preparer_;
  std::map<std::string, Pod> pods_;
  uint64_t calls_ = 0, names_ = 0;
  size_t kill_at_ = 0;                             // so many steps from now
  size_t fail_at_ = 0;                             // the same, and it only fails
  std::string stuck_, stuck_entry_, stuck_claim_;  // a function that cannot be given back; "" none
  bool is_away_ = false;                           // the kubelet
  reactor::Ticket back_;
  size_t writes_ = 0;      // of slices, at the last rest
  bool may_write_ = true;  // there was none yet, or slices were wiped since
  std::optional<Violation> violation_;
};

/// So many histories from that seed on; prints what fails.
Tally play_kubelets(uint64_t first, size_t seeds, size_t steps, bool is_loud);

}  // namespace sliced::sim
