#include "controller/webhook/admission.h"

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "controller/webhook/review.h"
#include "reactor/base/text.h"

namespace sliced::webhook {

namespace {

// Counts bytes of all requests. Workers release bodies, too.
struct Counts {
  std::atomic<size_t> bytes = 0, reviews = 0;
};

// A body, counted until it is released.
class Body {
 public:
  explicit Body(std::shared_ptr<Counts> counts) : counts_(std::move(counts)) {}
  ~Body() { counts_->bytes -= text_.size(); }
  Body(const Body&) = delete;
  // Returns false if the limit is reached.
  bool add(std::string_view bytes) {
    if (counts_->bytes + bytes.size() > kBodiesBytesMax) return false;
    counts_->bytes += bytes.size();
    text_ += bytes;
    return true;
  }
  const std::string& text() const { return text_; }

 private:
  const std::shared_ptr<Counts> counts_;
  std::string text_;
};

// The state that workers share. A waiting or running review counts as long as it exists.
struct Work {
  Work(std::shared_ptr<Counts> counts_in, std::shared_ptr<const Body> body_in)
      : counts(std::move(counts_in)), body(std::move(body_in)) {
    ++counts->reviews;
  }
  ~Work() { --counts->reviews; }
  Work(const Work&) = delete;
  const std::shared_ptr<Counts> counts;
  const std::shared_ptr<const Body> body;
  Review review;
};

bool is_json(const std::string* type) {
  return type != nullptr && lower(trim(type->substr(0, type->find(';')))) == "application/json";
}

void tell(Log& log, const Review& review) {
  const auto line = [&](Level level, std::string_view message) {
    log.line(level, message,
             {{"user", review.user},
              {"operation", review.operation},
              {"object", review.object},
              {"problems", review.errors},
              {"warnings", review.warnings},
              {"why", review.why}});
  };
  if (review.status != 200) return log.debug("invalid AdmissionReview", {{"why", review.body}});
  if (review.is_refused) return line(Level::kInfo, "refused");
  if (review.is_judged)
    line(review.object.starts_with("ResourceClaim") ? Level::kDebug : Level::kInfo, "admitted");
}

}  // namespace

struct Admission::Shared {
  const AdmissionPorts ports;
  const std::shared_ptr<const Drivers> drivers;
  const std::shared_ptr<Counts> counts = std::make_shared<Counts>();
  Counters answered = {};
};

// One request.
class Admission::One final : public http::Call {
 public:
  One(std::shared_ptr<Shared> shared, http::Response& response)
      : shared_(std::move(shared)),
        response_(response),
        body_(std::make_shared<Body>(shared_->counts)),
        began_(shared_->ports.scheduler.now()) {
    deadline_ = shared_->ports.scheduler.after(kReviewMax, [this] { on_deadline(); });
  }

  void on_body(std::string_view bytes) override {
    if (!body_ || body_->add(bytes)) return;
    body_.reset();
    answer({.status = 503, .body = "too many concurrent requests\n"});
  }

  void on_end() override {
    if (!body_ || is_answered_) return;
    is_whole_ = true;
    if (shared_->counts->reviews >= kReviewsMax) return give_up("too many concurrent reviews");
    const auto work = std::make_shared<Work>(shared_->counts, body_);
    const AdmissionPorts& ports = shared_->ports;
    job_ =
        (is_cheap(body_->text()) ? ports.executor : ports.selectors)
            .run([work, drivers = shared_->drivers] { work->review = review(work->body->text(), *drivers); },
                 Millis{0},
                 [this, work](bool is_finished) {
                   if (is_answered_) return;
                   if (!is_finished) return give_up("no worker is free");
                   tell(shared_->ports.log, work->review);
                   answer(std::move(work->review));
                 });
  }

  void on_loss(const Error&) override { is_answered_ = true; }

 private:
  void on_deadline() {
    job_.reset();
    if (is_whole_)
      return give_up("the check takes longer than " + std::to_string(kReviewMax.count()) + " ms");
    body_.reset();
    answer({.status = 408, .body = "the request was not complete in time\n"});
  }

  void give_up(const std::string& why) {
    Review review = unjudged(body_->text(), why);
    shared_->ports.log.warning(
        "object admitted without a check",
        {{"user", review.user}, {"operation", review.operation}, {"object", review.object}, {"why", why}});
    is_given_up_ = true;
    answer(std::move(review));
  }

  void count(const Review& review) const {
    Counters& all = shared_->answered;
    ++(review.status != 200 ? all.failed
       : is_given_up_       ? all.unjudged
       : review.is_refused  ? all.refused
       : review.is_judged   ? all.admitted
                            : all.not_ours);
    all.took.add(std::chrono::duration_cast<Millis>(shared_->ports.scheduler.now() - began_));
  }

  void answer(Review review) {
    if (std::exchange(is_answered_, true)) return;
    deadline_.reset();
    count(review);
    response_.answer(review.status, std::move(review.body),
                     review.status == 200 ? "application/json" : "text/plain; charset=utf-8");
  }

  const std::shared_ptr<Shared> shared_;
  http::Response& response_;
  std::shared_ptr<Body> body_;  // nullptr: released
  reactor::Ticket deadline_;
  std::unique_ptr<reactor::Job> job_;
  const TimePoint began_;
  bool is_whole_ = false, is_answered_ = false, is_given_up_ = false;
};

Admission::Admission(AdmissionPorts ports, Drivers drivers)
    : shared_(std::make_shared<Shared>(Shared{ports, std::make_shared<const Drivers>(std::move(drivers))})) {}

std::unique_ptr<http::Call> Admission::serve(const http::RequestHead& head, http::Response& response) {
  if (head.method != "POST") {
    response.answer(405, "expected POST\n");
    return nullptr;
  }
  if (!is_json(head.header("content-type"))) {
    response.answer(415, "expected content-type: application/json\n");
    return nullptr;
  }
  return std::make_unique<One>(shared_, response);
}

size_t Admission::bytes() const { return shared_->counts->bytes; }
size_t Admission::reviews() const { return shared_->counts->reviews; }
const Admission::Counters& Admission::counters() const { return shared_->answered; }

}  // namespace sliced::webhook
