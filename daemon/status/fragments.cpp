#include "daemon/status/fragments.h"

#include <utility>

namespace sliced::status {
namespace {

constexpr Millis kPieceMax{5'000}, kWholeMax{60'000};

Answer head_of(Fragments pieces) {
  return {.content_type = std::move(pieces.content_type), .headers = std::move(pieces.headers)};
}

class PieceCall final : public http::Call {
 public:
  PieceCall(const FragmentBuilder& builder, http::Response& response, Fragments pieces,
            std::shared_ptr<size_t> going)
      : executor_(builder.executor),
        response_(response),
        next_(std::make_shared<const std::function<std::string()>>(std::move(pieces.next))),
        going_(std::move(going)),
        end_(builder.scheduler.after(kWholeMax, [this] { give_up(); })) {
    ++*going_;
    begin(response_, head_of(std::move(pieces)));
    ask();
  }
  ~PieceCall() override { --*going_; }
  void on_room() override {
    if (!job_ && !is_made_) ask();
  }

 private:
  void ask() {
    auto piece = std::make_shared<std::string>();
    job_ = executor_.run([next = next_, piece] { *piece = (*next)(); }, kPieceMax,
                         [this, piece](bool finished) {
                           const auto over = std::move(job_);
                           if (finished)
                             send_on(std::move(*piece));
                           else
                             give_up();  // its worker may continue
                         });
  }
  void give_up() {
    job_.reset();
    response_.abandon();
  }
  void send_on(std::string piece) {
    if (piece.empty()) {
      is_made_ = true;
      return response_.finish();
    }
    response_.send_body(std::move(piece));
    if (response_.unsent_bytes() <= http::kResponseRoom) ask();
  }

  reactor::Executor& executor_;
  http::Response& response_;
  const std::shared_ptr<const std::function<std::string()>> next_;
  const std::shared_ptr<size_t> going_;
  std::unique_ptr<reactor::Job> job_;
  bool is_made_ = false;  // all pieces are built
  const reactor::Ticket end_;
};

}  // namespace

LongPage in_fragments(FragmentBuilder builder, size_t at_once_max,
                      std::function<std::variant<Answer, Fragments>(std::string_view query)> make) {
  auto head = [make](std::string_view query) {
    auto made = make(query);
    auto* answer = std::get_if<Answer>(&made);
    return answer != nullptr ? std::move(*answer) : head_of(std::get<Fragments>(std::move(made)));
  };
  auto serve = [builder, at_once_max, make = std::move(make), going = std::make_shared<size_t>(0)](
                   std::string_view query, http::Response& response) -> std::unique_ptr<http::Call> {
    if (*going >= at_once_max) {
      send(response, {.status = 503,
                      .body = "busy with other requests; retry later\n",
                      .headers = {{"retry-after", "1"}}});
      return nullptr;
    }
    auto made = make(query);
    if (auto* answer = std::get_if<Answer>(&made)) {
      send(response, std::move(*answer));
      return nullptr;
    }
    return std::make_unique<PieceCall>(builder, response, std::get<Fragments>(std::move(made)), going);
  };
  return {.serve = std::move(serve), .head = std::move(head)};
}

}  // namespace sliced::status
