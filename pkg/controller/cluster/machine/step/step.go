// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package step contains the types that are shared by the steps of a Machine's reconcile. State is the input of a step,
// and Report its result. A step changes only its own fields of the Machine, and writes no conditions. The conditions
// are computed from State after the last step.
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

// State is the state of a Machine and its related objects in one reconcile. All fields except Machine and the Node
// fields are read once.
type State struct {
	// Stored is the Machine that was read. Machine is a copy that is changed and written.
	Stored, Machine *clusterv1alpha1.Machine
	// Cluster is nil if it does not exist.
	Cluster *clusterv1alpha1.Cluster
	// Set is the owner of the Machine, and Deployment the owner of Set. They are nil if there is none.
	Set        *clusterv1alpha1.MachineSet
	Deployment *clusterv1alpha1.MachineDeployment
	// Bootstrap and Infra are the objects that the Machine refers to.
	Bootstrap, Infra External
	// Workload is the connection to the workload cluster. If it is nil, Unconnected is the reason.
	Workload    Workload
	Unconnected error
	// Node is the cached Node of the Machine, and NodeErr the error of its lookup. Nodes are all Nodes with the
	// provider ID of the Machine.
	Node    *corev1.Node
	Nodes   []*corev1.Node
	NodeErr error
	// NodesUnread is true if the Machine is being deleted and its other Nodes are not known yet.
	NodesUnread bool
	// Now is the time of the reconcile.
	Now time.Time
}

// Key returns the namespace and name of the Machine.
func (s *State) Key() types.NamespacedName { return controller.KeyOf(s.Machine) }

// ClusterKey returns the namespace and name of the Machine's Cluster.
func (s *State) ClusterKey() types.NamespacedName {
	return types.NamespacedName{Namespace: s.Machine.Namespace, Name: s.Machine.Spec.ClusterName}
}

// IsDeleting reports whether the Machine is being deleted.
func (s *State) IsDeleting() bool { return s.Machine.DeletionTimestamp != nil }

// NodeNames returns the names of the Machine's Node and of other Nodes with its provider ID.
func (s *State) NodeNames() []string {
	names := []string{s.Machine.Status.NodeRef.Name}
	for _, n := range s.Nodes {
		if n.Name != names[0] {
			names = append(names, n.Name)
		}
	}
	return names
}

// Timestamp returns the time of the reconcile in the precision of a status.
func (s *State) Timestamp() *metav1.Time {
	t := metav1.NewTime(s.Now.UTC().Truncate(time.Second))
	return &t
}

// External is the state of an object that a Machine refers to. It is empty if there is no reference.
type External struct {
	Object *unstructured.Unstructured
	Kind   contract.Kind
	// NotFound is true if the server reports that the object does not exist.
	NotFound bool
	// HasOtherController is true if the object has another controller.
	HasOtherController bool
	// RejectedErr is the reason why the Machine does not change the object.
	RejectedErr error
	// Err is the error of reading the object.
	Err error
	// FailureReason and FailureMessage describe a terminal failure. Both are empty if the provider reports none.
	FailureReason, FailureMessage string
}

// MayExist reports whether the object exists, or may exist, and is not being deleted.
func (e *External) MayExist() bool {
	return !e.NotFound && (e.Object == nil || e.Object.GetDeletionTimestamp() == nil)
}

// HasFailed reports whether the provider reports a terminal failure of the object.
func (e *External) HasFailed() bool { return e.FailureReason != "" || e.FailureMessage != "" }

// Describe returns kind, namespace and name of the object, which must not be nil.
func (e *External) Describe() string {
	return fmt.Sprintf("%s %s/%s", e.Object.GetKind(), e.Object.GetNamespace(), e.Object.GetName())
}

// Report is the result of a step.
type Report struct {
	// After is the time until the Machine is reconciled again without an event. 0 means never.
	After time.Duration
	// IgnoreEventsFor is how long events are ignored.
	IgnoreEventsFor time.Duration
	// Deleting is the progress of the deletion.
	Deleting Progress
}

// Progress is the progress of a deletion or an update, for a condition.
type Progress struct {
	Reason, Message string
	// Causes are the causes of a slow drain.
	Causes []string
}

// RequeueAfter requests another reconcile after a time. The earliest request is used.
func (r *Report) RequeueAfter(after time.Duration) {
	if after > 0 && (r.After == 0 || after < r.After) {
		r.After = after
	}
}

// Add adds the report of a later step.
func (r *Report) Add(later Report) {
	r.RequeueAfter(later.After)
	if later.IgnoreEventsFor > 0 {
		r.IgnoreEventsFor = later.IgnoreEventsFor
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

// Warning records a warning event.
func (e Events) Warning(s *State, reason, note string, args ...any) {
	e.record(s, corev1.EventTypeWarning, reason, note, args...)
}

// record records an event with a limited note. The note may contain a response of a workload cluster, and the API
// server would reject a long one.
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

// IsOwnKind reports whether an owner has a kind of this API group, in any version.
func IsOwnKind(o metav1.OwnerReference, kind string) bool {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	return err == nil && gv.Group == clusterv1alpha1.GroupName && o.Kind == kind
}
