#include "daemon/live_page.h"

#include <algorithm>
#include <utility>

#include "daemon/status/fragments.h"
#include "daemon/status/page_files.h"
#include "daemon/status/verdict_table.h"
#include "policy/explain.h"
#include "policy/identity.h"

namespace sliced::daemon {
namespace {

constexpr Millis kTellAtMostEvery{200}, kLookEvery{1'000}, kRowsWithin{10'000};
constexpr size_t kListenersMax = 16, kPagesAtOnce = 2, kPieceBytesOfRows = 32u << 10, kRulesOnPage = 200,
                 kDeltaMax = 256;

status::Answer file(std::string_view text, const char* type) {
  return {.body = std::string(text), .content_type = type, .headers = status::page_headers()};
}

using RowsPtr = std::shared_ptr<const status::DeviceRows>;

RowsPtr rows_of(uint64_t moment, const std::optional<VerdictSnapshot>& verdicts,
                const PreparedFor& prepared) {
  status::DeviceRows out{.moment = moment};
  if (verdicts) out.rows = device_rows(*verdicts, prepared);
  return std::make_shared<const status::DeviceRows>(std::move(out));
}

std::optional<kube::Json> explanation_of(const std::optional<VerdictSnapshot>& verdicts,
                                         const std::string& device) {
  if (!verdicts || device.empty()) return std::nullopt;
  const auto id = policy::find_device(*verdicts->decision->inputs->inventory, device);
  if (!id) return std::nullopt;
  return status::json_of(explain_as_published(*verdicts, *id, kRulesOnPage));
}

// {"moment":n,"items":[rows]}
class RowList {
 public:
  std::string next(const status::DeviceRows& rows) {
    if (is_over_) return {};
    std::string out = at_ == 0 ? "{\"moment\":" + std::to_string(rows.moment) + ",\"items\":[" : "";
    for (; at_ < rows.rows.size() && out.size() < kPieceBytesOfRows; ++at_)
      out += (at_ == 0 ? "\n" : ",\n") + kube::encode_json(json_of(rows.rows[at_]));
    is_over_ = at_ == rows.rows.size();
    return is_over_ ? out + "\n]}\n" : out;
  }

 private:
  size_t at_ = 0;
  bool is_over_ = false;
};

}  // namespace

LivePage::LivePage(reactor::Executor& executor, reactor::Scheduler& scheduler, const PageSource& node)
    : executor_(executor), scheduler_(scheduler), node_(node), feed_(scheduler, kListenersMax) {}

void LivePage::add_to(status::Pages& pages) {
  const status::FragmentBuilder builder{executor_, scheduler_};
  pages["/"] = in_fragments(builder, kPagesAtOnce, [this](std::string_view query) { return page(query); });
  pages["/devices"] = in_fragments(builder, kPagesAtOnce, [this](std::string_view) { return devices(); });
  pages["/events"] = feed_.page([this] { return welcome(); });
  pages["/page.css"] = [](std::string_view) { return file(status::kPageCss, "text/css; charset=utf-8"); };
  pages["/page.js"] = [](std::string_view) {
    return file(status::kPageJs, "text/javascript; charset=utf-8");
  };
}

std::variant<status::Answer, status::Fragments> LivePage::page(std::string_view query) {
  status::PageFacts facts{.report = node_.report(),
                          .history = node_.history(),
                          .disposition = status::query_value(query, "disposition")};
  struct Making {
    status::PageFacts facts;
    std::optional<VerdictSnapshot> verdicts;
    PreparedFor prepared;
    uint64_t moment;
    std::string device;
    RowsPtr rows = {};
    std::optional<status::PageText> text = {};
  };
  auto making = std::make_shared<Making>(Making{std::move(facts), node_.verdicts(), node_.prepared(),
                                                node_.moment(), status::query_value(query, "device")});
  return status::Fragments{"text/html; charset=utf-8",
                           [making] {
                             if (!making->text) {
                               making->rows = rows_of(making->moment, making->verdicts, making->prepared);
                               making->facts.explanation = explanation_of(making->verdicts, making->device);
                               making->text.emplace(std::move(making->facts));
                             }
                             return making->text->next(*making->rows);
                           },
                           status::page_headers()};
}

std::variant<status::Answer, status::Fragments> LivePage::devices() {
  return status::Fragments{"application/json",
                           [moment = node_.moment(), verdicts = node_.verdicts(), prepared = node_.prepared(),
                            rows = RowsPtr(), list = RowList()]() mutable {
                             if (!rows) rows = rows_of(moment, verdicts, prepared);
                             return list.next(*rows);
                           }};
}

// The first listener requires rows for comparison, which are built first, and sent when they are complete.
std::string LivePage::welcome() {
  std::string out = status::event_text("head", status::head_of(node_.report()));
  if (rows_) {
    kube::Json to = kube::Json::Object{};
    to.set("to", static_cast<int64_t>(rows_->moment));
    out += status::event_text("moment", to);
  }
  look_soon();
  return out;
}

void LivePage::on_change(const status::PastChange& past) {
  if (feed_.clients() > 0) feed_.tell(status::event_text("history", line_of(past)));
}

void LivePage::look_soon() {
  if (soon_) return;
  soon_ = scheduler_.after(std::max(kTellAtMostEvery, rest_), [this] {
    const auto over = std::move(soon_);
    look();
  });
}

void LivePage::on_decided() {
  if (feed_.clients() > 0) look_soon();
}

// Without listeners no timer is armed: a new one gets the welcome.
void LivePage::look() {
  if (feed_.clients() == 0) {
    rows_.reset();
    tick_.reset();
    return;
  }
  tick_ = scheduler_.after(kLookEvery, [this] { look(); });
  send_page_head();
  if (!job_ && scheduler_.now() >= not_before_ && (!rows_ || rows_->moment != node_.moment())) make_rows();
}

void LivePage::send_page_head() {
  std::string head = status::event_text("head", status::head_of(node_.report()));
  if (head == head_) return;
  feed_.tell(head);
  head_ = std::move(head);
}

void LivePage::make_rows() {
  struct Made {
    RowsPtr rows;
    status::RowsDelta delta;
  };
  auto made = std::make_shared<Made>();
  job_ = executor_.run(
      [made, before = rows_, moment = node_.moment(), verdicts = node_.verdicts(),
       prepared = node_.prepared()] {
        made->rows = rows_of(moment, verdicts, prepared);
        static const status::DeviceRows kNone;
        made->delta = difference(before ? *before : kNone, *made->rows, before ? kDeltaMax : 0);
      },
      kRowsWithin,
      [this, made, began = scheduler_.now()](bool finished) {
        const auto over = std::move(job_);
        rest_ = 4 * std::chrono::duration_cast<Millis>(scheduler_.now() - began);
        not_before_ = scheduler_.now() + rest_;
        if (finished) take_rows(made->rows, made->delta);
      });
}

void LivePage::take_rows(RowsPtr rows, const status::RowsDelta& delta) {
  const bool is_first = !rows_;
  rows_ = std::move(rows);
  feed_.tell(status::event_text(delta.is_whole && !is_first ? "devices" : "moment", delta.json));
  if (rows_->moment != node_.moment()) look_soon();
}

}  // namespace sliced::daemon
