#include "reactor/net/tls_files.h"

#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "t/fake/certificates.h"
#include "t/fake/fake_executor.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor::net {
namespace tls_files_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using fake::Identity;

constexpr long kDay = 86'400;

// Files and their changes are real; time is stepped.
struct TlsFilesTest : fixture::LoopTest {
  TlsFilesTest() {
    char name[] = "/tmp/tls-files-test-XXXXXX";
    root = ::mkdtemp(name);
    paths = {root + "/tls.crt", root + "/tls.key", ""};
  }
  ~TlsFilesTest() override { fs::remove_all(root); }

  Identity issue(long ends_in_seconds = 300 * kDay, long starts_in_seconds = -3600) const {
    return authority.issue({.common_name = "server",
                            .starts_in_seconds = starts_in_seconds,
                            .ends_in_seconds = ends_in_seconds});
  }
  void write(const std::string& path, const std::string& text) const {
    std::ofstream(root + "/" + path) << text;
  }
  void write(const Identity& own) const {
    write("tls.crt", own.cert_pem());
    write("tls.key", own.key_pem());
  }
  /// As the kubelet mounts a Secret: the files are links through `..data`, which is swapped in one step.
  void mount(const std::string& version, const Identity& own) const {
    fs::create_directory(root + "/.." + version);
    write(".." + version + "/tls.crt", own.cert_pem());
    write(".." + version + "/tls.key", own.key_pem());
    fs::create_symlink(".." + version, root + "/..data_tmp");
    fs::rename(root + "/..data_tmp", root + "/..data");
    for (const char* file : {"tls.crt", "tls.key"})
      if (!fs::is_symlink(root + "/" + file))
        fs::create_symlink("..data/" + std::string(file), root + "/" + file);
  }
  std::unique_ptr<TlsFiles> watch() {
    return std::make_unique<TlsFiles>(
        TlsFiles::Needs{loop, time, executor, [this] { return now; }}, paths, std::vector<std::string>{"h2"},
        TlsFiles::Events{
            .on_context =
                [this](std::shared_ptr<const TlsContext> made) { contexts.push_back(std::move(made)); },
            .on_trouble = [this](const Error& why) { troubles.push_back(why.what); }});
  }
  /// Events come as they come, and then so much time passes.
  void pass(Millis passed) {
    for (int i = 0; i < 3; ++i) loop.turn(Millis{0});
    now += passed.count() / 1000;
    time.advance(passed);
    time.advance(0ms);
  }
  std::string trouble() const { return troubles.empty() ? "" : troubles.back(); }

  const Identity authority = Identity::authority();
  std::string root;
  TlsFilePaths paths;
  fake::FakeScheduler time;
  fake::FakeExecutor executor{time};
  int64_t now = std::time(nullptr);
  std::vector<std::shared_ptr<const TlsContext>> contexts;
  std::vector<std::string> troubles;
};

TEST_F(TlsFilesTest, LoadsReplacedFiles) {
  write(issue());
  const auto files = watch();
  EXPECT_TRUE(contexts.empty()) << "nothing from within the constructor";
  pass(1s);
  ASSERT_EQ(contexts.size(), 1u);
  EXPECT_NEAR(static_cast<double>(contexts[0]->validity().ends), static_cast<double>(now + 300 * kDay), 60);
  pass(1h);
  EXPECT_EQ(contexts.size(), 1u) << "the same files are nothing new";
  write(issue());
  pass(1s);
  EXPECT_EQ(contexts.size(), 2u);
  const Identity renamed = issue();
  write("new.crt", renamed.cert_pem());
  write("new.key", renamed.key_pem());
  fs::rename(root + "/new.key", root + "/tls.key");
  fs::rename(root + "/new.crt", root + "/tls.crt");
  pass(1s);
  EXPECT_EQ(contexts.size(), 3u);
  EXPECT_TRUE(troubles.empty());
}

TEST_F(TlsFilesTest, LoadsAMountedSecretAtomically) {
  mount("one", issue());
  const auto files = watch();
  pass(1s);
  mount("two", issue());
  pass(1s);
  EXPECT_EQ(contexts.size(), 2u);
  fs::remove_all(root + "/..one");
  mount("three", issue());
  pass(1s);
  EXPECT_EQ(contexts.size(), 3u);
  EXPECT_TRUE(troubles.empty());
}

TEST_F(TlsFilesTest, DetectsAChangeWithoutAnEventWithinAMinute) {
  fs::create_directory(root + "/one");
  write("one/tls.crt", "");
  const Identity first = issue(), second = issue();
  write("one/tls.crt", first.cert_pem());
  write("one/tls.key", first.key_pem());
  fs::create_directory_symlink("one", root + "/now");
  paths = {root + "/now/tls.crt", root + "/now/tls.key", ""};
  const auto files = watch();
  pass(1s);
  fs::create_directory(root + "/two");
  write("two/tls.crt", second.cert_pem());
  write("two/tls.key", second.key_pem());
  fs::remove(root + "/now");
  fs::create_directory_symlink("two", root + "/now");
  pass(1s);
  EXPECT_EQ(contexts.size(), 1u);
  pass(60s);
  EXPECT_EQ(contexts.size(), 2u);
  write("two/tls.key", "");
  write("two/tls.key", second.key_pem());
  EXPECT_TRUE(troubles.empty());
}

TEST_F(TlsFilesTest, InvalidFilesChangeNothingAndAreLoggedOnce) {
  const Identity good = issue(), other = issue();
  paths.client_ca = root + "/ca.crt";
  write(good);
  write("ca.crt", authority.cert_pem());
  const auto files = watch();
  pass(1s);
  ASSERT_EQ(contexts.size(), 1u);
  const std::string cert = root + "/tls.crt", key = root + "/tls.key", ca = root + "/ca.crt";
  const struct {
    const char* file;
    std::string text;
    std::vector<std::string> said;
  } rows[] = {
      {"tls.key", other.key_pem(), {cert, key, "does not belong to"}},
      {"tls.key", "", {key, "server certificate and key are only of use together"}},
      {"tls.key", good.encrypted_key_pem("x"), {key, "it is encrypted; give it unencrypted"}},
      {"tls.crt", "no certificate", {cert, "no certificate in it"}},
      {"tls.crt", good.cert_pem().substr(0, 200), {cert, "certificate 1"}},
      {"tls.crt", std::string(2u << 20, 'x'), {cert, "larger than 1 MiB"}},
      {"ca.crt", "", {ca, "is empty"}},
      {"ca.crt", "\n", {ca, "no certificate in it"}},
  };
  for (const auto& row : rows) {
    troubles.clear();
    write(row.file, row.text);
    pass(10min);
    ASSERT_EQ(troubles.size(), 1u) << row.file << " " << row.text.substr(0, 40);
    for (const std::string& part : row.said)
      EXPECT_NE(trouble().find(part), std::string::npos) << trouble() << ": " << part;
    EXPECT_NE(trouble().find("; the previous one remains in use; put "), std::string::npos) << trouble();
    EXPECT_EQ(contexts.size(), 1u) << row.file;
    write(good);
    write("ca.crt", authority.cert_pem());
    pass(10s);
    EXPECT_EQ(contexts.size(), 1u) << "what is in use is back";
  }
  fs::remove(key);
  ASSERT_EQ(::mkfifo(key.c_str(), 0600), 0);
  pass(10s);
  EXPECT_NE(trouble().find(key + "\": is not a regular file"), std::string::npos) << trouble();
  fs::remove_all(key);
  write(other);
  pass(10s);
  EXPECT_EQ(contexts.size(), 2u);
}

TEST_F(TlsFilesTest, ReportsNothingBetweenTwoWrites) {
  const Identity first = issue(), second = issue();
  write(first);
  const auto files = watch();
  pass(1s);
  write("tls.crt", second.cert_pem());
  pass(1s);
  write("tls.key", second.key_pem());
  pass(10s);
  EXPECT_EQ(contexts.size(), 2u);
  EXPECT_TRUE(troubles.empty()) << trouble();
}

TEST_F(TlsFilesTest, LoadsLateFiles) {
  paths = {root + "/later/tls.crt", root + "/later/tls.key", ""};
  const auto files = watch();
  pass(10s);
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_NE(trouble().find("clients are not served until then"), std::string::npos) << trouble();
  fs::create_directory(root + "/later");
  const Identity own = issue();
  write("later/tls.crt", own.cert_pem());
  write("later/tls.key", own.key_pem());
  pass(61s);
  EXPECT_EQ(contexts.size(), 1u);
}

TEST_F(TlsFilesTest, WarnsBeforeAndAtExpiry) {
  write(issue(30 * kDay));
  const auto files = watch();
  now += 22 * kDay;
  pass(2min);
  EXPECT_EQ(contexts.size(), 1u);
  EXPECT_TRUE(troubles.empty()) << trouble();
  now += 3 * kDay;
  pass(2h);
  ASSERT_EQ(troubles.size(), 1u) << trouble();
  EXPECT_NE(trouble().find(paths.cert + "\": ends in 4 days, on "), std::string::npos) << trouble();
  now += kDay;
  pass(2h);
  EXPECT_EQ(troubles.size(), 2u) << "once a day: " << trouble();
  now += 10 * kDay;
  pass(2h);
  EXPECT_EQ(troubles.size(), 3u);
  EXPECT_NE(trouble().find("has ended on "), std::string::npos) << trouble();
  write(issue(300 * kDay));
  pass(2min);
  EXPECT_EQ(contexts.size(), 2u);
  EXPECT_EQ(troubles.size(), 3u);
  // A certificate of a day is not near its end for all of its time.
  now = std::time(nullptr);
  write(issue(kDay));
  pass(2min);
  EXPECT_EQ(contexts.size(), 3u);
  EXPECT_EQ(troubles.size(), 3u) << trouble();
  now += kDay - 4 * 3600;
  pass(2min);
  EXPECT_EQ(troubles.size(), 4u);
  EXPECT_NE(trouble().find("ends in less than a day"), std::string::npos) << trouble();
}

TEST_F(TlsFilesTest, KeepsTheCertificateIfANewOneIsNotYetValid) {
  write(issue());
  const auto files = watch();
  pass(1s);
  write(issue(-60));
  pass(10s);
  ASSERT_EQ(contexts.size(), 1u);
  EXPECT_NE(trouble().find("has ended on "), std::string::npos) << trouble();
  write(issue(300 * kDay, kDay));
  pass(10s);
  ASSERT_EQ(contexts.size(), 1u);
  EXPECT_NE(trouble().find("is not valid before "), std::string::npos) << trouble();
  now += 2 * kDay;
  pass(2min);
  EXPECT_EQ(contexts.size(), 2u) << "its time has come";
  // Where there is nothing, it is all there is.
  write(issue(-60));
  contexts.clear();
  const auto others = watch();
  pass(10s);
  EXPECT_GE(contexts.size(), 1u);
}

TEST_F(TlsFilesTest, ReportsAndRetriesAHangingRead) {
  write(issue());
  executor.hang_next = 2;
  const auto files = watch();
  pass(30s);
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_NE(trouble().find("cannot be read in time"), std::string::npos);
  pass(2min);
  EXPECT_EQ(contexts.size(), 1u);
}

TEST_F(TlsFilesTest, MustNotBeDestroyedByItsCallbacks) {
  write(issue());
  std::unique_ptr<TlsFiles> files;
  files = std::make_unique<TlsFiles>(
      TlsFiles::Needs{loop, time, executor, [this] { return now; }}, paths, std::vector<std::string>{},
      TlsFiles::Events{.on_context = [&](const auto&) { files.reset(); }, .on_trouble = [](const Error&) {}});
  EXPECT_DEATH(pass(2min), "destroyed by its own callback: TlsFiles");
}

}  // namespace
}  // namespace tls_files_test
}  // namespace sliced::reactor::net
