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

// Group is that of Cluster API's kinds, in the host cluster; that of ours is
// clusterv1alpha1.GroupName.
const Group = "cluster.x-k8s.io"

// version of Cluster API's kinds. The contract that our kinds fulfil is that of this version.
const version = "v1beta2"

// Is is true for a group that has Machines and Clusters.
func Is(group string) bool { return group == Group || group == clusterv1alpha1.GroupName }

// Machine is what counts of a Machine.
type Machine struct {
	// Name and UID of the object.
	Name string
	UID  types.UID
	// Deleting is true while it is being deleted.
	Deleting bool
	// Cluster is the name of its Cluster.
	Cluster string
	// DataSecret is the name of the Secret with its bootstrap data; empty as long as there is none.
	DataSecret string
	// FailureDomain that it is to be in; empty for any.
	FailureDomain string
	// Infrastructure is what it names as such.
	Infrastructure Reference
}

// Cluster is what counts of a Cluster.
type Cluster struct {
	// Name and UID of the object.
	Name string
	UID  types.UID
	// Paused is true while nothing of the cluster is to change.
	Paused bool
	// InfrastructureProvisioned is true once machines can be made.
	InfrastructureProvisioned bool
	// Infrastructure is what it names as such.
	Infrastructure Reference
	// Host and Port are the endpoint of its API; empty as long as it is not known.
	Host string
	Port int32
}

// PausedBy says by what infrastructure is paused that belongs to a Cluster, which is nil as long
// as it is not known; empty for nothing. Any value of an annotation counts.
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

// Unread is true for an error of Reader after which it is not known what there is.
func Unread(err error) bool { return err != nil && !errors.Is(err, ErrNotServed) }

// Reference names an object of the same namespace.
type Reference struct {
	// Group, Kind and Name of the object.
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

// hostMachineOf reads a Machine of the host cluster. A field of another type than Cluster API
// gives it counts as unset.
func hostMachineOf(o *unstructured.Unstructured) Machine {
	return Machine{
		Name: o.GetName(), UID: o.GetUID(), Deleting: o.GetDeletionTimestamp() != nil, Cluster: text(o, "spec", "clusterName"),
		DataSecret: text(o, "spec", "bootstrap", "dataSecretName"), FailureDomain: text(o, "spec", "failureDomain"),
		Infrastructure: hostReferenceOf(o),
	}
}

// hostClusterOf reads a Cluster of the host cluster likewise.
func hostClusterOf(o *unstructured.Unstructured) Cluster {
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
		InfrastructureProvisioned: flag("status", "initialization", "infrastructureProvisioned"), Infrastructure: hostReferenceOf(o),
		Host: text(o, "spec", "controlPlaneEndpoint", "host"), Port: int32(port),
	}
}

func hostReferenceOf(o *unstructured.Unstructured) Reference {
	ref := func(field string) string { return text(o, "spec", "infrastructureRef", field) }
	return Reference{Group: ref("apiGroup"), Kind: ref("kind"), Name: ref("name")}
}

// text reads a string that somebody else has written; one that is too long to name anything
// is left out.
func text(o *unstructured.Unstructured, path ...string) string {
	const longest = 512
	s, _, err := unstructured.NestedString(o.Object, path...)
	if err != nil || len(s) > longest {
		return ""
	}
	return s
}

// kept is all that a cache has of an object of the host cluster.
type kept[T any] struct {
	metav1.ObjectMeta
	facts T
}

// keep is a transform for informers that leaves only what counts.
func keep[T any](facts func(*unstructured.Unstructured) T) func(any) (any, error) {
	return func(obj any) (any, error) {
		o, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return obj, nil // kept already
		}
		return &kept[T]{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()},
			facts:      facts(o),
		}, nil
	}
}
