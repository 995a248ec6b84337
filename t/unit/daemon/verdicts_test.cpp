#include "daemon/verdicts.h"

#include <gtest/gtest.h>

#include "daemon/status/verdict_table.h"
#include "daemon/status_server.h"
#include "kube/objects/list.h"
#include "t/fixture/daemon_world.h"
#include "t/fixture/golden.h"

namespace sliced::daemon {
namespace {

using namespace std::chrono_literals;

struct Verdicts : testing::Test, fixture::DaemonWorld {
  Verdicts() {
    make_pf(200);
    put_policy("p", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0-1']}]}]}");
  }
  static std::string rest_of(VerdictList& list) {
    std::string out;
    for (std::string piece = list.next(); !piece.empty(); piece = list.next()) {
      EXPECT_LE(piece.size(), 64u << 10);
      out += piece;
    }
    return out;
  }
  // status and the body, whole.
  std::pair<int, std::string> page(std::string_view query) const {
    auto made = verdicts_page(*daemon, query);
    if (const auto* answer = std::get_if<status::Answer>(&made)) return {answer->status, answer->body};
    std::string out;
    auto& pieces = std::get<status::Fragments>(made);
    for (std::string piece = pieces.next(); !piece.empty(); piece = pieces.next()) out += piece;
    return {200, out};
  }
};

// An InfiniBand PF of which the kernel cannot report the VFs. Red when the GUIDs of sysfs are not used, or nothing says why they are.
TEST_F(Verdicts, NameFactsThatTheKernelRefusesToReport) {
  auto pf = tree.pci("0000:5e:00.0").netdev("ib0").sriov(16).vfs(2);
  tree.netdev_attr("ib0", "type", "32");
  tree.write(pf.path() + "/sriov/0/node", "0c:42:a1:00:00:00:00:01");
  tree.write(pf.path() + "/sriov/0/port", "0c:42:a1:00:00:00:00:02");
  put_policy("ib", "{readiness: {require: [guid]}, configs: [{resourceFilters: [{pfNames: [ib0]}]}]}");
  read_vf_configs = [](int) -> Result<std::map<int, hotplug::VfConfig>> {
    return Error{Errc::kTooLarge, "netlink: RTM_GETLINK: EMSGSIZE"};
  };
  start();
  run(5s);
  const auto explained = [&](int index) {
    return explain_as_published(snapshot_of(*daemon), pf.vf(index).address());
  };
  EXPECT_EQ(explained(0).outcome, "offered") << explained(0).summary;
  EXPECT_EQ(explained(1).outcome, "not-ready");
  for (const int index : {0, 1})
    EXPECT_NE(status::explanation_text(explained(index))
                  .find("\n  not read: settings: netlink: RTM_GETLINK: EMSGSIZE\n"),
              std::string::npos)
        << status::explanation_text(explained(index));
  EXPECT_NE(explained(1).summary.find("GUIDs of VF 1 of ib0 (settings: netlink: RTM_GETLINK: EMSGSIZE)"),
            std::string::npos)
      << explained(1).summary;
  EXPECT_NE(kube::encode_json(status::json_of(explained(0))).find("\"unreadable\""), std::string::npos);
}

TEST_F(Verdicts, MatchExplain) {
  start();
  EXPECT_EQ(page("").first, 503);
  EXPECT_NE(page("").second.find("waits for host"), std::string::npos) << page("").second;
  run(2s);
  std::vector<kube::Json> items;
  const auto snapshot = snapshot_of(*daemon);
  for (const auto& [id, verdict] : daemon->decision()->verdicts)
    items.push_back(
        status::json_of(explain_as_published(snapshot, id, rules_max_of_all(*daemon->decision()))));
  ASSERT_EQ(items.size(), 201u);
  const auto told = kube::decode_json(page("").second);
  ASSERT_TRUE(told);
  EXPECT_EQ(kube::encode_json(*told), kube::encode_json(kube::list_of(items)));

  const std::string vf = tree.pci(kPf).vf(1).address();
  const auto one = kube::decode_json(page("device=" + vf).second);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->text("outcome"), "offered");
  EXPECT_EQ(page("device=ens1f0v1").second, page("device=" + vf).second);
  EXPECT_EQ(page("device=0000%3A" + vf.substr(5)).second, page("device=" + vf).second);
  EXPECT_EQ(page("device=nobody").first, 404);
  EXPECT_EQ(page("verbose").first, 404);
}

// Red when the mistake in one policy is reported for each of 201 devices.
TEST_F(Verdicts, ReportAnUnreadablePolicyOnce) {
  put_policy("bad", "{configs: [{resourceFilters: [{vendor: ['8086']}]}]}");
  start();
  run(2s);
  const auto unreadable = unreadable_policies(*daemon->decision());
  ASSERT_EQ(unreadable.size(), 1u);
  EXPECT_EQ(unreadable[0].devices, 200u) << "the PF is none that such a policy is asked about";
  const std::string text = text_of(unreadable);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  EXPECT_NE(
      text.find(
          "/bad spec.configs[0] is unreadable and offers none of 200 devices: spec.configs[0].resourceFilters[0].vendor: "),
      std::string::npos)
      << text;
  const std::string all = page("").second;
  size_t times = 0;
  for (size_t at = all.find("/bad\""); at != std::string::npos; at = all.find("/bad\"", at + 1)) ++times;
  EXPECT_EQ(times, 1u);
  const auto told = kube::decode_json(all);
  ASSERT_TRUE(told) << told.error().what;
  EXPECT_EQ(told->find("unreadablePolicies")->array()->size(), 1u);
  const std::string vf = tree.pci(kPf).vf(1).address();
  EXPECT_NE(page("device=" + vf).second.find("/bad"), std::string::npos) << "of one device all is said";
}

// Red when the data changes while a client reads it: half of it would be of another moment.
TEST_F(Verdicts, AreConsistentHoweverLongTheyAreRead) {
  start();
  run(2s);
  VerdictList list(snapshot_of(*daemon)), same(snapshot_of(*daemon));
  const std::string whole = rest_of(same);
  std::string read = list.next();
  ASSERT_LT(read.size(), whole.size()) << "there is more than one piece";
  remove_policy("p");
  run(2s);
  ASSERT_NE(page("").second, whole);
  EXPECT_EQ(read + rest_of(list), whole);
}

TEST_F(Verdicts, ReportEntriesThatNoSliceHolds) {
  start();
  run(2s);
  VerdictSnapshot snapshot = snapshot_of(*daemon);
  const std::string vf = tree.pci(kPf).vf(0).address();
  EXPECT_EQ(explain_as_published(snapshot, vf).summary.find("no slice has it yet"), std::string::npos);
  snapshot.published = std::make_shared<const std::vector<std::string>>();
  fixture::expect_golden(explain_as_published(snapshot, vf).summary);
}

}  // namespace
}  // namespace sliced::daemon
