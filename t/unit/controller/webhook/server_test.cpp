// The whole of it on a real socket: TLS, curl as client, certificates that are replaced.
#include "controller/webhook/server.h"

#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "http/client.h"
#include "kube/objects/json.h"
#include "reactor/child.h"
#include "reactor/thread_executor.h"
#include "t/fake/certificates.h"
#include "t/fake/memory_log.h"
#include "t/fixture/golden.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::webhook {
namespace server_test {
namespace {

const std::string kMisspelt =
    R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","operation":"CREATE","object":)"
    R"({"apiVersion":"sriovnetwork.k8snetworkplumbingwg.io/v1alpha1","kind":"SriovResourcePolicy",)"
    R"("metadata":{"name":"p"},"spec":{"config":[]}}}})";

struct WebhookServerTest : fixture::LoopTest {
  WebhookServerTest() {
    char name[] = "/tmp/webhook-test-XXXXXX";
    root = ::mkdtemp(name);
    write("ca.crt", authority.cert_pem());
  }
  ~WebhookServerTest() override { std::filesystem::remove_all(root); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root + "/" + name + ".new") << text;
    std::filesystem::rename(root + "/" + name + ".new", root + "/" + name);
  }
  void certify(const std::string& common_name) const {
    const auto made = authority.issue({.common_name = common_name, .addresses = {"127.0.0.1"}});
    write("tls.key", made.key_pem());
    write("tls.crt", made.cert_pem());
  }
  Server::Places places() const { return {{"127.0.0.1", 0}, {root + "/tls.crt", root + "/tls.key", ""}}; }
  ServerPorts ports(reactor::Executor& executor) {
    return {loop, executor, executor, log, [] { return static_cast<int64_t>(std::time(nullptr)); }};
  }
  /// What curl prints: the answer's body, then its status and curl's own outcome.
  std::string curl(uint16_t port, const std::string& path, std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {"curl",
                                     "-sS",
                                     "--cacert",
                                     root + "/ca.crt",
                                     "--write-out",
                                     "\n%{http_code} %{http_version} %{exitcode}",
                                     "https://127.0.0.1:" + std::to_string(port) + path};
    argv.insert(argv.end(), more.begin(), more.end());
    std::optional<reactor::ChildResult> result;
    const auto child = reactor::Child::start(loop, {.argv = argv}, [&](reactor::ChildResult told) {
                         result = std::move(told);
                       }).value();
    EXPECT_TRUE(run_until([&] { return result.has_value(); }));
    return result->out + result->err;
  }
  std::vector<std::string> posting(const std::string& body) const {
    write("body", body);
    return {"-H", "content-type: application/json", "--data-binary", "@" + root + "/body"};
  }

  const fake::Identity authority = fake::Identity::authority();
  fake::MemoryLog log;
  std::string root;
};

TEST_F(WebhookServerTest, ReadyRequiresACertificateAndTheAddress) {
  reactor::ThreadExecutor executor(loop);
  Server server(ports(executor), places(), {"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"});
  EXPECT_FALSE(status::are_passed(server.readiness()));
  EXPECT_EQ(server.readiness().front().problem, "there is none");
  EXPECT_EQ(server.certificate_ends(), 0);
  certify("first");
  ASSERT_TRUE(run_until([&] { return server.port() != 0; }));
  EXPECT_TRUE(status::are_passed(server.readiness()));
  EXPECT_GT(server.certificate_ends(), static_cast<int64_t>(std::time(nullptr)));
}

TEST_F(WebhookServerTest, CurlGetsTheErrorText) {
  certify("first");
  reactor::ThreadExecutor executor(loop);
  Server server(ports(executor), places(), {"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"});
  ASSERT_TRUE(run_until([&] { return server.port() != 0; }));
  for (const char* version : {"--http1.1", "--http2"}) {
    auto more = posting(kMisspelt);
    more.push_back(version);
    const std::string told = curl(server.port(), "/validate?timeout=1s", more);
    fixture::expect_golden(told);
    EXPECT_NE(told.find("\n200 "), std::string::npos) << told;
  }
  EXPECT_EQ(curl(server.port(), "/livez"), "ok\n\n200 2 0");
  EXPECT_EQ(curl(server.port(), "/readyz"), "ok\n\n200 2 0");
  EXPECT_NE(curl(server.port(), "/other").find("\n404 "), std::string::npos);
  // As large as it may be, and larger.
  std::string large = kMisspelt;
  large.insert(large.size() - 1, std::string(kReviewBytesMax - large.size(), ' '));
  // Judging has a second of its own, which a busy machine may not give it: then it is asked again.
  bool is_judged = false;
  for (int tries = 0; tries < 20 && !is_judged; ++tries)
    is_judged =
        curl(server.port(), "/validate", posting(large)).find("did you mean configs") != std::string::npos;
  EXPECT_TRUE(is_judged);
  EXPECT_NE(curl(server.port(), "/validate", posting(large + " ")).find("\n413 "), std::string::npos);
  bool is_over = false;
  server.shut_down(Millis{1'000}, [&] { is_over = true; });
  EXPECT_TRUE(run_until([&] { return is_over; }));
}

// Red when no client is served after the certificate has arrived, a replaced one is not used, or half of a replacement is.
TEST_F(WebhookServerTest, LoadsALateOrReplacedCertificate) {
  reactor::ThreadExecutor executor(loop);
  Server server(ports(executor), places(), {"a", "b"});
  ASSERT_TRUE(run_until([&] { return log.count("TLS certificate not usable") == 1; }))
      << "they were looked for";
  handle_ready();
  EXPECT_EQ(server.port(), 0);
  certify("first");
  ASSERT_TRUE(run_until([&] { return server.port() != 0; }));
  const auto subject = [&] { return curl(server.port(), "/livez", {"-v", "--no-progress-meter"}); };
  EXPECT_NE(subject().find("CN=first"), std::string::npos);
  certify("second");
  ASSERT_TRUE(run_until([&] { return log.count("TLS certificate reloaded") == 1; }));
  EXPECT_NE(subject().find("CN=second"), std::string::npos);
}

TEST_F(WebhookServerTest, RetriesAnAddressInUse) {
  certify("first");
  reactor::ThreadExecutor executor(loop);
  auto taken = reactor::net::listen_tcp(loop, {"127.0.0.1", 0}, {}, [](auto, auto) {}).value();
  Server::Places there = places();
  there.address.port = taken->port();
  Server server(ports(executor), there, {"a", "b"});
  ASSERT_TRUE(run_until([&] { return log.count("address not available") == 1; })) << log.all();
  taken.reset();
  EXPECT_TRUE(run_until([&] { return server.port() != 0; })) << log.all();
}

}  // namespace
}  // namespace server_test
}  // namespace sliced::webhook
