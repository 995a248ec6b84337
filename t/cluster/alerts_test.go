package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"sliced.test/cluster/harness"
)

const alertsFile = "../../packaging/monitoring/alerts.yaml"

type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	text, err := os.ReadFile(harness.Path(alertsFile))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

var metricName = regexp.MustCompile(`\b(sliced|process)_[a-z_]+`)

// familiesIn are the metrics that an expression reads, without the ends that histograms have.
func familiesIn(expression string) (names []string) {
	for _, name := range metricName.FindAllString(expression, -1) {
		names = append(names, strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count"))
	}
	return names
}

// Turns red when docs/metrics.md says when to alert and no rule does, or a rule alerts on what the page does not say.
func TestAlertsMatchTheDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(harness.Path("../../docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented, alerted := map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(line, "| `") {
			continue
		}
		if when := strings.TrimSpace(cells[4]); when != "" && when != "as there" {
			for _, name := range metricName.FindAllString(cells[1], -1) {
				documented[name] = true
			}
		}
	}
	for _, one := range alerts(t) {
		for _, name := range familiesIn(one.Expr) {
			alerted[name] = true
		}
		if one.Annotations["summary"] == "" || one.Annotations["description"] == "" || one.Labels["severity"] == "" {
			t.Errorf("%s says not what is wrong, or how bad it is: %+v", one.Alert, one)
		}
	}
	if len(documented) < 25 {
		t.Fatalf("only %d metrics of the document have an alert", len(documented))
	}
	for name := range documented {
		if !alerted[name] {
			t.Errorf("%s: the document says when to alert, and no rule does", name)
		}
	}
	for name := range alerted {
		if !documented[name] && name != "sliced_build_info" {
			t.Errorf("%s: a rule alerts on it, and the document does not say when", name)
		}
	}
}

// promtool runs Debian's (package prometheus).
func promtool(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("%v: ./dev installs it (Debian package prometheus)", err)
	}
	out, err := exec.Command(program, arguments...).CombinedOutput()
	return string(out), err
}

func scrape(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", address, answer.StatusCode, err)
	}
	return string(text)
}

// series are the samples of a scrape by name and labels, with those that Prometheus adds.
func series(text, job string) map[string]string {
	found := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		name, value, is := strings.Cut(line, "} ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case is:
			found[name+fmt.Sprintf(`,job=%q,instance="a"}`, job)] = value
		default:
			name, value, _ := strings.Cut(line, " ")
			found[name+fmt.Sprintf(`{job=%q,instance="a"}`, job)] = value
		}
	}
	return found
}

// Turns red when a rule is none that Prometheus takes, when a healthy daemon, webhook or aggregate alerts somebody, when an alert
// reads what they do not tell, or when one does not fire at what it is for.
func TestAlertsFireForRealMetrics(t *testing.T) {
	t.Parallel()
	if said, err := promtool(t, "check", "rules", harness.Path(alertsFile)); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	lab := harness.NewLab(t, shared, pf0)
	lab.Reports = true
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	daemon := lab.Run(append(lab.NewKubeletRoot().Flags(), "--health-address", address)...)
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	waitReport(t, lab, "4 devices", func(r *nodeReport) bool { return r.Status.Counts.Offered == 4 })
	sums := aggregate(t, summer(t, lab), lab.Namespace, "alerts-"+lab.Node)
	waitUntil(t, "the sums", summing, func() bool { return sums.isElected(t) && sums.counts(t, "sliced_aggregate_reports") > 0 })
	webhook := shared.StartWebhook(t)
	recorded := map[string]string{}
	for job, at := range map[string]string{"sliced": address, "sliced-aggregate": sums.address, "sliced-webhook": webhook.Health} {
		text := scrape(t, at)
		check := exec.Command("promtool", "check", "metrics")
		check.Stdin = strings.NewReader(text)
		if said, err := check.CombinedOutput(); err != nil && bytes.Contains(said, []byte("error while linting")) {
			t.Errorf("%s: %s", job, said)
		}
		for name, value := range series(text, job) {
			recorded[name] = value
		}
	}
	_ = daemon
	// Of other tests' nodes, whose reports are summed up too; and of a certificate that the harness issues for an hour.
	healthy := map[string]string{
		`sliced_aggregate_reports{job="sliced-aggregate",instance="a"}`:             "1",
		`sliced_webhook_certificate_end_seconds{job="sliced-webhook",instance="a"}`: fmt.Sprint(30 * 86400),
	}
	for name := range recorded { // also of other tests' policies
		if strings.HasPrefix(name, "sliced_aggregate_invalid_policies") || strings.HasPrefix(name, "sliced_aggregate_pending") ||
			strings.HasPrefix(name, "sliced_aggregate_silent_nodes") || strings.HasPrefix(name, "sliced_aggregate_outdated_policies") {
			healthy[name] = "0"
		}
	}
	for name, value := range healthy {
		if _, there := recorded[name]; !there {
			t.Fatalf("%s is not told", name)
		}
		recorded[name] = value
	}
	recorded[`sliced_node_state_in_sync{job="sliced",instance="a"}`] = "1" // told only where there is the operator's object
	names := map[string]bool{}
	for name := range recorded {
		family, _, _ := strings.Cut(name, "{")
		names[family] = true
	}
	for _, one := range alerts(t) {
		for _, name := range metricName.FindAllString(one.Expr, -1) {
			if !names[name] {
				t.Errorf("%s reads %s, which nobody tells", one.Alert, name)
			}
		}
	}
	judgeAlerts(t, recorded)
}

// judgeAlerts has promtool play some hours: those in which everything stays as it was recorded, and some for each alert, in which
// something has become otherwise.
func judgeAlerts(t *testing.T, recorded map[string]string) {
	t.Helper()
	const minutes, day = 4 * 60, 25 * 60 // day: of the one alert that waits so long
	grows := "0+1x" + fmt.Sprint(minutes)
	is := func(value int) string { return fmt.Sprintf("%dx%d", value, minutes) }
	// What a histogram counts when each of its events takes longer than its longest bound but one.
	slow := func(family string) map[string]string {
		out := map[string]string{}
		for name := range recorded {
			if !strings.HasPrefix(name, family+"_bucket{") {
				continue
			}
			out[name] = is(0)
			if strings.Contains(name, `le="30.000"`) || strings.Contains(name, `le="120.000"`) || strings.Contains(name, `le="+Inf"`) {
				out[name] = grows
			}
		}
		return out
	}
	one := func(match, values string) map[string]string {
		for name := range recorded {
			family, labels, _ := strings.Cut(match, " ")
			if strings.HasPrefix(name, family+"{") && strings.Contains(name, labels) {
				return map[string]string{name: values}
			}
		}
		t.Fatalf("%s is not recorded", match)
		return nil
	}
	fires := map[string]map[string]string{
		"SlicedRestarts":                one("process_start_time_seconds", grows),
		"SlicedMemory":                  one("process_resident_memory_bytes", is(300<<20)),
		"SlicedSlowTurns":               one("sliced_loop_long_turns_total", grows),
		"SlicedLogLost":                 one("sliced_log_lines_lost_total", grows),
		"SlicedNotReady":                one("sliced_ready", is(0)),
		"SlicedNotConfigured":           one("sliced_configured", is(0)),
		"SlicedNodeStateNotInSync":      one("sliced_node_state_in_sync", is(0)),
		"SlicedNobodyWrites":            one("sliced_serving", is(0)),
		"SlicedKubeletPluginWaits":      one(`sliced_kubelet_plugin state="waiting"`, is(1)),
		"SlicedNriMissing":              one(`sliced_nri state="missing"`, is(1)),
		"SlicedProblems":                one("sliced_problems", is(1)),
		"SlicedInvalidPolicy":           one(`sliced_invalid_policies kind="SriovResourcePolicy"`, is(1)),
		"SlicedSourceDown":              one(`sliced_source_live source="own-slices"`, is(0)),
		"SlicedNothingOffered":          one(`sliced_host_devices disposition="offered"`, fmt.Sprintf("4x%d 0x60", minutes-30)),
		"SlicedDevicesRefused":          one(`sliced_devices verdict="refused"`, is(1)),
		"SlicedDecisionsLate":           one(`sliced_reconciles_total result="timed-out"`, grows),
		"SlicedDecisionsSlow":           slow("sliced_reconcile_duration_seconds"),
		"SlicedWritesRefused":           one(`sliced_writes_total result="refused"`, grows),
		"SlicedNotPublished":            one("sliced_sync_failures_total", grows),
		"SlicedWatchExpires":            one(`sliced_watch_restarts_total reason="expired"`, grows),
		"SlicedHostEventsLost":          one("sliced_host_event_losses_total", grows),
		"SlicedHostReadHangs":           one("sliced_host_hung_reads_total", grows),
		"SlicedHostEventsMissing":       one("sliced_sync_differences_total", grows),
		"SlicedReportDown":              one("sliced_report_live", is(0)),
		"SlicedReportNotWritten":        one(`sliced_report_writes_total result="failed"`, grows),
		"SlicedEventsNotWritten":        one(`sliced_events_total result="failed"`, grows),
		"SlicedClaimsFail":              one("sliced_failing_claims", is(3)),
		"SlicedDevicesNotReturned":      one("sliced_devices_not_returned", is(1)),
		"SlicedPrepareSlow":             slow("sliced_prepare_duration_seconds"),
		"SlicedAttachSlow":              slow("sliced_attach_duration_seconds"),
		"SlicedAggregateNotElected":     one("sliced_aggregate_elected", is(0)),
		"SlicedAggregateReportsMissing": one("sliced_aggregate_reports", is(0)),
		"SlicedAggregateInvalidPolicy":  one(`sliced_aggregate_invalid_policies kind="DeviceExposurePolicy"`, is(1)),
		"SlicedLeaseNotRenewed":         one(`sliced_lease_renewals_total result="failed"`, grows),
		"SlicedLeasesMissing":           one("sliced_aggregate_leases", fmt.Sprintf("4x%d 0x60", minutes-30)),
		"SlicedNodesSilent":             one("sliced_aggregate_silent_nodes", is(1)),
		"SlicedPoliciesOutdated":        one("sliced_aggregate_outdated_policies", is(1)),
		"SlicedAggregatePending":        one("sliced_aggregate_pending", is(2)),
		"SlicedAggregateYields":         one("sliced_aggregate_yielded", fmt.Sprintf("1x%d", day)),
		"SlicedAggregateNotWritten":     one(`sliced_aggregate_writes_total result="failed"`, grows),
		"SlicedWebhookDoesNotJudge":     one(`sliced_webhook_reviews_total result="not-checked"`, grows),
		"SlicedWebhookSlow":             slow("sliced_webhook_review_duration_seconds"),
		"SlicedWebhookCertificateEnds":  one("sliced_webhook_certificate_end_seconds", is(3*86400)),
	}
	var all []string
	for _, one := range alerts(t) {
		all = append(all, one.Alert)
		if fires[one.Alert] == nil {
			t.Errorf("%s: nothing is known at which it fires", one.Alert)
		}
	}
	inputs := func(other map[string]string, length int) (out []M) {
		var names []string
		for name := range recorded {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			values, is := other[name]
			if !is {
				values = fmt.Sprintf("%sx%d", recorded[name], length)
			}
			out = append(out, M{"series": name, "values": values})
		}
		return out
	}
	count := func(name, than string, length int) M {
		expected := []M{}
		if than != "0" {
			expected = []M{{"labels": `{}`, "value": json.Number(than)}}
		}
		return M{"expr": fmt.Sprintf(`count(count by (alertname) (ALERTS{alertstate="firing"%s}))`, name), "eval_time": fmt.Sprintf("%dm", length), "exp_samples": expected}
	}
	tests := []M{{"name": "healthy", "interval": "1m", "input_series": inputs(nil, minutes), "promql_expr_test": []M{count("", "0", minutes)}}}
	for _, name := range all {
		length := minutes
		if name == "SlicedAggregateYields" {
			length = day
		}
		tests = append(tests, M{"name": name, "interval": "1m", "input_series": inputs(fires[name], length), "promql_expr_test": []M{count(fmt.Sprintf(",alertname=%q", name), "1", length)}})
	}
	rules, err := filepath.Abs(harness.Path(alertsFile))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "test.yaml")
	text, err := json.Marshal(M{"rule_files": []string{rules}, "evaluation_interval": "1m", "tests": tests})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := promtool(t, "test", "rules", file); err != nil {
		t.Errorf("%v:\n%s", err, said)
	}
}

// Turns red when a panel of the dashboard asks for what Prometheus does not understand, or for a metric that the document does not have.
func TestTheDashboardQueriesExistingMetrics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(harness.Path("../../packaging/monitoring/dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(harness.Path("../../docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []M
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			for _, name := range familiesIn(target.Expr) {
				if !strings.Contains(string(document), "`"+name+"`") {
					t.Errorf("%s is not a metric", name)
				}
			}
			rules = append(rules, M{"record": fmt.Sprintf("panel:%d", len(rules)), "expr": strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")})
		}
	}
	if len(rules) < 10 {
		t.Fatalf("%d questions", len(rules))
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	made, err := json.Marshal(M{"groups": []M{{"name": "dashboard", "rules": rules}}})
	if err == nil {
		err = os.WriteFile(file, made, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if said, err := promtool(t, "check", "rules", file); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
