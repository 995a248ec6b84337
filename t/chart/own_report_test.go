package chart

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"sliced.test/cluster/harness"
)

func reportsAs(t *testing.T, token string) dynamic.ResourceInterface {
	t.Helper()
	return dynamic.NewForConfigOrDie(plane.Server.RESTConfig(harness.User{Name: "test", Token: token})).Resource(harness.Reports)
}

func report(node string, offered int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: M{"apiVersion": "networking.dra.io/v1alpha1", "kind": "NodeDeviceReport",
		"metadata": M{"name": node}, "status": M{"counts": M{"offered": offered}}}}
}

// Turns red when a pod of one node can write what another node says of itself, or cannot write its own.
func TestAPodReportsItsOwnNodeOnly(t *testing.T) {
	ctx := context.Background()
	a, b := plane.Server.NewNode(t, "report-a", nil), plane.Server.NewNode(t, "report-b", nil)
	others, err := plane.Server.Dynamic.Resource(harness.Reports).Create(ctx, report(b.Name, 1), now)
	if err != nil {
		t.Fatal(err)
	}
	words := "metadata.name: the report of the node report-a is expected"
	for name, token := range map[string]string{"pod": podToken(t, a.Name), "node": nodeToken(t, a)} {
		client := reportsAs(t, token)
		// Until the admission policy is obeyed.
		judged(t, func() error {
			_, err := client.Create(ctx, report("nowhere", 1), metav1.CreateOptions{DryRun: []string{"All"}})
			return err
		})
		made, err := client.Create(ctx, report(a.Name, 1), now)
		if err == nil {
			made.Object["status"] = M{"counts": M{"offered": int64(2)}}
			_, err = client.Update(ctx, made, metav1.UpdateOptions{})
			allowed(t, name+" updates", err)
			if err := plane.Server.Dynamic.Resource(harness.Reports).Delete(ctx, a.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		allowed(t, name+" creates", err)
		_, err = client.Create(ctx, report("report-c", 1), now)
		refused(t, name+" creates another's", err, words)
		there := others.DeepCopy()
		there.Object["status"] = M{"counts": M{"offered": int64(9)}}
		_, err = client.Update(ctx, there, metav1.UpdateOptions{})
		refused(t, name+" updates another's", err, words)
	}
	nobodys, err := issue(plane.Server.Client, 3600, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = reportsAs(t, nobodys).Create(ctx, report(a.Name, 1), now)
	refused(t, "a token of no node", err, "of no node")
}
