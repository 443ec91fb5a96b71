// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// check returns a check with the privileged user "operator" and the Cluster API manager "capi".
func check(t *testing.T) *Admission {
	t.Helper()
	return New(func(who user.Info) bool { return who.GetName() == "operator" },
		authorizer.AuthorizerFunc(func(_ context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
			if asked.GetVerb() != "update" || asked.GetAPIGroup() != clusterAPI || asked.GetResource() != "machines" || asked.GetSubresource() != "status" || asked.GetNamespace() != "ns" {
				t.Errorf("unexpected authorization request %+v", asked)
			}
			switch asked.GetUser().GetName() {
			case "capi":
				return authorizer.DecisionAllow, "", nil
			case "unknown":
				return authorizer.DecisionNoOpinion, "", errors.New("the management cluster does not answer")
			}
			return authorizer.DecisionNoOpinion, "no rule", nil
		}))
}

// update passes an update through the check as the server does, and returns the resulting metadata.
func update(t *testing.T, who string, updated, stored runtime.Object) (metav1.Object, error) {
	t.Helper()
	a := check(t)
	updated = updated.DeepCopyObject()
	request := admission.NewAttributesRecord(updated, stored, schema.GroupVersionKind{}, "ns", "o", schema.GroupVersionResource{}, "", admission.Update, nil, false, &user.DefaultInfo{Name: who})
	if err := a.Admit(t.Context(), request, nil); err != nil {
		return nil, err
	}
	o, err := meta.Accessor(updated)
	if err != nil {
		o = nil
	}
	return o, a.Validate(t.Context(), request, nil)
}

// finalized returns one object of each kind that has a finalizer.
func finalized() map[string]metav1.Object {
	return map[string]metav1.Object{
		vmv1alpha1.VirtualMachineFinalizer: &vmv1alpha1.VirtualMachine{}, vmv1alpha1.SnapshotFinalizer: &vmv1alpha1.VirtualMachineSnapshot{},
		vmv1alpha1.PublishRequestFinalizer: &vmv1alpha1.VirtualMachinePublishRequest{}, vmv1alpha1.ImageCacheFinalizer: &vmv1alpha1.VirtualMachineImageCache{},
		vmv1alpha1.ContentLibraryFinalizer: &vmv1alpha1.ContentLibrary{}, vmv1alpha1.VCenterFinalizer: &vmv1alpha1.VCenter{}, vmv1alpha1.ZoneFinalizer: &vmv1alpha1.Zone{},
		clusterv1alpha1.MachineFinalizer: &clusterv1alpha1.Machine{}, clusterv1alpha1.ClusterFinalizer: &clusterv1alpha1.Cluster{},
	}
}

func TestOwnership_KeepsTheFinalizerOfEveryKind(t *testing.T) {
	t.Parallel()
	const other = "example.com/other"
	for own, object := range finalized() {
		of := func(deleting bool, finalizers ...string) runtime.Object {
			o := object.(runtime.Object).DeepCopyObject()
			m := o.(metav1.Object)
			m.SetFinalizers(finalizers)
			if deleting {
				m.SetDeletionTimestamp(&metav1.Time{})
			}
			return o
		}
		for name, tc := range map[string]struct {
			updated, stored runtime.Object
			refused         bool
			want            []string
		}{
			"omitted":                 {of(false), of(false, own), false, []string{own}},
			"replaced by another":     {of(false, other), of(false, own), false, []string{other, own}},
			"unchanged":               {of(false, own), of(false, own), false, []string{own}},
			"another one removed":     {of(false, own), of(false, other, own), false, []string{own}},
			"not present before":      {of(false), of(false, other), false, nil},
			"removed while deleting":  {of(true), of(true, own), true, nil},
			"replaced while deleting": {of(true, other), of(true, own), true, nil},
			"body of a subresource":   {&vmv1alpha1.PowerOptions{}, of(false, own), false, nil},
		} {
			t.Run(own+"/"+name, func(t *testing.T) {
				if _, err := update(t, "operator", tc.updated, tc.stored); err != nil {
					t.Errorf("as a privileged user: %v", err)
				}
				got, err := update(t, "alice", tc.updated, tc.stored)
				if tc.refused != apierrors.IsForbidden(err) || tc.refused && !strings.Contains(err.Error(), own) {
					t.Fatalf("as an ordinary user: %v, want Forbidden that names the finalizer: %t", err, tc.refused)
				}
				if got != nil && !tc.refused {
					if diff := cmp.Diff(tc.want, got.GetFinalizers()); diff != "" {
						t.Errorf("finalizers (-want +got):\n%s", diff)
					}
				}
			})
		}
	}
}

// This test fails if a finalizer of the API is missing in finalizerOf.
func TestOwnership_KnowsEveryFinalizerOfTheAPI(t *testing.T) {
	t.Parallel()
	elsewhere := []string{vmv1alpha1.ClaimFinalizer} // set on claims in the management cluster
	files, err := filepath.Glob("../../../apis/*/v1alpha1/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	declared := regexp.MustCompile(`\w+Finalizer += "(.*)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			object, ok := finalized()[m[1]]
			if m[1] != elsewhere[0] && (!ok || finalizerOf(object.(runtime.Object)) != m[1]) {
				t.Errorf("the finalizer %s is not protected", m[1])
			}
		}
	}
}

func TestOwnership_KeepsOwnersThatControllersDependOn(t *testing.T) {
	t.Parallel()
	owner := func(apiVersion, kind, uid string, controller bool) metav1.OwnerReference {
		r := metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "web", UID: "1"}
		if uid != "" {
			r.UID = "2"
		}
		if controller {
			r.Controller = &controller
		}
		return r
	}
	var (
		ours      = owner("vm.slipway.dev/v1alpha1", "VirtualMachine", "", false)
		forged    = owner("vm.slipway.dev/v1alpha1", "VirtualMachine", "2", false)
		set       = owner("cluster.slipway.dev/v1alpha1", "MachineSet", "", true)
		demoted   = owner("cluster.slipway.dev/v1alpha1", "MachineSet", "", false)
		capi      = owner("cluster.x-k8s.io/v1beta2", "Machine", "", true)
		oldCAPI   = owner("cluster.x-k8s.io/v1beta1", "Machine", "", true)
		plane     = owner("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", "", true)
		configMap = owner("v1", "ConfigMap", "", false)
	)
	type refs = []metav1.OwnerReference
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	for name, tc := range map[string]struct {
		updated, stored refs
		want            map[string]refs // by user; nil means Forbidden
	}{
		"forged":                          {refs{forged}, refs{ours}, map[string]refs{"alice": nil, "capi": nil, "operator": {forged}, collector: {forged}}},
		"omitted":                         {nil, refs{ours}, map[string]refs{"alice": {ours}, "capi": {ours}, "operator": nil, collector: nil}},
		"omitted with an unrelated owner": {refs{configMap}, refs{ours}, map[string]refs{"alice": {configMap, ours}}},
		"one of two":                      {refs{ours}, refs{ours, set}, map[string]refs{"alice": nil, collector: {ours}}},
		"added":                           {refs{ours}, nil, map[string]refs{"alice": nil, "operator": {ours}}},
		"demoted":                         {refs{demoted}, refs{set}, map[string]refs{"alice": nil}},
		"unchanged":                       {refs{ours, set}, refs{set, ours}, map[string]refs{"alice": {ours, set}}},
		"unrelated owner removed":         {refs{ours}, refs{ours, configMap}, map[string]refs{"alice": {ours}}},
		"adopted by Cluster API":          {refs{capi}, nil, map[string]refs{"alice": nil, "capi": {capi}, "unknown": nil}},
		"handed over by a control plane":  {refs{capi}, refs{plane}, map[string]refs{"alice": nil, "capi": {capi}}},
		"released by Cluster API":         {nil, refs{capi}, map[string]refs{"alice": {capi}, "unknown": {capi}}},
		"a newer version":                 {refs{capi}, refs{oldCAPI}, map[string]refs{"alice": {capi}}},
		"Cluster API and a Slipway owner": {refs{capi, forged}, refs{ours}, map[string]refs{"capi": nil}},
		"no owner before and after":       {nil, nil, map[string]refs{"alice": {}}},
	} {
		for who, want := range tc.want {
			t.Run(name+"/"+who, func(t *testing.T) {
				of := func(owners refs) runtime.Object {
					return &vmv1alpha1.VirtualMachineClass{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owners}}
				}
				got, err := update(t, who, of(tc.updated), of(tc.stored))
				free := tc.updated == nil && (who == "operator" || who == collector)
				if want == nil && !free {
					if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "metadata.ownerReferences") {
						t.Errorf("error %v, want Forbidden that names the owner", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(append(refs{}, want...), append(refs{}, got.GetOwnerReferences()...)); diff != "" {
					t.Errorf("owners (-want +got):\n%s", diff)
				}
			})
		}
	}
}
