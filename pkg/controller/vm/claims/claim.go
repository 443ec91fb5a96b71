// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// csiDriver is the name of the vSphere CSI driver. Its volume handles are the IDs of first class disks. The handles
	// of vSAN file shares have the prefix fileShareHandle.
	csiDriver       = "csi.vsphere.vmware.com"
	fileShareHandle = "file:"
)

// Holder is a virtual machine that holds a claim.
type Holder struct {
	UID types.UID
	// Name is the name of the virtual machine in the claim's namespace.
	Name string
	// VolumeID is the ID of the disk that the virtual machine uses.
	VolumeID string
}

// Holders returns the virtual machines that hold a claim, according to its annotations.
func Holders(claim metav1.Object) []Holder {
	var out []Holder
	annotations := claim.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if uid, ok := strings.CutPrefix(key, vmv1alpha1.AnnotationClaimHolderPrefix); ok {
			name, id, _ := strings.Cut(annotations[key], "/")
			out = append(out, Holder{UID: types.UID(uid), Name: name, VolumeID: id})
		}
	}
	return out
}

// HeldBy reports whether the virtual machine with the UID holds a claim.
func HeldBy(claim metav1.Object, uid types.UID) bool {
	return slices.ContainsFunc(Holders(claim), func(h Holder) bool { return h.UID == uid })
}

// claimState has the objects that determine whether the claim of a volume can be used.
type claimState struct {
	// claim and volume are nil if they do not exist.
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
	// nodes are the Nodes that use the volume or will use it.
	nodes []string
	// exists reports whether a holder is an existing virtual machine in the claim's namespace.
	exists func(Holder) bool
}

// claimProblem is the reason why a claim cannot be attached.
type claimProblem struct{ reason, message string }

// evaluate returns how the claim of a volume of vm is attached, or why it cannot be attached. A disk that vm already has
// stays attached, even if the claim changes.
func (f *claimState) evaluate(vm *vmv1alpha1.VirtualMachine, volume *vmv1alpha1.VirtualMachineVolume) (provider.ClaimDisk, *claimProblem) {
	var out provider.ClaimDisk
	name := volume.PersistentVolumeClaim.ClaimName
	no := func(reason, format string, args ...any) (provider.ClaimDisk, *claimProblem) {
		t := &claimProblem{reason, fmt.Sprintf("%s: PersistentVolumeClaim %q ", hardware.VolumePath(volume.Name), name) + fmt.Sprintf(format, args...)}
		out.WaitingReason = t.message
		return out, t
	}
	if reason, why := f.checkBound(vm); reason != "" {
		return no(reason, "%s", why)
	}
	id, why := volumeID(f.volume)
	if why != "" {
		return no(vmv1alpha1.ReasonUnsupported, "%s", why)
	}
	out.VolumeID = id
	request := f.claim.Spec.Resources.Requests[corev1.ResourceStorage]
	out.Size = request.Value()
	out.ReadOnly, out.Shared = accessOf(f.claim.Spec.AccessModes)
	if volume.PersistentVolumeClaim.ReadOnly {
		if out.Shared {
			return no(vmv1alpha1.ReasonInvalid, "is ReadWriteMany and spec.volumes[%s].persistentVolumeClaim.readOnly is true: "+
				"vSphere does not support read-only access to a disk that other virtual machines can write", volume.Name)
		}
		out.ReadOnly = true
	}
	if hasDisk(vm, volume.Name, id) {
		return out, nil
	}
	if !out.Shared {
		for _, h := range Holders(f.claim) {
			switch {
			case h.UID == vm.UID:
			case f.exists(h):
				return no(vmv1alpha1.ReasonInUse, "is held by VirtualMachine %q; it is free after it is removed from that VirtualMachine's spec and its disk is detached", h.Name)
			default:
				return no(vmv1alpha1.ReasonInUse, "is held by VirtualMachine %q (UID %s), which does not exist: if no vSphere VM has disk %s, remove annotation %s%s",
					h.Name, h.UID, h.VolumeID, vmv1alpha1.AnnotationClaimHolderPrefix, h.UID)
			}
		}
	}
	if len(f.nodes) > 0 {
		return no(vmv1alpha1.ReasonInUse, "is in use on Node %q: a VolumeAttachment of volume %q refers to this Node", f.nodes[0], f.volume.Name)
	}
	return out, nil
}

// checkBound returns the reason why a claim has no usable volume.
func (f *claimState) checkBound(vm *vmv1alpha1.VirtualMachine) (reason, why string) {
	c := f.claim
	switch {
	case c == nil:
		return vmv1alpha1.ReasonNotFound, fmt.Sprintf("does not exist in namespace %q", vm.Namespace)
	case c.DeletionTimestamp != nil && !HeldBy(c, vm.UID):
		return vmv1alpha1.ReasonNotReady, "is being deleted"
	case c.Status.Phase == corev1.ClaimLost:
		return vmv1alpha1.ReasonNotReady, fmt.Sprintf("has lost its PersistentVolume %q", c.Spec.VolumeName)
	case c.Status.Phase != corev1.ClaimBound || c.Spec.VolumeName == "":
		return vmv1alpha1.ReasonNotReady, "is not bound yet; if its StorageClass has volumeBindingMode WaitForFirstConsumer, it waits for a Pod"
	case f.volume == nil:
		return vmv1alpha1.ReasonNotFound, fmt.Sprintf("is bound to PersistentVolume %q, which does not exist", c.Spec.VolumeName)
	case f.volume.Spec.ClaimRef == nil || f.volume.Spec.ClaimRef.UID != c.UID:
		return vmv1alpha1.ReasonNotReady, fmt.Sprintf("refers to PersistentVolume %q, which belongs to another claim", c.Spec.VolumeName)
	case f.volume.DeletionTimestamp != nil && !HeldBy(c, vm.UID):
		return vmv1alpha1.ReasonNotReady, fmt.Sprintf("is bound to PersistentVolume %q, which is being deleted", c.Spec.VolumeName)
	}
	return "", ""
}

// volumeID returns the ID of a volume's first class disk, or the reason why it has none.
func volumeID(pv *corev1.PersistentVolume) (id, why string) {
	csi := pv.Spec.CSI
	switch {
	case csi == nil:
		return "", fmt.Sprintf("is bound to PersistentVolume %q, which does not use a CSI driver; virtual machines can use volumes of %s", pv.Name, csiDriver)
	case csi.Driver != csiDriver:
		return "", fmt.Sprintf("is bound to PersistentVolume %q of CSI driver %.63q; virtual machines can use volumes of %s", pv.Name, csi.Driver, csiDriver)
	case strings.HasPrefix(csi.VolumeHandle, fileShareHandle):
		return "", fmt.Sprintf("is bound to PersistentVolume %q, which is a file share and not a disk: mount it in the guest", pv.Name)
	}
	parsed, err := uuid.Parse(csi.VolumeHandle)
	if err != nil || len(csi.VolumeHandle) != len(parsed.String()) {
		return "", fmt.Sprintf("is bound to PersistentVolume %q, whose volumeHandle %.63q is not the UUID of a first class disk, as in a cluster that runs in a Supervisor", pv.Name, csi.VolumeHandle)
	}
	return parsed.String(), ""
}

// accessOf returns how a disk is attached whose claim has the given access modes.
func accessOf(modes []corev1.PersistentVolumeAccessMode) (readOnly, shared bool) {
	shared = slices.Contains(modes, corev1.ReadWriteMany)
	writes := shared || slices.Contains(modes, corev1.ReadWriteOnce) || slices.Contains(modes, corev1.ReadWriteOncePod)
	return !writes, shared
}

// hasDisk reports whether the disk was last observed as the attached disk of the volume of vm.
func hasDisk(vm *vmv1alpha1.VirtualMachine, volume, id string) bool {
	return slices.ContainsFunc(vm.Status.Volumes, func(s vmv1alpha1.VirtualMachineVolumeStatus) bool {
		return s.Name == volume && s.Attached && s.VolumeID == id
	})
}

// nodesOf returns the Nodes in VolumeAttachments.
func nodesOf(attachments []*storagev1.VolumeAttachment) []string {
	var out []string
	for _, a := range attachments {
		out = append(out, a.Spec.NodeName)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// usesClaims reports whether vm may hold a claim.
func usesClaims(vm *vmv1alpha1.VirtualMachine) bool {
	return len(ClaimNames(vm)) > 0 || slices.ContainsFunc(vm.Status.Volumes, func(s vmv1alpha1.VirtualMachineVolumeStatus) bool { return s.VolumeID != "" })
}

// ClaimNames returns the names of the claims in the spec of vm.
func ClaimNames(vm *vmv1alpha1.VirtualMachine) []string {
	var out []string
	for i := range vm.Spec.Volumes {
		if c := vm.Spec.Volumes[i].PersistentVolumeClaim; c != nil {
			out = append(out, c.ClaimName)
		}
	}
	return out
}
