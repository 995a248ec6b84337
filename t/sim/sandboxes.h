#pragma once
// The container runtime beside the daemon, and the network namespaces of its sandboxes. A sandbox starts, its container is created, it
// runs and ends, each by an NRI call over a connection that ends with the daemon. Without a connection the runtime starts and ends
// sandboxes without the daemon, as containerd does: such a sandbox gets its interfaces before its container. A simulated helper process
// moves an interface step by step, and any step may be the daemon's last. A namespace exists while it has a file or an open descriptor;
// then the kernel returns its interfaces to the host, under their names in the pod.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kubelet/interfaces/interfaces.h"
#include "kubelet/nri/frames.h"
#include "kubelet/nri/mux.h"
#include "t/fake/fake_wire.h"
#include "t/sim/world.h"

namespace sliced::sim {

class Sandboxes {
 public:
  /// on_step: called before each step of the daemon on the node; an Error is the step's result. on_moved: the interface of that
  /// function has another place or name.
  Sandboxes(World& world, std::function<std::optional<Error>(const std::string& step)> on_step,
            std::function<void(const std::string& pci)> on_moved);
  ~Sandboxes();

  /// For one process of the daemon.
  kubelet::InterfacesPorts ports();
  kubelet::Interfaces::Settings settings() const;

  /// Reads the daemon's answers, and makes the calls that are due.
  void turn();

  /// Starts a sandbox for the pod, unless it has one.
  void start(const std::string& pod, const std::string& uid);
  void stop(const std::string& uid);
  bool has(const std::string& uid) const { return find(uid) != nullptr; }
  /// Returns whether the pod's container was created.
  bool runs(const std::string& uid) const;
  /// Returns the pod in whose namespace the interface of that function is; "" for none.
  std::string user_of(const std::string& pci) const;

  /// Returns a difference from the state before any sandbox; "" if there is none. Requires: no sandbox exists.
  std::string what_is_left() const;

 private:
  enum class Phase : uint8_t { kStarts, kIsMade, kRuns, kStops };
  struct Sandbox {
    std::string id, pod, uid;
    Phase phase = Phase::kStarts;
    uint32_t call = 0;  // without an answer yet; 0: none
    TimePoint again{};  // the next call
  };
  struct Helper;

  const Sandbox* find(const std::string& uid) const;
  std::string file_of(const std::string& id) const { return directory_ + "/netns-" + id; }
  std::string text_of(const Sandbox& sandbox) const;
  bool is_connected() const { return wire_ != nullptr && is_synchronized_; }
  void connect();
  void lose();
  void read();
  void answered(uint32_t call, bool is_agreed);
  uint32_t call(const std::string& method, const std::string& payload);
  void say(uint32_t connection, const std::string& bytes);
  void remove(const std::string& id);
  void end_namespaces();
  std::unique_ptr<cni::Run> run(const cni::Network& network, cni::Command command,
                                const cni::Attachment& attachment, cni::OnRun on_run);
  Result<Unit> bring_back(const cni::Record& record);

  World& world_;
  const std::function<std::optional<Error>(const std::string& step)> on_step_;
  const std::function<void(const std::string& pci)> on_moved_;
  std::string directory_;
  fake::FakeDials dials_;
  std::shared_ptr<fake::WireEnd> wire_;
  bool is_synchronized_ = false;
  uint32_t stream_ = 1, synchronizing_ = 0;
  nri::PieceReader pieces_;
  nri::FrameReader frames_;
  std::map<std::string, Sandbox> sandboxes_;    // by id
  std::map<int, std::string> namespace_of_;     // sandbox ids, by ifindex
  std::map<int, std::string> names_on_host_;    // by ifindex, of those that ever moved
  std::map<std::string, std::string> pods_of_;  // uid by sandbox id, of those whose namespace may live
  uint64_t ids_ = 0;
};

}  // namespace sliced::sim
