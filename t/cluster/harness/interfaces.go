package harness

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// TellOfPods has the runtimes of kubelets that start from now on tell NRI plugins of pods, and the daemon run CNI plugins.
// They wait for a plugin far longer than containerd does, because a pod's interfaces may take longer than its 2 s on a busy machine.
func (k *KubeletRoot) TellOfPods() {
	k.lab.T.Helper()
	k.nri, k.RuntimeWaits = true, 10*time.Minute
	if err := os.MkdirAll(k.Path+"/cni", 0o755); err != nil {
		k.lab.T.Fatal(err)
	}
	// They are looked for before ADD. The plugins of WritePlugin run none.
	for _, ipam := range []string{"host-local", "static"} {
		if err := os.WriteFile(k.Path+"/cni/"+ipam, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			k.lab.T.Fatal(err)
		}
	}
}

func (k *KubeletRoot) socketOfRuntime() string {
	if !k.nri {
		return ""
	}
	return k.Path + "/nri.sock"
}

// WritePlugin makes or replaces a CNI plugin: it writes down what it is called for, does as the script says, and tells what it
// has made. In the script $here is its directory.
func (k *KubeletRoot) WritePlugin(name, script string) {
	k.lab.T.Helper()
	text := `#!/bin/sh
here=$(dirname "$0")
device=$(sed -n 's/.*"deviceID":"\([^"]*\)".*/\1/p')
created=$(cat "$here/../created" 2>/dev/null | wc -l)
echo "$CNI_COMMAND $CNI_IFNAME ${device:--} $created" >>"$here/calls"
` + script + `
[ "$CNI_COMMAND" = ADD ] || exit 0
cat <<END
{"cniVersion": "1.0.0", "interfaces": [{"name": "$CNI_IFNAME", "mac": "02:00:00:00:00:07", "sandbox": "$CNI_NETNS"}],
 "ips": [{"interface": 0, "address": "192.0.2.7/24"}]}
END
`
	path := k.Path + "/cni/" + name
	if err := os.WriteFile(path+".new", []byte(text), 0o755); err != nil {
		k.lab.T.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		k.lab.T.Fatal(err)
	}
}

// PluginCall is one call of a CNI plugin. Device is its deviceID, "-" without one; Containers is how many containers had been
// created before it.
type PluginCall struct{ Command, Interface, Device, Containers string }

// PluginCalls are all of all CNI plugins so far.
func (k *KubeletRoot) PluginCalls() []PluginCall {
	text, _ := os.ReadFile(k.Path + "/cni/calls")
	var all []PluginCall
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if word := strings.Fields(line); len(word) == 4 {
			all = append(all, PluginCall{word[0], word[1], word[2], word[3]})
		}
	}
	return all
}

// RunAsDeployed has the daemons of this lab from now on be what config/deploy/rbac.yaml makes of them: a service account with
// these roles and no others, in a pod of the node.
func (l *Lab) RunAsDeployed() {
	t, client, ctx := l.T, l.Server.Client, context.Background()
	t.Helper()
	account, err := client.CoreV1().ServiceAccounts(l.Namespace).Create(ctx,
		&core.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "sliced"}}, metav1.CreateOptions{})
	must(t, err)
	deployed, err := ReadYAML("../../config/deploy/rbac.yaml")
	must(t, err)
	name := metav1.ObjectMeta{Name: "deployed-" + l.Node}
	subjects := []rbac.Subject{{Kind: "ServiceAccount", Name: "sliced", Namespace: l.Namespace}}
	for _, object := range deployed {
		var role rbac.ClusterRole // a Role has the same fields
		ref := rbac.RoleRef{APIGroup: rbac.GroupName, Kind: object.GetKind(), Name: name.Name}
		switch object.GetKind() {
		case "ClusterRole":
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
			_, err = client.RbacV1().ClusterRoles().Create(ctx, &rbac.ClusterRole{ObjectMeta: name, Rules: role.Rules}, metav1.CreateOptions{})
			must(t, err)
			_, err = client.RbacV1().ClusterRoleBindings().Create(ctx,
				&rbac.ClusterRoleBinding{ObjectMeta: name, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
			must(t, err)
		case "Role":
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
			_, err = client.RbacV1().Roles(l.Namespace).Create(ctx, &rbac.Role{ObjectMeta: name, Rules: role.Rules}, metav1.CreateOptions{})
			must(t, err)
			_, err = client.RbacV1().RoleBindings(l.Namespace).Create(ctx,
				&rbac.RoleBinding{ObjectMeta: name, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
			must(t, err)
		}
	}
	token, err := l.cred.serviceAccountToken(l.Namespace, "sliced", string(account.UID), l.Node, M{"node": M{"name": l.Node, "uid": l.NodeUID}})
	must(t, err)
	l.Config = l.Kubeconfig(t, l.Server.URL, &api.AuthInfo{Token: token})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
