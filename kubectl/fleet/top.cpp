#include <csignal>

#include "cli/show.h"
#include "cli/terminal.h"
#include "kubectl/commands.h"
#include "kubectl/fleet/ask_cluster.h"
#include "kubectl/fleet/fleet_tables.h"
#include "kubectl/fleet/followed_fleet.h"
#include "reactor/base/text.h"
#include "reactor/signal.h"

namespace sliced::kubectl {
namespace {

constexpr Millis kDrawAtMostEvery{1'000};

// Returns why the shown state may be old, and the unknown information.
std::string note_of(const FollowedFleet& followed) {
  std::vector<std::string> parts = followed.gaps();
  if (!followed.note().empty()) parts.insert(parts.begin(), followed.note());
  return join(parts, "; ");
}

std::string once(const FollowedFleet& followed, const config::Options& options) {
  const auto rows = followed.fleet().rows();
  if (!is_for_people(options)) print_unread(followed.gaps());
  if (!is_for_people(options)) return cli::formatted(json_of(rows), options.output);
  return top_text(rows, {.has_colours = cli::has_colours(), .note = note_of(followed)});
}

// Head of a frame: totals, an optional note, and the heading; foot: the number of further nodes.
constexpr size_t kRowsAround = 4;

Result<Unit> refresh(daemon::Process& process, const FollowedFleet& followed, bool& is_over) {
  uint64_t drawn = 0;
  auto screen = cli::Screen::open(process.loop, [&](char key) {
    if (key == 'q' || key == 'Q') is_over = true;
  });
  if (!screen) return std::move(screen.error());
  auto resized = reactor::Signal::open(process.loop, SIGWINCH, [&] { drawn = 0; });
  while (!is_over) {
    if (drawn != followed.moment()) {
      drawn = followed.moment();
      const cli::Screen::Size size = (*screen)->size();
      (*screen)->show(top_text(followed.fleet().rows(),
                               {.rows_max = size.rows > kRowsAround + 1 ? size.rows - kRowsAround : 1,
                                .columns_max = size.columns,
                                .has_colours = cli::has_colours(),
                                .note = note_of(followed)}));
    }
    // Changes within the interval are drawn together.
    process.run_until([&] { return is_over || drawn == 0; }, kDrawAtMostEvery);
  }
  return Unit{};
}

}  // namespace

int top(const config::Options& given) {
  config::Options options = given;
  const bool is_live = cli::is_terminal() && !options.once && options.output == config::OutputFormat::kTable;
  // The note of a frame replaces log messages, which would disturb the screen.
  if (is_live && options.log_level == Level::kInfo) options.log_level = Level::kError;
  return follow_fleet(
      options, [&](daemon::Process& process, const FollowedFleet& followed, bool& is_over) -> Result<Unit> {
        if (is_live) return refresh(process, followed, is_over);
        return daemon::print(once(followed, options)) ? Result<Unit>(Unit{}) : Error{Errc::kIo, "top ends"};
      });
}

}  // namespace sliced::kubectl
