// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// clusterReader reads what a virtual machine from a file refers to, with the
// rights of the user.
type clusterReader struct {
	ctx    context.Context //nolint:containedctx // the reader lives as long as the command
	client versioned.Interface
	host   kubernetes.Interface
}

var _ instancetype.Reader = (*clusterReader)(nil)

// Source implements instancetype.Reader.
func (r *clusterReader) Source(kind instancetype.Kind, namespace, name string) (*instancetype.Object, error) {
	api := r.client.InstancetypeV1alpha1()
	switch kind {
	case instancetype.KindInstancetype:
		o, err := api.VirtualMachineInstancetypes(namespace).Get(r.ctx, name, metav1.GetOptions{})
		return source(o, err, instancetype.FromInstancetype)
	case instancetype.KindClusterInstancetype:
		o, err := api.VirtualMachineClusterInstancetypes().Get(r.ctx, name, metav1.GetOptions{})
		return source(o, err, instancetype.FromClusterInstancetype)
	case instancetype.KindPreference:
		o, err := api.VirtualMachinePreferences(namespace).Get(r.ctx, name, metav1.GetOptions{})
		return source(o, err, instancetype.FromPreference)
	case instancetype.KindClusterPreference:
		o, err := api.VirtualMachineClusterPreferences().Get(r.ctx, name, metav1.GetOptions{})
		return source(o, err, instancetype.FromClusterPreference)
	default:
		return nil, fmt.Errorf("reading %s %q: not a kind of instance type or preference", kind, name)
	}
}

func source[T any](o T, err error, convert func(T) *instancetype.Object) (*instancetype.Object, error) {
	if err != nil {
		return nil, err
	}
	return convert(o), nil
}

// Revision implements instancetype.Reader.
func (r *clusterReader) Revision(namespace, name string) (*appsv1.ControllerRevision, error) {
	return r.host.AppsV1().ControllerRevisions(namespace).Get(r.ctx, name, metav1.GetOptions{})
}

// Class implements instancetype.Reader.
func (r *clusterReader) Class(namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	return r.client.VmV1alpha1().VirtualMachineClasses(namespace).Get(r.ctx, name, metav1.GetOptions{})
}

// Image implements instancetype.Reader.
func (r *clusterReader) Image(namespace, name string) (*vmv1alpha1.VirtualMachineImage, error) {
	return r.client.VmV1alpha1().VirtualMachineImages(namespace).Get(r.ctx, name, metav1.GetOptions{})
}

// PersistentVolumeClaim implements instancetype.Reader.
func (r *clusterReader) PersistentVolumeClaim(namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return r.host.CoreV1().PersistentVolumeClaims(namespace).Get(r.ctx, name, metav1.GetOptions{})
}
