#include "reactor/turn_watch.h"

#include <cxxabi.h>
#include <uv.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace sliced::reactor {
namespace {

constexpr uint64_t kNanosPerMilli = 1'000'000;
constexpr size_t kReportedMax = 64, kTypeBytesMax = 160;

Millis millis(uint64_t ns) { return Millis{static_cast<int64_t>(ns / kNanosPerMilli)}; }

// "task of sliced::daemon::Decider::arm()::{lambda()#1}"
// "sliced::reactor::net::(anonymous namespace)::Stream::receive(...)::{lambda...}" is "reactor/net/Stream/receive" for people.
std::string component_of(std::string name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::", kOurs = "sliced::";
  for (size_t at = name.find(kUnnamed); at != std::string::npos; at = name.find(kUnnamed))
    name.erase(at, kUnnamed.size());
  name = name.substr(0, name.find_first_of("(<{ "));
  if (name.starts_with(kOurs)) name.erase(0, kOurs.size());
  std::string out;
  for (const char c : name)
    if (c != ':')
      out += c;
    else if (!out.ends_with('/'))
      out += '/';
  while (out.ends_with('/')) out.pop_back();
  return out;
}

std::string text_of_call(const char* kind, const std::type_info* type) {
  std::string out = kind;
  if (type == nullptr || *type == typeid(void)) return out;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), std::free);
  const std::string whole = status == 0 && name ? name.get() : type->name();
  return out + " of " + component_of(whole).substr(0, kTypeBytesMax);
}

}  // namespace

void TurnWatch::begin(const char* kind, const std::type_info& type) {
  if (depth_++ > 0) return;
  running_ = {kind, &type, 0};
  began_ns_ = clocks_.monotonic_ns();
}

void TurnWatch::end() {
  if (--depth_ > 0) return;
  running_.ns = clocks_.monotonic_ns() - began_ns_;
  busy_ns_ += running_.ns;
  if (running_.ns >= longest_.ns) longest_ = running_;
}

std::optional<LongTurn> TurnWatch::end_turn() {
  const uint64_t busy = std::exchange(busy_ns_, 0);
  const uint64_t cpu_now = clocks_.cpu_ns(), cpu = cpu_now - std::exchange(cpu_before_ns_, cpu_now);
  const Call longest = std::exchange(longest_, {});
  if (millis(busy) < kLong) return std::nullopt;
  ++long_turns_;
  LongTurn out{millis(busy), std::min(millis(cpu), millis(busy)), text_of_call(longest.kind, longest.type),
               millis(longest.ns), 0};
  const uint64_t now = clocks_.monotonic_ns();
  if (reported_.size() >= kReportedMax && !reported_.contains(out.what)) reported_.clear();
  const auto [at, is_new] = reported_.try_emplace(out.what);
  if (!is_new && millis(now - at->second.at_ns) < kSilence) {
    ++at->second.unreported;
    return std::nullopt;
  }
  out.unreported = at->second.unreported;
  at->second = {now, 0};
  return out;
}

TurnSpan::TurnSpan(uv_loop_s* loop, const char* kind, const std::type_info& type)
    : watch_(static_cast<TurnWatch*>(uv_loop_get_data(loop))) {
  if (watch_ != nullptr) watch_->begin(kind, type);
}

TurnSpan::~TurnSpan() {
  if (watch_ != nullptr) watch_->end();
}

}  // namespace sliced::reactor
