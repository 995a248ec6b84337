#include "t/interop/process/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "t/fixture/patience.h"

namespace sliced::process {

Child::~Child() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  wait();
}

std::string Child::start(std::vector<std::string> words, std::vector<std::string> variables, int out, int err,
                         void (*prepare)()) {
  std::vector<char*> argv, environment;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) environment.push_back(variable.data());
  argv.push_back(nullptr);
  environment.push_back(nullptr);
  int failure[2];  // closed by execve(), or errno
  if (pipe2(failure, O_CLOEXEC) != 0) return std::strerror(errno);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, 1);
    dup2(err, 2);
    if (prepare != nullptr) prepare();
    execve(argv[0], argv.data(), environment.data());
    const int why = errno;
    (void)!write(failure[1], &why, sizeof why);
    _exit(98);
  }
  int why = pid_ < 0 ? errno : 0;
  close(failure[1]);
  const bool is_told = read(failure[0], &why, sizeof why) > 0;
  close(failure[0]);
  return is_told || pid_ < 0 ? words[0] + ": " + std::strerror(why) : "";
}

bool Child::has_ended() const {
  siginfo_t info{};
  return pid_ <= 0 || waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

int Child::wait() {
  int status = 0;
  if (pid_ <= 0 || waitpid(std::exchange(pid_, -1), &status, 0) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1'000 + WTERMSIG(status);
}

int Child::stop() {
  if (pid_ > 0) kill(pid_, SIGTERM);
  return wait();
}

bool Child::wait_until(const std::function<bool()>& holds) const {
  const auto until = std::chrono::steady_clock::now() + fixture::patience();
  while (!holds()) {
    if (has_ended() || std::chrono::steady_clock::now() >= until) return holds();
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
  return true;
}

}  // namespace sliced::process
