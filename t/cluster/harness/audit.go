package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver", "system:kube-scheduler", "system:kube-controller-manager"]
- level: RequestResponse
  verbs: [create, update, patch, delete, deletecollection]
  resources: [{group: resource.k8s.io, resources: [resourceslices]}, {group: networking.dra.io, resources: [nodedevicereports]}]
- level: Metadata
`

// Request is one line of the audit log. A watch has two: ResponseStarted when it opens, ResponseComplete when
// it ends.
type Request struct {
	Stage string `json:"stage"`
	URI   string `json:"requestURI"`
	Verb  string `json:"verb"`
	User  struct {
		Username string              `json:"username"`
		Extra    map[string][]string `json:"extra"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	Ref       struct {
		Resource string `json:"resource"`
		Name     string `json:"name"`
	} `json:"objectRef"`
	Answer struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"responseStatus"`
	Sent     json.RawMessage  `json:"requestObject"`
	Stored   json.RawMessage  `json:"responseObject"`
	Received metav1.MicroTime `json:"requestReceivedTimestamp"`
	Staged   metav1.MicroTime `json:"stageTimestamp"`
}

// UsedToken tells whether the request came with the token of that id (ServiceAccountToken).
func (r Request) UsedToken(id string) bool {
	return slices.Contains(r.User.Extra["authentication.kubernetes.io/credential-id"], "JTI="+id)
}

func (r Request) IsWrite() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

func (r Request) DryRun() bool { return strings.Contains(r.URI, "dryRun=") }

// Slice is what was sent, for writes of slices.
func (r Request) Slice(t testing.TB) *resource.ResourceSlice {
	t.Helper()
	slice := &resource.ResourceSlice{}
	if err := json.Unmarshal(r.Sent, slice); err != nil {
		t.Fatalf("audit: %s %s: %v", r.Verb, r.URI, err)
	}
	return slice
}

// Revision is the resourceVersion of what a write stored; 0 for a deletion.
func (r Request) Revision() int64 {
	stored := metav1.PartialObjectMetadata{}
	if json.Unmarshal(r.Stored, &stored) != nil {
		return 0
	}
	return revision(&stored)
}

// Audit reads the log of one API server. A line is there before its answer is, so that the log has every request of a client that
// has ended or says that it was answered. A watcher may see the consequence of a write before either: AwaitSlices.
type Audit struct {
	path   string
	mu     sync.Mutex
	offset int64
	all    []Request
}

// AwaitSlices returns when the log has the writes that made the slices of a state, and so all that the same writer has sent before
// the last of them. A write too many is sought before the consequence of a later edit.
func (a *Audit) AwaitSlices(t testing.TB, state PoolState) {
	t.Helper()
	var revisions []string
	for _, slice := range state.Slices {
		revisions = append(revisions, slice.ResourceVersion)
	}
	a.AwaitRevisions(t, "resourceslices", revisions...)
}

// AwaitRevisions returns when the log has the writes of a resource that made these revisions.
func (a *Audit) AwaitRevisions(t testing.TB, resource string, revisions ...string) {
	t.Helper()
	for deadline := Limit(); ; time.Sleep(20 * time.Millisecond) {
		missing := slices.Clone(revisions)
		writes := a.Requests(t, func(r Request) bool {
			return r.Stage == "ResponseComplete" && r.Ref.Resource == resource && r.IsWrite() && !r.DryRun()
		})
		for _, r := range writes {
			made := fmt.Sprint(r.Revision())
			missing = slices.DeleteFunc(missing, func(revision string) bool { return revision == made })
		}
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for the audit log to have the writes of %s that made revisions %v; it has %d writes of them in all",
				resource, missing, len(writes))
		}
	}
}

// Requests are all events so far that match.
func (a *Audit) Requests(t testing.TB, match func(Request) bool) []Request {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.read(); err != nil {
		t.Fatalf("audit log: %v", err)
	}
	var found []Request
	for _, r := range a.all {
		if match(r) {
			found = append(found, r)
		}
	}
	return found
}

func (a *Audit) read() error {
	file, err := os.Open(a.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if is, err := file.Stat(); err != nil || is.Size() < a.offset {
		return fmt.Errorf("%s was begun anew, and what it said before is lost: %v", a.path, err)
	}
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the tail of a line that is being written stays for the next time
			return nil
		}
		a.offset += int64(len(line))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		a.all = append(a.all, r)
	}
}

// Of returns the requests of one user received after since: each request once (a watch when it opened).
func (a *Audit) Of(t testing.TB, u User, since time.Time) []Request {
	t.Helper()
	return a.Requests(t, func(r Request) bool {
		once := r.Stage == "ResponseComplete"
		if r.Verb == "watch" && r.Answer.Code < 400 {
			once = r.Stage == "ResponseStarted"
		}
		return once && r.User.Username == u.Name && r.Received.After(since)
	})
}

// Writes are the writes of one user after since that were meant (no dry run), of any resource, whatever the
// answer was.
func (a *Audit) Writes(t testing.TB, u User, since time.Time) []Request {
	t.Helper()
	var writes []Request
	for _, r := range a.Of(t, u, since) {
		if r.IsWrite() && !r.DryRun() {
			writes = append(writes, r)
		}
	}
	return writes
}
