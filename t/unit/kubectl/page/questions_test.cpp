#include "kubectl/page/questions.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "kubectl/commands.h"
#include "reactor/loop.h"
#include "reactor/thread_executor.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::kubectl {
namespace questions_test {
namespace {

struct QuestionsTest : testing::Test {
  std::unique_ptr<Questions::Question> ask(const std::string& text) {
    return questions.ask(
        [text](const IsCancelled&) { return CommandResult{.exit_status = 0, .out = text, .err = {}}; },
        Millis{1'000},
        [this](const CommandResult& result) { heard.push_back(result.timed_out ? "late" : result.out); });
  }
  fake::FakeScheduler scheduler;
  fake::FakeExecutor executor{scheduler};
  Questions questions{executor, 2};
  std::vector<std::string> heard;
};
using Heard = std::vector<std::string>;

TEST_F(QuestionsTest, BoundsConcurrentQuestions) {
  auto a = ask("a"), b = ask("b");
  EXPECT_EQ(ask("c"), nullptr);
  scheduler.advance(Millis{1});
  EXPECT_EQ(heard, (Heard{"a", "b"}));
  a.reset(), b.reset();
  EXPECT_NE(ask("c"), nullptr);
}

// Red when a dropped question is answered, or counts before it has started.
TEST_F(QuestionsTest, ForgetsAQuestionDroppedBeforeItsStart) {
  auto a = ask("a"), b = ask("b");
  a.reset();
  EXPECT_NE(b = ask("c"), nullptr);
  scheduler.advance(Millis{1});
  EXPECT_EQ(heard, Heard{"c"});
}

// Red when answers that are late pile up, each with the memory of a whole cluster.
TEST_F(QuestionsTest, CountsALateQuestionUntilItsEnd) {
  executor.hang_next = 2;
  executor.keeps_hung_work = true;
  auto a = ask("a"), b = ask("b");
  scheduler.advance(Millis{2'000});
  EXPECT_EQ(heard, (Heard{"late", "late"}));
  a.reset(), b.reset();
  EXPECT_EQ(ask("c"), nullptr);
  executor.hung_work.clear();
  auto c = ask("c");
  ASSERT_NE(c, nullptr);
  scheduler.advance(Millis{1});
  EXPECT_EQ(heard.back(), "c");
}

TEST_F(QuestionsTest, AnAnswerMayDropItsQuestion) {
  std::unique_ptr<Questions::Question> question;
  question =
      questions.ask([](const IsCancelled&) { return CommandResult{.out = "a", .err = {}}; }, Millis{1'000},
                    [&](const CommandResult& result) {
                      question.reset();
                      heard.push_back(result.out);
                    });
  scheduler.advance(Millis{1});
  EXPECT_EQ(heard, Heard{"a"});
}

// Red when the computation for a disconnected browser continues.
TEST(Questions, NotifiesARunningQuestionThatItIsDropped) {
  reactor::Loop loop;
  reactor::ThreadExecutor executor(loop);
  Questions questions(executor, 1);
  std::atomic<bool> began = false, ended = false;
  auto question = questions.ask(
      [&](const IsCancelled& is_cancelled) {
        began = true;
        while (!is_cancelled()) std::this_thread::yield();
        ended = true;
        return CommandResult{};
      },
      Millis{0}, [](const CommandResult&) { FAIL() << "nobody waits for it"; });
  while (!began) std::this_thread::yield();
  question.reset();
  while (!ended) std::this_thread::yield();
  while (executor.busy()) std::this_thread::yield();
  loop.turn(Millis{1});
}

constexpr const char* kWaitingPod =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns}\n"
    "spec: {containers: [{name: c, image: i}], resourceClaims: [{name: vf, resourceClaimName: vf}]}\n";
constexpr const char* kClaim =
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: vf, namespace: ns}\n"
    "spec: {devices: {requests: [{name: vf, exactly: {deviceClassName: none}}]}}\n";

// Red when the page's answer for a pod differs from `kubectl sliced why`, or is written to the standard streams.
TEST(Questions, AnswersEqualThoseOfTheCommands) {
  fixture::SysfsTree files;
  files.write("cluster/pod.yaml", kWaitingPod);
  files.write("cluster/claim.yaml", kClaim);
  files.write("cluster/node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: w}\n");
  files.write("edit.yaml", "kind: [\n");
  config::Options options;
  options.program = config::Program::kKubectl;
  options.command = config::Command::kPage;
  options.cluster = config::ClusterDirectory{files.root() + "/cluster"};
  options.log_level = Level::kError;
  options.diff_file = files.root() + "/edit.yaml";
  const auto printed_by = [&](auto command, config::Options its) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    CommandResult out{.exit_status = command(its), .out = {}, .err = {}};
    out.out = testing::internal::GetCapturedStdout();
    out.err = testing::internal::GetCapturedStderr();
    return out;
  };
  config::Options asked = options;
  asked.command = config::Command::kWhy;
  asked.arguments = {"pod", "ns/p"};
  const CommandResult why_printed = printed_by(why, asked);
  asked.command = config::Command::kPolicies;
  asked.arguments.clear();
  asked.output = config::OutputFormat::kJson;
  const CommandResult edit_printed = printed_by(policies, asked);
  EXPECT_EQ(why_printed.exit_status, daemon::kExitNone) << why_printed.out << why_printed.err;
  EXPECT_EQ(edit_printed.exit_status, daemon::kExitError) << edit_printed.out;

  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  CommandResult why_said, edit_said;
  std::thread([&] {
    why_said = answer_why(options, "ns/p", [] { return false; });
    edit_said = answer_edit(options, [] { return false; });
  }).join();
  EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(why_said.exit_status, why_printed.exit_status);
  EXPECT_EQ(why_said.out, why_printed.out);
  EXPECT_EQ(edit_said.exit_status, edit_printed.exit_status);
  EXPECT_EQ("sliced: " + edit_said.err, edit_printed.err);
}

// Red when the page's process keeps an answer that is longer than it may be, beside the cluster that the page follows.
TEST(Questions, RefusesAnAnswerThatIsTooLong) {
  fixture::SysfsTree files;
  files.write("cluster/node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: w, labels: {a: b}}\n");
  files.write(
      "edit.yaml",
      "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: e}\n"
      "spec: {priority: 1, action: exclude, nodeSelector: {matchLabels: {a: b}}, selector: {cel: 'true'}}\n");
  config::Options options;
  options.program = config::Program::kKubectl;
  options.cluster = config::ClusterDirectory{files.root() + "/cluster"};
  options.log_level = Level::kError;
  options.diff_file = files.root() + "/edit.yaml";
  CommandResult whole, refused;
  std::thread([&] {
    const auto goes_on = [] { return false; };
    whole = answer_edit(options, goes_on);
    refused = answer_edit(options, goes_on, whole.out.size() - 1);
  }).join();
  EXPECT_EQ(whole.exit_status, daemon::kExitChanges) << whole.out << whole.err;
  EXPECT_EQ(refused.exit_status, daemon::kExitError);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err, whole.err + kEditTooLarge + "\n");
  EXPECT_EQ(edit_effect("edit.yaml", refused).problem, whole.err + kEditTooLarge);
}

// A server that takes connections and never answers.
struct SilentServer {
  SilentServer() : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd, 8), 0);
    EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  ~SilentServer() { close(fd); }
  const int fd;
  int port = 0;
};

// Red when an abandoned question continues for two minutes with each list that the server does not answer.
TEST(Questions, AHangingServerHoldsNoDroppedQuestion) {
  const SilentServer server;
  fixture::SysfsTree files;
  files.write(
      "kubeconfig",
      "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],\n"
      " users: [{name: u, user: {token: t}}], clusters: [{name: c, cluster: {server: \"http://127.0.0.1:" +
          std::to_string(server.port) + "\"}}]}\n");
  config::Options options;
  options.cluster = config::KubeconfigFile{files.root() + "/kubeconfig"};
  options.log_level = Level::kError;
  int asked = 0;
  const CommandResult result = answer_why(options, "ns/p", [&] { return ++asked > 2; });
  EXPECT_EQ(result.exit_status, daemon::kExitError);
  EXPECT_EQ(asked, 3) << "it ended for another reason";
  EXPECT_NE(result.err.find("pod ns/p: "), std::string::npos) << result.err;
}

}  // namespace
}  // namespace questions_test
}  // namespace sliced::kubectl
