// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// readTimeout limits the reads for one request or for one recalculation of a namespace. The timeout of the admission
// plugin is ten seconds.
const readTimeout = 8 * time.Second

// Evaluators measure virtual machines for the admission plugin and for the controller. Call ReadFrom before using
// them.
type Evaluators struct {
	machines      *machineEvaluator
	classes       *classEvaluator
	instancetypes *instancetypeEvaluator
}

// New returns new Evaluators.
func New() *Evaluators {
	m := &machineEvaluator{reader: &source{}}
	return &Evaluators{
		machines:      m,
		classes:       &classEvaluator{newFollowedKind(vmv1alpha1.Resource("virtualmachineclasses"), m.reader)},
		instancetypes: &instancetypeEvaluator{newFollowedKind(itv1alpha1.Resource("virtualmachineinstancetypes"), m.reader)},
	}
}

// SetReader sets the source of objects. Call it before the server serves requests.
func (e *Evaluators) SetReader(r Reader) { e.machines.reader.Reader = r }

// Configuration returns the configuration of the admission plugin. Objects that the server itself creates for an
// admitted virtual machine are not counted.
func (e *Evaluators) Configuration() quotav1.Configuration {
	return generic.NewConfiguration([]quotav1.Evaluator{e.machines, e.classes, e.instancetypes}, map[schema.GroupResource]struct{}{
		vmv1alpha1.Resource("virtualmachineinstances"): {},
		itv1alpha1.Resource("controllerrevisions"):     {},
	})
}

// Usage returns the usage of the virtual machines in the namespace of q for the resources in ResourceNames that q limits.
func (e *Evaluators) Usage(q *corev1.ResourceQuota) (corev1.ResourceList, error) {
	hard := quotav1.Mask(q.Status.Hard, ResourceNames)
	return quotav1.CalculateUsage(q.Namespace, q.Spec.Scopes, hard, generic.NewRegistry([]quotav1.Evaluator{e.machines}), q.Spec.ScopeSelector)
}

// source is a Reader that is set after the admission plugins have been created, when the stores exist.
type source struct{ Reader }

var errNoStores = errors.New("measuring quota usage: the stores have not been created yet")

// machineEvaluator measures virtual machines.
type machineEvaluator struct{ reader *source }

var _ quotav1.Evaluator = &machineEvaluator{}

// GroupResource implements quotav1.Evaluator.
func (*machineEvaluator) GroupResource() schema.GroupResource {
	return vmv1alpha1.Resource("virtualmachines")
}

// Handles reports whether request may increase the charge: a creation, or an update that needs more. Subresources are
// admitted as updates of the virtual machine.
func (e *machineEvaluator) Handles(request admission.Attributes) bool {
	if request.GetSubresource() != "" {
		return false
	}
	switch request.GetOperation() {
	case admission.Create:
		return true
	case admission.Update:
		updated, ok := request.GetObject().(*vmv1alpha1.VirtualMachine)
		stored, hasOld := request.GetOldObject().(*vmv1alpha1.VirtualMachine)
		return ok && hasOld && updated.DeletionTimestamp == nil && e.mayGrow(stored, updated)
	}
	return false
}

// mayGrow reports whether the charge of updated may be higher than that of stored. It returns true if that cannot be
// measured.
func (e *machineEvaluator) mayGrow(stored, updated *vmv1alpha1.VirtualMachine) bool {
	if isRunning(updated) && !isRunning(stored) {
		return true
	}
	if equality.Semantic.DeepEqual(Basis(stored), Basis(updated)) {
		return false
	}
	before, errBefore := e.measure(stored, e.reader)
	after, errAfter := e.measure(updated, e.reader)
	return errBefore != nil || errAfter != nil || len(after.unknown) > 0 ||
		!quotav1.IsZero(quotav1.SubtractWithNonNegativeResult(after.charged, before.charged))
}

// Basis returns everything that determines the charge of vm except the power state. Equal values have equal charges.
func Basis(vm *vmv1alpha1.VirtualMachine) any {
	spec, status := &vm.Spec, &vm.Status
	return []any{
		spec.ClassName, spec.Instancetype, spec.Preference, spec.CPU, spec.Memory, spec.Image, spec.Volumes, bootDisk(vm),
		status.InstancetypeRef, status.PreferenceRef, status.Resources, status.DesiredResources, status.Volumes,
		vm.Annotations[vmv1alpha1.AnnotationReverting],
	}
}

// Matches reports whether q limits a resource that item needs. Scopes apply to Pods only.
func (e *machineEvaluator) Matches(q *corev1.ResourceQuota, item runtime.Object) (bool, error) {
	return generic.Matches(q, item, e.MatchingResources, generic.MatchesNoScopeFunc)
}

// MatchingScopes returns no scopes.
func (*machineEvaluator) MatchingScopes(runtime.Object, []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return nil, nil
}

// UncoveredQuotaScopes returns no scopes.
func (*machineEvaluator) UncoveredQuotaScopes(_, _ []corev1.ScopedResourceSelectorRequirement) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return nil, nil
}

// MatchingResources returns the names that apply to virtual machines.
func (e *machineEvaluator) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	return quotav1.Intersection(names, append([]corev1.ResourceName{e.count()}, ResourceNames...))
}

func (e *machineEvaluator) count() corev1.ResourceName {
	return generic.ObjectCountQuotaResourceNameFor(e.GroupResource())
}

// Constraints returns an error if the amount of a required resource is unknown.
func (e *machineEvaluator) Constraints(required []corev1.ResourceName, item runtime.Object) error {
	if len(quotav1.Intersection(required, ResourceNames)) == 0 {
		return nil
	}
	m, err := e.measure(item, e.reader)
	if err != nil {
		return err
	}
	var unknown []string
	var why []error
	for _, name := range required {
		if err := m.unknown[name]; err != nil {
			unknown = append(unknown, string(name))
			why = append(why, err)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("cannot determine %s: %w", strings.Join(unknown, ","), why[0])
}

// Usage returns the known charges of item.
func (e *machineEvaluator) Usage(item runtime.Object) (corev1.ResourceList, error) {
	m, err := e.measure(item, e.reader)
	if err != nil {
		return nil, err
	}
	m.charged[e.count()] = *resource.NewQuantity(1, resource.DecimalSI)
	return m.charged, nil
}

func (e *machineEvaluator) measure(item runtime.Object, r Reader) (measured, error) {
	vm, ok := item.(*vmv1alpha1.VirtualMachine)
	if !ok {
		return measured{}, fmt.Errorf("measuring a VirtualMachine: got a %T", item)
	}
	if e.reader.Reader == nil {
		return measured{}, errNoStores
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	return measure(ctx, vm, r), nil
}

// UsageStats returns the usage of all virtual machines in a namespace.
func (e *machineEvaluator) UsageStats(o quotav1.UsageStatsOptions) (quotav1.UsageStats, error) {
	known := newMemo(e.reader)
	return generic.CalculateUsageStats(o, e.list, generic.MatchesNoScopeFunc, func(item runtime.Object) (corev1.ResourceList, error) {
		m, err := e.measure(item, known)
		if err != nil {
			return nil, err
		}
		for _, err := range m.unknown {
			if isReadFailure(err) {
				return nil, err
			}
		}
		return m.charged, nil
	})
}

// isReadFailure reports whether err is a failed read and not an absent object.
func isReadFailure(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown && !instancetype.IsMissing(err)
}

// list returns the virtual machines of a namespace.
func (e *machineEvaluator) list(namespace string) ([]runtime.Object, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	all, err := e.reader.VirtualMachines(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("listing the virtual machines of namespace %s: %w", namespace, err)
	}
	objects := make([]runtime.Object, len(all))
	for i := range all {
		objects[i] = &all[i]
	}
	return objects, nil
}
