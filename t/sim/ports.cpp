#include "t/sim/ports.h"

namespace sliced::sim {

using kube::Failure;

// One exchange as the daemon holds it. Its clock runs until something is heard.
struct SimCluster::Wire {
  explicit Wire(SimCluster& owner, std::string verb, Fail fail)
      : owner(owner), life(owner.border_.life()), verb(std::move(verb)), fail(std::move(fail)) {}
  SimCluster& owner;
  const uint64_t life;
  const std::string verb;
  Fail fail;
  kube::CallPtr call;
  reactor::Ticket clock;
  bool is_over = false;

  void wait(Millis patience) {
    clock = owner.scheduler_.after(patience, [this] {
      call.reset();
      refuse(Failure{Errc::kTimeout, 0, "", verb + ": no answer within the time", std::nullopt});
    });
  }
  void refuse(const Failure& why) {
    if (std::exchange(is_over, true)) return;
    clock.reset();
    owner.end(*this);
    if (owner.observer.on_failure) owner.observer.on_failure(verb, why);
    const Fail to = fail;
    owner.border_.enter_life(life, [&] { to(why); });
  }
  /// Ends the exchange well; tell runs in the daemon.
  template <class Tell>
  void answer(Tell tell) {
    if (std::exchange(is_over, true)) return;
    clock.reset();
    owner.end(*this);
    if (owner.observer.on_answer) owner.observer.on_answer(verb);
    owner.border_.enter_life(life, tell);
  }
};

namespace {

template <class T>
struct Handle final : kube::Call {
  Handle(std::shared_ptr<T> wire, Border& border, std::function<void()> on_drop)
      : wire(std::move(wire)), border(border), on_drop(std::move(on_drop)) {}
  ~Handle() override {
    border.leave([this] {
      on_drop();
      wire.reset();
    });
  }
  std::shared_ptr<T> wire;
  Border& border;
  std::function<void()> on_drop;
};

}  // namespace

void SimCluster::end(Wire& wire) {
  if (wire.life == open_in_) --open_calls_;
  if (wire.verb == "write") --writes_under_way_;
}

kube::CallPtr SimCluster::begin(const std::string& verb, Millis patience, Fail on_failure,
                                const std::function<kube::CallPtr(const std::shared_ptr<Wire>&)>& start) {
  return border_.leave([&]() -> kube::CallPtr {
    auto wire = std::make_shared<Wire>(*this, verb, std::move(on_failure));
    if (std::exchange(open_in_, border_.life()) != border_.life()) open_calls_ = 0;
    ++open_calls_;
    if (verb == "write") ++writes_under_way_, ++writes_begun_;
    if (border_.fails(verb)) {
      // The request never leaves: the connection breaks.
      wire->clock = scheduler_.after(inner_.latency, [wire = wire.get()] {
        wire->refuse(Failure{Errc::kIo, 0, "", wire->verb + ": connection reset", std::nullopt});
      });
    } else {
      wire->wait(patience);
      wire->call = start(wire);
    }
    return std::make_unique<Handle<Wire>>(wire, border_, [wire = wire.get()] {
      wire->clock.reset();
      wire->call.reset();
      if (!std::exchange(wire->is_over, true)) wire->owner.end(*wire);
    });
  });
}

kube::CallPtr SimCluster::list(kube::ListRequest request, kube::ListHandlers handlers) {
  return begin("list", kAnswerMax, handlers.on_failure, [&](const std::shared_ptr<Wire>& made) {
    const std::weak_ptr<Wire> weak = made;
    kube::ListHandlers outer;
    outer.on_item = [this, life = made->life, item = handlers.on_item](std::string_view object) {
      border_.enter_life(life, [&] { item(object); });
    };
    outer.on_done = [weak, done = handlers.on_done](std::string version) {
      if (auto wire = weak.lock()) wire->answer([&] { done(std::move(version)); });
    };
    if (handlers.on_remaining)
      outer.on_remaining = [this, life = made->life, remaining = handlers.on_remaining](int64_t items) {
        border_.enter_life(life, [&] { remaining(items); });
      };
    if (handlers.on_continue)
      outer.on_continue = [this, life = made->life, next = handlers.on_continue](std::string token) {
        border_.enter_life(life, [&] { next(std::move(token)); });
      };
    outer.on_failure = [weak](const Failure& why) {
      if (auto wire = weak.lock()) wire->refuse(why);
    };
    return inner_.list(std::move(request), std::move(outer));
  });
}

kube::CallPtr SimCluster::watch(kube::WatchRequest request, kube::WatchHandlers handlers) {
  return begin("watch", kAnswerMax, handlers.on_failure, [&](const std::shared_ptr<Wire>& made) {
    const std::weak_ptr<Wire> weak = made;
    kube::WatchHandlers outer;
    outer.on_event = [this, weak, plural = request.scope.resource.plural,
                      event = handlers.on_event](const kube::WatchEvent& what) {
      auto wire = weak.lock();
      if (!wire || wire->is_over) return;
      if (border_.fails("event")) {
        wire->call.reset();
        return wire->refuse(Failure{Errc::kIo, 0, "", "watch: connection reset", std::nullopt});
      }
      wire->wait(kWatchSilenceMax);
      if (observer.on_event) observer.on_event(plural, what.type, what.object);
      border_.enter_life(wire->life, [&] { event(what); });
    };
    outer.on_end = [weak, end = handlers.on_end] {
      if (auto wire = weak.lock()) wire->answer(end);
    };
    outer.on_failure = [weak](const Failure& why) {
      if (auto wire = weak.lock()) wire->refuse(why);
    };
    outer.on_open = [this, weak, open = handlers.on_open] {
      auto wire = weak.lock();
      if (!wire || wire->is_over) return;
      wire->wait(kWatchSilenceMax);
      if (open) border_.enter_life(wire->life, open);
    };
    return inner_.watch(std::move(request), std::move(outer));
  });
}

kube::CallPtr SimCluster::write(kube::WriteRequest request, kube::WriteHandlers handlers) {
  return begin("write", kAnswerMax, handlers.on_failure, [&](const std::shared_ptr<Wire>& made) {
    const std::weak_ptr<Wire> weak = made;
    if (observer.on_write) observer.on_write(request);
    return inner_.write(std::move(request), {.on_done =
                                                 [weak, done = handlers.on_done](std::string_view object) {
                                                   if (auto wire = weak.lock())
                                                     wire->answer([&] { done(object); });
                                                 },
                                             .on_failure =
                                                 [weak](const Failure& why) {
                                                   if (auto wire = weak.lock()) wire->refuse(why);
                                                 }});
  });
}

kube::CallPtr SimCluster::get(kube::GetRequest request, kube::WriteHandlers handlers) {
  return begin("get", kAnswerMax, handlers.on_failure, [&](const std::shared_ptr<Wire>& made) {
    const std::weak_ptr<Wire> weak = made;
    return inner_.get(std::move(request), {.on_done =
                                               [weak, done = handlers.on_done](std::string_view object) {
                                                 if (auto wire = weak.lock())
                                                   wire->answer([&] { done(object); });
                                               },
                                           .on_failure =
                                               [weak](const Failure& why) {
                                                 if (auto wire = weak.lock()) wire->refuse(why);
                                               }});
  });
}

kube::CallPtr SimCluster::discover(std::string group, std::string version,
                                   std::function<void(std::vector<std::string>)> on_done, Fail on_failure) {
  return begin("discover", kAnswerMax, on_failure, [&](const std::shared_ptr<Wire>& made) {
    const std::weak_ptr<Wire> weak = made;
    return inner_.discover(
        std::move(group), std::move(version),
        [weak, on_done](std::vector<std::string> plurals) {
          if (auto wire = weak.lock()) wire->answer([&] { on_done(std::move(plurals)); });
        },
        [weak](const Failure& why) {
          if (auto wire = weak.lock()) wire->refuse(why);
        });
  });
}

kube::CallPtr SimCluster::schema(std::string group, std::string version,
                                 std::function<void(std::string_view)> on_done, Fail on_failure) {
  return begin("schema", kAnswerMax, on_failure, [&](const std::shared_ptr<Wire>& made) {
    const std::weak_ptr<Wire> weak = made;
    return inner_.schema(
        std::move(group), std::move(version),
        [weak, on_done](std::string_view text) {
          if (auto wire = weak.lock()) wire->answer([&] { on_done(text); });
        },
        [weak](const Failure& why) {
          if (auto wire = weak.lock()) wire->refuse(why);
        });
  });
}

kube::CallPtr SimCluster::server_info(std::function<void(kube::ServerInfo)> on_done, Fail on_failure) {
  return begin("version", kAnswerMax, on_failure, [&](const std::shared_ptr<Wire>& made) {
    const std::weak_ptr<Wire> weak = made;
    return inner_.server_info(
        [weak, on_done](kube::ServerInfo info) {
          if (auto wire = weak.lock()) wire->answer([&] { on_done(std::move(info)); });
        },
        [weak](const Failure& why) {
          if (auto wire = weak.lock()) wire->refuse(why);
        });
  });
}

}  // namespace sliced::sim
