// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Reader reads the objects that virtual machines refer to. Every method returns an error for which apierrors.IsNotFound
// is true if and only if the object is known not to exist. Results must not be changed. A revision that was just
// created must be visible, so an implementation with a cache must fall back to the API.
type Reader interface {
	// Source returns a live instance type or preference for a virtual machine in namespace.
	Source(ctx context.Context, kind Kind, namespace, name string) (*Object, error)
	// Revision returns a decoded ControllerRevision.
	Revision(ctx context.Context, namespace, name string) (*DecodedRevision, error)
	// Class returns a class.
	Class(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineClass, error)
	// Image returns an image for a virtual machine in namespace. Only its labels are used.
	Image(ctx context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error)
	// PersistentVolumeClaim returns a claim. Only its labels and dataSourceRef are used.
	PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
}

// Sources has the objects that one virtual machine refers to, as read at one time, and the errors of failed reads. It
// is immutable, and its methods do not read from the API.
type Sources struct {
	class    *vmv1alpha1.VirtualMachineClass
	classErr error
	roles    [2]roleSources
}

// roleSources is the result for one reference.
type roleSources struct {
	// found is the object in use. It is nil if there is no such reference, if nothing is inferred, or if err is set.
	// err is a *RoleError.
	found *ResolvedObject
	err   error
	// live is the live object of found. It is set only by GatherForCapture.
	live    *Object
	liveErr error
	// latest is the object that a refresh would use. It is set only by GatherForRefresh.
	latest    *ResolvedObject
	latestErr error
}

// Gather reads the objects that vm refers to. Errors are stored, and are returned only by methods that need the failed
// object.
func Gather(ctx context.Context, vm *vmv1alpha1.VirtualMachine, r Reader) *Sources {
	s := &Sources{}
	if name := vm.Spec.ClassName; name != "" {
		var err error
		if s.class, err = r.Class(ctx, vm.Namespace, name); err != nil {
			s.class, s.classErr = nil, &ClassError{Name: name, Err: err}
		}
	}
	for _, role := range roles {
		g := s.forRole(role)
		var err error
		if g.found, err = find(ctx, vm, role, r); err != nil {
			g.found, g.err = nil, &RoleError{Role: role, Err: err}
		}
	}
	return s
}

// GatherForCapture is like Gather and also reads the live objects, with which Capture compares the objects in use.
func GatherForCapture(ctx context.Context, vm *vmv1alpha1.VirtualMachine, r Reader) *Sources {
	s := Gather(ctx, vm, r)
	for _, role := range roles {
		g := s.forRole(role)
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

// GatherForRefresh is like Gather and also reads the live objects that a refresh would use, regardless of revisions in spec
// and status.
func GatherForRefresh(ctx context.Context, vm *vmv1alpha1.VirtualMachine, r Reader) *Sources {
	s := Gather(ctx, vm, r)
	for _, role := range roles {
		g := s.forRole(role)
		g.latest, g.latestErr = findLatest(ctx, vm, role, r)
	}
	return s
}

// roles are the two roles, in the order in which they are reported.
var roles = []Role{RoleInstancetype, RolePreference}

func (s *Sources) forRole(role Role) *roleSources {
	if role == RolePreference {
		return &s.roles[1]
	}
	return &s.roles[0]
}

// Class returns the class of the virtual machine, or nil if it has none. The error is a *ClassError.
func (s *Sources) Class() (*vmv1alpha1.VirtualMachineClass, error) { return s.class, s.classErr }

// Find returns the instance type or preference that the virtual machine uses: the revision in its spec, or the revision
// in its status if that belongs to the same object, or the live object. It returns nil if there is no such reference,
// or if nothing can be inferred under the policy Ignore. The error is a *RoleError.
func (s *Sources) Find(role Role) (*ResolvedObject, error) {
	return s.forRole(role).found, s.forRole(role).err
}

// Resolve returns the objects that the virtual machine uses. Errors are joined; each is a *ClassError or a *RoleError.
// The other objects are returned with the error.
func (s *Sources) Resolve() (*Resolved, error) {
	it, pref := s.forRole(RoleInstancetype), s.forRole(RolePreference)
	return &Resolved{Class: s.class, Instancetype: it.found, Preference: pref.found},
		errors.Join(s.classErr, it.err, pref.err)
}

// ResolveLatest is like Resolve for the objects that GatherForRefresh has read.
func (s *Sources) ResolveLatest() (*Resolved, error) {
	errs := []error{s.classErr}
	for _, role := range roles {
		if err := s.forRole(role).latestErr; err != nil {
			errs = append(errs, &RoleError{Role: role, Err: err})
		}
	}
	return &Resolved{Class: s.class, Instancetype: s.forRole(RoleInstancetype).latest, Preference: s.forRole(RolePreference).latest},
		errors.Join(errs...)
}
