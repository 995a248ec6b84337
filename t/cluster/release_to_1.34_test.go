//go:build kube1.34

package cluster

import dra "k8s.io/kubelet/pkg/apis/dra/v1"

// draClaim is a claim as the kubelet names it to a plugin.
func draClaim(namespace, name, uid string) *dra.Claim {
	return &dra.Claim{Namespace: namespace, Name: name, UID: uid}
}

func cdiOf(device *dra.Device) []string { return device.CDIDeviceIDs }
