#pragma once
// An API server small enough to step by hand: objects with resourceVersions, a watch history that can be
// compacted, WatchList that can be off, discovery, conflicts, refusals, latency, and a log of every request.
//
// Time:      only the scheduler's. A request arrives after latency/2 and is answered after another latency/2,
//            so a write whose Call was dropped in between has happened all the same, as in life.
// Ownership: may die before its Calls; a dropped Call's callbacks never run.
// Order:     events reach a watch in the order they were made; everything is deterministic.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/cluster.h"
#include "kube/objects/json.h"
#include "kube/objects/kinds.h"
#include "reactor/scheduler.h"

namespace sliced::fake {

using kube::kDeviceAttributes;
using kube::kNodes;
using kube::kResourceSlices;
using kube::kSriovResourcePolicies;

/// One request as the server saw it.
struct Request {
  uint64_t id = 0;
  /// list watch get create update delete apply patch discover schema version. A patch is a merge;
  /// applies_status determines the effect of an apply.
  std::string verb;
  std::string group, version, plural, namespace_, name;
  std::string field_selector, resource_version;
  bool send_initial_events = false, metadata_only = false, dry_run = false, strict = false;
  Millis timeout{0};    // of a watch
  kube::Json body;      // of a write
  TimePoint at{};       // when it was made
  std::string outcome;  // "" not answered yet, "ok", or Failure.what
};

class FakeCluster final : public kube::Cluster {
 public:
  /// Serves nodes and resourceslices from the start; CRDs are installed by the test.
  explicit FakeCluster(reactor::Scheduler& scheduler);
  ~FakeCluster() override;

  // What is served.
  // -----------------------------------------------------------------------------------------------
  void install(const kube::Resource& resource);
  /// As when a CRD is deleted: its objects go (events), its watches end, then it is 404 and absent from
  /// discovery.
  void uninstall(const kube::Resource& resource);
  /// As when an aggregated discovery forgets it: it is 404 and not named, its objects and watches stay.
  void unserve(const kube::Resource& resource);

  // What others do to objects.
  // ------------------------------------------------------------------------------------
  /// Creates or replaces; fills apiVersion, kind, uid, resourceVersion. A put that changes nothing makes no
  /// event.
  kube::Json put(const kube::Resource& resource, kube::Json object);
  kube::Json put_text(const kube::Resource& resource,
                      std::string_view json);  // aborts on text that is not JSON
  bool remove(const kube::Resource& resource, std::string_view name, std::string_view namespace_ = "");
  /// As by a server that was restored from a backup: the object is gone, and neither an event nor history
  /// tells.
  std::optional<kube::Json> lose(const kube::Resource& resource, std::string_view name,
                                 std::string_view namespace_ = "");
  /// As DELETE: an object with finalizers stays, with a deletionTimestamp.
  void remove_or_terminate(const kube::Resource& resource, kube::Json object);
  /// As the kubelet does at its start: everything of the kind that has this value at the field path.
  size_t remove_where(const kube::Resource& resource, std::string_view field_selector);
  std::optional<kube::Json> object(const kube::Resource& resource, std::string_view name,
                                   std::string_view namespace_ = "") const;
  std::vector<kube::Json> objects(const kube::Resource& resource) const;  // by namespace, then name
  void for_each(const kube::Resource& resource, const std::function<void(const kube::Json&)>& visit) const;
  int64_t resource_version() const { return version_; }

  /// For `clock`: 2027-01-15T08:00:00Z at the scheduler's zero.
  int64_t time_of_2027() const;

  // Faults.
  // -------------------------------------------------------------------------------------------------------
  Millis latency{2};
  Millis event_spacing{0};  // between two events on one watch
  Millis watch_lag{0};      // of the watch cache: added to the way of every change to a watch
  int64_t stale_by = 0;     // versions that a list is behind that asks for any state, or for one not older
  bool breaks_promises = false;   // ... and one that asks for the newest: a replica that was cut off
  int64_t stale_floor = 0;        // but never behind this version
  size_t history_max = 0;         // changes that are kept; older ones are compacted away. 0: all
  bool keeps_log = true;          // off: `log` stays empty, for long runs
  Millis bookmark_every{60'000};  // to every watch; 0: only bookmark()
  std::function<Millis(const Request&)> delay_of;  // more on a request's way there
  bool watch_list = true;                          // off: sendInitialEvents is 422, as on 1.33
  bool ignores_scopes = false;                     // neither selectors nor namespaces select
  size_t annotations_max = 256u << 10;             // bytes of an object's annotations; more is 422
  /// On: an apply changes the members of status that it names, and of a list of conditions those of the types that it
  /// names; it takes nothing away. Off: it changes nothing. All that it does is the real server's to say.
  bool applies_status = false;
  std::string git_version = "v1.36.3";
  std::function<int64_t()> clock;              // seconds since 1970; empty: its responses have no Date
  std::map<std::string, std::string> schemas;  // "group/version" -> OpenAPI v3 text

  enum class Network {
    kUp,
    kRefused,    // every call fails immediately, open watches break
    kBlackHole,  // nothing is answered; watches that were open stay dead even when the network is back
  };
  void set_network(Network network);
  /// 403 for requests on the plural (RBAC removed); watches that are open go on, as in life.
  void deny(std::string_view plural) { denied_.insert(std::string(plural)); }
  void allow(std::string_view plural) { denied_.erase(std::string(plural)); }
  /// Asked before anything else; a Failure is the answer and nothing happens.
  std::function<std::optional<kube::Failure>(const Request&)> on_request;
  /// Admission of creates and updates: may refuse, or change the object that will be stored (a dropped field, a
  /// default).
  std::function<std::optional<kube::Failure>(const Request&, kube::Json& object)> on_admit;
  /// An update or a delete, not a dry run, whose preconditions hold: what it is about to replace or to
  /// delete.
  std::function<void(const Request&, const kube::Json& before)> on_replace;
  /// Asked after a write has happened: a Failure is what the client sees instead of the answer (a lost
  /// reply).
  std::function<std::optional<kube::Failure>(const Request&)> on_answer;
  /// What a create, an update or a get answers with: a place to say something else than what is stored.
  std::function<void(const Request&, kube::Json& object)> on_reply;
  /// The text of every object on its way out of list and watch: a place to break it.
  std::function<std::string(std::string)> on_deliver;

  /// Forgets all history: a watch that starts before now is 410. Open watches go on.
  void compact();
  // Events that event_spacing still holds back are lost to a watch that ends or fails; history has them.
  void end_watches(std::string_view plural = "");  // clean end of stream; "" for all
  void fail_watches(kube::Failure failure, std::string_view plural = "");
  void expire_watches(std::string_view plural = "");  // an ERROR event with code 410
  void bookmark();                                    // to all open watches, with the current version
  /// Any text as one event to the open watches of a plural.
  void inject(std::string_view plural, kube::EventType type, std::string object);
  size_t open_watches(std::string_view plural = "") const;

  // What was asked.
  // -----------------------------------------------------------------------------------------------
  std::vector<Request> log;
  size_t count(std::string_view verb, std::string_view plural = "") const;
  /// Creates, updates, merges and deletes that were not dry runs.
  std::vector<Request> writes() const;

  // kube::Cluster
  // -------------------------------------------------------------------------------------------------
  kube::CallPtr list(kube::ListRequest request, kube::ListHandlers handlers) override;
  kube::CallPtr watch(kube::WatchRequest request, kube::WatchHandlers handlers) override;
  kube::CallPtr write(kube::WriteRequest request, kube::WriteHandlers handlers) override;
  kube::CallPtr get(kube::GetRequest request, kube::WriteHandlers handlers) override;
  kube::CallPtr discover(std::string group, std::string version,
                         std::function<void(std::vector<std::string>)> on_done,
                         std::function<void(const kube::Failure&)> on_failure) override;
  kube::CallPtr schema(std::string group, std::string version, std::function<void(std::string_view)> on_done,
                       std::function<void(const kube::Failure&)> on_failure) override;
  kube::CallPtr server_info(std::function<void(kube::ServerInfo)> on_done,
                            std::function<void(const kube::Failure&)> on_failure) override;
  std::optional<int64_t> server_time() const override {
    return clock ? std::optional(clock()) : std::nullopt;
  }
  std::string describe() const override { return "fake"; }

 private:
  struct CallState;
  struct CallHandle;
  struct Watch;
  struct Key {
    std::string group, plural, namespace_, name;
    auto operator<=>(const Key&) const = default;
  };
  struct Change {
    int64_t version;
    kube::Resource resource;
    std::optional<kube::Json> before, after;
  };
  using CallRef = std::shared_ptr<CallState>;
  using Fail = std::function<void(const kube::Failure&)>;
  using Serve = std::function<void(const CallRef&)>;

  kube::CallPtr start(Request request, Fail on_failure, Serve serve);
  void arrive(const CallRef& call, const Fail& on_failure, const Serve& serve);
  void answer(const CallRef& call, std::string outcome, Fail on_failure, std::function<void()> deliver);
  void note_outcome(uint64_t request, std::string outcome);
  void refuse(const CallRef& call, Fail on_failure, kube::Failure failure);
  void later(Millis delay, std::function<void()> task);

  bool is_sent(const kube::Scope& scope, const kube::Resource& resource, const kube::Json& object) const;
  bool served(std::string_view group, std::string_view version, std::string_view plural) const;
  void record(const kube::Resource& resource, std::optional<kube::Json> before,
              std::optional<kube::Json> after);
  kube::Json stamped(const kube::Resource& resource, kube::Json object, const kube::Json* before);
  std::string delivered(const kube::Json& object, bool metadata_only, bool list_item) const;

  std::map<Key, kube::Json> objects_at(const kube::Resource& resource, int64_t version) const;
  void serve_list(const CallRef& call, const kube::ListRequest& what, const kube::ListHandlers& handlers);
  void serve_watch(const CallRef& call, const kube::WatchRequest& what, const kube::WatchHandlers& handlers);
  void open_watch(const std::shared_ptr<Watch>& watch, int64_t from);
  void serve_write(const CallRef& call, const kube::WriteRequest& what, const kube::WriteHandlers& handlers);
  std::optional<kube::Failure> apply_write(const Request& request, const kube::WriteRequest& what,
                                           kube::Json& result);

  void send(const std::shared_ptr<Watch>& watch, std::function<void(Watch&)> deliver, Millis lag = Millis{0});
  void close(const std::shared_ptr<Watch>& watch, std::function<void(Watch&)> tell);
  void send_change(const std::shared_ptr<Watch>& watch, const Change& change);
  void send_bookmark(const std::shared_ptr<Watch>& watch, bool initial_events_end);
  void schedule_bookmark(const std::shared_ptr<Watch>& watch);
  std::vector<std::shared_ptr<Watch>> watches_of(std::string_view plural) const;

  void stamp_sync_status(kube::Json& object, const kube::Json* old) const;

  reactor::Scheduler& scheduler_;
  std::set<std::string> served_;  // "group/version/plural"
  std::map<Key, kube::Json> objects_;
  std::deque<Change> history_;
  int64_t version_ = 1000, compacted_ = 0, uids_ = 0;
  Network network_ = Network::kUp;
  std::set<std::string> denied_;
  std::map<std::string, std::vector<std::shared_ptr<Watch>>> watches_;  // by plural
  std::map<uint64_t, reactor::Ticket> tickets_;
  uint64_t next_ticket_ = 0, next_request_ = 0;
};

}  // namespace sliced::fake
