#include "reactor/thread_executor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

// A FIFO without a writer: opening it for reading hangs, as a read of a broken device's file does.
class Fifo {
 public:
  Fifo() {
    char name[] = "/tmp/executor-test-XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ + "/fifo";
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  }
  ~Fifo() {
    release();
    std::filesystem::remove_all(directory_);
  }
  std::function<void()> hanging_read() {
    return [path = path_, inside = inside_] {
      ++*inside;
      const int fd = ::open(path.c_str(), O_RDONLY);
      ::close(fd);
      --*inside;
    };
  }
  int inside() const { return *inside_; }
  // Lets go all readers that have begun.
  void release() {
    while (*inside_ > 0) {
      const int fd = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK);
      if (fd >= 0) ::close(fd);
      std::this_thread::yield();
    }
  }

 private:
  std::string directory_, path_;
  std::shared_ptr<std::atomic<int>> inside_ = std::make_shared<std::atomic<int>>(0);
};

struct ExecutorTest : fixture::LoopTest {
  ThreadExecutor::Done note(std::vector<bool>& outcomes) {
    return [&outcomes](bool finished) { outcomes.push_back(finished); };
  }
};

TEST_F(ExecutorTest, RunsWorkOnAWorkerAndDoneOnTheLoop) {
  ThreadExecutor executor(loop);
  const auto home = std::this_thread::get_id();
  auto worked_on = std::make_shared<std::thread::id>();
  std::thread::id done_on;
  const auto job = executor.run([worked_on] { *worked_on = std::this_thread::get_id(); }, 0ms,
                                [&](bool finished) {
                                  EXPECT_TRUE(finished);
                                  done_on = std::this_thread::get_id();
                                });
  ASSERT_TRUE(run_until([&] { return done_on != std::thread::id(); }));
  EXPECT_EQ(done_on, home);
  EXPECT_NE(*worked_on, home);
  EXPECT_FALSE(executor.busy());
}

TEST_F(ExecutorTest, CompletesEachOfManyJobsOnce) {
  ThreadExecutor executor(loop);
  std::vector<std::unique_ptr<Job>> jobs;
  auto worked = std::make_shared<std::atomic<int>>(0);
  std::vector<bool> outcomes;
  for (int i = 0; i < 500; ++i) jobs.push_back(executor.run([worked] { ++*worked; }, 1min, note(outcomes)));
  ASSERT_TRUE(run_until([&] { return outcomes.size() == 500; }));
  EXPECT_EQ(*worked, 500);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), true), 500);
}

TEST_F(ExecutorTest, HonoursTheLimitOfWorkers) {
  Fifo fifo;
  ThreadExecutor executor(loop, {.workers = 2});
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<bool> outcomes;
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  const auto before = threads();
  for (int i = 0; i < 6; ++i) jobs.push_back(executor.run(fifo.hanging_read(), 0ms, note(outcomes)));
  EXPECT_LE(threads(), before + 2) << "they are started by run()";
  ASSERT_TRUE(run_until([&] { return fifo.inside() == 2; }));
  ASSERT_TRUE(run_until([&] {
    fifo.release();
    return outcomes.size() == 6;
  }));
}

TEST_F(ExecutorTest, ADroppedJobIsSilentAndAQueuedOneNeverRuns) {
  Fifo fifo;
  ThreadExecutor executor(loop, {.workers = 1});
  std::vector<bool> outcomes;
  auto ran = std::make_shared<std::atomic<bool>>(false);
  auto running = executor.run(fifo.hanging_read(), 0ms, note(outcomes));
  auto waiting = executor.run([ran] { *ran = true; }, 0ms, note(outcomes));
  ASSERT_TRUE(run_until([&] { return fifo.inside() == 1; }));
  running.reset();
  waiting.reset();
  fifo.release();
  ASSERT_TRUE(run_until([&] { return !executor.busy(); }));
  handle_ready();
  EXPECT_TRUE(outcomes.empty());
  EXPECT_FALSE(*ran);
}

TEST_F(ExecutorTest, FourHungReadsDoNotKeepTheFifthJobFromRunning) {
  Fifo fifo;
  ThreadExecutor executor(loop);
  std::vector<bool> outcomes, fifth;
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(executor.run(fifo.hanging_read(), 100ms, note(outcomes)));
  jobs.push_back(executor.run([] {}, 100ms, note(fifth)));
  const auto began = Clock::now();
  loop.turn(50ms);
  if (Clock::now() - began < 100ms) {  // a slow machine may be later
    EXPECT_TRUE(outcomes.empty() && fifth.empty()) << "all workers hang, no deadline has passed";
    EXPECT_FALSE(executor.hung());
  }
  EXPECT_TRUE(executor.busy());
  ASSERT_TRUE(run_until([&] { return outcomes.size() == 4 && fifth.size() == 1; }));
  EXPECT_EQ(outcomes, std::vector<bool>(4, false));
  EXPECT_EQ(fifth, std::vector<bool>{true});
  EXPECT_TRUE(executor.hung());
  EXPECT_EQ(executor.lost(), 4u);

  fifo.release();
  ASSERT_TRUE(run_until([&] { return !executor.hung(); })) << "those that come back retire";
  EXPECT_EQ(outcomes.size(), 4u) << "and tell nobody";
  EXPECT_FALSE(executor.busy());
}

TEST_F(ExecutorTest, ADroppedHangingJobCostsItsWorkerUntilTheDeadline) {
  Fifo fifo;
  ThreadExecutor executor(loop, {.workers = 1});
  std::vector<bool> outcomes;
  auto hangs = executor.run(fifo.hanging_read(), 500ms, note(outcomes));
  ASSERT_TRUE(run_until([&] { return fifo.inside() == 1; }));
  hangs.reset();
  outcomes.clear();  // of a slow machine, which drops it after its deadline
  const auto next = executor.run([] {}, 0ms, note(outcomes));
  ASSERT_TRUE(run_until([&] { return !outcomes.empty(); }));
  EXPECT_EQ(outcomes, std::vector<bool>{true});
  EXPECT_EQ(executor.lost(), 1u);
  fifo.release();
  EXPECT_TRUE(run_until([&] { return !executor.hung(); }));
}

TEST_F(ExecutorTest, FailsNewJobsImmediatelyAfterTooManyLostWorkers) {
  Fifo fifo;
  ThreadExecutor executor(loop, {.workers = 2, .lost_max = 3});
  std::vector<bool> outcomes, waiting, refused;
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(executor.run(fifo.hanging_read(), 20ms, note(outcomes)));
  jobs.push_back(executor.run([] {}, 1min, note(waiting)));
  ASSERT_TRUE(run_until([&] { return outcomes.size() == 4 && waiting.size() == 1; }));
  EXPECT_EQ(waiting, std::vector<bool>{false}) << "nobody is left to run it";
  jobs.push_back(executor.run([] {}, 1min, note(refused)));
  EXPECT_TRUE(refused.empty()) << "not from within run()";
  ASSERT_TRUE(run_until([&] { return refused.size() == 1; }));
  EXPECT_EQ(refused, std::vector<bool>{false});

  fifo.release();
  ASSERT_TRUE(run_until([&] { return !executor.hung(); }));
  std::vector<bool> again;
  jobs.push_back(executor.run([] {}, 1min, note(again)));
  ASSERT_TRUE(run_until([&] { return again.size() == 1; }));
  EXPECT_EQ(again, std::vector<bool>{true}) << "it recovers";
}

TEST_F(ExecutorTest, ItsDestructorDoesNotWaitForHangingWork) {
  Fifo fifo;
  std::vector<bool> outcomes;
  std::vector<std::unique_ptr<Job>> jobs;
  {
    ThreadExecutor executor(loop);
    for (int i = 0; i < 6; ++i) jobs.push_back(executor.run(fifo.hanging_read(), 20ms, note(outcomes)));
    ASSERT_TRUE(run_until([&] { return outcomes.size() >= 4; }));
    jobs.push_back(executor.run(fifo.hanging_read(), 1min, note(outcomes)));
  }
  const size_t told = outcomes.size();
  jobs.clear();
  handle_ready();
  EXPECT_EQ(outcomes.size(), told);
  EXPECT_GE(fifo.inside(), 4) << "they still hang";
}

// As of a library that keeps data of each thread and frees it when the thread ends, with globals that exit()
// destroys.
struct ThreadData {
  static inline std::atomic<int> ended = 0;
  ~ThreadData() {
    std::this_thread::sleep_for(50ms);
    ++ended;
  }
  int used = 0;
};

TEST_F(ExecutorTest, ItsDestructorWaitsUntilIdleWorkersHaveEnded) {
  ThreadData::ended = 0;
  std::vector<bool> outcomes;
  {
    ThreadExecutor executor(loop, {.workers = 2});
    std::vector<std::unique_ptr<Job>> jobs;
    for (int i = 0; i < 2; ++i)
      jobs.push_back(executor.run(
          [] {
            thread_local ThreadData data;
            std::this_thread::sleep_for(1ms * ++data.used);
          },
          0ms, note(outcomes)));
    ASSERT_TRUE(run_until([&] { return outcomes.size() == 2; }));
  }
  EXPECT_GE(ThreadData::ended, 1);
  const int before = ThreadData::ended;
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(ThreadData::ended, before) << "a worker has ended after the executor";
}

TEST_F(ExecutorTest, ItsDestructorWaitsUntilALostWorkerHasEndedWhoseWorkReturned) {
  ThreadData::ended = 0;
  Fifo fifo;
  std::vector<bool> outcomes;
  {
    ThreadExecutor executor(loop);
    const auto job = executor.run(
        [read = fifo.hanging_read()] {
          thread_local ThreadData data;
          ++data.used;
          read();
        },
        20ms, note(outcomes));
    ASSERT_TRUE(run_until([&] { return fifo.inside() == 1 && outcomes.size() == 1; }));
    EXPECT_EQ(outcomes, std::vector<bool>{false});
    fifo.release();
    ASSERT_TRUE(run_until([&] { return !executor.busy(); }));
  }
  EXPECT_EQ(ThreadData::ended, 1);
}

// A complete bounded exit of a process whose reads hang.
TEST_F(ExecutorTest, AProcessWithHangingReadsExits) {
  Fifo fifo;
  const pid_t child = ::fork();
  if (child == 0) {
    Loop own;
    auto executor = std::make_unique<ThreadExecutor>(own);
    std::vector<std::unique_ptr<Job>> jobs;
    int lost = 0;
    for (int i = 0; i < 4; ++i)
      jobs.push_back(
          executor->run(fifo.hanging_read(), 50ms, [&](bool finished) { lost += finished ? 0 : 1; }));
    while (lost < 4) own.turn(10ms);
    const bool busy = executor->busy();
    jobs.clear();
    executor.reset();
    if (busy) ::_exit(7);
    std::exit(8);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(ExecutorTest, DoneMayDropTheJobs) {
  ThreadExecutor executor(loop);
  std::vector<std::unique_ptr<Job>> jobs;
  int calls = 0;
  for (int i = 0; i < 50; ++i)
    jobs.push_back(executor.run([] {}, 1min,
                                [&, canary = std::make_shared<int>(7)](bool) {
                                  ++calls;
                                  jobs.clear();
                                  EXPECT_EQ(*canary, 7);
                                }));
  EXPECT_TRUE(run_until([&] { return jobs.empty() && !executor.busy(); }));
  handle_ready();
  EXPECT_EQ(calls, 1);
}

TEST_F(ExecutorTest, DoneMustNotDestroyTheExecutor) {
  const auto destroy = [] {
    Loop own;
    auto executor = std::make_unique<ThreadExecutor>(own);
    const auto job = executor->run([] {}, 1min, [&](bool) { executor.reset(); });
    while (executor) own.turn(1s);
  };
  EXPECT_DEATH(destroy(), "destroyed by its own callback: ThreadExecutor");
}

TEST_F(ExecutorTest, WorkersBlockSignals) {
  ThreadExecutor executor(loop);
  auto blocked = std::make_shared<sigset_t>();
  bool done = false;
  const auto job = executor.run([blocked] { pthread_sigmask(SIG_BLOCK, nullptr, blocked.get()); }, 0ms,
                                [&](bool) { done = true; });
  ASSERT_TRUE(run_until([&] { return done; }));
  EXPECT_EQ(sigismember(blocked.get(), SIGTERM), 1);
}

}  // namespace
}  // namespace sliced::reactor
