// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vmrecord

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Text returns the encoded record of vm with its pinned revisions and groups. If the groups are not known, those in
// before, the existing record, are used. The error is ErrTooLarge if the record is too large. It is another error if a
// pinned revision is not in revisions.
func Text(vm *vmv1alpha1.VirtualMachine, revisions []*itv1alpha1.ControllerRevision, groups Groups, before string) (string, error) {
	for _, name := range RevisionNames(vm) {
		if !slices.ContainsFunc(revisions, func(r *itv1alpha1.ControllerRevision) bool { return r.Name == name }) {
			return "", fmt.Errorf("ControllerRevision %q of the virtual machine cannot be read", name)
		}
	}
	out := Of(vm, revisions...)
	out.Groups = groups.Kept
	if !groups.Known {
		if old, err := Decode(before); err == nil && old.UID == vm.UID {
			out.Groups = old.Groups
		}
	}
	return out.Encode()
}

// recordedKeys returns the labels or annotations that are part of a record.
func recordedKeys(m map[string]string) map[string]string {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(key, _ string) bool { return !isRecorded(key) })
	return out
}

// Describes reports whether r has the same content as vm, regardless of their generations.
func (r *Record) Describes(vm *vmv1alpha1.VirtualMachine) bool {
	return r.UID == vm.UID && equality.Semantic.DeepEqual(r.Spec, vm.Spec) &&
		equalRecordedKeys(r.Labels, vm.Labels) && equalRecordedKeys(r.Annotations, vm.Annotations) &&
		r.HasPinnedRevisions(vm)
}

// HasPinnedRevisions reports whether r has the revisions that vm has pinned.
func (r *Record) HasPinnedRevisions(vm *vmv1alpha1.VirtualMachine) bool {
	return slices.Equal(RevisionNames(r.pinnedRefs()), RevisionNames(vm))
}

func equalRecordedKeys(a, b map[string]string) bool {
	return maps.Equal(recordedKeys(a), recordedKeys(b))
}

func (r *Record) pinnedRefs() *vmv1alpha1.VirtualMachine {
	out := &vmv1alpha1.VirtualMachine{}
	out.Status.InstancetypeRef, out.Status.PreferenceRef = r.InstancetypeRef, r.PreferenceRef
	return out
}

// Object returns the object to create when the original is lost. It has annotation vmv1alpha1.AnnotationRecovered, so
// that the UID and the generation are preserved. Status contains the fields that cannot be derived from vSphere.
func (r *Record) Object() *vmv1alpha1.VirtualMachine {
	out := r.pinnedRefs().DeepCopy()
	out.Namespace, out.Name, out.Generation = r.Namespace, r.Name, r.Generation
	r.Restore(out)
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, vmv1alpha1.AnnotationRecovered, string(r.UID))
	out.Status.Zone = r.Zone
	if out.Status.Zone == "" {
		out.Status.Zone = vmv1alpha1.DefaultZone
	}
	return out
}

// Restore sets the spec, labels and annotations of vm from r. Labels and annotations that are not part of a record are
// kept.
func (r *Record) Restore(vm *vmv1alpha1.VirtualMachine) {
	vm.Spec = *r.Spec.DeepCopy()
	vm.Labels, vm.Annotations = restoreKeys(vm.Labels, r.Labels), restoreKeys(vm.Annotations, r.Annotations)
}

func restoreKeys(have, recorded map[string]string) map[string]string {
	out := maps.Clone(recorded)
	for key, value := range have {
		if isRecorded(key) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}
