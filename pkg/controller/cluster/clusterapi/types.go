// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Group is the API group of Cluster API, which is served by the management cluster. The group of Slipway's own kinds is
// clusterv1alpha1.GroupName.
const Group = "cluster.x-k8s.io"

// version is the API version of Cluster API's kinds and of the contract that Slipway's kinds implement.
const version = "v1beta2"

// IsClusterGroup reports whether group has the kinds Machine and Cluster.
func IsClusterGroup(group string) bool { return group == Group || group == clusterv1alpha1.GroupName }

// Machine contains the fields of a Machine that are used by Slipway.
type Machine struct {
	// Name and UID identify the object.
	Name string
	UID  types.UID
	// Deleting is true while the Machine is being deleted.
	Deleting bool
	// Cluster is the name of the Machine's Cluster.
	Cluster string
	// DataSecret is the name of the Secret with the bootstrap data. It is empty until there is one.
	DataSecret string
	// FailureDomain is the required failure domain. It is empty for any.
	FailureDomain string
	// Infrastructure is the Machine's infrastructureRef.
	Infrastructure Reference
}

// Cluster contains the fields of a Cluster that are used by Slipway.
type Cluster struct {
	// Name and UID identify the object.
	Name string
	UID  types.UID
	// Paused is true while reconciliation of the cluster is paused.
	Paused bool
	// InfrastructureProvisioned is true when machines can be created.
	InfrastructureProvisioned bool
	// Infrastructure is the Cluster's infrastructureRef.
	Infrastructure Reference
	// Host and Port are the endpoint of the cluster's API server. They are empty until it is known.
	Host string
	Port int32
}

// PausedBy returns why an infrastructure object is paused, as the end of a message, or "" if it is not paused. c is its
// Cluster, or nil if it is not known. The value of a pause annotation does not matter.
func PausedBy(infrastructure metav1.Object, c *Cluster) string {
	for _, annotation := range []string{vmv1alpha1.AnnotationPaused, clusterv1alpha1.PausedAnnotation} {
		if _, ok := infrastructure.GetAnnotations()[annotation]; ok {
			return "by annotation " + annotation
		}
	}
	if c != nil && c.Paused {
		return fmt.Sprintf("by spec.paused of Cluster %q", c.Name)
	}
	return ""
}

// IsUnread reports whether err, returned by Reader, means that it is unknown whether the object exists.
func IsUnread(err error) bool { return err != nil && !errors.Is(err, ErrNotServed) }

// Reference identifies an object in the same namespace.
type Reference struct {
	// Group, Kind and Name identify the object.
	Group, Kind, Name string
}

func machineOf(m *clusterv1alpha1.Machine) Machine {
	return Machine{
		Name: m.Name, UID: m.UID, Deleting: m.DeletionTimestamp != nil, Cluster: m.Spec.ClusterName,
		DataSecret: value(m.Spec.Bootstrap.DataSecretName), FailureDomain: m.Spec.FailureDomain,
		Infrastructure: referenceOf(m.Spec.InfrastructureRef),
	}
}

func clusterOf(c *clusterv1alpha1.Cluster) Cluster {
	return Cluster{
		Name: c.Name, UID: c.UID, Paused: value(c.Spec.Paused),
		InfrastructureProvisioned: value(c.Status.Initialization.InfrastructureProvisioned),
		Infrastructure:            referenceOf(c.Spec.InfrastructureRef),
		Host:                      c.Spec.ControlPlaneEndpoint.Host, Port: c.Spec.ControlPlaneEndpoint.Port,
	}
}

func referenceOf(r clusterv1alpha1.ContractVersionedObjectReference) Reference {
	return Reference{Group: r.APIGroup, Kind: r.Kind, Name: r.Name}
}

func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// managementMachineOf converts a Machine of the management cluster. A field of an unexpected type counts as unset.
func managementMachineOf(o *unstructured.Unstructured) Machine {
	return Machine{
		Name: o.GetName(), UID: o.GetUID(), Deleting: o.GetDeletionTimestamp() != nil, Cluster: text(o, "spec", "clusterName"),
		DataSecret: text(o, "spec", "bootstrap", "dataSecretName"), FailureDomain: text(o, "spec", "failureDomain"),
		Infrastructure: managementReferenceOf(o),
	}
}

// managementClusterOf converts a Cluster of the management cluster. A field of an unexpected type counts as unset.
func managementClusterOf(o *unstructured.Unstructured) Cluster {
	flag := func(path ...string) bool {
		set, _, err := unstructured.NestedBool(o.Object, path...)
		return err == nil && set
	}
	port, _, _ := unstructured.NestedInt64(o.Object, "spec", "controlPlaneEndpoint", "port")
	if port < 0 || port > 65535 {
		port = 0
	}
	return Cluster{
		Name: o.GetName(), UID: o.GetUID(), Paused: flag("spec", "paused"),
		InfrastructureProvisioned: flag("status", "initialization", "infrastructureProvisioned"), Infrastructure: managementReferenceOf(o),
		Host: text(o, "spec", "controlPlaneEndpoint", "host"), Port: int32(port),
	}
}

func managementReferenceOf(o *unstructured.Unstructured) Reference {
	ref := func(field string) string { return text(o, "spec", "infrastructureRef", field) }
	return Reference{Group: ref("apiGroup"), Kind: ref("kind"), Name: ref("name")}
}

// text returns a string field of an external object, or "" if it is longer than any name.
func text(o *unstructured.Unstructured, path ...string) string {
	const longest = 512
	s, _, err := unstructured.NestedString(o.Object, path...)
	if err != nil || len(s) > longest {
		return ""
	}
	return s
}

// cachedObject is the cached part of an object of the management cluster.
type cachedObject[T any] struct {
	metav1.ObjectMeta
	value T
}

// cacheTransform returns an informer transform that reduces objects to their cached part.
func cacheTransform[T any](facts func(*unstructured.Unstructured) T) func(any) (any, error) {
	return func(obj any) (any, error) {
		o, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return obj, nil // Already transformed.
		}
		return &cachedObject[T]{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()},
			value:      facts(o),
		}, nil
	}
}
