// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const diskID = "8f163c98-2bef-4ea3-a7f9-acefb21e7398"

// boundClaim returns a claim of the vSphere CSI driver with its volume.
func boundClaim() *claimState {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", UID: "claim-1"}}
	c.Spec.VolumeName, c.Status.Phase = "pv-1", corev1.ClaimBound
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: diskID}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: "data", UID: "claim-1"}
	return &claimState{claim: c, volume: pv, exists: func(h Holder) bool { return h.Name != "lost" }}
}

func heldByVM(c *claimState, uid, name string) {
	c.claim.Annotations = map[string]string{vmv1alpha1.AnnotationClaimHolderPrefix + uid: name + "/" + diskID}
}

var (
	okClaim   = provider.Claim{VolumeID: diskID, Size: 5 << 30}
	noClaim   = provider.Claim{}
	deletedAt = metav1.Now()
)

// claimWith returns the attached claim with a change.
func claimWith(change func(*provider.Claim)) provider.Claim {
	c := okClaim
	change(&c)
	return c
}

func claimModes(modes ...corev1.PersistentVolumeAccessMode) func(*claimState, *vmv1alpha1.VirtualMachine) {
	return func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.claim.Spec.AccessModes = modes }
}

func claimHandle(h string) func(*claimState, *vmv1alpha1.VirtualMachine) {
	return func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.volume.Spec.CSI.VolumeHandle = h }
}

func readOnlyVolume(vm *vmv1alpha1.VirtualMachine) {
	vm.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
}

func attachedVolume(vm *vmv1alpha1.VirtualMachine) {
	vm.Status.Volumes = []vmv1alpha1.VirtualMachineVolumeStatus{{Name: "data", Attached: true, VolumeID: diskID}}
}

// claimCases has states of claims and the expected results.
var claimCases = []struct {
	name        string
	given       func(*claimState, *vmv1alpha1.VirtualMachine)
	want        provider.Claim
	reason      string
	wantMessage string
}{
	{"bound", nil, okClaim, "", ""},
	{"no claim", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.claim = nil }, noClaim, "NotFound", `volumes[data]: PersistentVolumeClaim "data" does not exist in namespace "ns"`},
	{"pending", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.claim.Status.Phase = corev1.ClaimPending }, noClaim, "NotReady", "is not bound yet; if its StorageClass has volumeBindingMode WaitForFirstConsumer, it waits for a Pod"},
	{"lost", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.claim.Status.Phase = corev1.ClaimLost }, noClaim, "NotReady", `has lost its PersistentVolume "pv-1"`},
	{"no volume", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.volume = nil }, noClaim, "NotFound", `is bound to PersistentVolume "pv-1", which does not exist`},
	{"the volume of another claim", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.volume.Spec.ClaimRef.UID = "other" }, noClaim, "NotReady", `refers to PersistentVolume "pv-1", which belongs to another claim`},
	{"the volume of no claim", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.volume.Spec.ClaimRef = nil }, noClaim, "NotReady", "belongs to another claim"},
	{"being deleted", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.claim.DeletionTimestamp = &deletedAt }, noClaim, "NotReady", "is being deleted"},
	{"being deleted and held", func(f *claimState, _ *vmv1alpha1.VirtualMachine) {
		f.claim.DeletionTimestamp = &deletedAt
		heldByVM(f, "uid-1", "vm")
	}, okClaim, "", ""},
	{"its volume being deleted", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.volume.DeletionTimestamp = &deletedAt }, noClaim, "NotReady", `is bound to PersistentVolume "pv-1", which is being deleted`},
	{"a volume without CSI driver", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.volume.Spec.CSI = nil }, noClaim, "Unsupported", "does not use a CSI driver; virtual machines can use volumes of csi.vsphere.vmware.com"},
	{"a volume of another driver", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.volume.Spec.CSI.Driver = "ebs.csi.aws.com" }, noClaim, "Unsupported", `of CSI driver "ebs.csi.aws.com"; virtual machines can use volumes of csi.vsphere.vmware.com`},
	{"a driver of any length", func(f *claimState, _ *vmv1alpha1.VirtualMachine) {
		f.volume.Spec.CSI.Driver = strings.Repeat("x", 1<<20)
	}, noClaim, "Unsupported", strings.Repeat("x", 63) + `"`},
	{"a file share", claimHandle("file:" + diskID), noClaim, "Unsupported", "which is a file share and not a disk: mount it in the guest"},
	{"a claim of a Supervisor", claimHandle("2041ff4a-ns-data"), noClaim, "Unsupported", `volumeHandle "2041ff4a-ns-data" is not the UUID of a first class disk`},
	{"an empty handle", claimHandle(""), noClaim, "Unsupported", "is not the UUID of a first class disk"},
	{"a UUID in braces", claimHandle("{" + diskID + "}"), noClaim, "Unsupported", "is not the UUID of a first class disk"},
	{"a UUID in upper case", claimHandle(strings.ToUpper(diskID)), okClaim, "", ""},
	{"ReadWriteOncePod", claimModes(corev1.ReadWriteOncePod), okClaim, "", ""},
	{"ReadOnlyMany", claimModes(corev1.ReadOnlyMany), claimWith(func(c *provider.Claim) { c.ReadOnly = true }), "", ""},
	{"ReadWriteMany", claimModes(corev1.ReadWriteOnce, corev1.ReadWriteMany), claimWith(func(c *provider.Claim) { c.Shared = true }), "", ""},
	{"read-only volume", func(_ *claimState, vm *vmv1alpha1.VirtualMachine) { readOnlyVolume(vm) }, claimWith(func(c *provider.Claim) { c.ReadOnly = true }), "", ""},
	{"read-only and shared", func(f *claimState, vm *vmv1alpha1.VirtualMachine) {
		readOnlyVolume(vm)
		f.claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}, claimWith(func(c *provider.Claim) { c.Shared = true }), "Invalid", "is ReadWriteMany and spec.volumes[data].persistentVolumeClaim.readOnly is true"},
	{"held by another", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { heldByVM(f, "uid-2", "db") }, okClaim, "InUse", `is held by VirtualMachine "db"; it is free after it is removed from that VirtualMachine's spec and its disk is detached`},
	{"held by a deleted VM", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { heldByVM(f, "uid-2", "lost") }, okClaim, "InUse", `is held by VirtualMachine "lost" (UID uid-2), which does not exist: if no vSphere VM has disk ` + diskID + ", remove annotation claim.vm.slipway.dev/uid-2"},
	{"shared and held by another", func(f *claimState, _ *vmv1alpha1.VirtualMachine) {
		heldByVM(f, "uid-2", "db")
		f.claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}, claimWith(func(c *provider.Claim) { c.Shared = true }), "", ""},
	{"on a Node", func(f *claimState, _ *vmv1alpha1.VirtualMachine) { f.nodes = []string{"worker-1"} }, okClaim, "InUse", `is in use on Node "worker-1": a VolumeAttachment of volume "pv-1" refers to this Node`},
	{"in use on a Node and attached here", func(f *claimState, vm *vmv1alpha1.VirtualMachine) {
		f.nodes = []string{"worker-1"}
		attachedVolume(vm)
	}, okClaim, "", ""},
	{"an invalid annotation", func(f *claimState, _ *vmv1alpha1.VirtualMachine) {
		f.claim.Annotations = map[string]string{vmv1alpha1.AnnotationClaimHolderPrefix: "///"}
	}, okClaim, "InUse", `is held by VirtualMachine ""`},
}

func TestClaimState_EvaluatesClaims(t *testing.T) {
	for _, tc := range claimCases {
		t.Run(tc.name, func(t *testing.T) {
			facts := boundClaim()
			vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", UID: "uid-1"}}
			vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{{Name: "data", PersistentVolumeClaim: &vmv1alpha1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
			if tc.given != nil {
				tc.given(facts, vm)
			}
			got, trouble := facts.evaluate(vm, &vm.Spec.Volumes[0])
			if (got.Waiting == "") != (tc.reason == "") {
				t.Errorf("it waits for %q, want reason %q", got.Waiting, tc.reason)
			}
			got.Waiting = ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("claim (-want +got):\n%s", diff)
			}
			switch {
			case (trouble == nil) != (tc.reason == ""):
				t.Errorf("trouble %v, want reason %q", trouble, tc.reason)
			case trouble != nil && (trouble.reason != tc.reason || !strings.Contains(trouble.message, tc.wantMessage)):
				t.Errorf("%s: %s\nwant %s: %s", trouble.reason, trouble.message, tc.reason, tc.wantMessage)
			case trouble != nil && len(trouble.message) > 600:
				t.Errorf("the message has %d bytes", len(trouble.message))
			}
		})
	}
}
