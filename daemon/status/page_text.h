#pragma once
// The page for a browser, complete without its script: what stands at "/", piece by piece, and the same facts as events for the
// script. Every text of others' goes through html(). Pure.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/status/device_rows.h"
#include "daemon/status/history.h"
#include "daemon/status/report.h"
#include "http/message.h"
#include "kube/objects/json.h"

namespace sliced::status {

/// Text as HTML has it, within an element or a quoted attribute: fit for people first, then escaped.
/// bytes_max: before escaping, which makes it longer.
std::string html(std::string_view text, size_t bytes_max = 1'024);
/// The same of a text in lines, for a <pre>.
std::string html_lines(std::string_view text, size_t bytes_max);

/// What every answer of the page has beside those of all pages: nothing but its own style and script is loaded or run,
/// nothing is sent anywhere, nobody frames it.
http::Headers page_headers();

/// One moment.
struct PageFacts {
  Report report;
  std::vector<PastChangePtr> history;  // the oldest first; the last 20 are shown
  std::optional<kube::Json> explanation =
      {};                   // of the device that was asked for (cli's json_of an Explanation)
  std::string disposition;  // only devices of it are shown; "" all
};

/// The whole of it, in pieces of some 32 KiB, "" at the end. rows: may be made by another thread before the
/// first next(); the same ones each time.
/// Threads: one at a time, whichever it is. Rows that `disposition` leaves out are not in it; their groups are, empty.
class PageText {
 public:
  explicit PageText(PageFacts facts) : facts_(std::move(facts)) {}
  std::string next(const DeviceRows& rows);

 private:
  std::string row(const DeviceRows& rows);
  const PageFacts facts_;
  size_t at_ = 0;
  bool is_begun_ = false, is_over_ = false;
};

/// problems: checks of /readyz that fail, and last writes that did, as long as something is left to be written.
/// {"state":...,"isWell":b,"problems":[...],"counts":{"all":n,"offered":n,"held-back":n,"hidden":n,"unmatched":n}}: event "head".
kube::Json head_of(const Report& report);
/// {"time":...,"change":...,"what":...,"by":...}: event "history".
kube::Json line_of(const PastChange& past);

}  // namespace sliced::status
