// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Capture describes how to record in status what a virtual machine uses.
type Capture struct {
	// Ref is the reference for status.
	Ref *vmv1alpha1.InstancetypeRef
	// Create is the revision to create before Ref is written; nil if it exists.
	Create *itv1alpha1.ControllerRevision
}

// Capture returns how to record in status what Find returns for role; nil if there is nothing to record. The sources
// must be from GatherForCapture.
func (s *Sources) Capture(vm *vmv1alpha1.VirtualMachine, role Role) (*Capture, error) {
	m, found := matcher(&vm.Spec, role), s.forRole(role).found
	if m == nil || found == nil {
		return nil, nil
	}
	out := &Capture{}
	name := found.Revision
	// The oldest format has no UID, so that the name of a new revision cannot be determined.
	if name == "" || (found.needsUpgrade && found.Object.Meta.UID != "") {
		revision, err := NewRevision(vm.Namespace, found.Object)
		if err != nil {
			return nil, err
		}
		out.Create, name = revision, revision.Name
	}
	out.Ref = &vmv1alpha1.InstancetypeRef{
		Name:                         found.Object.Meta.Name,
		Kind:                         string(found.Object.Kind),
		ControllerRevisionRef:        &vmv1alpha1.ControllerRevisionRef{Name: name},
		SourceUID:                    string(found.Object.Meta.UID),
		SourceGeneration:             found.Object.Meta.Generation,
		InferFromVolume:              m.InferFromVolume,
		InferFromVolumeFailurePolicy: copyPolicy(m.InferFromVolumeFailurePolicy),
	}
	s.forRole(role).setDrift(out.Ref, StatusRef(vm, role))
	return out, nil
}

// setDrift compares the object in use with the live object. If the live object could not be read, the fields of old are
// kept.
func (g *roleSources) setDrift(ref, old *vmv1alpha1.InstancetypeRef) {
	switch {
	case g.liveErr == nil:
		ref.LatestGeneration = g.live.Meta.Generation
		ref.Outdated = string(g.live.Meta.UID) != ref.SourceUID || g.live.Meta.Generation != ref.SourceGeneration
	case apierrors.IsNotFound(g.liveErr):
		ref.LatestGeneration, ref.Outdated = 0, false
	case old != nil:
		ref.LatestGeneration, ref.Outdated = old.LatestGeneration, old.Outdated
	}
}

func copyPolicy(in *vmv1alpha1.InferFromVolumeFailurePolicy) *vmv1alpha1.InferFromVolumeFailurePolicy {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}
