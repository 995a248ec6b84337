#include "kube/client/credentials.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "reactor/thread_executor.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::kube {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

struct CredentialsTest : fixture::LoopTest {
  CredentialsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "credentials-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
  }
  ~CredentialsTest() override { std::filesystem::remove_all(directory); }

  std::string path(const std::string& name) const { return directory + '/' + name; }
  void write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path(name)) << text;
    chmod(path(name).c_str(), mode);
  }
  void write_kubeconfig(const std::string& user,
                        const std::string& cluster = "certificate-authority: ca.crt") const {
    write("kubeconfig",
          "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x, namespace: here}}]\n"
          "clusters: [{name: x, cluster: {server: 'https://k:6443', " +
              cluster + "}}]\nusers: [{name: x, user: {" + user + "}}]\n");
  }
  /// A plugin that counts its runs in the file "runs" and then runs the script.
  void write_plugin(const std::string& script) const {
    write("plugin", "#!/bin/sh\necho run >> '" + path("runs") + "'\n" + script, 0700);
  }
  size_t plugin_runs() const {
    std::ifstream file(path("runs"));
    return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

  std::string directory;
};

/// A source over real files, children and threads; time and the wall clock are the test's.
struct World {
  explicit World(fixture::LoopTest& test_in) : test(test_in), executor(test.loop) {}
  CredentialPorts ports() {
    return {test.loop, time, executor, log, [this] { return wall; }};
  }
  Result<Credentials> get(CredentialSource& source) {
    std::optional<Result<Credentials>> got;
    const CallPtr call = source.get([&](Result<Credentials> credentials) { got = std::move(credentials); });
    EXPECT_FALSE(got) << "never from within get()";
    EXPECT_TRUE(test.run_until([&] {
      time.advance(0ms);
      return got.has_value();
    }));
    return *got;
  }
  std::string token(CredentialSource& source) {
    const auto got = get(source);
    return got ? got->token : "failed: " + got.error().what;
  }

  fixture::LoopTest& test;
  fake::FakeScheduler time;
  reactor::ThreadExecutor executor;
  fake::MemoryLog log;
  int64_t wall = 1'000'000'000;
};

TEST_F(CredentialsTest, InClusterReadsTheServiceAccount) {
  write("token", "abc\n");
  write("ca.crt", kPem);
  write("namespace", "mine");
  const auto got = load_in_cluster({.host = "fd00::1", .port = "443", .directory = directory});
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(
      *got,
      (LoadedCredentials{
          .credentials = {{.server = *http::decode_url("https://[fd00::1]:443"), .ca_pem = kPem}, "abc"},
          .exec = {},
          .namespace_ = "mine"}));
}

TEST_F(CredentialsTest, NamesUnreadableFiles) {
  const auto load = [&] {
    const auto got = load_in_cluster({.host = "h", .port = "1", .directory = directory});
    return got ? "" : got.error().what;
  };
  EXPECT_EQ(load(),
            "service account token: \"" + path("token") + "\": cannot be read: No such file or directory");
  write("token", " \n");
  EXPECT_NE(load().find("is empty"), std::string::npos);
  write("token", "a\nb");
  EXPECT_NE(load().find("more than one line"), std::string::npos);
  write("token", std::string(70'000, 'a'));
  EXPECT_NE(load().find("larger than 64 KiB"), std::string::npos);
  write("token", "abc");
  EXPECT_NE(load().find("ca.crt"), std::string::npos);
  write("ca.crt", "no PEM");
  EXPECT_NE(load().find("has no PEM text"), std::string::npos);
  write("ca.crt", std::string(2 << 20, 'a'));
  EXPECT_NE(load().find("larger than 1 MiB"), std::string::npos);
  std::filesystem::remove(path("ca.crt"));
  ASSERT_EQ(mkfifo(path("ca.crt").c_str(), 0600), 0);
  EXPECT_NE(load().find("not a regular file"), std::string::npos) << "and does not hang";
}

TEST_F(CredentialsTest, ResolvesFilesRelativeToTheKubeconfig) {
  write("ca.crt", kPem);
  write("c.pem", kPem);
  write("k.pem", kPem);
  write("t", "from file");
  write_kubeconfig("client-certificate: c.pem, client-key: k.pem, tokenFile: t, token: inline");
  const auto got = load_kubeconfig(path("kubeconfig"));
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->credentials.token, "from file");
  EXPECT_EQ(got->credentials.access, (Access{.server = *http::decode_url("https://k:6443"),
                                             .ca_pem = kPem,
                                             .client_certificate_pem = kPem,
                                             .client_key_pem = kPem}));
  EXPECT_EQ(got->namespace_, "here");
  std::filesystem::remove(path("k.pem"));
  const auto missing = load_kubeconfig(path("kubeconfig"));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find(path("kubeconfig") + "\": client-key: \"" + path("k.pem")),
            std::string::npos)
      << missing.error().what;
  write("kubeconfig", "a: [\n");
  EXPECT_NE(load_kubeconfig(path("kubeconfig")).error().what.find("line"), std::string::npos);
}

// As KUBECONFIG has it: of several files the first to say something counts, each file's paths are relative to it, and
// missing files are skipped.
TEST_F(CredentialsTest, MergesSeveralKubeconfigs) {
  std::filesystem::create_directory(path("second"));
  write("second/t", "of the second");
  write(
      "second/config",
      "current-context: b\ncontexts: [{name: b, context: {cluster: x, user: two, namespace: there}}]\n"
      "clusters: [{name: x, cluster: {server: 'https://other:6443'}}]\nusers: [{name: two, user: {tokenFile: t}}]\n");
  write("ca.crt", kPem);
  write_kubeconfig("token: of the first");
  const std::vector<std::string> both = {path("none"), path("kubeconfig"), path("second/config")};
  EXPECT_EQ(load_kubeconfig({both, ""}, {})->credentials.access.ca_pem, kPem);
  write_kubeconfig("token: of the first", "insecure-skip-tls-verify: true");
  EXPECT_EQ(load_kubeconfig({both, ""}, {})->credentials.token, "of the first");
  const auto second = load_kubeconfig({both, "b"}, {});
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_EQ(second->credentials.token, "of the second");
  EXPECT_EQ(second->namespace_, "there");
  EXPECT_EQ(second->credentials.access.server, *http::decode_url("https://k:6443"))
      << "the first has a cluster x";
  EXPECT_FALSE(load_kubeconfig({both, "z"}, {}));
  EXPECT_EQ(load_kubeconfig({{path("none"), path("nor")}, ""}, {}).error().code, Errc::kNotFound);
}

// Red when a daemon goes on with certificates that have been replaced: the next connection has a new context
// exactly when Access differs.
TEST_F(CredentialsTest, RereadsChangedCertificates) {
  struct Variable {  // of this process, as OpenSSL reads it
    Variable(const char* of, const std::string& value) : name(of) { ::setenv(name, value.c_str(), 1); }
    ~Variable() { ::unsetenv(name); }
    const char* name;
  };
  std::filesystem::create_directory(path("store"));
  const Variable file("SSL_CERT_FILE", path("bundle")),
      store("SSL_CERT_DIR", path("none") + ":" + path("store"));
  const auto access = [&] { return load_kubeconfig(path("kubeconfig"), {})->credentials.access; };
  write("bundle", kPem);
  write("ca.crt", kPem);
  write_kubeconfig("token: t", "tls-server-name: k");
  Access before = access();
  EXPECT_EQ(access(), before);
  const auto differs = [&] {
    const Access now = access();
    return std::exchange(before, now) != now;
  };
  write("bundle", std::string(kPem) + kPem);
  EXPECT_TRUE(differs()) << "written in place";
  write("new", kPem);
  std::filesystem::rename(path("new"), path("bundle"));
  EXPECT_TRUE(differs()) << "replaced";
  write("store/a.0", kPem);
  EXPECT_TRUE(differs()) << "one more";
  std::filesystem::create_symlink(path("ca.crt"), path("store/b.0"));
  EXPECT_TRUE(differs()) << "a link";
  write("ca.crt", std::string(kPem) + "x");
  EXPECT_TRUE(differs()) << "what it leads to";
  std::filesystem::remove(path("store/a.0"));
  EXPECT_TRUE(differs()) << "one less";
  EXPECT_FALSE(differs());
  write_kubeconfig("token: t", "certificate-authority: ca.crt");
  EXPECT_TRUE(differs());
  write("bundle", kPem);
  EXPECT_FALSE(differs()) << "not trusted, so not looked at";
  write("ca.crt", kPem);
  EXPECT_TRUE(differs());
}

TEST_F(CredentialsTest, IncludesTheProxy) {
  write("ca.crt", kPem);
  write_kubeconfig("token: t");
  const http::ProxyEnvironment env{.https_proxy = "http://p:3128", .http_proxy = "", .no_proxy = ""};
  EXPECT_EQ(load_kubeconfig(path("kubeconfig"), {})->credentials.access.proxy, std::nullopt);
  EXPECT_EQ(load_kubeconfig(path("kubeconfig"), env)->credentials.access.proxy->host, "p");
  EXPECT_TRUE(check_kubeconfig_proxy(path("kubeconfig"), env));
  write_kubeconfig("token: t", "certificate-authority: ca.crt, proxy-url: 'socks5://q'");
  const auto refused = check_kubeconfig_proxy(path("kubeconfig"), {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("proxy-url"), std::string::npos) << refused.error().what;
  EXPECT_FALSE(load_kubeconfig(path("kubeconfig"), {}));
  EXPECT_TRUE(check_kubeconfig_proxy(path("none"), env)) << "loading it says what is wrong";
  const InClusterPaths pod{.host = "10.96.0.1", .port = "443", .directory = directory};
  write("token", "t");
  EXPECT_EQ(load_in_cluster(pod, env)->credentials.access.proxy->port, 3128);
  EXPECT_FALSE(check_in_cluster_proxy(pod, {.https_proxy = "https://p", .http_proxy = "", .no_proxy = ""}));
  EXPECT_TRUE(check_in_cluster_proxy(
      pod, {.https_proxy = "https://p", .http_proxy = "", .no_proxy = "10.96.0.0/12"}));
}

TEST_F(CredentialsTest, RereadsATokenWithinAMinuteAndWhenRefused) {
  World world(*this);
  write("token", "one");
  write("ca.crt", kPem);
  const auto source =
      in_cluster_credentials(world.ports(), {.host = "h", .port = "1", .directory = directory});
  const auto first = world.get(*source);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->token, "one");
  write("token", "two");
  world.time.advance(49s);
  EXPECT_EQ(world.token(*source), "one") << "not a read for every request";
  world.time.advance(1s);
  EXPECT_EQ(world.token(*source), "two");
  write("token", "three");
  source->invalidate(*first);
  EXPECT_EQ(world.token(*source), "two") << "what was refused is not used any more: nothing to do";
  source->invalidate(*world.get(*source));
  EXPECT_EQ(world.token(*source), "three");
}

TEST_F(CredentialsTest, KeepsAcceptedCredentialsAfterAFailedReread) {
  World world(*this);
  write("token", "one");
  write("ca.crt", kPem);
  const auto source =
      in_cluster_credentials(world.ports(), {.host = "h", .port = "1", .directory = directory});
  EXPECT_EQ(world.token(*source), "one");
  std::filesystem::remove(path("token"));
  world.time.advance(60s);
  EXPECT_EQ(world.token(*source), "one");
  EXPECT_EQ(world.log.count("credentials not reloaded"), 1u) << world.log.all();
  EXPECT_EQ(world.token(*source), "one");
  EXPECT_EQ(world.log.count("credentials not reloaded"), 1u) << "not for every request";
  source->invalidate(*world.get(*source));
  EXPECT_EQ(world.token(*source).find("failed: service account token: "), 0u)
      << "refused and not to be had anew";
  write("token", "two");
  EXPECT_EQ(world.token(*source), "two") << "an error is not remembered";
}

TEST_F(CredentialsTest, ConcurrentRequestsShareOneLoad) {
  World world(*this);
  auto loads = std::make_shared<std::atomic<int>>(0);
  LoadingCredentials source(world.ports(), "test", [loads]() -> Result<LoadedCredentials> {
    ++*loads;
    return LoadedCredentials{.credentials = {{}, "t"}};
  });
  int got = 0;
  std::vector<CallPtr> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(source.get([&](const Result<Credentials>&) { ++got; }));
  calls[2].reset();
  ASSERT_TRUE(run_until([&] {
    world.time.advance(0ms);
    return got == 4;
  }));
  ASSERT_TRUE(run_until([&] { return !world.executor.busy(); }));
  EXPECT_EQ(world.token(source), "t") << "an answer that comes after those";
  EXPECT_EQ(got, 4) << "who went is not told";
  EXPECT_EQ(*loads, 1);
}

TEST_F(CredentialsTest, TimesOutOnASlowReadAndMayBeDestroyed) {
  World world(*this);
  auto release = std::make_shared<std::atomic<bool>>(false);
  auto source = std::make_unique<LoadingCredentials>(
      world.ports(), "test",
      [release]() -> Result<LoadedCredentials> {
        while (!*release) usleep(1000);
        return LoadedCredentials{};
      },
      CredentialTimes{.read_max = 20ms});
  const auto got = world.get(*source);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Errc::kTimeout);
  bool called = false;
  const CallPtr call = source->get([&](const Result<Credentials>&) { called = true; });
  source.reset();
  *release = true;
  ASSERT_TRUE(run_until([&] { return !world.executor.busy(); })) << "the read ends";
  handle_ready();
  world.time.advance(0ms);
  EXPECT_FALSE(called);
}

TEST_F(CredentialsTest, WarnsAboutInsecureOnce) {
  World world(*this);
  write_kubeconfig("token: t", "insecure-skip-tls-verify: true");
  const auto source = kubeconfig_credentials(world.ports(), path("kubeconfig"));
  EXPECT_EQ(world.token(*source), "t");
  world.time.advance(60s);
  EXPECT_EQ(world.token(*source), "t");
  EXPECT_EQ(world.log.count("not verified"), 1u) << world.log.all();
}

constexpr const char* kExec =
    "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: [first], interactiveMode: "
    "Never, "
    "env: [{name: COLOUR, value: red}], installHint: get it somewhere}";

std::string print_status(const std::string& status) {
  return R"(printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" +
         status + "}'";
}

TEST_F(CredentialsTest, KeepsThePluginsAnswerUntilItExpires) {
  World world(*this);
  write("ca.crt", kPem);
  write_kubeconfig(kExec);
  write_plugin(
      "t=$(wc -l < '" + path("runs") +
      "')-$1-$COLOUR\ncase \"$KUBERNETES_EXEC_INFO\" in *ExecCredential*interactive*false*) ;; *) exit 9;; "
      "esac\n"
      R"(printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s","expirationTimestamp":"2001-09-09T01:56:40Z"}}' "$t")");
  // 2001-09-09T01:56:40Z is 10 minutes after the wall clock's 1000000000.
  const auto source = kubeconfig_credentials(world.ports(), path("kubeconfig"));
  EXPECT_EQ(world.token(*source), "1-first-red");
  world.time.advance(589s);
  EXPECT_EQ(world.token(*source), "1-first-red") << "files were read again, the plugin did not run";
  world.wall += 590;
  world.time.advance(1s);
  EXPECT_EQ(world.token(*source), "2-first-red") << "10 s before it expires";
}

TEST_F(CredentialsTest, RunsThePluginAgainWhenRefusedOrChanged) {
  World world(*this);
  write("ca.crt", kPem);
  write_kubeconfig(kExec);
  write_plugin(print_status(R"({"token":"t"})"));
  const auto source = kubeconfig_credentials(world.ports(), path("kubeconfig"));
  const auto got = world.get(*source);
  ASSERT_TRUE(got) << got.error().what;
  world.time.advance(24h);
  EXPECT_EQ(world.token(*source), "t");
  EXPECT_EQ(plugin_runs(), 1u) << "without an expiry it is good until refused";
  source->invalidate(*got);
  EXPECT_EQ(world.token(*source), "t");
  EXPECT_EQ(plugin_runs(), 2u);
  std::string other(kExec);
  other.replace(other.find("red"), 3, "blue");
  write_kubeconfig(other);
  world.time.advance(50s);
  EXPECT_EQ(world.token(*source), "t");
  EXPECT_EQ(plugin_runs(), 3u) << "the kubeconfig says something else now";
}

// A server that refuses everything, or a plugin that fails: not a process for each request.
TEST_F(CredentialsTest, BoundsRunsOfThePluginAfterFailures) {
  write("ca.crt", kPem);
  write_kubeconfig(kExec);
  for (const bool fails : {false, true}) {
    SCOPED_TRACE(fails);
    World world(*this);
    write_plugin(fails ? "echo no >&2; exit 1" : print_status(R"({"token":"t"})"));
    const auto source = kubeconfig_credentials(world.ports(), path("kubeconfig"));
    const size_t before = plugin_runs();
    for (int i = 0; i < 600; ++i) {
      const auto got = world.get(*source);
      EXPECT_EQ(got.ok(), !fails);
      if (got) source->invalidate(*got);
      world.time.advance(1s);
    }
    EXPECT_LE(plugin_runs() - before, 20u) << "in ten minutes";
    EXPECT_GE(plugin_runs() - before, 10u);
  }
}

TEST_F(CredentialsTest, AcceptsACertificateOfAPlugin) {
  World world(*this);
  write("ca.crt", kPem);
  write_kubeconfig(kExec);
  write_plugin(print_status(R"({"clientCertificateData":"C","clientKeyData":"K"})"));
  const auto source = kubeconfig_credentials(world.ports(), path("kubeconfig"));
  const auto got = world.get(*source);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->access.client_certificate_pem, "C");
  EXPECT_EQ(got->access.client_key_pem, "K");
  EXPECT_EQ(got->access.ca_pem, kPem);
}

TEST_F(CredentialsTest, ReportsPluginFailures) {
  write("ca.crt", kPem);
  write_kubeconfig(kExec);
  const std::pair<const char*, const char*> rows[] = {
      {"echo not logged in >&2; exit 3", "exit status 3; it said \"not logged in\": get it somewhere"},
      {"echo nonsense", "its output is not JSON"},
      {"printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}'",
       "apiVersion"},
      {"kill -9 $$", "signal 9"},
      {"head -c 2000000 /dev/zero", "printed too much"},
      {"sleep 60", "did not end in time"},
  };
  for (const auto& [script, words] : rows) {
    World world(*this);
    write_plugin(script);
    LoadingCredentials source(
        world.ports(), "kubeconfig k", [file = path("kubeconfig")] { return load_kubeconfig(file); },
        {.plugin_max = std::string_view(script) == "sleep 60" ? Millis{300} : fixture::patience()});
    const std::string got = world.token(source);
    EXPECT_EQ(got.find("failed: kubeconfig k: credential plugin \""), 0u) << got;
    EXPECT_NE(got.find(words), std::string::npos) << got;
  }
  World world(*this);
  std::filesystem::remove(path("plugin"));
  const auto source = kubeconfig_credentials(world.ports(), path("kubeconfig"));
  const std::string got = world.token(*source);
  EXPECT_NE(got.find("get it somewhere"), std::string::npos) << got;
}

TEST_F(CredentialsTest, APluginEndsWithItsSource) {
  World world(*this);
  write("ca.crt", kPem);
  write_kubeconfig(kExec);
  write_plugin("sleep 600");
  auto source = kubeconfig_credentials(world.ports(), path("kubeconfig"));
  const CallPtr call = source->get([](const Result<Credentials>&) { ADD_FAILURE() << "the source is gone"; });
  ASSERT_TRUE(run_until([&] {
    world.time.advance(0ms);
    return plugin_runs() == 1;
  }));
  source.reset();  // TearDown finds a child that lives on
}

}  // namespace
}  // namespace sliced::kube
