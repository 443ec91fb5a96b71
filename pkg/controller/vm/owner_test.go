// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/owner"
)

func ownerOwnedBy(apiVersion, kind string, controls bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "m", UID: "uid-m", Controller: &controls}
}

func TestReferenceOf_ReturnsTheControllingOrAFutureMachine(t *testing.T) {
	own, theirs := clusterv1alpha1.SchemeGroupVersion.String(), "cluster.x-k8s.io/v1beta2"
	for name, tc := range map[string]struct {
		owners []metav1.OwnerReference
		label  string
		want   *owner.MachineReference
	}{
		"no owner":                           {},
		"of a Machine of Cluster API":        {[]metav1.OwnerReference{ownerOwnedBy(theirs, "Machine", true)}, "", &owner.MachineReference{Group: "cluster.x-k8s.io", Name: "m", UID: "uid-m"}},
		"of a Machine of Slipway":            {[]metav1.OwnerReference{ownerOwnedBy(own, "Machine", true)}, "c", &owner.MachineReference{Group: "cluster.slipway.dev", Name: "m", UID: "uid-m", Cluster: "c"}},
		"behind another owner":               {[]metav1.OwnerReference{ownerOwnedBy(theirs, "MachineSet", false), ownerOwnedBy(theirs, "Machine", true)}, "", &owner.MachineReference{Group: "cluster.x-k8s.io", Name: "m", UID: "uid-m"}},
		"of a Machine of another API":        {[]metav1.OwnerReference{ownerOwnedBy("example.org/v1", "Machine", true)}, "", nil},
		"a Machine that does not own it":     {[]metav1.OwnerReference{ownerOwnedBy(theirs, "Machine", false)}, "", nil},
		"created by a MachineSet":            {[]metav1.OwnerReference{ownerOwnedBy(theirs, "MachineSet", false)}, "c", &owner.MachineReference{Group: "cluster.x-k8s.io", Cluster: "c"}},
		"created by a MachineSet of Slipway": {[]metav1.OwnerReference{ownerOwnedBy(own, "MachineSet", true)}, "c", &owner.MachineReference{Group: "cluster.slipway.dev", Cluster: "c"}},
		"created by a control plane":         {[]metav1.OwnerReference{ownerOwnedBy("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", true)}, "c", &owner.MachineReference{Group: "cluster.x-k8s.io", Cluster: "c"}},
		"created by a user":                  {nil, "c", &owner.MachineReference{Cluster: "c"}},
		"of a set without a label":           {[]metav1.OwnerReference{ownerOwnedBy(theirs, "MachineSet", true)}, "", nil},
		"of an invalid version":              {[]metav1.OwnerReference{ownerOwnedBy("a/b/c", "Machine", true)}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", OwnerReferences: tc.owners}}
			if tc.label != "" {
				vm.Labels = map[string]string{clusterv1alpha1.ClusterNameLabel: tc.label}
			}
			if diff := cmp.Diff(tc.want, owner.ReferenceOf(vm)); diff != "" {
				t.Errorf("belongs (-want +got):\n%s", diff)
			}
		})
	}
}
