// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// ClusterReader reads the objects that a virtual machine in a file refers to, with the user's permissions.
type ClusterReader struct {
	instancetype.Getters
	Client versioned.Interface
	host   kubernetes.Interface
}

var _ instancetype.Reader = (*ClusterReader)(nil)

// NewClusterReader returns a reader that uses client for objects and host for claims.
func NewClusterReader(client versioned.Interface, host kubernetes.Interface) *ClusterReader {
	api := client.InstancetypeV1alpha1()
	return &ClusterReader{Client: client, host: host, Getters: instancetype.Getters{
		Instancetype: func(ctx context.Context, namespace, name string) (*itv1alpha1.VirtualMachineInstancetype, error) {
			return api.VirtualMachineInstancetypes(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		ClusterInstancetype: func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterInstancetype, error) {
			return api.VirtualMachineClusterInstancetypes().Get(ctx, name, metav1.GetOptions{})
		},
		Preference: func(ctx context.Context, namespace, name string) (*itv1alpha1.VirtualMachinePreference, error) {
			return api.VirtualMachinePreferences(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		ClusterPreference: func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterPreference, error) {
			return api.VirtualMachineClusterPreferences().Get(ctx, name, metav1.GetOptions{})
		},
	}}
}

// Revision implements instancetype.Reader.
func (r *ClusterReader) Revision(ctx context.Context, namespace, name string) (*instancetype.DecodedRevision, error) {
	revision, err := r.Client.InstancetypeV1alpha1().ControllerRevisions(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return instancetype.Decode(revision), nil
}

// Class implements instancetype.Reader.
func (r *ClusterReader) Class(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	return r.Client.VmV1alpha1().VirtualMachineClasses(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Image implements instancetype.Reader.
func (r *ClusterReader) Image(ctx context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error) {
	if ref.Kind == vmv1alpha1.MachineImageKind {
		source, err := r.Client.VmV1alpha1().VirtualMachines(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return source.AsImage(), nil
	}
	if ref.Kind != vmv1alpha1.ClusterImageKind {
		return r.Client.VmV1alpha1().VirtualMachineImages(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	}
	image, err := r.Client.VmV1alpha1().ClusterVirtualMachineImages().Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return image.AsImage(), nil
}

// PersistentVolumeClaim implements instancetype.Reader.
func (r *ClusterReader) PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return r.host.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}
