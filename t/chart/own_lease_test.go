package chart

import (
	"context"
	"testing"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	leaseclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"sliced.test/cluster/harness"
)

func leasesAs(t *testing.T, token string) leaseclient.LeaseInterface {
	t.Helper()
	return kubernetes.NewForConfigOrDie(plane.Server.RESTConfig(harness.User{Name: "test", Token: token})).CoordinationV1().Leases(home)
}

func lease(name string) *coordination.Lease {
	return &coordination.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: home}}
}

// Turns red when a pod of one node can renew the Lease of another, or that by which the aggregator is elected, or cannot keep its own.
func TestAPodRenewsTheLeaseOfItsOwnNodeOnly(t *testing.T) {
	ctx := context.Background()
	a, b := plane.Server.NewNode(t, "lease-a", nil), plane.Server.NewNode(t, "lease-b", nil)
	others := map[string]*coordination.Lease{}
	for _, name := range []string{"sliced-node-" + b.Name, "sliced-aggregate"} {
		made, err := plane.Server.Client.CoordinationV1().Leases(home).Create(ctx, lease(name), now)
		if err != nil {
			t.Fatal(err)
		}
		others[name] = made
	}
	words := "metadata.name: must be sliced-node-lease-a"
	for name, token := range map[string]string{"pod": podToken(t, a.Name), "node": nodeToken(t, a)} {
		client := leasesAs(t, token)
		// Until the admission policy is obeyed.
		judged(t, func() error {
			_, err := client.Create(ctx, lease("nowhere"), metav1.CreateOptions{DryRun: []string{"All"}})
			return err
		})
		made, err := client.Create(ctx, lease("sliced-node-"+a.Name), now)
		allowed(t, name+" creates", err)
		if err == nil {
			made.Labels = map[string]string{"renewed": "yes"}
			_, err = client.Update(ctx, made, metav1.UpdateOptions{})
			allowed(t, name+" renews", err)
			allowed(t, name+" deletes", client.Delete(ctx, made.Name, metav1.DeleteOptions{}))
		}
		for _, other := range others {
			there := other.DeepCopy()
			there.Labels = map[string]string{"stolen": "yes"}
			_, err = client.Update(ctx, there, metav1.UpdateOptions{})
			refused(t, name+" renews "+other.Name, err, words)
			refused(t, name+" deletes "+other.Name, client.Delete(ctx, other.Name, metav1.DeleteOptions{}), words)
		}
		_, err = client.Create(ctx, lease("sliced-node-lease-c"), now)
		refused(t, name+" creates another's", err, words)
	}
	nobodys, err := issue(plane.Server.Client, 3600, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = leasesAs(t, nobodys).Create(ctx, lease("sliced-node-"+a.Name), now)
	refused(t, "a token of no node", err, "of no node")
}
