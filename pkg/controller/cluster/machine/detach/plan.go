// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package detach

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// attachedVolumes contains the volumes that are reported as attached to a Node.
type attachedVolumes struct {
	// onNode are the names in the Node's status.volumesAttached.
	onNode sets.Set[string]
	// volumes are the names of PersistentVolumes in VolumeAttachments.
	volumes sets.Set[string]
	// inline are the VolumeAttachments without a PersistentVolume.
	inline sets.Set[string]
}

// add adds the volume of a VolumeAttachment if it is attached to node.
func (a attachedVolumes) add(va *storagev1.VolumeAttachment, node string) {
	switch {
	case va.Spec.NodeName != node || !va.Status.Attached:
	case va.Spec.Source.PersistentVolumeName == nil:
		a.inline.Insert(va.Name)
	default:
		a.volumes.Insert(*va.Spec.Source.PersistentVolumeName)
	}
}

func (a attachedVolumes) len() int { return len(a.onNode) + len(a.volumes) + len(a.inline) }

func (a attachedVolumes) isEmpty() bool { return a.len() == 0 }

// pendingVolumes contains the attached volumes that must be waited for.
type pendingVolumes struct {
	// claims are their claims. volumes are PersistentVolumes without a claim.
	claims, volumes sets.Set[string]
	// unknown are volumes for which no PersistentVolume was found.
	unknown attachedVolumes
}

func newPendingVolumes(all attachedVolumes) pendingVolumes {
	return pendingVolumes{claims: sets.Set[string]{}, volumes: sets.Set[string]{}, unknown: attachedVolumes{
		onNode: all.onNode.Clone(), volumes: all.volumes.Clone(), inline: all.inline,
	}}
}

// addVolume processes a PersistentVolume. ignored are the claims that are not waited for.
func (w pendingVolumes) addVolume(pv *corev1.PersistentVolume, all attachedVolumes, ignored sets.Set[types.NamespacedName]) {
	name := volumeName(pv)
	if (name == "" || !all.onNode.Has(name)) && !all.volumes.Has(pv.Name) {
		return
	}
	w.unknown.onNode.Delete(name)
	w.unknown.volumes.Delete(pv.Name)
	claim := pv.Spec.ClaimRef
	// Only an unbound volume has no claim, and it should not be attached.
	if claim == nil || claim.Kind != "" && claim.Kind != "PersistentVolumeClaim" {
		w.volumes.Insert(pv.Name)
		return
	}
	if key := (types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}); !ignored.Has(key) {
		w.claims.Insert(key.String())
	}
}

// volumeName returns the name of a CSI volume in the Node's status.volumesAttached, or "" for other volumes.
func volumeName(pv *corev1.PersistentVolume) string {
	if pv.Spec.CSI == nil {
		return ""
	}
	return fmt.Sprintf("kubernetes.io/csi/%s^%s", pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle)
}

// claimsOf returns the claims of pods.
func claimsOf(pods []*corev1.Pod) sets.Set[types.NamespacedName] {
	claims := sets.Set[types.NamespacedName]{}
	for _, pod := range pods {
		for _, v := range pod.Spec.Volumes {
			switch {
			case v.PersistentVolumeClaim != nil:
				claims.Insert(types.NamespacedName{Namespace: pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName})
			case v.Ephemeral != nil:
				claims.Insert(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name + "-" + v.Name})
			}
		}
	}
	return claims
}

func (w pendingVolumes) isEmpty() bool {
	return len(w.claims)+len(w.volumes) == 0 && w.unknown.isEmpty()
}

// message returns the condition message, or "" if there is nothing to wait for.
func (w pendingVolumes) message(started time.Time) string {
	if w.isEmpty() {
		return ""
	}
	lines := []string{fmt.Sprintf("Waiting for Node volumes to be detached (started at %s)", started.UTC().Format(time.RFC3339))}
	for _, l := range []struct {
		what string
		of   sets.Set[string]
	}{
		{"PersistentVolumeClaims", w.claims},
		{"PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim", w.volumes},
		{"Node with .status.volumesAttached entries not matching a PersistentVolume", w.unknown.onNode},
		{"VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume", w.unknown.volumes},
		{"VolumeAttachment without .spec.source.persistentVolumeName", w.unknown.inline},
	} {
		if len(l.of) > 0 {
			lines = append(lines, fmt.Sprintf("* %s: %s", l.what, names(l.of)))
		}
	}
	return strings.Join(lines, "\n")
}

// Limits of a message: the number of objects in a line, and the length of a name in bytes. Volume handles may have any
// length.
const (
	maxNames = 5
	maxName  = 512
)

func names(of sets.Set[string]) string {
	all := sets.List(of)
	more := len(all) - maxNames
	all = all[:min(len(all), maxNames)]
	for i, name := range all {
		all[i] = strings.ToValidUTF8(name[:min(len(name), maxName)], "")
	}
	if more > 0 {
		all = append(all, fmt.Sprintf("... (%d more)", more))
	}
	return strings.Join(all, ", ")
}
