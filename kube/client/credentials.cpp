#include "kube/client/credentials.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "reactor/backoff.h"
#include "reactor/base/text.h"
#include "reactor/child.h"

extern char** environ;

namespace sliced::kube {
namespace {

constexpr Millis kRetryFailedReread{10'000};
constexpr reactor::BackoffPolicy kPluginBackoff{
    .initial = Millis{1'000}, .factor = 2.0, .cap = Millis{60'000}, .jitter = 0};

using OnReady = std::function<void(Result<Credentials>)>;

struct Waiter {
  OnReady on_ready;
  reactor::Ticket soon;
};

class WaiterHandle final : public Call {
 public:
  explicit WaiterHandle(std::shared_ptr<Waiter> waiter) : waiter_(std::move(waiter)) {}

 private:
  const std::shared_ptr<Waiter> waiter_;  // all others hold it weakly
};

std::vector<std::string> plugin_environment(const ExecPlugin& plugin, const Access& access) {
  std::vector<std::string> env;
  const auto is_set = [&](std::string_view entry) {
    const std::string_view name = entry.substr(0, entry.find('='));
    for (const auto& [key, value] : plugin.env)
      if (key == name) return true;
    return name == "KUBERNETES_EXEC_INFO";
  };
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!is_set(*entry)) env.emplace_back(*entry);
  for (const auto& [key, value] : plugin.env) env.push_back(key + '=' + value);
  env.push_back("KUBERNETES_EXEC_INFO=" + encode_exec_info(plugin, access));
  return env;
}

Error plugin_error(const ExecPlugin& plugin, Errc code, const std::string& what) {
  const std::string hint = plugin.install_hint.empty() ? "" : ": " + escaped(plugin.install_hint, 1024);
  return {code, "credential plugin " + in_quotes(plugin.command) + ": " + what + hint};
}

Error plugin_failure(const ExecPlugin& plugin, const reactor::ChildResult& result) {
  const std::string stderr_text = result.err.empty() ? "" : "; it said " + in_quotes(trim(result.err), 512);
  if (result.timed_out) return plugin_error(plugin, Errc::kTimeout, "did not end in time" + stderr_text);
  if (result.truncated) return plugin_error(plugin, Errc::kTooLarge, "printed too much");
  if (result.signal != 0)
    return plugin_error(plugin, Errc::kIo,
                        "was ended by signal " + std::to_string(result.signal) + stderr_text);
  return plugin_error(plugin, Errc::kIo, "exit status " + std::to_string(result.exit_status) + stderr_text);
}

}  // namespace

class LoadingCredentials::State : public std::enable_shared_from_this<State> {
 public:
  State(CredentialPorts ports, std::string description, Load load, CredentialTimes times)
      : ports_(std::move(ports)),
        description_(std::move(description)),
        load_(std::move(load)),
        times_(times) {}

  CallPtr get(OnReady on_ready);
  void invalidate(const Credentials& refused) {
    if (current_ && *current_ == refused) refused_ = true;
  }
  const std::string& description() const { return description_; }

 private:
  bool is_fresh() const;
  void start_loading();
  void on_loaded(Result<LoadedCredentials> loaded);
  void run_plugin(LoadedCredentials loaded);
  void on_plugin(LoadedCredentials loaded, const reactor::ChildResult& result);
  void back_off_plugin();
  void fail_plugin(Error error);
  void adopt_exec(LoadedCredentials loaded);
  void adopt(Credentials credentials);
  void fail(Error error);
  void deliver(const Result<Credentials>& result);
  void warn_insecure(const Access& access);

  const CredentialPorts ports_;
  const std::string description_;
  const Load load_;
  const CredentialTimes times_;

  std::optional<Credentials> current_;
  bool refused_ = false;  // the server refused current_
  TimePoint reread_at_{};

  std::optional<LoadedCredentials> exec_input_;  // input of the last run of the plugin
  std::optional<Error> plugin_error_;            // of that run
  reactor::Backoff plugin_backoff_{[] { return 0.0; }, kPluginBackoff};
  TimePoint plugin_not_before_{};
  std::optional<ExecCredential> exec_;
  std::optional<TimePoint> exec_expires_;

  bool loading_ = false;
  std::unique_ptr<reactor::Job> job_;
  std::unique_ptr<reactor::Child> child_;
  std::vector<std::weak_ptr<Waiter>> waiters_;
  bool warned_ = false;
};

bool LoadingCredentials::State::is_fresh() const {
  const TimePoint now = ports_.scheduler.now();
  return current_ && !refused_ && now < reread_at_ && (!exec_expires_ || now < *exec_expires_);
}

CallPtr LoadingCredentials::State::get(OnReady on_ready) {
  auto waiter = std::make_shared<Waiter>();
  waiter->on_ready = std::move(on_ready);
  if (is_fresh()) {
    waiter->soon = ports_.scheduler.after(Millis{0}, [weak = std::weak_ptr(waiter), credentials = *current_] {
      if (const auto alive = weak.lock()) alive->on_ready(credentials);
    });
  } else {
    waiters_.push_back(waiter);
    if (!loading_) start_loading();
  }
  return std::make_unique<WaiterHandle>(std::move(waiter));
}

void LoadingCredentials::State::start_loading() {
  loading_ = true;
  const auto slot = std::make_shared<std::optional<Result<LoadedCredentials>>>();
  job_ = ports_.executor.run([slot, load = load_] { slot->emplace(load()); }, times_.read_max,
                             [this, slot](bool finished) {
                               const auto self = shared_from_this();
                               const auto over = std::move(job_);
                               // An unfinished job may still write to the slot, which is not read.
                               if (finished) return on_loaded(std::move(**slot));
                               fail({Errc::kTimeout, "reading its files takes too long"});
                             });
}

void LoadingCredentials::State::on_loaded(Result<LoadedCredentials> loaded) {
  if (!loaded) return fail(std::move(loaded.error()));
  warn_insecure(loaded->credentials.access);
  if (!loaded->exec) return adopt(std::move(loaded->credentials));
  const bool expired = exec_expires_ && ports_.scheduler.now() >= *exec_expires_;
  if (exec_ && !refused_ && !expired && exec_input_ == *loaded) return adopt_exec(*std::move(loaded));
  // If a server refuses everything, a plugin must not run for each request.
  if (exec_input_ == *loaded && ports_.scheduler.now() < plugin_not_before_) {
    if (plugin_error_) return fail(Error(*plugin_error_));
    if (exec_ && refused_) return adopt_exec(*std::move(loaded));
  }
  run_plugin(*std::move(loaded));
}

void LoadingCredentials::State::run_plugin(LoadedCredentials loaded) {
  const ExecPlugin& plugin = *loaded.exec;
  if (exec_input_ != loaded) exec_.reset();
  exec_input_ = loaded;
  plugin_error_.reset();
  reactor::ChildSpec spec;
  spec.argv = {plugin.command};
  spec.argv.insert(spec.argv.end(), plugin.args.begin(), plugin.args.end());
  spec.env = plugin_environment(plugin, loaded.credentials.access);
  spec.deadline = times_.plugin_max;
  auto child =
      reactor::Child::start(ports_.loop, std::move(spec), [this, loaded](const reactor::ChildResult& result) {
        const auto self = shared_from_this();
        const auto input = loaded;
        const auto over = std::move(child_);
        on_plugin(input, result);
      });
  if (!child) {
    return fail_plugin(plugin_error(plugin, child.error().code, child.error().what));
  }
  child_ = *std::move(child);
}

void LoadingCredentials::State::on_plugin(LoadedCredentials loaded, const reactor::ChildResult& result) {
  const ExecPlugin& plugin = *loaded.exec;
  if (!result.ok() || result.truncated) return fail_plugin(plugin_failure(plugin, result));
  auto credential = decode_exec_credential(result.out, plugin.api_version);
  if (!credential) return fail_plugin(plugin_error(plugin, credential.error().code, credential.error().what));
  exec_ = *std::move(credential);
  if (refused_) back_off_plugin();
  exec_expires_.reset();
  if (exec_->expires) {
    // At least a second, so that a plugin that returns expired credentials does not run for every request.
    const int64_t lifetime = *exec_->expires - ports_.wall_clock() - times_.expiry_leeway_s;
    exec_expires_ =
        ports_.scheduler.now() + std::chrono::seconds{std::clamp<int64_t>(lifetime, 1, 30 * 86'400)};
  }
  adopt_exec(std::move(loaded));
}

void LoadingCredentials::State::back_off_plugin() {
  const TimePoint now = ports_.scheduler.now();
  plugin_not_before_ = now + plugin_backoff_.next(now);
}

void LoadingCredentials::State::fail_plugin(Error error) {
  plugin_error_ = std::move(error).in(description_);
  back_off_plugin();
  fail(Error(*plugin_error_));
}

void LoadingCredentials::State::adopt_exec(LoadedCredentials loaded) {
  Credentials credentials = std::move(loaded.credentials);
  credentials.token = exec_->token;
  if (!exec_->client_key_pem.empty()) {
    credentials.access.client_certificate_pem = exec_->client_certificate_pem;
    credentials.access.client_key_pem = exec_->client_key_pem;
  }
  adopt(std::move(credentials));
}

void LoadingCredentials::State::adopt(Credentials credentials) {
  current_ = std::move(credentials);
  refused_ = false;
  reread_at_ = ports_.scheduler.now() + times_.reread_after;
  deliver(*current_);
}

void LoadingCredentials::State::fail(Error error) {
  if (!current_ || refused_) return deliver(error);
  ports_.log.warning("credentials not reloaded: using the old ones", {{"error", error.what}});
  const TimePoint now = ports_.scheduler.now();
  reread_at_ = now + kRetryFailedReread;
  if (exec_expires_ && *exec_expires_ <= now) exec_expires_ = reread_at_;
  deliver(*current_);
}

void LoadingCredentials::State::deliver(const Result<Credentials>& result) {
  const Result<Credentials> copy = result;  // a waiter may cause a new load
  loading_ = false;
  for (const auto& weak : std::exchange(waiters_, {}))
    if (const auto waiter = weak.lock()) waiter->on_ready(copy);
}

void LoadingCredentials::State::warn_insecure(const Access& access) {
  if (!access.insecure_skip_tls_verify || std::exchange(warned_, true)) return;
  ports_.log.warning(
      "certificate of the API server not verified (insecure-skip-tls-verify): the connection is not secure",
      {{"server", http::encode_url(access.server)}, {"source", description_}});
}

LoadingCredentials::LoadingCredentials(CredentialPorts ports, std::string description, Load load,
                                       CredentialTimes times)
    : state_(std::make_shared<State>(std::move(ports), std::move(description), std::move(load), times)) {}
LoadingCredentials::~LoadingCredentials() = default;

CallPtr LoadingCredentials::get(OnReady on_ready) { return state_->get(std::move(on_ready)); }
void LoadingCredentials::invalidate(const Credentials& refused) { state_->invalidate(refused); }
std::string LoadingCredentials::describe() const { return state_->description(); }

std::unique_ptr<CredentialSource> in_cluster_credentials(CredentialPorts ports, InClusterPaths paths) {
  return std::make_unique<LoadingCredentials>(std::move(ports), "service account",
                                              [paths = std::move(paths)] { return load_in_cluster(paths); });
}

std::unique_ptr<CredentialSource> kubeconfig_credentials(CredentialPorts ports, KubeconfigPlace place) {
  auto description = "kubeconfig " + join(place.paths, ":");
  return std::make_unique<LoadingCredentials>(std::move(ports), std::move(description),
                                              [place = std::move(place)] { return load_kubeconfig(place); });
}

int64_t system_wall_clock() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace sliced::kube
