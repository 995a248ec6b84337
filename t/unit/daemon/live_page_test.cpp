#include "daemon/live_page.h"

#include <gtest/gtest.h>

#include "daemon/status_server.h"
#include "t/fixture/daemon_world.h"
#include "t/unit/http/server_world.h"

namespace sliced::daemon {
namespace live_page_test {

using namespace std::chrono_literals;

// A node whose page a browser has open.
struct LivePageTest : testing::Test, fixture::DaemonWorld, private PageSource {
  LivePageTest() {
    make_pf(4);
    put_policy("p", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0-1']}]}]}");
    start();
    run(2s);
    status::Pages pages;
    page.add_to(pages);
    web.server = std::make_unique<http::Server>(web.time, status::serve_pages(std::move(pages)));
  }
  fake::WireEnd& ask(const std::string& path) {
    fake::WireEnd& wire = web.connect();
    wire.say("GET " + path + " HTTP/1.1\r\nhost: localhost\r\n\r\n");
    settle();
    return wire;
  }
  void settle() {
    for (int i = 0; i < 10; ++i) {
      run(300ms);
      web.pass(300ms);
    }
  }
  // PageSource
  std::optional<VerdictSnapshot> verdicts() const override {
    if (daemon->decision() == nullptr) return std::nullopt;
    return snapshot_of(*daemon);
  }
  PreparedFor prepared() const override { return holders; }
  status::Report report() const override { return report_of(*daemon); }
  std::vector<status::PastChangePtr> history() const override { return {}; }
  uint64_t moment() const override { return daemon->decisions().decided + more; }

  http::ServerWorld web;
  PreparedFor holders;
  uint64_t more = 0;
  fake::FakeExecutor workers{web.time};
  LivePage page{workers, web.time, *this};
};

TEST_F(LivePageTest, ShowsAndFollowsTheState) {
  const std::string first = ask("/").sent;
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200 ")) << first.substr(0, 200);
  EXPECT_NE(first.find("content-security-policy: default-src 'none';"), std::string::npos);
  EXPECT_NE(first.find("ens1f0v3"), std::string::npos);
  fake::WireEnd& events = ask("/events");
  EXPECT_NE(events.sent.find("event: head\n"), std::string::npos) << events.sent;
  EXPECT_NE(events.sent.find("event: moment\n"), std::string::npos) << events.sent;
  const size_t before = events.sent.size();
  settle();
  EXPECT_EQ(events.sent.substr(before).find("event:"), std::string::npos) << "nothing has changed";
  put_policy("p", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0']}]}]}");
  run(2s);
  page.on_decided();
  settle();
  const std::string said = events.sent.substr(before);
  EXPECT_NE(said.find("event: devices\n"), std::string::npos) << said;
  EXPECT_NE(said.find("\"id\":\"0000:3b:02.1\""), std::string::npos) << said;
  EXPECT_EQ(said.find("\"id\":\"0000:3b:02.2\""), std::string::npos) << "which is as it was: " << said;
  EXPECT_NE(said.find("\"offered\":1"), std::string::npos) << said;
}

TEST_F(LivePageTest, NamesTheClaimOfADevice) {
  fake::WireEnd& events = ask("/events");
  holders = {{"0000:3b:02.0", "team/nic"}};
  ++more;
  settle();
  EXPECT_NE(events.sent.find("\"claim\":\"team/nic\""), std::string::npos) << events.sent;
  EXPECT_NE(ask("/").sent.find("prepared for team/nic"), std::string::npos);
  EXPECT_NE(ask("/devices").sent.find("\"claim\":\"team/nic\""), std::string::npos);
}

// Red when a page that no browser has open causes work.
TEST_F(LivePageTest, BuildsNoPageWithoutListeners) {
  for (int i = 0; i < 10; ++i) {
    put_policy("p", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#" + std::to_string(i % 3) + "']}]}]}");
    run(1s);
    page.on_decided();
    settle();
  }
  EXPECT_EQ(workers.jobs, 0u);
  EXPECT_GT(web.time.next_deadline() - web.time.now(), 5s) << "nor does it wake up each second";
}

TEST_F(LivePageTest, ShowsOneDeviceWithoutScript) {
  const std::string text = ask("/?device=ens1f0v3").sent;
  EXPECT_NE(text.find("<section class=\"explanation\"><h2>0000:3b:02.3</h2>"), std::string::npos) << text;
  EXPECT_NE(text.find("expected"), std::string::npos);
  EXPECT_EQ(ask("/?device=nobody").sent.find("<section class=\"explanation\">"), std::string::npos);
}

TEST(DeviceTable, GroupsClaimsOfOneDevice) {
  kubelet::PreparedClaims claims;
  claims[{"d", "1"}] = {
      .driver = "d", .namespace_ = "a", .name = "x", .uid = "1", .devices = {{.pci = "0000:3b:02.0"}}};
  claims[{"d", "2"}] = {.driver = "d",
                        .namespace_ = "a",
                        .name = "y",
                        .uid = "2",
                        .devices = {{.pci = "0000:3b:02.0"}, {.interface = "br0"}}};
  EXPECT_EQ(prepared_for(claims), (PreparedFor{{"0000:3b:02.0", "a/x, a/y"}, {"br0", "a/y"}}));
}

}  // namespace live_page_test
}  // namespace sliced::daemon
