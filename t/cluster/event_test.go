package cluster

import (
	"context"
	"strings"
	"testing"

	events "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// Turns red when the API server refuses an Event or its series, when it is of another object than the policy, or when what lasts is
// told again.
func TestAPolicyProblemIsAnEventOfThePolicy(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Reports = true
	lab.Apply("broken", M{"nonsense": L{}})
	daemon := lab.Run()
	policy, err := lab.Server.Dynamic.Resource(harness.Policies).Namespace(lab.Namespace).Get(context.Background(), "broken", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told := func() []events.Event {
		all, err := lab.Server.Client.EventsV1().Events(lab.Namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return all.Items
	}
	waitUntil(t, "an Event of the policy", harness.Patience, func() bool { return len(told()) > 0 })
	first := told()
	if len(first) != 1 || first[0].Reason != "PolicyNotUsedAsWritten" || first[0].Regarding.UID != policy.GetUID() ||
		!strings.Contains(first[0].Note, "nonsense") || first[0].ReportingInstance != lab.Node {
		t.Errorf("events: %+v", first)
	}
	daemon.Term(starting)
	lab.Run()
	waitUntil(t, "after a restart it is a series", harness.Patience, func() bool {
		all := told()
		return len(all) == 1 && all[0].Series != nil && all[0].Series.Count == 2
	})
}
