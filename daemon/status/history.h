#pragma once
// The last changes of what is offered, kept in memory, and read back from lines of the log. Pure.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "policy/offer_change.h"

namespace sliced::status {

struct PastChange {
  int64_t at_ms = 0;  // since 1970
  policy::OfferChange change;
};
using PastChangePtr = std::shared_ptr<const PastChange>;

/// Bounds: kChangesMax and kBytesMax, names, texts and what they stand in together; texts are cut at 256 bytes. What is
/// older goes first.
/// The newest stays, whatever its size. Threads: one; what all() has given may be read by others.
class History {
 public:
  static constexpr size_t kChangesMax = 1'000, kBytesMax = 1u << 20;
  void add(int64_t at_ms, policy::OfferChange change);
  /// The oldest first. Each is immutable and outlives its place here.
  std::vector<PastChangePtr> all() const { return {changes_.begin(), changes_.end()}; }
  size_t bytes() const { return bytes_; }

 private:
  std::deque<PastChangePtr> changes_;
  size_t bytes_ = 0;
};

/// {"time":"2026-11-21T00:17:41.296Z","change":"withdrawn","driver":...,"devices":[...],"devicesLeftOut":n,"policy":...,
/// "generation":n,"manager":...,"outcome":...,"why":...}: an interface (docs/command-line.md). What is unknown is left out.
kube::Json json_of(const PastChange& past);
/// The same, back. nullopt without a known `change` and a `time` of that form. Of devices it takes
/// kOfferChangeDevicesMax; texts are as they stand.
std::optional<PastChange> past_change_of(const kube::Json& json);

/// One line of `journalctl -o json`; nullopt where it is no change of an offer (or no line of the journal at all).
/// Source: the fields SLICED_* of the log's line, and __REALTIME_TIMESTAMP (systemd.journal-fields(7)) for
///         the time. Of devices it has those that the line names; the rest are counted.
std::optional<PastChange> past_change_of_journal(std::string_view line);

/// The wall clock, in milliseconds since 1970.
int64_t wall_ms();
/// "2026-11-21T00:17:41.296Z", and back (0 where it is none).
std::string utc_text(int64_t ms_since_1970);
int64_t ms_of_utc(std::string_view text);

/// Whether a change is about a name: one of its entries, a function by its address in either spelling (each of its
/// entries), or its policy ("ns/name", "name", or as it is told, "policy ns/name"). "" is every name.
bool is_about(const policy::OfferChange& change, std::string_view name);

}  // namespace sliced::status
