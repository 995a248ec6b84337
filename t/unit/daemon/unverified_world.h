#pragma once
// Slices are lost while something of them is allocated, and policies change meanwhile.
#include <set>
#include <string>
#include <vector>

#include "t/unit/daemon/reserved_world.h"

namespace sliced::fixture {

struct DoubtWorld : ChargedWorld {
  struct Flip {
    const char* what;
    std::string before, after;             // specs of DeviceExposurePolicies; "" of a SriovResourcePolicy
    std::string held;                      // entry that is allocated
    std::set<std::string> later;           // what can be allocated once it is free
    std::set<std::string> meanwhile = {};  // of these, what it does not exclude
  };
  using Set = std::set<std::string>;

  static std::vector<Flip> flips() {
    const auto spec = [](const char* type, const std::string& rest = "") {
      return DaemonWorld::of_type(type, rest);
    };
    const std::string macvlan = ChargedWorld::persona("-m", true);
    const Set vfs{"0000-3b-02-0", "0000-3b-02-1"};
    return {{"a PF to its VFs", spec("pf"), spec("vf"), "0000-3b-00-0", vfs},
            {"VFs to their PF", spec("vf"), spec("pf"), "0000-3b-02-0", {"0000-3b-00-0"}},
            {"shared to exclusive", spec("pf", macvlan), spec("pf"), "0000-3b-00-0-m", {"0000-3b-00-0"}},
            {"shared to exclusive of one name",
             spec("pf", macvlan),
             spec("pf", ChargedWorld::persona("-m")),
             "0000-3b-00-0-m",
             {"0000-3b-00-0-m"}},
            {"exclusive to shared", spec("pf"), spec("pf", macvlan), "0000-3b-00-0", {"0000-3b-00-0-m"}},
            {"the other driver's VFs to a PF", "", spec("pf"), "0000-3b-02-0", {"0000-3b-00-0"}},
            {"the other driver's VFs", "", spec("vf"), "0000-3b-02-0", vfs, {"0000-3b-02-1"}},
            {"a PF to the other driver's VFs", spec("pf"), "", "0000-3b-00-0", vfs},
            {"VFs to the other driver's", spec("vf"), "", "0000-3b-02-0", vfs, {"0000-3b-02-1"}}};
  }

  void put(const std::string& spec) {
    remove_exposure("p");
    remove_policy("s");
    spec.empty() ? put_policy("s", "{configs: [{}]}") : put_exposure("p", spec);
  }
  // Where no DeviceExposurePolicy is left its pod tells; else the list of claims does.
  void give(const Flip& flip) {
    const bool is_share = flip.before.find("allowMultiple") != std::string::npos;
    if (flip.before.empty())
      put_claim("mine", kDriver, "node-a", flip.held);
    else
      put_claim("mine", kExposureDriver, kPool, flip.held, is_share ? "a-share" : "");
    if (flip.after.empty()) put_pod("pod", "mine", true);
  }
  // The other driver's VFs of ens1f0; the PF was given away by a policy that is no more, and that is
  // forgotten.
  void lose_what_a_pod_has() {
    make_pf(2);
    put_exposure("p", of_type("pf"));
    start();
    run(kKnown);
    put_claim("mine", kExposureDriver, kPool, kWholePf);
    put_pod("pod", "mine", false);
    daemon.reset();
    wipe();
    put("");
  }
  // What the flip's entry excludes is not to be had before its claim is gone, and then it is.
  void judge(const Flip& flip) {
    std::set<std::string> wrong = allocatable();
    for (int i = 0; i < 300; ++i) {
      run(1s);
      wrong.merge(allocatable());
    }
    for (const std::string& entry : flip.meanwhile) wrong.erase(entry);
    EXPECT_EQ(wrong, Set()) << log.all();
    remove_claim("mine");
    run(3min);
    EXPECT_EQ(allocatable(), flip.later);
    EXPECT_EQ(recorded(), Set());
  }
};

}  // namespace sliced::fixture
