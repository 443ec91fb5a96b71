// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadcluster

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// AttachVolume creates a PersistentVolume with the claim of its name in a namespace, and a VolumeAttachment to a Node.
// Volume and attachment are deleted at the end of the test.
func AttachVolume(t *testing.T, client kubernetes.Interface, namespace, name, node string) {
	t.Helper()
	const driver = "csi.vsphere.vmware.com"
	volumes, attachments := client.CoreV1().PersistentVolumes(), client.StorageV1().VolumeAttachments()
	t.Cleanup(func() {
		_ = attachments.Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = volumes.Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	_, err := volumes.Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	attachment, err := attachments.Create(t.Context(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	attachment.Status.Attached = true
	if _, err := attachments.UpdateStatus(t.Context(), attachment, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
