#include "daemon/status/page_text.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/status/page_files.h"
#include "http/url.h"
#include "reactor/base/text.h"

namespace sliced::status {
namespace {

using kube::Json;

constexpr size_t kPagePieceBytes = 32u << 10, kHistoryShown = 20, kNamesShown = 6;
constexpr std::string_view kDevicesMark = "{{devices}}";
// In the order of the page; the first is all of them.
constexpr std::pair<std::string_view, std::string_view> kStandings[] = {{"", "devices"},
                                                                        {"offered", "offered"},
                                                                        {"held-back", "held back"},
                                                                        {"hidden", "hidden"},
                                                                        {"unmatched", "no policy"}};

// Replaces each {{name}} of the template once; inserted texts are not processed again.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& by) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find("{{", at), close = text.find("}}", open);
    if (open == std::string_view::npos || close == std::string_view::npos) return out.append(text.substr(at));
    out.append(text.substr(at, open - at));
    const auto found = by.find(text.substr(open + 2, close - open - 2));
    if (found != by.end()) out += found->second;
    at = close + 2;
  }
  return out;
}

std::string markup_of(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string text_in(const Json& json, std::string_view key) { return html(json.text(key)); }

const Json::Array& items_in(const Json& json, std::string_view key) {
  static const Json::Array kNone;
  const Json* found = json.find(key);
  return found != nullptr && found->array() != nullptr ? *found->array() : kNone;
}

std::string counts_html(const Json& head, const std::string& disposition) {
  std::string out;
  const Json& counts = *head.find("counts");
  for (const auto& [name, title] : kStandings) {
    const Json* count = counts.find(name.empty() ? "all" : name);
    out += "<a href=\"/" + (name.empty() ? "" : "?disposition=" + std::string(name)) +
           "\" data-disposition=\"" + std::string(name) + "\"" +
           (disposition == name ? " aria-current=\"true\"" : "") + "><b>" +
           (count != nullptr ? std::to_string(*count->integer()) : "?") + "</b> " + std::string(title) +
           "</a>\n";
  }
  return out;
}

std::string explanation_html(const Json& why) {
  std::string out = "<section class=\"explanation\"><h2>" + text_in(why, "device") + "</h2><p>" +
                    text_in(why, "summary") + "</p><ul>";
  for (const Json& one : items_in(why, "personas"))
    out += "<li><span class=\"said\">" + text_in(one, "policy") + "</span> " + text_in(one, "outcome") +
           ": " + text_in(one, "summary") + "</li>";
  for (const Json& rule : items_in(why, "rules")) {
    out += "<li>" + text_in(rule, "policy") + " <span class=\"dim\">" + text_in(rule, "place") +
           "</span> <span class=\"said " + text_in(rule, "said") + "\">" + text_in(rule, "said") + "</span>";
    if (!rule.text("field").empty()) {
      const std::string found = text_in(rule, "found");
      out += ", " + text_in(rule, "field") + " is " + (found.empty() ? "absent" : found) + ", expected " +
             text_in(rule, "wanted");
    }
    out += "</li>";
  }
  return out + "</ul><p><a href=\"/\">All devices</a></p></section>";
}

std::string history_html(const std::vector<PastChangePtr>& history) {
  std::string out;
  const size_t shown = std::min(history.size(), kHistoryShown);
  for (size_t i = 0; i < shown; ++i) {
    const Json line = line_of(*history[history.size() - 1 - i]);
    std::string time = text_in(line, "time");
    std::string people = time.substr(0, 19) + "Z";
    std::ranges::replace(people, 'T', ' ');
    out += "<li><time datetime=\"" + time + "\">" + people + "</time><span class=\"kind\">" +
           text_in(line, "change") + "</span><span class=\"what\">" + text_in(line, "what") +
           "</span><span class=\"by\">" + text_in(line, "by") + "</span></li>\n";
  }
  return out;
}

std::string state_html(const Json& head) {
  std::string out;
  for (const Json& problem : items_in(head, "problems")) out += "<li>" + html(*problem.string()) + "</li>";
  return out;
}

std::string row_html(const DeviceRow& row) {
  const std::string id = html(row.id), name = row.interface.empty() ? id : html(row.interface);
  std::string title = row.disposition;
  std::ranges::replace(title, '-', ' ');
  return "<tr class=\"device " + html(row.type) + "\" data-id=\"" + id + "\" data-order=\"" +
         html(row.order) + "\" data-disposition=\"" + html(row.disposition) +
         "\"><th scope=\"row\" class=\"name\"><a href=\"/?device=" + html(http::percent_encode(row.id)) +
         "\" aria-expanded=\"false\">" + name + "</a></th><td class=\"id\">" +
         (row.interface.empty() || row.interface == row.id ? "" : id + " ") + "<span class=\"kind\">" +
         html(row.kind) + "</span></td><td class=\"link " + html(row.link.substr(0, row.link.find(' '))) +
         "\">" + html(row.link) + "</td><td class=\"driver\">" + html(row.driver) +
         "</td><td class=\"state\"><span class=\"badge " + html(row.disposition) + "\">" + html(title) +
         "</span></td><td class=\"why\">" +
         (row.claim.empty() ? "" : "<span class=\"claim\">prepared for " + html(row.claim) + "</span>") +
         html(row.why) + "</td></tr>\n";
}

std::string names_of(const policy::OfferChange& change) {
  const size_t shown = std::min(change.devices.size(), kNamesShown);
  const size_t more = change.devices.size() - shown + change.left_out;
  return join({change.devices.begin(), change.devices.begin() + static_cast<long>(shown)}, ", ") +
         (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

}  // namespace

std::string html(std::string_view text, size_t bytes_max) { return markup_of(printable(text, bytes_max)); }

std::string html_lines(std::string_view text, size_t bytes_max) {
  return markup_of(printable_lines(text, bytes_max));
}

http::Headers page_headers() {
  return {
      {"content-security-policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action "
       "'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
      {"referrer-policy", "no-referrer"},
      {"cross-origin-opener-policy", "same-origin"}};
}

Json head_of(const Report& report) {
  Json::Array problems;
  for (const Check& check : readiness(report))
    if (!check.problem.empty()) problems.push_back(check.name + ": " + printable(check.problem, 1'024));
  for (const Report::Driver& driver : report.drivers)
    if (!driver.failure.empty() && !driver.is_settled)
      problems.push_back(driver.name + ": " + printable(driver.failure, 1'024));
  Json out = Json::Object{};
  out.set("state",
          std::string(problems.empty() ? "ready" : "not well") + ", " +
              (report.is_serving ? "serving" : "stands by: " + printable(report.stands_by_for, 1'024)));
  out.set("isWell", problems.empty());
  out.set("problems", std::move(problems));
  Json counts = Json::Object{};
  const auto put = [&](std::string_view key, size_t count) { counts.set(key, static_cast<int64_t>(count)); };
  const policy::Summary summary = report.summary.value_or(policy::Summary{});
  put("all", summary.devices);
  put("offered", summary.offered);
  put("held-back", summary.held_back);
  put("hidden", summary.hidden);
  put("unmatched", summary.devices - summary.offered - summary.held_back - summary.hidden);
  out.set("counts", std::move(counts));
  return out;
}

Json line_of(const PastChange& past) {
  const policy::OfferChange& change = past.change;
  Json out = Json::Object{};
  out.set("time", utc_text(past.at_ms));
  out.set("change", name_of(change.kind));
  out.set("what", printable(names_of(change), 1'024));
  std::string by = change.policy;
  if (change.generation > 0) by += ", generation " + std::to_string(change.generation);
  if (!change.manager.empty()) by += ", by " + change.manager;
  if (!change.outcome.empty()) by += (by.empty() ? "" : ": ") + change.outcome;
  out.set("by", printable(by, 1'024));
  return out;
}

std::string PageText::row(const DeviceRows& rows) {
  const DeviceRow& one = rows.rows[at_];
  const bool is_first = at_ == 0 || rows.rows[at_ - 1].group != one.group;
  const bool is_last = at_ + 1 == rows.rows.size() || rows.rows[at_ + 1].group != one.group;
  std::string out = is_first ? "<tbody class=\"group\" data-group=\"" + html(one.group) + "\">\n" : "";
  if (facts_.disposition.empty() || one.disposition == facts_.disposition) out += row_html(one);
  return is_last ? out + "</tbody>\n" : out;
}

std::string PageText::next(const DeviceRows& rows) {
  if (is_over_) return {};
  const size_t mark = kPageHtml.find(kDevicesMark);
  std::string out;
  if (!std::exchange(is_begun_, true)) {
    const Json head = head_of(facts_.report);
    out = filled(kPageHtml.substr(0, mark),
                 {{"node", html(facts_.report.node)},
                  {"version", html(facts_.report.version)},
                  {"cluster", html(facts_.report.cluster)},
                  {"moment", std::to_string(rows.moment)},
                  {"state", text_in(head, "state")},
                  {"well", *head.find("isWell")->boolean() ? "" : "bad"},
                  {"problems", state_html(head)},
                  {"counts", counts_html(head, facts_.disposition)},
                  {"why", facts_.explanation ? explanation_html(*facts_.explanation) : ""}});
  }
  for (; at_ < rows.rows.size() && out.size() < kPagePieceBytes; ++at_) out += row(rows);
  is_over_ = at_ == rows.rows.size();
  if (is_over_)
    out += filled(kPageHtml.substr(mark + kDevicesMark.size()), {{"history", history_html(facts_.history)}});
  return out;
}

}  // namespace sliced::status
