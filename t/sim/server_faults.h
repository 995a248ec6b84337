#pragma once
// What ails an API server, a replica of it or a proxy before it, for a while: for random histories and for
// scenarios. Each is a fault of the world: a second one of the same name waits for the end of the first.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "t/sim/world.h"

namespace sliced::sim {

/// How long it takes until a source follows again: a list's backoff at its longest, then a write's.
inline constexpr Millis kRelistBound{130'000};

/// Of the daemon's sources.
const std::vector<std::string>& watched_plurals();

/// Plain 404s, as from a load balancer that has no server: to requests for these plurals ("discovery" too),
/// or to a share of them. Their watches end.
void answer_not_found(World& world, const std::set<std::string>& asked, double share, Millis time);
/// 503 to all requests for these plurals; their watches end.
void refuse_kinds(World& world, const std::set<std::string>& plurals, Millis time);
/// The kinds are not served, and discovery says so with a well-formed answer; their watches end, and their
/// objects stay. Of one that is not built in a daemon that starts now takes the word, and one that runs after
/// half a minute.
void forget_kinds(World& world, const std::vector<kube::Resource>& kinds, Millis time);
/// All excludes are gone, and no event tells (a backup was restored). Time: less than the daemon waits for a
/// second list.
void lose_excludes(World& world, Millis time);
/// Selectors and namespaces select nothing.
void ignore_selectors(World& world, Millis time);
/// Lists are served from the past. breaks_promises: also those that ask for the newest state.
void serve_the_past(World& world, int64_t versions, bool breaks_promises, Millis time);
/// A share of all requests is answered in any of the ways that a server may refuse.
void answer_anything(World& world, double share, Millis time);

/// Objects of other drivers, nodes and namespaces.
void put_others_objects(World& world);

}  // namespace sliced::sim
