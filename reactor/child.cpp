#include "reactor/child.h"

#include <fcntl.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "reactor/descriptor.h"
#include "reactor/handle.h"
#include "reactor/loop.h"
#include "reactor/turn_watch.h"

namespace sliced::reactor {
namespace {

constexpr Millis kOutputWaitMax{1'000};  // for the outputs' end after the exit

Result<Unit> check(const ChildSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty()) return Error{Errc::kInvalid, "no program to run"};
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  const bool env_bad = spec.env && std::any_of(spec.env->begin(), spec.env->end(), has_nul);
  if (env_bad || std::any_of(spec.argv.begin(), spec.argv.end(), has_nul))
    return Error{Errc::kInvalid, "an argument or variable contains a NUL byte"};
  return Unit{};
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& text : strings) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

struct Child::State {
  // This process's end of one of the child's standard streams.
  struct Output {
    State* owner = nullptr;
    Handle<uv_pipe_t> pipe;
    std::string bytes;
    std::array<char, 4096> buffer;
  };
  struct InputRequest {
    uv_write_t request{};
    std::string bytes;
  };

  State(Loop& on, ChildSpec what, OnExit then) : loop(on), spec(std::move(what)), on_exit(std::move(then)) {}
  ~State();

  Result<Unit> spawn();
  void kill_group(int signal) const { ::kill(-process->pid, signal); }
  void arm_deadline();
  void send_input();
  void read(Output& output);
  void finish_if_over();
  void finish();

  static void on_process_exit(uv_process_t* raw, int64_t status, int signal) noexcept;
  static void on_output(uv_stream_t* raw, ssize_t size, const uv_buf_t* buffer) noexcept;

  Loop& loop;
  ChildSpec spec;
  OnExit on_exit;
  ChildResult result;
  Handle<uv_process_t> process;
  Handle<uv_pipe_t> input;
  Output out;
  Output err;
  Ticket timer;
  bool exited = false;
};

// libuv reaps only processes whose handle is open. So the handle of an abandoned child stays, without an
// owner (data is null, which Loop::surviving_handles() knows), until the kernel has reported the exit.
Child::State::~State() {
  if (!process || exited) return;
  kill_group(SIGKILL);
  process->data = nullptr;
  uv_unref(reinterpret_cast<uv_handle_t*>(process.get()));
  process.release();
}

Result<Unit> Child::State::spawn() {
  for (Handle<uv_pipe_t>* pipe : {&input, &out.pipe, &err.pipe})
    *pipe = Handle<uv_pipe_t>::open([&](uv_pipe_t* raw) { return uv_pipe_init(loop.raw(), raw, 0); }).value();
  const auto stream = [](Handle<uv_pipe_t>& pipe) { return reinterpret_cast<uv_stream_t*>(pipe.get()); };
  // Directions as the child sees them.
  constexpr auto kChildReads = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_READABLE_PIPE);
  constexpr auto kChildWrites = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_WRITABLE_PIPE);
  uv_stdio_container_t stdio[3];
  // Opened here, because the program has a lower limit of open files (open_files.h), which is set in this
  // process until it runs.
  const Descriptor nothing(spec.input ? -1 : ::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!spec.input && !nothing) return uv_error(uv_translate_sys_error(errno));
  stdio[0].flags = spec.input ? kChildReads : UV_INHERIT_FD;
  if (spec.input)
    stdio[0].data.stream = stream(input);
  else
    stdio[0].data.fd = nothing.get();
  stdio[1].flags = stdio[2].flags = kChildWrites;
  stdio[1].data.stream = stream(out.pipe);
  stdio[2].data.stream = stream(err.pipe);

  std::vector<char*> arguments = pointers(spec.argv);
  std::vector<char*> environment;
  if (spec.env) environment = pointers(*spec.env);
  uv_process_options_t options{};
  options.exit_cb = &on_process_exit;
  options.file = spec.argv[0].c_str();
  options.args = arguments.data();
  options.env = spec.env ? environment.data() : nullptr;
  options.flags = UV_PROCESS_DETACHED;  // a session and so a process group of its own
  options.stdio_count = 3;
  options.stdio = stdio;

  // Unlike other initialisers, uv_spawn keeps the handle also when it fails.
  Handle<uv_process_t> handle(new uv_process_t{});
  if (const int code = uv_spawn(loop.raw(), handle.get(), &options); code != 0) return uv_error(code);
  process = std::move(handle);
  process->data = this;
  return Unit{};
}

void Child::State::arm_deadline() {
  if (spec.deadline <= Millis{0}) return;
  timer = loop.scheduler().after(spec.deadline, [this] {
    result.timed_out = true;
    kill_group(SIGTERM);
    timer = loop.scheduler().after(spec.kill_after, [this] { kill_group(SIGKILL); });
  });
}

void Child::State::send_input() {
  if (!spec.input) return;
  auto* request = new InputRequest{.bytes = std::move(*spec.input)};
  const uv_buf_t buffer = uv_buf_init(request->bytes.data(), static_cast<unsigned>(request->bytes.size()));
  // The result is ignored: a child need not read its input.
  const int code =
      uv_write(&request->request, reinterpret_cast<uv_stream_t*>(input.get()), &buffer, 1,
               [](uv_write_t* done, int) noexcept {
                 auto* stream = done->handle;
                 if (!uv_is_closing(reinterpret_cast<uv_handle_t*>(stream)))
                   static_cast<State*>(stream->data)->input = {};  // the child reads an end of file
                 delete reinterpret_cast<InputRequest*>(done);
               });
  if (code == 0) return;
  delete request;
  input = {};
}

void Child::State::read(Output& output) {
  output.owner = this;
  output.pipe->data = &output;
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(output.pipe.get()),
      [](uv_handle_t* handle, size_t, uv_buf_t* buffer) noexcept {
        auto& space = static_cast<Output*>(handle->data)->buffer;
        *buffer = uv_buf_init(space.data(), space.size());
      },
      &on_output);
}

void Child::State::on_output(uv_stream_t* raw, ssize_t size, const uv_buf_t* buffer) noexcept {
  const TurnSpan span(raw->loop, "output of a child", typeid(Child));
  auto& output = *static_cast<Output*>(raw->data);
  State& self = *output.owner;
  if (size >= 0) {
    const size_t room = self.spec.output_bytes_max - output.bytes.size();
    if (static_cast<size_t>(size) > room) self.result.truncated = true;
    output.bytes.append(buffer->base, std::min(room, static_cast<size_t>(size)));
    return;
  }
  output.pipe = {};
  self.finish_if_over();
}

void Child::State::on_process_exit(uv_process_t* raw, int64_t status, int signal) noexcept {
  auto* self = static_cast<State*>(raw->data);
  if (self == nullptr) {  // abandoned, and reaped now
    Handle<uv_process_t> close(raw);
    return;
  }
  const TurnSpan span(raw->loop, "end of a child", self->on_exit.target_type());
  self->exited = true;
  self->result.exit_status = static_cast<int>(status);
  self->result.signal = signal;
  self->timer = self->loop.scheduler().after(kOutputWaitMax, [self] {
    self->kill_group(SIGKILL);  // an output is still open, probably in a process of the group
    self->finish();
  });
  self->finish_if_over();
}

void Child::State::finish_if_over() {
  if (exited && !out.pipe && !err.pipe) finish();
}

void Child::State::finish() {
  result.out = std::move(out.bytes);
  result.err = std::move(err.bytes);
  timer.reset();
  input = {};
  out.pipe = {};
  err.pipe = {};
  process = {};
  // Calls back in a separate turn, without a frame of the Child on the stack.
  timer = loop.scheduler().after(Millis{0}, [call = std::move(on_exit), ended = std::move(result)]() mutable {
    call(std::move(ended));
  });
}

Result<std::unique_ptr<Child>> Child::start(Loop& loop, ChildSpec spec, OnExit on_exit) {
  if (auto good = check(spec); !good) return std::move(good.error()).in("child process");
  const std::string step = "run " + spec.argv[0];
  auto state = std::make_unique<State>(loop, std::move(spec), std::move(on_exit));
  if (auto spawned = state->spawn(); !spawned) return std::move(spawned.error()).in(step);
  state->arm_deadline();
  state->input->data = state.get();
  state->send_input();
  if (!state->spec.input) state->input = {};
  state->read(state->out);
  state->read(state->err);
  return std::unique_ptr<Child>(new Child(std::move(state)));
}

Child::Child(std::unique_ptr<State> state) : state_(std::move(state)) {}
Child::~Child() = default;
int Child::pid() const { return state_->process ? state_->process->pid : 0; }

}  // namespace sliced::reactor
