// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype/apply"
)

// ResolvedObject is an instance type or a preference, and its source.
type ResolvedObject struct {
	// Object is the instance type or the preference.
	Object *Object
	// Revision is the name of the ControllerRevision that contains it; empty for the live object, which is not stored
	// in a revision yet.
	Revision string
	// needsUpgrade is true if the controller has written the revision in a format of an older version.
	needsUpgrade bool
}

// appliedRevision returns the reference to record in the effective spec; nil for nil.
func (f *ResolvedObject) appliedRevision() *vmv1alpha1.AppliedRevision {
	if f == nil {
		return nil
	}
	return &vmv1alpha1.AppliedRevision{
		Name: f.Object.Meta.Name, Kind: string(f.Object.Kind), RevisionName: f.Revision,
	}
}

// Resolved has the objects that a virtual machine refers to.
type Resolved struct {
	// Class is nil if no class is specified.
	Class *vmv1alpha1.VirtualMachineClass
	// Instancetype is nil if no instance type is specified.
	Instancetype *ResolvedObject
	// Preference is nil if no preference is specified.
	Preference *ResolvedObject
}

func (r *Resolved) inputs() apply.Inputs {
	in := apply.Inputs{
		Class:                r.Class,
		InstancetypeRevision: r.Instancetype.appliedRevision(),
		PreferenceRevision:   r.Preference.appliedRevision(),
	}
	if r.Instancetype != nil {
		in.Instancetype = r.Instancetype.Object.Instancetype
	}
	if r.Preference != nil {
		in.Preference = r.Preference.Object.Preference
	}
	return in
}

// find implements Sources.Find.
func find(ctx context.Context, vm *vmv1alpha1.VirtualMachine, role Role, r Reader) (*ResolvedObject, error) {
	m := matcher(&vm.Spec, role)
	if m == nil {
		return nil, nil
	}
	if name := pinnedName(m); name != "" {
		return findPinned(ctx, vm, role, m, name, r)
	}
	want, err := target(ctx, vm, role, r)
	if err != nil || want == nil {
		return nil, err
	}
	if found, err := findCaptured(ctx, vm, role, *want, r); found != nil || err != nil {
		return found, err
	}
	return findLive(ctx, vm, *want, r)
}

// findPinned reads the revision that the matcher specifies. If the matcher also specifies an object, the revision must
// contain it.
func findPinned(
	ctx context.Context, vm *vmv1alpha1.VirtualMachine, role Role, m *vmv1alpha1.InstancetypeMatcher, name string, r Reader,
) (*ResolvedObject, error) {
	_, object, err := readRevision(ctx, vm, name, role, r)
	if err != nil {
		return nil, err
	}
	if m.Name != "" {
		kind, err := ParseKind(role, m.Kind)
		if err != nil {
			return nil, err
		}
		if want := (identity{kind: kind, name: m.Name}); object.identity() != want {
			return nil, &RevisionError{Name: name, Message: fmt.Sprintf("it contains %s %q, but spec.%s refers to %s %q",
				object.Kind, object.Meta.Name, role, want.kind, want.name)}
		}
	}
	return &ResolvedObject{Object: object, Revision: name}, nil
}

// findCaptured reads the revision in status. It returns nil if there is none or if it belongs to another object.
func findCaptured(ctx context.Context, vm *vmv1alpha1.VirtualMachine, role Role, want identity, r Reader) (*ResolvedObject, error) {
	ref := StatusRef(vm, role)
	if ref == nil || ref.ControllerRevisionRef == nil || !hasIdentity(ref, role, want) {
		return nil, nil
	}
	name := ref.ControllerRevisionRef.Name
	revision, object, err := readRevision(ctx, vm, name, role, r)
	if err != nil {
		return nil, err
	}
	if object.identity() != want {
		return nil, nil
	}
	return &ResolvedObject{
		Object: object, Revision: name,
		needsUpgrade: revision.Labels[LabelObjectVersion] != objectVersion,
	}, nil
}

// hasIdentity reports whether ref refers to want. Kinds may be spelt differently.
func hasIdentity(ref *vmv1alpha1.InstancetypeRef, role Role, want identity) bool {
	kind, err := ParseKind(role, ref.Kind)
	return err == nil && kind == want.kind && ref.Name == want.name
}

func findLive(ctx context.Context, vm *vmv1alpha1.VirtualMachine, want identity, r Reader) (*ResolvedObject, error) {
	object, err := r.Source(ctx, want.kind, vm.Namespace, want.name)
	if apierrors.IsNotFound(err) {
		return nil, err // err includes the kind and the name
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", want.kind, want.name, err)
	}
	return &ResolvedObject{Object: object}, nil
}

// readRevision returns the revision and the object in it. The error is a *RevisionLostError if the revision does not exist or
// cannot be used.
func readRevision(ctx context.Context, vm *vmv1alpha1.VirtualMachine, name string, role Role, r Reader) (*itv1alpha1.ControllerRevision, *Object, error) {
	captured, err := r.Revision(ctx, vm.Namespace, name)
	switch {
	case apierrors.IsNotFound(err): // err includes the kind and the name
		return nil, nil, &RevisionLostError{Role: role, Namespace: vm.Namespace, VM: vm.Name, Err: err}
	case err != nil:
		return nil, nil, fmt.Errorf("reading ControllerRevision %q: %w", name, err)
	}
	object, err := captured.Object(role)
	if err != nil {
		return nil, nil, &RevisionLostError{Role: role, Namespace: vm.Namespace, VM: vm.Name, Err: err}
	}
	return captured.Revision, object, nil
}

// findLatest returns the live object that vm refers to. It ignores revisions in spec and status.
func findLatest(ctx context.Context, vm *vmv1alpha1.VirtualMachine, role Role, r Reader) (*ResolvedObject, error) {
	if matcher(&vm.Spec, role) == nil {
		return nil, nil
	}
	want, err := inferTarget(ctx, vm, role, r)
	if err != nil || want == nil {
		return nil, err
	}
	return findLive(ctx, vm, *want, r)
}

// Effective returns the effective spec of vm. The error is one of Resolve or an *apply.Error with all problems.
func Effective(vm *vmv1alpha1.VirtualMachine, s *Sources) (*vmv1alpha1.VirtualMachineInstanceSpec, error) {
	resolved, err := s.Resolve()
	if err != nil {
		return nil, err
	}
	return ComputeEffective(vm, resolved)
}

// ComputeEffective returns the effective spec of vm with the given resolved objects. The error is an *apply.Error.
func ComputeEffective(vm *vmv1alpha1.VirtualMachine, resolved *Resolved) (*vmv1alpha1.VirtualMachineInstanceSpec, error) {
	m := vm.Spec.Instancetype
	if resolved.Instancetype != nil && m != nil && m.InferFromVolume != "" && ignoresFailure(m) {
		vm = withoutFallback(vm)
	}
	return apply.Effective(vm, resolved.inputs())
}

// withoutFallback returns vm without the CPU topology and memory in its spec, which apply only if no instance type can
// be inferred. The rest is shared with vm.
func withoutFallback(vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachine {
	out := *vm
	if vm.Spec.CPU != nil {
		cpu := *vm.Spec.CPU
		cpu.Sockets, cpu.Cores, cpu.Threads = 0, 0, 0
		out.Spec.CPU = &cpu
	}
	if vm.Spec.Memory != nil {
		memory := *vm.Spec.Memory
		memory.Guest = nil
		out.Spec.Memory = &memory
	}
	return &out
}

// Resources returns the CPUs and the memory of an effective spec; nil for nil.
func Resources(spec *vmv1alpha1.VirtualMachineInstanceSpec) *vmv1alpha1.VirtualMachineResources {
	if spec == nil || spec.CPU == nil || spec.Memory == nil || spec.Memory.Guest == nil {
		return nil
	}
	memory := spec.Memory.Guest.DeepCopy()
	return &vmv1alpha1.VirtualMachineResources{
		VCPUs:  spec.CPU.Sockets * spec.CPU.Cores * spec.CPU.Threads,
		Memory: &memory,
	}
}
