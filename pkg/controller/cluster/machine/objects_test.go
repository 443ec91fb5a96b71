// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

func pointer[T any](v T) *T { return &v }

// newMachine returns Machine "m" of Cluster "c" with a data Secret and infrastructure "i".
func newMachine(changes ...func(*machine)) *machine {
	m := &machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "m", UID: "uid-m", Generation: 1, Finalizers: []string{clusterv1alpha1.MachineFinalizer},
			Labels:            map[string]string{clusterv1alpha1.ClusterNameLabel: "c"},
			CreationTimestamp: metav1.NewTime(began.Add(-time.Hour)),
		},
		Spec: clusterv1alpha1.MachineSpec{
			ClusterName:       "c",
			Bootstrap:         clusterv1alpha1.Bootstrap{DataSecretName: pointer("data")},
			InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: exampleAPI, Kind: "ExampleMachine", Name: "i"},
		},
	}
	for _, change := range changes {
		change(m)
	}
	return m
}

// withConfig uses the bootstrap object "b" instead of the Secret.
func withConfig(m *machine) {
	m.Spec.Bootstrap = clusterv1alpha1.Bootstrap{
		ConfigRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: exampleAPI, Kind: "ExampleConfig", Name: "b"},
	}
}

// provisioned makes the infrastructure provisioned.
func provisioned(m *machine) {
	m.Spec.ProviderID, m.Status.Initialization.InfrastructureProvisioned = providerID, pointer(true)
}

// running makes a Machine running with a Node.
func running(m *machine) {
	provisioned(m)
	m.Status.NodeRef.Name = "n"
}

// deleted makes a Machine deleted.
func deleted(m *machine) { m.DeletionTimestamp = pointer(metav1.NewTime(began.Add(-time.Minute))) }

func ofControlPlane(m *machine) { m.Labels[clusterv1alpha1.MachineControlPlaneLabel] = "" }

func annotated(key, value string) func(*machine) {
	return func(m *machine) {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[key] = value
	}
}

func named(name string) func(*machine) {
	return func(m *machine) { m.Name, m.UID = name, types.UID("uid-"+name) }
}

// newCluster returns Cluster "c", whose API server answers.
func newCluster(changes ...func(*cluster)) *cluster {
	c := &cluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c", UID: "uid-c"}}
	c.Status.Initialization.InfrastructureProvisioned = pointer(true)
	c.Status.Conditions = []metav1.Condition{{
		Type: clusterv1alpha1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(began.Add(-time.Hour)),
	}}
	for _, change := range changes {
		change(c)
	}
	return c
}

func withControlPlane(c *cluster) {
	c.Spec.ControlPlaneRef = clusterv1alpha1.ContractVersionedObjectReference{APIGroup: exampleAPI, Kind: "ExampleControlPlane", Name: "cp"}
}

// other returns an object of another kind with the given fields.
func other(kind, name string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for k, v := range fields {
		o.Object[k] = v
	}
	o.SetAPIVersion(exampleAPI + "/v1")
	o.SetKind(kind)
	o.SetNamespace(ns)
	o.SetName(name)
	o.SetUID(types.UID("uid-" + name))
	return o
}

// infra returns infrastructure "i", which is not provisioned.
func infra() *unstructured.Unstructured { return other("ExampleMachine", "i", nil) }

// provisionedInfra returns infrastructure "i", which is provisioned.
func provisionedInfra() *unstructured.Unstructured {
	return other("ExampleMachine", "i", map[string]any{
		"spec":   map[string]any{"providerID": providerID},
		"status": map[string]any{"initialization": map[string]any{"provisioned": true}},
	})
}

// markDeleting marks o as being deleted.
func markDeleting(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetDeletionTimestamp(pointer(metav1.NewTime(began)))
	return o
}

// newNode returns Node "n" with the provider ID of the Machine, which is healthy.
func newNode() *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid-n"}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	for kind, status := range map[corev1.NodeConditionType]corev1.ConditionStatus{
		corev1.NodeReady: corev1.ConditionTrue, corev1.NodeMemoryPressure: corev1.ConditionFalse,
		corev1.NodeDiskPressure: corev1.ConditionFalse, corev1.NodePIDPressure: corev1.ConditionFalse,
	} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status})
	}
	return n
}

func newSet(changes ...func(*machineSet)) *machineSet {
	s := &machineSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "s", UID: "uid-s", CreationTimestamp: metav1.NewTime(began.Add(-time.Hour)),
		Labels: map[string]string{clusterv1alpha1.MachineDeploymentNameLabel: "d"},
	}}
	for _, change := range changes {
		change(s)
	}
	return s
}

func newDeployment(changes ...func(*deployment)) *deployment {
	d := &deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "d", UID: "uid-d"}}
	for _, change := range changes {
		change(d)
	}
	return d
}

// ownedMachine returns a Machine of MachineSet "s".
func ownedMachine(changes ...func(*machine)) *machine {
	return newMachine(append([]func(*machine){func(m *machine) {
		m.Labels[clusterv1alpha1.MachineSetNameLabel] = "s"
		m.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: clusterv1alpha1.SchemeGroupVersion.String(), Kind: "MachineSet", Name: "s", UID: "uid-s", Controller: pointer(true),
		}}
	}}, changes...)...)
}
