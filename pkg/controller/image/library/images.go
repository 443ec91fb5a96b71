// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// writer writes images of both kinds. An image without a namespace is a ClusterVirtualMachineImage.
type writer struct{ client vmclient.VmV1alpha1Interface }

func (w writer) create(ctx context.Context, i *vmv1alpha1.VirtualMachineImage) (err error) {
	if i.Namespace == "" {
		_, err = w.client.ClusterVirtualMachineImages().Create(ctx, asClusterImage(i), metav1.CreateOptions{})
		return err
	}
	_, err = w.client.VirtualMachineImages(i.Namespace).Create(ctx, i, metav1.CreateOptions{})
	return err
}

func (w writer) update(ctx context.Context, i *vmv1alpha1.VirtualMachineImage) (err error) {
	if i.Namespace == "" {
		_, err = w.client.ClusterVirtualMachineImages().Update(ctx, asClusterImage(i), metav1.UpdateOptions{})
		return err
	}
	_, err = w.client.VirtualMachineImages(i.Namespace).Update(ctx, i, metav1.UpdateOptions{})
	return err
}

// delete deletes an image if it is unchanged since it was read.
func (w writer) delete(ctx context.Context, i *vmv1alpha1.VirtualMachineImage) error {
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &i.UID, ResourceVersion: &i.ResourceVersion}}
	if i.Namespace == "" {
		return w.client.ClusterVirtualMachineImages().Delete(ctx, i.Name, options)
	}
	return w.client.VirtualMachineImages(i.Namespace).Delete(ctx, i.Name, options)
}

func asClusterImage(i *vmv1alpha1.VirtualMachineImage) *vmv1alpha1.ClusterVirtualMachineImage {
	return &vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: i.ObjectMeta, Spec: i.Spec, Status: i.Status}
}
