package lab

import (
	"testing"
	"time"
)

// Turns red when a guest is given up because several tasks wait once, as on a slow machine, or is waited for although one
// of them never runs.
func TestAGuestStandsStillWhenOneReportIsRepeated(t *testing.T) {
	report := func(task, seconds string) string {
		return "[  247.1] INFO: task " + task + " blocked for more than " + seconds + " seconds.\n"
	}
	several := report("kworker/0:1:12", "120") + report("kworker/1:1:13", "120") + report("udevd:90", "120")
	if what := repeated(several + report("udevd:90", "241")); what != "" {
		t.Errorf("given up after two reports: %s", what)
	}
	if what := repeated(several + report("udevd:90", "241") + report("udevd:90", "362")); what != "task udevd:90 blocked for more than" {
		t.Errorf("after three reports: %q", what)
	}
	stall := "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n"
	if repeated(stall+stall) != "" || repeated(stall+stall+stall) == "" {
		t.Error("three RCU stalls are expected")
	}
}

// Turns red when a guest that waits for processors is given up, or one that has them is waited for.
func TestAGuestWithoutProcessorsDoesNotStandStill(t *testing.T) {
	for _, test := range []struct {
		ran, waited time.Duration
		want        bool
	}{
		{11 * time.Second, 1300 * time.Second, true},
		{700 * time.Second, 20 * time.Second, false},
		{2 * time.Second, 4 * time.Second, false},
	} {
		if is := starved(test.ran, test.waited); is != test.want {
			t.Errorf("ran %v, waited %v: %v", test.ran, test.waited, is)
		}
	}
}
