// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Reader reads what virtual machines refer to. Every method returns an error
// that apierrors.IsNotFound recognises when, and only when, the object is known
// to be absent. Results are not changed. A revision that was just created must
// be visible: a cache is read through to the API.
type Reader interface {
	// Source returns a live instance type or preference that a virtual machine of the namespace refers to.
	Source(ctx context.Context, kind Kind, namespace, name string) (*Object, error)
	// Revision returns a ControllerRevision, decoded.
	Revision(ctx context.Context, namespace, name string) (*Captured, error)
	// Class returns a class.
	Class(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineClass, error)
	// Image returns the image that a virtual machine of the namespace refers to; its
	// labels are read.
	Image(ctx context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error)
	// PersistentVolumeClaim returns a claim; its labels and dataSourceRef are read.
	PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
}

// Sources is everything that the references of one virtual machine lead to, as it
// was read at one time: what was found, and why the rest was not. It is a value:
// all that is decided over it reads nothing.
type Sources struct {
	class    *vmv1alpha1.VirtualMachineClass
	classErr error
	roles    [2]gathered
}

// gathered is what one reference leads to.
type gathered struct {
	// found is what the virtual machine uses; nil when it has no such reference, or
	// infers nothing, or it was not found. err is a *RoleError.
	found *Found
	err   error
	// live is the live object of found, and only gathered by GatherLive.
	live    *Object
	liveErr error
	// latest is what a refresh would move to, and only gathered by GatherLatest.
	latest    *Found
	latestErr error
}

// Gather reads what vm refers to and uses. What fails is kept with what was found,
// and is an error only where something is decided by it.
func Gather(ctx context.Context, vm *vmv1alpha1.VirtualMachine, r Reader) *Sources {
	s := &Sources{}
	if name := vm.Spec.ClassName; name != "" {
		var err error
		if s.class, err = r.Class(ctx, vm.Namespace, name); err != nil {
			s.class, s.classErr = nil, &ClassError{Name: name, Err: err}
		}
	}
	for _, role := range roles {
		g := s.of(role)
		var err error
		if g.found, err = find(ctx, vm, role, r); err != nil {
			g.found, g.err = nil, &RoleError{Role: role, Err: err}
		}
	}
	return s
}

// GatherLive reads also the live objects of what vm uses, which Capture compares it
// with.
func GatherLive(ctx context.Context, vm *vmv1alpha1.VirtualMachine, r Reader) *Sources {
	s := Gather(ctx, vm, r)
	for _, role := range roles {
		g := s.of(role)
		switch {
		case g.found == nil:
		case g.found.Revision == "":
			g.live = g.found.Object
		default:
			o := g.found.Object
			g.live, g.liveErr = r.Source(ctx, o.Kind, vm.Namespace, o.Meta.Name)
		}
	}
	return s
}

// GatherLatest reads also the live objects that vm refers to, whatever is captured or
// pinned: what a refresh moves it to.
func GatherLatest(ctx context.Context, vm *vmv1alpha1.VirtualMachine, r Reader) *Sources {
	s := Gather(ctx, vm, r)
	for _, role := range roles {
		g := s.of(role)
		g.latest, g.latestErr = findLatest(ctx, vm, role, r)
	}
	return s
}

// roles are both, in the order in which they are reported.
var roles = []Role{RoleInstancetype, RolePreference}

func (s *Sources) of(role Role) *gathered {
	if role == RolePreference {
		return &s.roles[1]
	}
	return &s.roles[0]
}

// Class returns the class that the virtual machine names, nil without one. The error
// is a *ClassError.
func (s *Sources) Class() (*vmv1alpha1.VirtualMachineClass, error) { return s.class, s.classErr }

// Find returns the instance type or preference that the virtual machine uses: the
// revision that its spec pins, else the one that its status names if that is of the
// same object, else the live object. It is nil when there is no such reference, or one
// that infers nothing under the policy Ignore. The error is a *RoleError.
func (s *Sources) Find(role Role) (*Found, error) { return s.of(role).found, s.of(role).err }

// Resolve returns what the virtual machine uses. All failures are joined, each a
// *ClassError or *RoleError; what was found is returned with them.
func (s *Sources) Resolve() (*Resolved, error) {
	it, pref := s.of(RoleInstancetype), s.of(RolePreference)
	return &Resolved{Class: s.class, Instancetype: it.found, Preference: pref.found},
		errors.Join(s.classErr, it.err, pref.err)
}

// ResolveLatest does the same with the live objects, for what GatherLatest read.
func (s *Sources) ResolveLatest() (*Resolved, error) {
	errs := []error{s.classErr}
	for _, role := range roles {
		if err := s.of(role).latestErr; err != nil {
			errs = append(errs, &RoleError{Role: role, Err: err})
		}
	}
	return &Resolved{Class: s.class, Instancetype: s.of(RoleInstancetype).latest, Preference: s.of(RolePreference).latest},
		errors.Join(errs...)
}
