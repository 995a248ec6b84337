#include "cli/snapshot/recording.h"

#include <gtest/gtest.h>

#include "hotplug/scan.h"
#include "t/fixture/scan_host.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::snapshot {
namespace recording_test {
namespace {

using fixture::SysfsTree;

void make_host(SysfsTree& host) {
  host.boot_id("0b1d3c5e-7777-4f4f-8e8e-123456789abc");
  auto pf = host.pci("0000:3b:00.0").id("8086", "1592").driver("ice").numa(0).netdev("ens1f0");
  pf.sriov(8).vfs(3, [](SysfsTree::Pci vf, int index) {
    vf.id("8086", "1889").driver(index == 2 ? "vfio-pci" : "iavf");
    if (index != 2) vf.netdev("ens1f0v" + std::to_string(index));
  });
  host.bridge("br0");
  host.enslave("ens1f0v1", "br0");
  host.vlan("ens1f0.100", 100, "ens1f0");
  host.default_route("ens1f0");
}

// The inventory of a recording is equal to that of the host.
TEST(Recording, ReplaysTheSameDecisions) {
  SysfsTree host;
  make_host(host);
  const RecordingHost recorder{std::shared_ptr<const hotplug::HostView>(host.view())};
  const auto first = fixture::scan_host(recorder);
  const auto text = kube::encode_json(encode(recorder.recording()));
  const auto decoded = decode_recording(*kube::decode_json(text));
  ASSERT_TRUE(decoded) << decoded.error().what;
  const auto second = fixture::scan_host(RecordedHost(*decoded));
  EXPECT_GE(first.devices.size(), 6u);
  EXPECT_EQ(first.devices, second.devices);
  EXPECT_EQ(first.problems, second.problems);
  EXPECT_EQ(first.boot_id, second.boot_id);
}

// A host whose kernel reports alternative names, which no file has.
class NamedView final : public hotplug::HostView {
 public:
  explicit NamedView(std::shared_ptr<const hotplug::HostView> files) : files_(std::move(files)) {}
  Result<std::string> read(std::string_view path, size_t size_max) const override {
    return files_->read(path, size_max);
  }
  Result<std::vector<std::string>> list(std::string_view path) const override { return files_->list(path); }
  Result<std::string> readlink(std::string_view path) const override { return files_->readlink(path); }
  Result<hotplug::LinkProperties> link_properties(int) const override { return properties; }
  bool is_live() const override { return true; }
  hotplug::LinkProperties properties{{"ens7f0"}, true};

 private:
  std::shared_ptr<const hotplug::HostView> files_;
};

TEST(Recording, KeepsTheLastPropertiesOfALink) {
  SysfsTree host;
  const auto view = std::make_shared<NamedView>(host.view());
  const RecordingHost recorder(view);
  EXPECT_EQ(*recorder.link_properties(2), view->properties);
  EXPECT_EQ(recorder.recording().properties.at(2), view->properties);
  view->properties = {{}, false};
  EXPECT_EQ(*recorder.link_properties(2), view->properties);
  EXPECT_EQ(recorder.recording().properties.at(2), view->properties);
}

TEST(Recording, ReplaysErrorsWithTheirMeaning) {
  Recording recording;
  recording.reads.insert_or_assign("sys/a", Error{Errc::kInvalid, "sys/a: EINVAL"});
  recording.lists.insert_or_assign("sys/b", Error{Errc::kDenied, "sys/b: EACCES"});
  recording.links.insert_or_assign("sys/c", std::string("../d"));
  recording.routes = hotplug::RouteLinks{{2, 7}, {9}, {7}};
  recording.admin_macs[2][0] = "00:00:5e:00:53:01";
  recording.properties[2] = {{"ens7f0", "enp3s0f0"}, true};
  recording.properties[4] = {{}, false};
  recording.devlink_ports[5] = "pf0vf3";
  const auto decoded = decode_recording(encode(recording));
  ASSERT_TRUE(decoded);
  const RecordedHost host(*decoded);
  EXPECT_EQ(host.read("sys/a", 10).error(), (Error{Errc::kInvalid, "sys/a: EINVAL"}));
  EXPECT_EQ(host.list("sys/b").error().code, Errc::kDenied);
  EXPECT_EQ(*host.readlink("sys/c"), "../d");
  EXPECT_EQ(**host.route_links(), (hotplug::RouteLinks{{2, 7}, {9}, {7}}));
  EXPECT_EQ(host.admin_macs(2), (std::map<int, std::string>{{0, "00:00:5e:00:53:01"}}));
  EXPECT_TRUE(host.admin_macs(3).empty());
  for (const int ifindex : {2, 3, 4})
    EXPECT_EQ(*host.link_properties(ifindex), recording.properties[ifindex]) << ifindex;
  EXPECT_EQ(*host.devlink_port(5), "pf0vf3");
  EXPECT_EQ(*host.devlink_port(6), "");
  EXPECT_EQ(host.read("sys/never", 10).error().code, Errc::kNotFound);
}

TEST(Recording, RefusesATextBeyondTheReadersLimit) {
  Recording recording;
  recording.reads.insert_or_assign("sys/a", std::string("0123456789"));
  EXPECT_EQ(RecordedHost(recording).read("sys/a", 9).error().code, Errc::kTooLarge);
}

TEST(Recording, RefusesMoreEntriesThanAHostHas) {
  auto many = encode(Recording{});
  many.set("reads", kube::Json::Array(kAnswersMax + 1, kube::Json()));
  EXPECT_EQ(decode_recording(many).error().code, Errc::kTooLarge);
  many.set("reads", kube::Json::Array(1, kube::Json()));
  EXPECT_EQ(decode_recording(many).error().code, Errc::kInvalid);
}

TEST(Recording, RefusesOtherDocuments) {
  for (const char* text :
       {"{}", "[]", R"({"reads": [], "lists": []})", R"({"reads": [["a"]], "lists": [], "links": []})",
        R"({"reads": [["a", 7]], "lists": [], "links": []})",
        R"({"reads": [["a", {"error": "x"}]], "lists": [], "links": []})",
        R"({"reads": [], "lists": [["a", [1]]], "links": []})",
        R"({"reads": [], "lists": [], "links": [], "defaultRouteLinks": [-1]})",
        R"({"reads": [], "lists": [], "links": [], "adminMacs": [[1, 2]]})",
        R"({"reads": [], "lists": [], "links": [], "altNames": [[1, "ens7f0"]]})",
        R"({"reads": [], "lists": [], "links": [], "netnsImmutable": [[1, 1]]})",
        R"({"reads": [], "lists": [], "links": [], "devlinkPorts": [[1, 1]]})"})
    EXPECT_FALSE(decode_recording(*kube::decode_json(text))) << text;
}

}  // namespace
}  // namespace recording_test
}  // namespace sliced::snapshot
