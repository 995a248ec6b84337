#pragma once
// A source of host events that the test emits.
#include <string>
#include <utility>

#include "hotplug/event_source.h"

namespace sliced::fake {

class FakeEvents final : public hotplug::EventSource {
 public:
  struct Wire {
    OnEvent on_event;
    bool fails = false;  // when it is to be listened to
  };
  explicit FakeEvents(Wire& wire) : wire_(wire) {}
  Result<Unit> start(OnEvent on_event) override {
    if (wire_.fails) return Error{Errc::kDenied, "EPERM"};
    wire_.on_event = std::move(on_event);
    return Unit{};
  }
  std::string name() const override { return "fake"; }

 private:
  Wire& wire_;
};

}  // namespace sliced::fake
