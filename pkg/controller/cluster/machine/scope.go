// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
)

type (
	machine    = clusterv1alpha1.Machine
	cluster    = clusterv1alpha1.Cluster
	machineSet = clusterv1alpha1.MachineSet
	deployment = clusterv1alpha1.MachineDeployment
)

// facts are what a pass has read, once.
type facts struct {
	// cluster is nil when there is none.
	cluster *cluster
	// set owns the Machine and deployment owns the set; nil where there is none.
	set        *machineSet
	deployment *deployment
	// bootstrap and infra are what the Machine refers to.
	bootstrap, infra external
	// workload is the connection to the workload cluster; nil without one, and then
	// unconnected says why.
	workload    Workload
	unconnected error
	// node is what is kept of the Node of the Machine, and nodeErr why it could not be looked for.
	node    *corev1.Node
	nodeErr error
}

// external is what is known of an object that a Machine refers to. None of its fields is
// set where the Machine refers to none.
type external struct {
	object *unstructured.Unstructured
	kind   contract.Kind
	// gone is true when the server of the kind says that there is no such object.
	gone bool
	// foreign is true when somebody else controls the object.
	foreign bool
	// refused is why the Machine does not change the object.
	refused error
	// err is why nothing, or not enough, is known.
	err error
	// failureReason and failureMessage describe the failure that the provider reports as final.
	// Both are empty if it reports none.
	failureReason, failureMessage string
}

// readFailure sets failureReason and failureMessage from the object.
func (e *external) readFailure() (err error) {
	e.failureReason, e.failureMessage, err = contract.Failure(e.object)
	return err
}

// stays is true for an object that is there, or may be, and is not being deleted.
func (e *external) stays() bool {
	return !e.gone && (e.object == nil || e.object.GetDeletionTimestamp() == nil)
}

// progress is what a phase says for a condition.
type progress struct {
	reason, message string
	// causes are why a drain lasts.
	causes []string
}

// scope is one pass over a Machine.
type scope struct {
	*reconciler
	facts
	now time.Time
	// stored is what was read, machine what the pass makes of it.
	stored, machine *machine
	// deleting and updating are how far these are.
	deleting, updating progress
	// after is when the Machine is looked at again without an event; 0 is never.
	after time.Duration
	// notBefore is how long events do not bring the Machine back.
	notBefore time.Duration
}

func (s *scope) key() types.NamespacedName { return controller.KeyOf(s.machine) }

// isDeleting is true for a Machine that is being deleted.
func (s *scope) isDeleting() bool { return s.machine.DeletionTimestamp != nil }

// again has the Machine looked at after a time, or earlier if something else asks for that.
func (s *scope) again(after time.Duration) {
	if after > 0 && (s.after == 0 || after < s.after) {
		s.after = after
	}
}

// clusterKey is the Cluster of the Machine.
func clusterKey(m *machine) types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.ClusterName}
}

// isTrue is true for a field that is there and true.
func isTrue(b *bool) bool { return b != nil && *b }

func isProvisioned(m *machine) bool { return isTrue(m.Status.Initialization.InfrastructureProvisioned) }

// hasBootstrapData is true when the name of the Secret with the bootstrap data is known to be right.
func hasBootstrapData(m *machine) bool {
	return isTrue(m.Status.Initialization.BootstrapDataSecretCreated) ||
		!m.Spec.Bootstrap.ConfigRef.IsDefined() && m.Spec.Bootstrap.DataSecretName != nil
}
