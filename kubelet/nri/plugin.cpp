#include "kubelet/nri/plugin.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kubelet/nri/client.h"
#include "kubelet/nri/mux.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/base/text.h"

namespace sliced::nri {
namespace {

constexpr std::string_view kPluginService = "nri.pkg.api.v1alpha1.Plugin";
constexpr std::string_view kRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
constexpr std::string_view kNriVersion = "v0.12.3";  // the version of api.proto

constexpr Millis kRegistrationTimeout{5'000};  // the runtime's own default
constexpr size_t kUnsentMax = 1u << 20;        // answers are small: a runtime with more unread data does not
                                               // respond
// Memory limit of all parts of a Synchronize: a node with 500 pods and 2,000 containers needs less than 2
// MiB.
constexpr size_t kSynchronizeBytesMax = 48u << 20;
// Limit per connection of frames that are neither calls nor answers. An occasional late answer is one.
constexpr size_t kIgnoredFramesMax = 1024;

// Pods with interfaces wait while the connection is down, so retries are more frequent than to a shared
// server.
constexpr reactor::BackoffPolicy kReconnect{.initial = Millis{100},
                                            .factor = 2.0,
                                            .cap = Millis{5'000},
                                            .jitter = 0.2,
                                            .reset_after = Millis{60'000}};

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_.+").find(c) != std::string_view::npos;
}

}  // namespace

Result<Unit> check(const PluginOptions& options) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (options.name.empty() || options.name.size() > 128 ||
      !std::all_of(options.name.begin(), options.name.end(), is_name_byte))
    return Error{Errc::kInvalid,
                 "NRI_PLUGIN_NAME is " + in_quotes(options.name) +
                     ": expected 1 to 128 letters, digits and \"_.+-\", such as dra-driver-sriov"};
  if (options.index.size() != 2 || !std::all_of(options.index.begin(), options.index.end(), digit))
    return Error{Errc::kInvalid,
                 "NRI_PLUGIN_IDX is " + in_quotes(options.index) + ": expected two digits, such as 42"};
  return Unit{};
}

bool Reply::agree() {
  if (!answer_.give("")) return false;
  if (const auto call = std::exchange(on_agreed_, nullptr)) call();
  return true;
}

bool Reply::refuse(const Error& why) { return answer_.refuse(Code::kUnknown, why.what); }

// One connection, from the dialling to its end.
struct Session {
  std::unique_ptr<reactor::net::ByteStream> stream;
  PieceReader pieces;
  std::optional<Server> server;
  std::optional<Client> client;
  Synchronize seen;  // the parts so far
  size_t seen_bytes = 0;
  bool over = false;
};

struct Plugin::State : std::enable_shared_from_this<State> {
  State(reactor::Scheduler& s, reactor::Random random, Log& l, Dial d, PluginOptions o, Hooks& h)
      : scheduler(s),
        log(l),
        dial(std::move(d)),
        options(std::move(o)),
        hooks(h),
        backoff(random, kReconnect) {}

  void connect();
  void begin(std::unique_ptr<reactor::net::ByteStream> stream);
  void receive(const std::shared_ptr<Session>& at, std::string_view bytes);
  void configure(std::string_view payload, Answer answer);
  void synchronize(std::string_view payload, Answer answer);
  void up();
  void lose(const std::string& why);
  void wait_for(std::string what);

  using Hook = void (Hooks::*)(PodSandbox, Reply);
  Server::Method relay(Hook hook);
  Server::Method relay_container();
  std::map<std::string, Server::Method, std::less<>> methods();

  reactor::Scheduler& scheduler;
  Log& log;
  const Dial dial;
  const PluginOptions options;
  Hooks& hooks;
  reactor::Backoff backoff;
  Link link;
  LastMessage last_problem;
  std::unique_ptr<reactor::net::Connecting> connecting;
  std::shared_ptr<Session> session;
  reactor::Ticket retry;
};

void Plugin::State::wait_for(std::string what) { link.why_not = std::move(what); }

void Plugin::State::connect() {
  wait_for("connecting to " + escaped(options.socket));
  connecting = dial([this](Result<std::unique_ptr<reactor::net::ByteStream>> outcome) {
    connecting.reset();
    if (!outcome) return lose(outcome.error().what);
    begin(*std::move(outcome));
  });
}

void Plugin::State::begin(std::unique_ptr<reactor::net::ByteStream> stream) {
  session = std::make_shared<Session>();
  Session* raw = session.get();
  const auto send = [this, raw](uint32_t connection) {
    return [this, raw, connection](const std::string& bytes) {
      if (raw->over) return;
      raw->stream->write(encode_pieces(connection, bytes));
      // In a later turn: the sender must still exist when this returns.
      if (raw->stream->unsent_bytes() > kUnsentMax)
        retry = scheduler.after(Millis{0}, [this] { lose("the runtime does not read"); });
    };
  };
  session->stream = std::move(stream);
  session->server.emplace(scheduler, methods(), send(kPluginConnection));
  session->client.emplace(scheduler, send(kRuntimeConnection));
  session->stream->receive({
      .on_data = [this, at = std::weak_ptr(session)](std::string_view bytes) { receive(at.lock(), bytes); },
      .on_end = [this] { lose("the runtime closed the connection"); },
      .on_error = [this](const Error& error) { lose(error.what); },
  });
  wait_for("waiting for the answer to the registration");
  session->client->call(std::string(kRuntimeService), "RegisterPlugin",
                        encode_register(options.name, options.index, kNriVersion), kRegistrationTimeout,
                        [this](const Result<std::string>& outcome) {
                          if (!outcome) return lose(outcome.error().what);
                          // The runtime may call before its answer to the registration arrives.
                          if (!link.is_up) wait_for("registered, not synchronized yet");
                        });
}

void Plugin::State::receive(const std::shared_ptr<Session>& at, std::string_view bytes) {
  const auto self = shared_from_this();  // a hook may drop the plugin
  at->pieces.add(bytes);
  while (!at->over) {
    auto piece = at->pieces.next();
    if (!piece) return lose(piece.error().what);
    if (!*piece) return;
    if ((*piece)->connection == kPluginConnection) at->server->receive((*piece)->bytes);
    if ((*piece)->connection == kRuntimeConnection) at->client->receive((*piece)->bytes);
    if (!at->over && at->server->ignored() + at->client->ignored() > kIgnoredFramesMax)
      return lose("the runtime sends frames without requests or answers");
  }
}

std::map<std::string, Server::Method, std::less<>> Plugin::State::methods() {
  const std::string service = std::string(kPluginService) + "/";
  return {
      {service + "Configure", [this](auto payload, Answer a) { configure(payload, std::move(a)); }},
      {service + "Synchronize", [this](auto payload, Answer a) { synchronize(payload, std::move(a)); }},
      {service + "Shutdown", [](auto, Answer a) { a.give(""); }},  // the end of the connection follows anyway
      {service + "RunPodSandbox", relay(&Hooks::run_pod_sandbox)},
      {service + "StopPodSandbox", relay(&Hooks::stop_pod_sandbox)},
      {service + "RemovePodSandbox", relay(&Hooks::remove_pod_sandbox)},
      {service + "CreateContainer", relay_container()},
  };
}

Server::Method Plugin::State::relay(Hook hook) {
  return [this, hook](std::string_view payload, Answer answer) {
    auto call = decode_sandbox_call(payload);
    if (!call) return (void)answer.refuse(Code::kInvalidArgument, call.error().what);
    (hooks.*hook)(std::move(call->pod), Reply(std::move(answer)));
  };
}

Server::Method Plugin::State::relay_container() {
  return [this](std::string_view payload, Answer answer) {
    auto call = decode_sandbox_call(payload);
    if (!call) return (void)answer.refuse(Code::kInvalidArgument, call.error().what);
    hooks.create_container(std::move(call->pod), std::move(call->container), Reply(std::move(answer)));
  };
}

void Plugin::State::configure(std::string_view payload, Answer answer) {
  const auto asked = decode_configure(payload);
  if (!asked) return (void)answer.refuse(Code::kInvalidArgument, asked.error().what);
  if (asked->request_timeout > Millis{0}) session->server->set_timeout(asked->request_timeout);
  log.info("registered with the container runtime",
           {{"runtime", asked->runtime_name},
            {"runtime_version", asked->runtime_version},
            {"nri_version", asked->nri_version},
            {"request_timeout_ms", static_cast<int64_t>(asked->request_timeout.count())}});
  answer.give(encode_configure_answer(kSandboxAndCreateEvents));
}

void Plugin::State::synchronize(std::string_view payload, Answer answer) {
  auto part = decode_synchronize(payload);
  if (!part) return (void)answer.refuse(Code::kInvalidArgument, part.error().what);
  Synchronize& seen = session->seen;
  for (const PodSandbox& pod : part->pods) session->seen_bytes += bytes_of(pod);
  for (const Container& container : part->containers) session->seen_bytes += bytes_of(container);
  if (session->seen_bytes > kSynchronizeBytesMax) {
    seen = {};
    session->seen_bytes = 0;
    return (void)answer.refuse(Code::kResourceExhausted, "pods and containers take more than " +
                                                             std::to_string(kSynchronizeBytesMax >> 20) +
                                                             " MiB: they are not kept");
  }
  std::move(part->pods.begin(), part->pods.end(), std::back_inserter(seen.pods));
  std::move(part->containers.begin(), part->containers.end(), std::back_inserter(seen.containers));
  if (part->more) return (void)answer.give(encode_synchronize_answer(true));
  const Synchronize all = std::exchange(seen, {});
  session->seen_bytes = 0;
  hooks.synchronize(all.pods, all.containers, Reply(std::move(answer), [this] { up(); }));
}

void Plugin::State::up() {
  link = {.is_up = true, .since = scheduler.now(), .why_not = ""};
  last_problem.forget();
  log.info("connected to the container runtime", {{"socket", options.socket}});
  hooks.link_changed();  // last, because it may close the session
}

void Plugin::State::lose(const std::string& why) {
  const auto self = shared_from_this();  // the calling stream holds no reference to this object
  const bool was_up = std::exchange(link.is_up, false);
  wait_for(why);
  link.has_failed = true;
  if (session) session->over = true;
  session.reset();
  const Millis wait = backoff.next(scheduler.now());
  retry = scheduler.after(wait, [this] { connect(); });
  if (last_problem.is_new(why))
    log.warning("not connected to the container runtime: " + options.lost,
                {{"socket", options.socket}, {"reason", why}});
  if (was_up) hooks.link_changed();
}

Plugin::Plugin(reactor::Scheduler& scheduler, reactor::Random random, Log& log, Dial dial,
               PluginOptions options, Hooks& hooks)
    : state_(std::make_shared<State>(scheduler, std::move(random), log, std::move(dial), std::move(options),
                                     hooks)) {
  state_->retry = scheduler.after(Millis{0}, [state = state_.get()] { state->connect(); });
}

Plugin::~Plugin() {
  if (state_->session) state_->session->over = true;
  state_->session.reset();
  state_->connecting.reset();
  state_->retry.reset();
}

const Link& Plugin::link() const { return state_->link; }

}  // namespace sliced::nri
