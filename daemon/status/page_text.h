#pragma once
// The HTML page, complete without its script: the text of "/", in pieces, and the same facts as events for
// the script. Every text from outside is escaped by html(). Pure.
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

/// Returns a text for HTML, within an element or a quoted attribute: made printable, then escaped. bytes_max:
/// before escaping, which makes it longer.
std::string html(std::string_view text, size_t bytes_max = 1'024);
/// The same for a text of several lines, for a <pre>.
std::string html_lines(std::string_view text, size_t bytes_max);

/// Headers of every answer of the page, in addition to those of all pages: only its own style and script are
/// loaded, nothing is sent elsewhere, and framing is denied.
http::Headers page_headers();

/// A snapshot.
struct PageFacts {
  Report report;
  std::vector<PastChangePtr> history;          // the oldest first; the last 20 are shown
  std::optional<kube::Json> explanation = {};  // of the requested device (cli's json_of an Explanation)
  std::string disposition;                     // only devices with it are shown; "" all
};

/// Returns the page in pieces of about 32 KiB, "" at the end. rows: may be built on another thread before the
/// first next(); the same object each time. Threads: one at a time, any thread. Rows outside `disposition`
/// are omitted; their groups are included, empty.
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

/// problems: failed checks of /readyz, and failed last writes while changes are unwritten.
/// {"state":...,"isWell":b,"problems":[...],"counts":{"all":n,"offered":n,"held-back":n,"hidden":n,"unmatched":n}}:
/// event "head".
kube::Json head_of(const Report& report);
/// {"time":...,"change":...,"what":...,"by":...}: event "history".
kube::Json line_of(const PastChange& past);

}  // namespace sliced::status
