//go:build kube1.34 || kube1.35

package cluster

import (
	"bytes"
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	health "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
)

// toldDevices is the file as docs/kubevirt.md has it: before 1.36 Kubernetes had no library for it, and readers bring their own.
type toldDevices struct {
	Kind, APIVersion string
	Metadata         struct {
		Name, Namespace string
		UID             types.UID
		Generation      int64
	}
	PodClaimName *string
	Requests     []struct {
		Name    string
		Devices []struct {
			Driver, Pool, Name string
			Attributes         map[resource.QualifiedName]resource.DeviceAttribute
			NetworkData        *resource.NetworkDeviceData
		}
	}
	UID types.UID `json:"-"`
}

// tells decodes a file whose documents say the same in each version.
func tells(t *testing.T, text []byte) *toldDevices {
	t.Helper()
	found, stream := &toldDevices{}, json.NewDecoder(bytes.NewReader(text))
	stream.DisallowUnknownFields()
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		one := &toldDevices{}
		if err := stream.Decode(one); err != nil || one.Kind != "DeviceMetadata" || one.APIVersion != "metadata.resource.k8s.io/"+version {
			t.Fatalf("%v %s: wanted %s in %s", err, one.APIVersion, version, text)
		}
		one.UID = one.Metadata.UID
		*found = *one
	}
	if stream.More() {
		t.Fatalf("more than two documents: %s", text)
	}
	return found
}

// messageOf is why a device is as it is, which kubelets have read since 1.36: to those before it is a field that they skip.
func messageOf(device *health.DeviceHealth) string {
	const message = 5
	rest := []byte(device.ProtoReflect().GetUnknown())
	for len(rest) > 0 {
		number, kind, header := protowire.ConsumeTag(rest)
		if header < 0 {
			break
		}
		if text, length := protowire.ConsumeString(rest[header:]); number == message && kind == protowire.BytesType && length > 0 {
			return text
		}
		length := protowire.ConsumeFieldValue(number, kind, rest[header:])
		if length < 0 {
			break
		}
		rest = rest[header+length:]
	}
	return ""
}
