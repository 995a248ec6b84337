package chart

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"

	"sliced.test/cluster/harness"
)

var (
	once sync.Once
	now  = metav1.CreateOptions{}
)

// as is a client with that token.
func as(t *testing.T, token string) *kubernetes.Clientset {
	t.Helper()
	return kubernetes.NewForConfigOrDie(plane.Server.RESTConfig(harness.User{Name: "test", Token: token}))
}

// issue has the API server make a token of the account, bound as the reference says.
func issue(client kubernetes.Interface, seconds int64, ref *authentication.BoundObjectReference) (string, error) {
	request := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{ExpirationSeconds: &seconds, BoundObjectRef: ref}}
	answer, err := client.CoreV1().ServiceAccounts(home).CreateToken(context.Background(), "sliced", request, now)
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

// podToken is what the kubelet projects into the daemon's pod on that node.
func podToken(t *testing.T, node string) string {
	t.Helper()
	pod, err := plane.Server.Client.CoreV1().Pods(home).Create(context.Background(), &core.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "sliced-"},
		Spec: core.PodSpec{NodeName: node, ServiceAccountName: "sliced",
			Containers: []core.Container{{Name: "sliced", Image: "sliced"}}}}, now)
	if err != nil {
		t.Fatal(err)
	}
	token, err := issue(plane.Server.Client, 3600, &authentication.BoundObjectReference{
		Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func nodeToken(t *testing.T, node *core.Node) string {
	t.Helper()
	token, err := issue(plane.Server.Client, 3600, &authentication.BoundObjectReference{
		Kind: "Node", APIVersion: "v1", Name: node.Name, UID: node.UID})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func slicesOf(client kubernetes.Interface) resourceclient.ResourceSliceInterface {
	return client.ResourceV1().ResourceSlices()
}

// slice is one of a driver and a node, in the node's own pool; "" is all nodes, in a pool of their own.
func slice(name, driver, node string) *resource.ResourceSlice {
	pool := node
	if node == "" {
		pool = name
	}
	s := &resource.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resource.ResourceSliceSpec{
		Driver: driver, Pool: resource.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1}}}
	if node == "" {
		all := true
		s.Spec.AllNodes = &all
	} else {
		s.Spec.NodeName = &node
	}
	return s
}

// judging waits until the admission policies that were installed are obeyed: a server takes them a moment after they are stored.
func judging(t *testing.T, node string) {
	t.Helper()
	once.Do(func() {
		client := slicesOf(as(t, podToken(t, node)))
		for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
			_, err := client.Create(context.Background(), slice("probe", harness.Driver, "nowhere"), metav1.CreateOptions{DryRun: []string{"All"}})
			if err != nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("waited until the limit of the test program for the admission policy to refuse a slice of another node, which it still lets pass")
			}
		}
	})
}

// refused fails unless the admission policy has said no, with these words.
func refused(t *testing.T, what string, err error, words string) {
	t.Helper()
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) || !strings.Contains(fmt.Sprint(err), "ValidatingAdmissionPolicy") ||
		!strings.Contains(fmt.Sprint(err), words) {
		t.Errorf("%s: want a refusal with %q, got %v", what, words, err)
	}
}

func allowed(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// Turns red when the daemon with the account and the admission policies of install.yaml cannot find out that the server takes devices that
// are allocated several times, and so offers none.
func TestTheInstalledDaemonOffersSharedDevices(t *testing.T) {
	const node = "own-shared"
	plane.Server.NewNode(t, node, nil)
	judging(t, node)
	host := harness.NewHostTree(t, harness.PF{Address: "0000:03:00.0", Name: "ens1f0", Vendor: "8086", Device: "1592", VFDevice: "1889", Driver: "ice", TotalVFs: 4})
	policy := harness.Exposure(node, M{"nodeSelector": M{"matchLabels": M{"kubernetes.io/hostname": node}},
		"selector": M{"cel": `device.attributes["dra.networking"].ifName == "ens1f0"`},
		"exposure": M{"allowMultipleAllocations": true, "supportedCNIPlugins": L{M{"name": "macvlan"}}, "capacity": M{"macvlans": M{"value": "8"}}}})
	plane.Server.Apply(t, harness.Exposures, policy)
	process := program(t, podToken(t, node), "run", "--node-name", node, "--namespace", home, "--host", host.Root)
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		all, err := slicesOf(plane.Server.Client).List(context.Background(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err == nil {
			for _, slice := range all.Items {
				for _, device := range slice.Spec.Devices {
					if device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations {
						return
					}
				}
			}
		}
		if time.Now().After(deadline) || process.Exited() {
			t.Fatalf("waited for a shared device (the daemon has ended: %v); the slices are %v %+v; the daemon said:\n%s", process.Exited(), err, all, process.LogTail(20))
		}
	}
}

// Turns red when a pod of one node can write, change or delete what another node or driver offers, or cannot write its own.
func TestAPodWritesSlicesOfItsOwnNodeOnly(t *testing.T) {
	ctx := context.Background()
	a, b := plane.Server.NewNode(t, "own-a", nil), plane.Server.NewNode(t, "own-b", nil)
	judging(t, a.Name)
	admin := slicesOf(plane.Server.Client)
	for _, of := range []*resource.ResourceSlice{slice("own-of-b", harness.Driver, b.Name), slice("own-of-all", harness.Driver, ""),
		slice("own-of-gpu", "gpu.example.com", a.Name)} {
		if _, err := admin.Create(ctx, of, now); err != nil {
			t.Fatal(err)
		}
	}
	tokens := map[string]string{"pod": podToken(t, a.Name), "node": nodeToken(t, a)}
	for name, token := range tokens {
		client := slicesOf(as(t, token))
		for _, driver := range []string{harness.Driver, harness.ExposureDriver} {
			made, err := client.Create(ctx, slice("own-"+name, driver, a.Name), now)
			allowed(t, name+" creates", err)
			if err == nil {
				made.Spec.Pool.Generation++
				_, err = client.Update(ctx, made, metav1.UpdateOptions{})
				allowed(t, name+" updates", err)
				allowed(t, name+" deletes", client.Delete(ctx, made.Name, metav1.DeleteOptions{}))
			}
		}
		_, err := client.Create(ctx, slice("x", harness.Driver, b.Name), now)
		refused(t, name+" creates for b", err, "spec.nodeName: a slice of the node own-a is expected")
		_, err = client.Create(ctx, slice("x", harness.Driver, ""), now)
		refused(t, name+" creates for all", err, "spec.nodeName")
		_, err = client.Create(ctx, slice("x", "gpu.example.com", a.Name), now)
		refused(t, name+" creates for another driver", err, "spec.driver")
		inPool := slice("own-in-pool-"+name, harness.Driver, a.Name)
		for _, pool := range []string{b.Name, "own-a-not", b.Name + "/own-a"} {
			inPool.Spec.Pool.Name = pool
			_, err = client.Create(ctx, inPool, now)
			refused(t, name+" creates in the pool "+pool, err, "spec.pool.name: own-a, or")
		}
		inPool.Spec.Pool.Name = a.Name + "/more"
		_, err = client.Create(ctx, inPool, now)
		allowed(t, name+" creates in a pool below its own", err)
		for of, words := range map[string]string{"own-of-b": "spec.nodeName", "own-of-all": "spec.nodeName", "own-of-gpu": "spec.driver"} {
			there, err := client.Get(ctx, of, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			there.Spec.Pool.Generation++
			_, err = client.Update(ctx, there, metav1.UpdateOptions{})
			refused(t, name+" updates "+of, err, words)
			refused(t, name+" deletes "+of, client.Delete(ctx, of, metav1.DeleteOptions{}), words)
		}
	}
	nobodys, err := issue(plane.Server.Client, 3600, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = slicesOf(as(t, nobodys)).Create(ctx, slice("x", harness.Driver, a.Name), now)
	refused(t, "a token of no node", err, "of no node")
}

// Turns red when the kubelet cannot delete the slices of its node at its start.
func TestAdmissionPolicyAllowsAKubeletsWipe(t *testing.T) {
	ctx := context.Background()
	node := plane.Server.NewNode(t, "wiped", nil)
	judging(t, node.Name)
	for _, driver := range []string{harness.Driver, harness.ExposureDriver, "gpu.example.com"} {
		if _, err := slicesOf(plane.Server.Client).Create(ctx, slice("wiped-"+driver, driver, node.Name), now); err != nil {
			t.Fatal(err)
		}
	}
	certificate, key := plane.ClientCertificate(t, harness.User{Name: "system:node:" + node.Name, Group: "system:nodes"})
	config := plane.Server.RESTConfig(harness.User{Name: "kubelet"})
	config.CertData, config.KeyData = certificate, key
	of := metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.Name}
	kubelet := slicesOf(kubernetes.NewForConfigOrDie(config))
	allowed(t, "the wipe", kubelet.DeleteCollection(ctx, metav1.DeleteOptions{}, of))
	left, err := slicesOf(plane.Server.Client).List(ctx, of)
	if err != nil || len(left.Items) > 0 {
		t.Errorf("left: %v, %v", left.Items, err)
	}
}

// Turns red when slices of a Node that is gone are not collected.
func TestGarbageCollectionPasses(t *testing.T) {
	ctx := context.Background()
	node := plane.Server.NewNode(t, "collected", nil)
	judging(t, node.Name)
	owned := slice("collected", harness.Driver, node.Name)
	yes := true
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: &yes}}
	_, err := slicesOf(as(t, podToken(t, node.Name))).Create(ctx, owned, now)
	allowed(t, "create", err)
	if err := plane.Server.Client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := harness.Limit(); ; time.Sleep(100 * time.Millisecond) {
		_, err := slicesOf(plane.Server.Client).Get(ctx, "collected", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited until the limit of the test program for the slice of a deleted Node to go; the last answer: %v", err)
		}
	}
}

// Turns red when drivers of others are judged by our policy: they have accounts and rules of their own.
func TestOtherDriversPass(t *testing.T) {
	ctx := context.Background()
	node := plane.Server.NewNode(t, "others", nil)
	judging(t, node.Name)
	client := plane.Server.Client
	made, err := client.CoreV1().ServiceAccounts(home).Create(ctx, &core.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	binding := &rbac.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "sliced"},
		Subjects: []rbac.Subject{{Kind: "ServiceAccount", Name: made.Name, Namespace: home}}}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, now); err != nil {
		t.Fatal(err)
	}
	answer, err := client.CoreV1().ServiceAccounts(home).CreateToken(ctx, made.Name, &authentication.TokenRequest{}, now)
	if err != nil {
		t.Fatal(err)
	}
	other := slicesOf(as(t, answer.Status.Token))
	for _, node := range []string{node.Name, ""} {
		stored, err := other.Create(ctx, slice("gpu", "gpu.example.com", node), now)
		for err != nil && strings.Contains(err.Error(), "cannot create resource") { // the server has not seen the binding yet
			time.Sleep(50 * time.Millisecond)
			stored, err = other.Create(ctx, slice("gpu", "gpu.example.com", node), now)
		}
		allowed(t, "create", err)
		stored.Spec.Pool.Generation++
		_, err = other.Update(ctx, stored, metav1.UpdateOptions{})
		allowed(t, "update", err)
		allowed(t, "delete", other.Delete(ctx, "gpu", metav1.DeleteOptions{}))
	}
}
