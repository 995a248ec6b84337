package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sliced.test/cluster/harness"
)

const (
	reportingBy = harness.Patience
	reportBytes = 32 << 10
)

// nodeReport is what the tests read of a NodeDeviceReport.
type nodeReport struct {
	Metadata metav1.ObjectMeta
	Status   struct {
		DaemonVersion, BootID   string
		KubeletPlugin, WaitsFor string
		DroppedFields           string
		LastChange              struct{ Change, Why string }
		Counts                  struct{ Devices, Offered, HeldBack, Hidden, Unmatched, Problems int }
		Problems                []string
		Pools                   []struct {
			Name                        string
			Generation, Devices, Slices int
		}
		Policies []struct {
			Kind, Namespace, Name, Problem string
			Generation, Matched, Offered   int
			Hidden                         map[string]int
		}
		Groups []struct{ Type, PF, VFs, Disposition, Driver string }
	}
}

// reportOf is the report of the lab's node and how many bytes it has; nil: there is none.
func reportOf(t *testing.T, lab *harness.Lab) (*nodeReport, int) {
	t.Helper()
	object, err := lab.Server.Dynamic.Resource(harness.Reports).Get(context.Background(), lab.Node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, 0
	}
	if err != nil {
		t.Fatal(err)
	}
	object.SetManagedFields(nil)
	text, err := json.Marshal(object)
	report := &nodeReport{}
	if err == nil {
		err = json.Unmarshal(text, report)
	}
	if err != nil {
		t.Fatal(err)
	}
	return report, len(text)
}

// waitReport waits for a report that is so, and returns it.
func waitReport(t *testing.T, lab *harness.Lab, what string, holds func(*nodeReport) bool) *nodeReport {
	t.Helper()
	var last *nodeReport
	for deadline := harness.Limit(); ; time.Sleep(100 * time.Millisecond) {
		if last, _ = reportOf(t, lab); last != nil && holds(last) {
			return last
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited until the limit of the test program for a report with %s; the last is %+v", what, last)
		}
	}
}

// reportWrites are those of the lab's daemon since then.
func reportWrites(t *testing.T, lab *harness.Lab, since time.Time) (writes []harness.Request) {
	t.Helper()
	if report, _ := reportOf(t, lab); report != nil {
		lab.Server.Audit.AwaitRevisions(t, harness.Reports.Resource, report.Metadata.ResourceVersion)
	}
	for _, write := range lab.Server.Audit.Writes(t, lab.User, since) {
		if write.Ref.Resource == harness.Reports.Resource {
			writes = append(writes, write)
		}
	}
	return writes
}

// Turns red when a report tells otherwise than what is published, when it is not owned by its node, when it follows an edit
// too late or more often than every 10 s, or when what somebody deletes stays away.
func TestANodeReportsItsOffer(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Reports = true
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	daemon.WaitLog(starting, "kubelet plugin off: devices are published, and pods with claims do not start")
	first := waitReport(t, lab, "4 devices offered, and the pool", func(r *nodeReport) bool {
		return r.Status.Counts.Offered == 4 && len(r.Status.Pools) == 1 && r.Status.Pools[0].Devices == 4
	})
	if first.Status.KubeletPlugin != "off" {
		t.Errorf("a daemon that only publishes reports the plugin as %q", first.Status.KubeletPlugin)
	}
	if owners := first.Metadata.OwnerReferences; len(owners) != 1 || owners[0].Kind != "Node" || string(owners[0].UID) != lab.NodeUID {
		t.Errorf("owners: %+v", owners)
	}
	if p := first.Status.Policies; len(p) != 1 || p[0].Kind != "SriovResourcePolicy" || p[0].Namespace != lab.Namespace || p[0].Name != "p" ||
		p[0].Matched != 4 || p[0].Offered != 4 {
		t.Errorf("policies: %+v", p)
	}
	if len(first.Status.Groups) == 0 || first.Status.Groups[0].Disposition != "unmatched" || first.Status.Groups[0].PF != pf1.Address {
		t.Errorf("what is not offered comes first: %+v", first.Status.Groups)
	}
	since := time.Now()
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#0-1")))
	lab.Apply("broken", M{"nonsense": L{}})
	edited := waitReport(t, lab, "2 devices offered and a problem", func(r *nodeReport) bool {
		return r.Status.Counts.Offered == 2 && r.Status.Counts.Problems > 0 && r.Status.Pools[0].Devices == 2
	})
	if !strings.Contains(strings.Join(edited.Status.Problems, "\n"), "nonsense") {
		t.Errorf("problems: %q", edited.Status.Problems)
	}
	if edited.Status.LastChange.Change != "withdrawn" || !strings.Contains(edited.Status.LastChange.Why, "/p changed") {
		t.Errorf("last change: %+v", edited.Status.LastChange)
	}
	if err := lab.Server.Dynamic.Resource(harness.Reports).Delete(context.Background(), lab.Node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitReport(t, lab, "2 devices, after it was deleted", func(r *nodeReport) bool { return r.Status.Counts.Offered == 2 })
	writes := reportWrites(t, lab, since)
	if most := 1 + int(time.Since(since)/(9*time.Second)); len(writes) > most {
		t.Errorf("%d writes in %v, want one in ten seconds", len(writes), time.Since(since))
	}
	if len(writes) > 4 {
		t.Errorf("%d writes for two edits and a delete", len(writes))
	}
}

// Turns red when an unchanged restart writes a report.
func TestAnUnchangedRestartWritesNoReport(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Reports = true
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#1-2")))
	first := lab.Run()
	written := waitReport(t, lab, "2 devices offered, and the pool", func(r *nodeReport) bool {
		return r.Status.Counts.Offered == 2 && len(r.Status.Pools) == 1 && r.Status.Pools[0].Devices == 2
	})
	first.Term(starting)
	since := time.Now()
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	lab.Run("--health-address", address)
	waitUntil(t, "the new daemon has made its report, and compared it", reportingBy, func() bool {
		return sampleAt(t, address, "sliced_report_builds_total") >= 1
	})
	if now, _ := reportOf(t, lab); now.Metadata.ResourceVersion != written.Metadata.ResourceVersion {
		t.Errorf("the report was written: %+v", now)
	}
	// A write that the restart led to comes before that of an edit.
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#1-3")))
	waitReport(t, lab, "3 devices offered", func(r *nodeReport) bool { return r.Status.Counts.Offered == 3 })
	for _, write := range reportWrites(t, lab, since) {
		var stored nodeReport
		if err := json.Unmarshal(write.Stored, &stored); err != nil || stored.Status.Counts.Offered != 3 {
			t.Errorf("a restart wrote a report of %d devices (%v)", stored.Status.Counts.Offered, err)
		}
	}
}

// Turns red when a daemon does not work where the kind is not installed, or does not report once it is.
func TestReportsStartWhenTheirCRDIsInstalled(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{NoCRDs: true})
	lab := harness.NewLab(t, plane, pf0)
	lab.Reports = true
	all, err := harness.ProjectCRDs()
	if err != nil {
		t.Fatal(err)
	}
	var reports, others []*unstructured.Unstructured
	for _, crd := range all {
		if strings.HasPrefix(crd.GetName(), harness.Reports.Resource) {
			reports = append(reports, crd)
		} else {
			others = append(others, crd)
		}
	}
	if err := plane.Server.InstallCRDs(others); err != nil {
		t.Fatal(err)
	}
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	looks := func() (count int) {
		for _, r := range lab.Server.Audit.Of(t, lab.User, daemon.Started) {
			if r.URI == "/apis/networking.dra.io/v1alpha1" {
				count++
			}
		}
		return count
	}
	// 1 s after the first, 2 s after that, and so on: later than a first report, which waits 10.5 s at most.
	waitUntil(t, "the daemon has looked for the kind six times", harness.Patience, func() bool { return looks() >= 6 })
	if writes := reportWrites(t, lab, daemon.Started); len(writes) > 0 {
		t.Errorf("%d writes of a kind that is not there", len(writes))
	}
	if err := plane.Server.InstallCRDs(reports); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the report is there once its kind is", harness.Patience, func() bool {
		report, bytes := reportOf(t, lab)
		return report != nil && report.Status.Counts.Offered == 4 && bytes <= reportBytes
	})
	if n := daemon.Said("NodeDeviceReport not written"); n > 0 {
		t.Errorf("%d lines of failure:\n%s", n, daemon.Log())
	}
}

// Turns red when a report of what cannot be told whole exceeds its bound, or does not count what it leaves out.
func TestALargeReportIsCutAndCounted(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Reports = true
	for i := range 60 {
		lab.Apply(fmt.Sprintf("p%02d", i), harness.Config("", M{strings.Repeat("nonsense", 30): L{}}))
	}
	lab.Run()
	waitReport(t, lab, "60 policies with problems", func(r *nodeReport) bool { return r.Status.Counts.Problems >= 60 })
	report, bytes := reportOf(t, lab)
	if bytes > reportBytes {
		t.Errorf("%d bytes", bytes)
	}
	if len(report.Status.Problems) >= 60 || len(report.Status.Problems) < 10 || len(report.Status.Policies) < 10 || len(report.Status.Groups) == 0 {
		t.Errorf("%d problems, %d policies, %d groups", len(report.Status.Problems), len(report.Status.Policies), len(report.Status.Groups))
	}
}
