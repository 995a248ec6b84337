#include "daemon/status/history.h"

#include <algorithm>
#include <ctime>
#include <deque>
#include <vector>

#include "cli/commands.h"
#include "cli/past_changes.h"
#include "cli/read_file.h"
#include "cli/show.h"
#include "cli/status_sockets.h"
#include "daemon/process.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

constexpr size_t kPastLineBytesMax = 1u << 20, kPastChangesMax = 100'000;

// Selects the requested changes.
class PastChanges {
 public:
  PastChanges(std::string name, Millis since)
      : name_(std::move(name)),
        from_ms_(since.count() == 0 ? 0 : static_cast<int64_t>(std::time(nullptr)) * 1'000 - since.count()) {}

  void take(status::PastChange past) {
    if (past.at_ms < from_ms_) return;
    if (!status::is_about(past.change, name_)) {
      unsure_ += past.change.left_out > 0 ? 1 : 0;
      return;
    }
    kept_.push_back(std::move(past));
    if (kept_.size() <= kPastChangesMax) return;
    kept_.pop_front();
    ++dropped_;
  }

  int tell(config::OutputFormat format) {
    if (dropped_ > 0)
      daemon::print_error("history: " + std::to_string(dropped_) + " older changes omitted; use --since");
    if (unsure_ > 0)
      daemon::print_error("history: " + std::to_string(unsure_) +
                          " more changes are of more devices than their lines name; " + in_quotes(name_) +
                          " may be among those");
    std::vector<status::PastChange> all(std::make_move_iterator(kept_.begin()),
                                        std::make_move_iterator(kept_.end()));
    std::ranges::stable_sort(all, {}, &status::PastChange::at_ms);
    const bool is_table = format == config::OutputFormat::kTable;
    return daemon::print(is_table ? past_changes_table(all) : formatted(past_changes_list(all), format))
               ? daemon::kExitSame
               : daemon::kExitError;
  }

 private:
  const std::string name_;
  const int64_t from_ms_;
  std::deque<status::PastChange> kept_;
  size_t dropped_ = 0, unsure_ = 0;
};

bool read_journal(const std::vector<std::string>& files, PastChanges& into) {
  for (const std::string& file : files) {
    bool is_any = false, is_json = false;
    const auto read = for_each_line(file, kPastLineBytesMax, [&](std::string_view line) {
      is_any |= !trim(line).empty();
      is_json |= trim(line).starts_with('{');
      if (auto past = status::past_change_of_journal(line)) into.take(std::move(*past));
    });
    if (!read) {
      daemon::print_error("history: --file " + file + ": " + read.error().what);
      return false;
    }
    if (is_any && !is_json)
      return daemon::print_error(
                 "history: --file " + file +
                 ": has no line of JSON; expected the output of journalctl -u sliced -o json"),
             false;
  }
  return true;
}

// Adds the changes of every daemon that answers; returns whether one did.
bool read_daemons(const FoundSockets& found, PastChanges& into) {
  bool is_any = false;
  for (const std::string& socket : found.sockets) {
    const auto fetched = fetch(socket, "/history");
    const auto page = fetched ? kube::decode_json(fetched->body) : Result<kube::Json>(fetched.error());
    const kube::Json* items = page ? page->find("items") : nullptr;
    if (items == nullptr || items->array() == nullptr) {
      daemon::print_error("history: " +
                          (page ? socket + ": no such page: it is of another version" : page.error().what));
      continue;
    }
    is_any = true;
    for (const kube::Json& item : *items->array())
      if (auto past = status::past_change_of(item)) into.take(std::move(*past));
  }
  return is_any;
}

}  // namespace

int history(const config::Options& options) {
  PastChanges changes(options.arguments.empty() ? "" : options.arguments[0], options.since);
  if (!options.files.empty())
    return read_journal(options.files, changes) ? changes.tell(options.output) : daemon::kExitError;
  const FoundSockets found = find_sockets(options);
  if (found.sockets.empty()) {
    print_no_sockets("history", found);
    return daemon::kExitError;
  }
  return read_daemons(found, changes) ? changes.tell(options.output) : daemon::kExitError;
}

}  // namespace sliced::cli
