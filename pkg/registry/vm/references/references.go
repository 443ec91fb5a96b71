// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references reads, for requests, what virtual machines refer to.
//
// Guarantees:
//   - Nothing is cached, so that a request decides by what is true now.
//   - What belongs to the host cluster is unknown without one, never absent.
package references

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	instancetyperest "github.com/slipway-dev/slipway/pkg/registry/instancetype/rest"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// Readers reads for requests. All fields must be set but Host.
type Readers struct {
	// Instancetypes are the stores of instance types and preferences, and of their
	// revisions.
	Instancetypes *instancetyperest.Stores
	// Instances, Classes, Images and ClusterImages are the stores of these kinds.
	Instances, Classes, Images, ClusterImages *standard.REST
	// Machines is the store of virtual machines themselves.
	Machines *standard.REST
	// Host has claims.
	Host kubernetes.Interface
}

var _ instancetype.Reader = (*Readers)(nil)

// Instance returns what the virtual machine of this name runs with;
// apierrors.IsNotFound recognises the error when it does not run.
func (r *Readers) Instance(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineInstance, error) {
	return read(ctx, r.Instances, namespace, name, &vmv1alpha1.VirtualMachineInstance{})
}

// VirtualMachines returns those of a namespace. They may be shared with the cache of the
// store and are not to be changed.
func (r *Readers) VirtualMachines(ctx context.Context, namespace string) ([]vmv1alpha1.VirtualMachine, error) {
	obj, err := r.Machines.List(genericapirequest.WithNamespace(ctx, namespace), &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	list, ok := obj.(*vmv1alpha1.VirtualMachineList)
	if !ok {
		return nil, fmt.Errorf("listing VirtualMachines: the store returned a %T", obj)
	}
	return list.Items, nil
}

// Source implements instancetype.Reader.
func (r *Readers) Source(ctx context.Context, kind instancetype.Kind, namespace, name string) (*instancetype.Object, error) {
	stores := r.Instancetypes
	return instancetype.Getters{
		Instancetype: func(ctx context.Context, namespace, name string) (*itv1alpha1.VirtualMachineInstancetype, error) {
			return read(ctx, stores.Instancetypes, namespace, name, &itv1alpha1.VirtualMachineInstancetype{})
		},
		ClusterInstancetype: func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterInstancetype, error) {
			return read(ctx, stores.ClusterInstancetypes, "", name, &itv1alpha1.VirtualMachineClusterInstancetype{})
		},
		Preference: func(ctx context.Context, namespace, name string) (*itv1alpha1.VirtualMachinePreference, error) {
			return read(ctx, stores.Preferences, namespace, name, &itv1alpha1.VirtualMachinePreference{})
		},
		ClusterPreference: func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterPreference, error) {
			return read(ctx, stores.ClusterPreferences, "", name, &itv1alpha1.VirtualMachineClusterPreference{})
		},
	}.Source(ctx, kind, namespace, name)
}

// Class implements instancetype.Reader.
func (r *Readers) Class(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	return read(ctx, r.Classes, namespace, name, &vmv1alpha1.VirtualMachineClass{})
}

// Image implements instancetype.Reader.
func (r *Readers) Image(ctx context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error) {
	switch ref.Kind {
	case vmv1alpha1.ClusterImageKind:
	case vmv1alpha1.MachineImageKind:
		source, err := read(ctx, r.Machines, namespace, ref.Name, &vmv1alpha1.VirtualMachine{})
		if err != nil {
			return nil, err
		}
		return source.AsImage(), nil
	default:
		return read(ctx, r.Images, namespace, ref.Name, &vmv1alpha1.VirtualMachineImage{})
	}
	image, err := read(ctx, r.ClusterImages, "", ref.Name, &vmv1alpha1.ClusterVirtualMachineImage{})
	if err != nil {
		return nil, err
	}
	return image.AsImage(), nil
}

// Revision implements instancetype.Reader.
func (r *Readers) Revision(ctx context.Context, namespace, name string) (*instancetype.Captured, error) {
	revision, err := read(ctx, r.Instancetypes.Revisions, namespace, name, &itv1alpha1.ControllerRevision{})
	if err != nil {
		return nil, err
	}
	return instancetype.Decode(revision), nil
}

// PersistentVolumeClaim implements instancetype.Reader.
func (r *Readers) PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	if r.Host == nil {
		return nil, errNoHost
	}
	return r.Host.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}

// errNoHost says that something of the host cluster is unknown, not that it is absent.
var errNoHost = apierrors.NewServiceUnavailable("this server was started without a host cluster")

// read copies the object called name into out, which has its versioned type.
func read[T runtime.Object](ctx context.Context, from *standard.REST, namespace, name string, out T) (T, error) {
	var none T
	// A store names, in its errors, the resource of the request in the context, which
	// is not the one that is read here.
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "get", Namespace: namespace, Name: name,
		APIGroup: from.DefaultQualifiedResource.Group, Resource: from.DefaultQualifiedResource.Resource,
	})
	obj, err := from.Get(genericapirequest.WithNamespace(ctx, namespace), name, &metav1.GetOptions{})
	if err != nil {
		return none, err
	}
	// The store may hand out what its cache holds, and conversion shares memory.
	if err := scheme.Scheme.Convert(obj.DeepCopyObject(), out, nil); err != nil {
		return none, fmt.Errorf("converting %s %q: %w", from.SingularQualifiedResource, name, err)
	}
	return out, nil
}
