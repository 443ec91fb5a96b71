// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

func (w *fakeReader) image(name string, labels map[string]string) {
	image := &vmv1alpha1.VirtualMachineImage{}
	image.Name, image.Labels = name, labels
	w.images["default/"+name] = image
}

func (w *fakeReader) claim(name, fromImage string, labels map[string]string) {
	claim := &corev1.PersistentVolumeClaim{}
	claim.Name, claim.Labels = name, labels
	if fromImage != "" {
		group := vmv1alpha1.GroupName
		claim.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: &group, Kind: "VirtualMachineImage", Name: fromImage}
	}
	w.claims["default/"+name] = claim
}

// clusterImage adds a cluster image, from which the claim was also created.
func (w *fakeReader) clusterImage(name string, labels map[string]string) {
	w.image(name, labels)
	w.images["/"+name] = w.images["default/"+name]
	delete(w.images, "default/"+name)
	w.claim("pvc", name, nil)
	w.claims["default/pvc"].Spec.DataSourceRef.Kind = "ClusterVirtualMachineImage"
}

// labelsFor returns the labels that refer to small, which is namespaced if requested.
func labelsFor(role instancetype.Role, namespaced bool) map[string]string {
	kind, _, _ := kinds(role)
	name, kindLabel := vmv1alpha1.LabelDefaultInstancetype, vmv1alpha1.LabelDefaultInstancetypeKind
	if role == pref {
		name, kindLabel = vmv1alpha1.LabelDefaultPreference, vmv1alpha1.LabelDefaultPreferenceKind
	}
	labels := map[string]string{name: "small"}
	if namespaced {
		labels[kindLabel] = kind.TypeName()
	}
	return labels
}

const volumes = `, image: {name: boot}, volumes: [{name: data, persistentVolumeClaim: {claimName: pvc}}, {name: scratch, disk: {size: 1Gi}}]}`

func inferring(t *testing.T, role instancetype.Role, matcher string) *vmv1alpha1.VirtualMachine {
	t.Helper()
	spec := matched(role, matcher)
	return vmOf(t, spec[:len(spec)-1]+volumes)
}

func TestInfer_UsesTheLabelsOfTheVolume(t *testing.T) {
	for _, role := range []instancetype.Role{it, pref} {
		namespaced, cluster, spec := kinds(role)
		for _, tc := range []struct {
			name, volume string
			setup        func(*fakeReader)
			want         instancetype.Kind
		}{
			{"F125 labels of the claim", "data", func(w *fakeReader) { w.claim("pvc", "", labelsFor(role, false)) }, cluster},
			{"F125 with kind", "data", func(w *fakeReader) { w.claim("pvc", "", labelsFor(role, true)) }, namespaced},
			{"F125 labels of the image of the claim", "data", func(w *fakeReader) {
				w.claim("pvc", "base", nil)
				w.image("base", labelsFor(role, true))
			}, namespaced},
			{"F125 the claim's own labels win over its image's", "data", func(w *fakeReader) {
				w.claim("pvc", "base", labelsFor(role, false))
				w.image("base", labelsFor(role, true))
			}, cluster},
			{"labels of the cluster image of the claim", "data", func(w *fakeReader) { w.clusterImage("base", labelsFor(role, true)) }, namespaced},
			{"F125 labels of the boot image", "image", func(w *fakeReader) { w.image("boot", labelsFor(role, false)) }, cluster},
		} {
			t.Run(string(role)+" "+tc.name, func(t *testing.T) {
				w := newFakeReader()
				w.add(t, namespaced, "small", "n", 1, spec)
				w.add(t, cluster, "small", "c", 1, spec)
				tc.setup(w)
				found, err := find(inferring(t, role, "inferFromVolume: "+tc.volume), role, w)
				if err != nil || found.Object.Kind != tc.want {
					t.Errorf("found %+v, %v; want a %s", found, err, tc.want)
				}
			})
		}
	}
}

func TestInfer_PrefersANameToAVolume(t *testing.T) {
	for _, role := range []instancetype.Role{it, pref} {
		namespaced, cluster, spec := kinds(role)
		w := newFakeReader()
		w.add(t, cluster, "named", "c", 1, spec)
		w.add(t, namespaced, "small", "n", 1, spec)
		w.image("boot", labelsFor(role, true))
		if found, err := find(inferring(t, role, "name: named, inferFromVolume: image"), role, w); err != nil || found.Object.Kind != cluster {
			t.Errorf("%s: found %+v, %v; want the named %s", role, found, err, cluster)
		}
	}
}

func TestInfer_UsesAClusterImageAsBootImage(t *testing.T) {
	for _, role := range []instancetype.Role{it, pref} {
		namespaced, _, spec := kinds(role)
		w := newFakeReader()
		w.add(t, namespaced, "small", "n", 1, spec)
		w.clusterImage("boot", labelsFor(role, true))
		vm := inferring(t, role, "inferFromVolume: image")
		if _, err := find(vm, role, w); !apierrors.IsNotFound(err) {
			t.Errorf("%s: error %v, want NotFound, because the namespace has no such image", role, err)
		}
		vm.Spec.Image.Kind = vmv1alpha1.ClusterImageKind
		if found, err := find(vm, role, w); err != nil || found.Object.Kind != namespaced {
			t.Errorf("%s: found %+v, %v; want a %s", role, found, err, namespaced)
		}
	}
}

func TestInfer_Failures(t *testing.T) {
	const ignore, reject = ", inferFromVolumeFailurePolicy: Ignore", ", inferFromVolumeFailurePolicy: Reject"
	noLabels := func(w *fakeReader) { w.claim("pvc", "", nil); w.image("boot", nil) }
	for _, role := range []instancetype.Role{it, pref} {
		for _, tc := range []struct {
			name, matcher string
			setup         func(*fakeReader)
			ignored       bool
			notFound      bool
		}{
			{"F126 unknown volume", "inferFromVolume: nope" + reject, noLabels, false, false},
			{"F126 unknown volume under Ignore", "inferFromVolume: nope" + ignore, noLabels, false, false},
			{"F126 missing claim under Ignore", "inferFromVolume: data" + ignore, func(*fakeReader) {}, false, true},
			{"F126 missing image of the claim under Ignore", "inferFromVolume: data" + ignore, func(w *fakeReader) { w.claim("pvc", "gone", nil) }, false, true},
			{"F126 missing boot image", "inferFromVolume: image", func(*fakeReader) {}, false, true},
			{"F127 no label, default policy", "inferFromVolume: data", noLabels, false, false},
			{"F127 no label under Reject", "inferFromVolume: data" + reject, noLabels, false, false},
			{"F127 no label under Ignore", "inferFromVolume: data" + ignore, noLabels, true, false},
			{"F127 no label on the boot image under Ignore", "inferFromVolume: image" + ignore, noLabels, true, false},
			{"F127 unsupported type of volume", "inferFromVolume: scratch", noLabels, false, false},
			{"F127 unsupported type of volume under Ignore", "inferFromVolume: scratch" + ignore, noLabels, true, false},
		} {
			t.Run(string(role)+" "+tc.name, func(t *testing.T) {
				w := newFakeReader()
				tc.setup(w)
				found, err := find(inferring(t, role, tc.matcher), role, w)
				if tc.ignored {
					if found != nil || err != nil {
						t.Errorf("found %v, %v; want nil", found, err)
					}
					return
				}
				var failed *instancetype.InferError
				if !errors.As(err, &failed) || apierrors.IsNotFound(err) != tc.notFound {
					t.Errorf("error %v, want an *InferError, NotFound %t", err, tc.notFound)
				}
			})
		}
	}
}

func TestInfer_KeepsTheResultUntilARefresh(t *testing.T) {
	for _, role := range []instancetype.Role{it, pref} {
		_, cluster, spec := kinds(role)
		w := newFakeReader()
		small := w.add(t, cluster, "small", "uid", 1, spec)
		w.image("boot", labelsFor(role, false))
		vm := inferring(t, role, "inferFromVolume: image")
		before := vm.Spec.DeepCopy()
		if _, err := find(vm, role, w); err != nil {
			t.Fatal(err)
		}
		ref, create, err := capture(vm, role, w)
		if err != nil || create == nil || ref.Name != "small" || ref.Kind != string(cluster) || ref.InferFromVolume != "image" {
			t.Fatalf("F129 %s: reference %+v with revision %v, %v", role, ref, create, err)
		}
		if !equalSpecs(before, &vm.Spec) {
			t.Errorf("F129 %s: spec was changed", role)
		}
		w.pin(t, vm, small)
		instancetype.SetStatusRef(vm, role, ref)

		// The image now refers to another object. Nothing changes until a refresh.
		labels := labelsFor(role, false)
		for key := range labels {
			labels[key] = "big"
		}
		w.image("boot", labels)
		w.add(t, cluster, "big", "big-uid", 1, spec)
		found, err := find(vm, role, w)
		if err != nil || found.Revision != create.Name {
			t.Errorf("F129 %s: found %+v, %v; want revision %s", role, found, err, create.Name)
		}
		plan, err := planRefresh(vm, role, nil, w)
		if err != nil || !plan.Result.Changed || plan.Result.SourceName != "big" {
			t.Fatalf("F130 %s: refresh %+v, %v; want a change to big", role, plan, err)
		}
		if found, err = find(plan.VM, role, w); err != nil || found.Object.Meta.Name != "big" {
			t.Errorf("F130 %s: found %+v, %v; want big", role, found, err)
		}
	}
}

// A virtual machine for which nothing was inferred does not change if a label is added later.
func TestInfer_KeepsAnEmptyResultUntilARefresh(t *testing.T) {
	for _, role := range []instancetype.Role{it, pref} {
		w := newFakeReader()
		_, cluster, spec := kinds(role)
		w.add(t, cluster, "small", "uid", 1, spec)
		w.image("boot", nil)
		vm := vmOf(t, "{image: {name: boot}, cpu: {sockets: 1}, memory: {guest: 1Gi}, "+
			string(role)+": {inferFromVolume: image, inferFromVolumeFailurePolicy: Ignore}}")
		if found, err := find(vm, role, w); found != nil || err != nil {
			t.Fatalf("%s: found %+v, %v; want nil", role, found, err)
		}
		instancetype.SetStatusRef(vm, role, instancetype.EmptyInferredRef(vm, role))
		w.image("boot", labelsFor(role, false))
		if found, err := find(vm, role, w); found != nil || err != nil {
			t.Errorf("F127 %s: with the new label found %+v, %v; want nil before a refresh", role, found, err)
		}
		plan, err := planRefresh(vm, role, nil, w)
		if err != nil || !plan.Result.Changed || instancetype.StatusRef(plan.VM, role) != nil {
			t.Fatalf("F130 %s: refresh %+v, %v; want a change that clears the empty result", role, plan, err)
		}
		if found, err := find(plan.VM, role, w); err != nil || found == nil || found.Object.Meta.Name != "small" {
			t.Errorf("F130 %s: found %+v, %v after the refresh", role, found, err)
		}
		vm.Spec.Image.Name = "other"
		if role == it {
			vm.Spec.Instancetype.InferFromVolume = "data"
		} else {
			vm.Spec.Preference.InferFromVolume = "data"
		}
		if _, err := find(vm, role, w); err == nil {
			t.Errorf("%s: the new volume was not used", role)
		}
	}
}

func TestCompute_IgnoresTheFallbackSizeIfAnInstancetypeIsInferred(t *testing.T) {
	const fallback = "cpu: {sockets: 1}, memory: {guest: 1Gi}"
	for _, tc := range []struct {
		name, policy string
		labelled     bool
		want         int32 // 0: rejected
	}{
		{"F128 inferred: the fallback is not used", "Ignore", true, 2},
		{"F127 F128 not inferred: the fallback is the size", "Ignore", false, 1},
		{"F128 under Reject an inline size conflicts", "Reject", true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFakeReader()
			w.add(t, instancetype.KindClusterInstancetype, "small", "uid", 1, size(2))
			w.image("boot", nil)
			if tc.labelled {
				w.image("boot", labelsFor(it, false))
			}
			vm := vmOf(t, "{image: {name: boot}, instancetype: {inferFromVolume: image, inferFromVolumeFailurePolicy: "+tc.policy+"}, "+fallback+"}")
			spec, err := effectiveSpec(vm, w)
			if tc.want == 0 {
				if instancetype.Reason(err) != vmv1alpha1.ReasonConflict {
					t.Errorf("error %v, want a conflict", err)
				}
				return
			}
			if err != nil || spec.CPU.Sockets != tc.want {
				t.Errorf("%+v, %v; want %d sockets", spec, err, tc.want)
			}
			if vm.Spec.CPU.Sockets != 1 || vm.Spec.Memory.Guest == nil {
				t.Error("F60 the fallback size was removed from the spec")
			}
		})
	}
}
