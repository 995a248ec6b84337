package main

import (
	"encoding/json"
	"io"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Created is a line of the file of containers (harness.Created reads it).
type Created struct {
	Namespace, Pod, UID, Container string
	CDI                            []string
}

func writeCreated(to io.Writer, conf *runtimeapi.ContainerConfig, of *runtimeapi.PodSandboxConfig) error {
	created := Created{Namespace: of.Metadata.Namespace, Pod: of.Metadata.Name, UID: of.Metadata.Uid, Container: conf.Metadata.Name}
	for _, device := range conf.CDIDevices {
		created.CDI = append(created.CDI, device.Name)
	}
	return json.NewEncoder(to).Encode(created)
}
