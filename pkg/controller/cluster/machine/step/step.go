// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package step has what the steps of one reconcile of a Machine share: State is what a step gets, and Report is what
// it returns. A step changes only the fields of the Machine that are its own, and writes no condition. The conditions
// are computed from State once, after the last step.
package step

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// Kinds of owners.
const (
	MachineKind    = "Machine"
	MachineSetKind = "MachineSet"
)

// State is what a reconcile knows of its Machine. All but Machine and the observations of the Node are read once.
type State struct {
	// Stored is the Machine as it was read, and Machine the copy that is written at the end.
	Stored, Machine *clusterv1alpha1.Machine
	// Cluster is nil if it does not exist.
	Cluster *clusterv1alpha1.Cluster
	// Set owns the Machine and Deployment owns the set; nil if there is none.
	Set        *clusterv1alpha1.MachineSet
	Deployment *clusterv1alpha1.MachineDeployment
	// Bootstrap and Infra are the objects that the Machine refers to.
	Bootstrap, Infra External
	// Workload is the connection to the workload cluster; nil without one, and then Unconnected is the reason.
	Workload    Workload
	Unconnected error
	// Node is what is kept in memory of the Node of the Machine, and NodeErr why it could not be looked up. Nodes are
	// all that have the provider ID of the Machine: more than one only by mistake.
	Node    *corev1.Node
	Nodes   []*corev1.Node
	NodeErr error
	// NodesUnread is true for a Machine that is deleted while it is not known which Nodes it has besides its own.
	NodesUnread bool
	// Now is the time of the reconcile.
	Now time.Time
}

// Key returns the name of the Machine.
func (s *State) Key() types.NamespacedName { return controller.KeyOf(s.Machine) }

// ClusterKey returns the name of the Cluster of the Machine.
func (s *State) ClusterKey() types.NamespacedName {
	return types.NamespacedName{Namespace: s.Machine.Namespace, Name: s.Machine.Spec.ClusterName}
}

// IsDeleting reports whether the Machine is being deleted.
func (s *State) IsDeleting() bool { return s.Machine.DeletionTimestamp != nil }

// NodeNames returns the name of the Node of the Machine, and those of the other Nodes with its provider ID.
func (s *State) NodeNames() []string {
	names := []string{s.Machine.Status.NodeRef.Name}
	for _, n := range s.Nodes {
		if n.Name != names[0] {
			names = append(names, n.Name)
		}
	}
	return names
}

// Moment returns the time of the reconcile as a status has it.
func (s *State) Moment() *metav1.Time {
	t := metav1.NewTime(s.Now.UTC().Truncate(time.Second))
	return &t
}

// External is what is known of an object that a Machine refers to. No field is set if the Machine refers to none.
type External struct {
	Object *unstructured.Unstructured
	Kind   contract.Kind
	// Gone is true if the server of the kind reports that the object does not exist.
	Gone bool
	// Foreign is true if the object has another controller.
	Foreign bool
	// Refused is why the Machine does not change the object.
	Refused error
	// Err is why the object is not known, or not known well enough.
	Err error
	// FailureReason and FailureMessage describe the failure that the provider reports as final.
	// Both are empty if it reports none.
	FailureReason, FailureMessage string
}

// Stays reports whether the object exists, or may exist, and is not being deleted.
func (e *External) Stays() bool {
	return !e.Gone && (e.Object == nil || e.Object.GetDeletionTimestamp() == nil)
}

// HasFailed reports whether the provider reports a final failure of the object.
func (e *External) HasFailed() bool { return e.FailureReason != "" || e.FailureMessage != "" }

// Describe returns kind and name of the object, which is known.
func (e *External) Describe() string {
	return fmt.Sprintf("%s %s/%s", e.Object.GetKind(), e.Object.GetNamespace(), e.Object.GetName())
}

// Report is what a step has found out.
type Report struct {
	// After is when the Machine is reconciled again without an event; 0 is never.
	After time.Duration
	// NotBefore is how long events do not cause another reconcile.
	NotBefore time.Duration
	// Deleting is how far the deletion is.
	Deleting Progress
}

// Progress is the state of a deletion or an update, for a condition.
type Progress struct {
	Reason, Message string
	// Causes are why a drain takes long.
	Causes []string
}

// Again requests another reconcile after a time. The earliest of several wins.
func (r *Report) Again(after time.Duration) {
	if after > 0 && (r.After == 0 || after < r.After) {
		r.After = after
	}
}

// Add adds the report of a later step.
func (r *Report) Add(later Report) {
	r.Again(later.After)
	if later.NotBefore > 0 {
		r.NotBefore = later.NotBefore
	}
	if later.Deleting.Reason != "" {
		r.Deleting = later.Deleting
	}
}

// Events records events of Machines.
type Events struct{ Recorder events.EventRecorder }

// Normal records a normal event.
func (e Events) Normal(s *State, reason, note string, args ...any) {
	e.record(s, corev1.EventTypeNormal, reason, note, args...)
}

// Warning records a warning.
func (e Events) Warning(s *State, reason, note string, args ...any) {
	e.record(s, corev1.EventTypeWarning, reason, note, args...)
}

// record limits the length of a note: it may contain what the server of a workload cluster has answered, and one that
// is too long is refused.
func (e Events) record(s *State, kind, reason, note string, args ...any) {
	e.Recorder.Eventf(s.Stored, nil, kind, reason, "Reconcile", "%s", conditions.Note(note, args...))
}

// IsTrue reports whether a field is set and true.
func IsTrue(b *bool) bool { return b != nil && *b }

// IsProvisioned reports whether the infrastructure of a Machine has been provisioned.
func IsProvisioned(m *clusterv1alpha1.Machine) bool {
	return IsTrue(m.Status.Initialization.InfrastructureProvisioned)
}

// IsControlPlane reports whether a Machine belongs to the control plane.
func IsControlPlane(m *clusterv1alpha1.Machine) bool {
	_, ok := m.Labels[clusterv1alpha1.MachineControlPlaneLabel]
	return ok
}

// IsOurs reports whether an owner is of a kind of our group, in whatever version.
func IsOurs(o metav1.OwnerReference, kind string) bool {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	return err == nil && gv.Group == clusterv1alpha1.GroupName && o.Kind == kind
}
