// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

func TestParseKind(t *testing.T) {
	for _, tc := range []struct {
		role instancetype.Role
		in   string
		want instancetype.Kind
	}{
		{it, "", instancetype.KindClusterInstancetype},
		{it, "VirtualMachineInstancetype", instancetype.KindInstancetype},
		{it, "virtualMachineInstancetypes", instancetype.KindInstancetype},
		{it, "VIRTUALMACHINECLUSTERINSTANCETYPE", instancetype.KindClusterInstancetype},
		{it, "virtualmachineclusterinstancetypes", instancetype.KindClusterInstancetype},
		{pref, "", instancetype.KindClusterPreference},
		{pref, "VirtualMachinePreference", instancetype.KindPreference},
		{pref, "VirtualMachineClusterPreferences", instancetype.KindClusterPreference},
	} {
		if got, err := instancetype.ParseKind(tc.role, tc.in); err != nil || got != tc.want {
			t.Errorf("F6 F17 ParseKind(%s, %q) = %q, %v; want %q", tc.role, tc.in, got, err, tc.want)
		}
	}
	for role, want := range map[instancetype.Role]string{
		it:   "got unexpected kind in InstancetypeMatcher: VirtualMachineFoo",
		pref: "got unexpected kind in PreferenceMatcher: VirtualMachineFoo",
	} {
		_, err := instancetype.ParseKind(role, "VirtualMachineFoo")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("F2 F13 error %v, want one with %q", err, want)
		}
	}
	if _, err := instancetype.ParseKind(it, "VirtualMachinePreference"); err == nil {
		t.Error("a preference is accepted as an instance type")
	}
}

// The case numbers are those of instance types and of preferences.
func TestFind(t *testing.T) {
	for _, role := range []instancetype.Role{it, pref} {
		namespaced, cluster, spec := kinds(role)
		setup := func(t *testing.T) (*fakeReader, *instancetype.Object, *instancetype.Object) {
			w := newFakeReader()
			return w, w.add(t, namespaced, "small", "n-uid", 1, spec), w.add(t, cluster, "small", "c-uid", 1, spec)
		}
		for _, tc := range []struct {
			name, matcher string
			wantUID       string
			notFound      bool
		}{
			{"F3 F14 cluster kind", "name: small, kind: " + cluster.TypeName(), "c-uid", false},
			{"F4 F15 empty kind means cluster", "name: small", "c-uid", false},
			{"F5 F16 namespaced", "name: small, kind: " + namespaced.TypeName(), "n-uid", false},
			{"F6 F17 plural in capitals", "name: small, kind: " + strings.ToUpper(namespaced.Resource()), "n-uid", false},
			{"F8 F19 missing", "name: missing", "", true},
		} {
			t.Run(string(role)+" "+tc.name, func(t *testing.T) {
				w, _, _ := setup(t)
				found, err := find(vmOf(t, matched(role, tc.matcher)), role, w)
				if tc.notFound {
					if !apierrors.IsNotFound(err) || !instancetype.IsMissing(err) {
						t.Errorf("error %v, want NotFound", err)
					}
					return
				}
				if err != nil || string(found.Object.Meta.UID) != tc.wantUID || found.Revision != "" {
					t.Errorf("found %+v, %v; want the live object %s", found, err, tc.wantUID)
				}
			})
		}
		t.Run(string(role)+" F1 F12 no matcher", func(t *testing.T) {
			w, _, _ := setup(t)
			vm := vmOf(t, "{}")
			if found, err := find(vm, role, w); found != nil || err != nil {
				t.Errorf("found %v, %v; want nil", found, err)
			}
		})
		t.Run(string(role)+" F5 F16 an object in another namespace is not found", func(t *testing.T) {
			w := newFakeReader()
			w.addIn(t, "other", namespaced, "small", "o-uid", 1, spec)
			_, err := find(vmOf(t, matched(role, "name: small, kind: "+string(namespaced))), role, w)
			if !apierrors.IsNotFound(err) {
				t.Errorf("error %v, want NotFound", err)
			}
		})
		t.Run(string(role)+" F7 F18 a failed read does not mean that the object is missing", func(t *testing.T) {
			w, _, _ := setup(t)
			w.broken = errors.New("connection refused")
			_, err := find(vmOf(t, matched(role, "name: small")), role, w)
			if !errors.Is(err, w.broken) || instancetype.IsMissing(err) || instancetype.Reason(err) != vmv1alpha1.ReasonError {
				t.Errorf("error %v with reason %s, want the failure itself", err, instancetype.Reason(err))
			}
		})
	}
}

func TestFind_PrefersTheRevisionInStatus(t *testing.T) {
	for _, role := range []instancetype.Role{it, pref} {
		_, cluster, spec := kinds(role)
		t.Run(string(role)+" F9 F20 status ref instead of the live object", func(t *testing.T) {
			w := newFakeReader()
			vm := vmOf(t, matched(role, "name: small"))
			revision := w.pin(t, vm, w.add(t, cluster, "small", "uid", 1, spec))
			w.add(t, cluster, "small", "uid", 2, spec)
			found, err := find(vm, role, w)
			if err != nil || found.Revision != revision.Name || found.Object.Meta.Generation != 1 {
				t.Errorf("found %+v, %v; want revision %s", found, err, revision.Name)
			}
		})
		t.Run(string(role)+" F45 F9 another spelling of the kind", func(t *testing.T) {
			w := newFakeReader()
			vm := vmOf(t, matched(role, "name: small, kind: "+strings.ToUpper(cluster.Resource())))
			revision := w.pin(t, vm, w.add(t, cluster, "small", "uid", 1, spec))
			found, err := find(vm, role, w)
			if err != nil || found.Revision != revision.Name {
				t.Errorf("found %+v, %v; want revision %s", found, err, revision.Name)
			}
		})
		for _, field := range []string{"revisionName: %s", "controllerRevisionRef: {name: %s}"} {
			t.Run(string(role)+" F10 F21 the revision in spec takes precedence:  "+field, func(t *testing.T) {
				w := newFakeReader()
				vm := vmOf(t, "{}")
				pinned := w.store(t, vm, w.add(t, cluster, "small", "uid", 1, spec))
				w.pin(t, vm, w.add(t, cluster, "small", "uid", 2, spec))
				vm.Spec = vmOf(t, matched(role, "name: small, "+strings.ReplaceAll(field, "%s", pinned.Name))).Spec
				found, err := find(vm, role, w)
				if err != nil || found.Revision != pinned.Name || found.Object.Meta.Generation != 1 {
					t.Errorf("found %+v, %v; want revision %s", found, err, pinned.Name)
				}
			})
		}
	}
}

func TestFind_RejectsRevisionsOfOtherObjects(t *testing.T) {
	for _, role := range []instancetype.Role{it, pref} {
		namespaced, cluster, spec := kinds(role)
		t.Run(string(role)+" F11 F22 a status ref to another object is ignored", func(t *testing.T) {
			w := newFakeReader()
			vm := vmOf(t, matched(role, "name: big"))
			w.pin(t, vm, w.add(t, cluster, "small", "uid", 1, spec))
			w.add(t, cluster, "big", "big-uid", 1, spec)
			found, err := find(vm, role, w)
			if err != nil || found.Revision != "" || found.Object.Meta.Name != "big" {
				t.Errorf("found %+v, %v; want the live big", found, err)
			}
			// The result is the same if only the content of the revision belongs to another object.
			instancetype.StatusRef(vm, role).Name = "big"
			if found, err = find(vm, role, w); err != nil || found.Object.Meta.Name != "big" {
				t.Errorf("found %+v, %v; want the live big", found, err)
			}
		})
		t.Run(string(role)+" F23 F46 a revision of the same name but other scope is not used", func(t *testing.T) {
			w := newFakeReader()
			vm := vmOf(t, matched(role, "name: small, kind: "+namespaced.TypeName()))
			w.pin(t, vm, w.add(t, cluster, "small", "c-uid", 1, spec))
			w.add(t, namespaced, "small", "n-uid", 1, spec)
			found, err := find(vm, role, w)
			if err != nil || found.Revision != "" || found.Object.Meta.UID != "n-uid" {
				t.Errorf("found %+v, %v; want the live namespaced object", found, err)
			}
		})
		t.Run(string(role)+" F49 a revision in spec that does not exist or does not match is an error", func(t *testing.T) {
			w := newFakeReader()
			w.add(t, cluster, "small", "uid", 1, spec)
			vm := vmOf(t, matched(role, "name: small, revisionName: nowhere"))
			if _, err := find(vm, role, w); !apierrors.IsNotFound(err) {
				t.Errorf("error %v, want NotFound", err)
			}
			other := w.store(t, vm, w.add(t, cluster, "big", "big-uid", 1, spec))
			vm = vmOf(t, matched(role, "name: small, revisionName: "+other.Name))
			_, err := find(vm, role, w)
			if instancetype.Reason(err) != vmv1alpha1.ReasonInvalid || !strings.Contains(err.Error(), `"big"`) {
				t.Errorf("error %v, want an error with the content of the revision", err)
			}
		})
		t.Run(string(role)+" a lost revision is not replaced by a newer generation", func(t *testing.T) {
			w := newFakeReader()
			vm := vmOf(t, matched(role, "name: small"))
			revision := w.pin(t, vm, w.add(t, cluster, "small", "uid", 1, spec))
			delete(w.revisions, "default/"+revision.Name)
			if found, err := find(vm, role, w); !apierrors.IsNotFound(err) {
				t.Errorf("found %+v, %v; want NotFound", found, err)
			}
		})
	}
}

func TestResolve_ReportsEveryMissingReference(t *testing.T) {
	vm := vmOf(t, "{className: c, instancetype: {name: a}, preference: {name: b}}")
	_, err := resolve(vm, newFakeReader())
	for _, want := range []string{"class", "instance type", "preference"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("F54 error %v, want one with %q", err, want)
		}
	}
	if !instancetype.IsMissing(err) {
		t.Errorf("IsMissing(%v) is false", err)
	}
	vm = vmOf(t, "{instancetype: {name: a}, preference: {name: b, kind: Foo}}")
	if _, err = resolve(vm, newFakeReader()); instancetype.IsMissing(err) {
		t.Errorf("F53 an invalid kind counts as missing: %v", err)
	}
}

func TestEffective_HasNoSourceWithoutReferences(t *testing.T) {
	inline, err := effectiveSpec(vmOf(t, "{cpu: {sockets: 1}, memory: {guest: 1Gi}}"), newFakeReader())
	if err != nil || inline.Instancetype != nil || inline.Preference != nil || inline.Annotations != nil {
		t.Errorf("F141 sources %+v, %+v and annotations %v (%v), want none", inline.Instancetype, inline.Preference, inline.Annotations, err)
	}
}

func TestLostError_DescribesTheRepair(t *testing.T) {
	for _, role := range []instancetype.Role{it, pref} {
		_, cluster, spec := kinds(role)
		w := newFakeReader()
		vm := vmOf(t, matched(role, "name: small"))
		revision := w.pin(t, vm, w.add(t, cluster, "small", "uid", 1, spec))
		delete(w.revisions, "default/"+revision.Name)
		_, err := find(vm, role, w)
		if want := "virtctl -n default refresh " + string(role) + " vm"; err == nil || !strings.Contains(err.Error(), want) || !instancetype.IsMissing(err) {
			t.Errorf("%s: error %v, want IsMissing and %q", role, err, want)
		}
		revision.Data.Raw = []byte("{")
		w.revisions["default/"+revision.Name] = revision
		if _, err := find(vm, role, w); err == nil || !strings.Contains(err.Error(), "virtctl") || instancetype.Reason(err) != vmv1alpha1.ReasonInvalid {
			t.Errorf("%s: error %v with reason %s, want Invalid and the repair", role, err, instancetype.Reason(err))
		}
	}
}
