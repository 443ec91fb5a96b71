// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references reads, for requests, what virtual machines refer to.
//
// Guarantees:
//   - Readers answer by what is true now. Those of Cached may be behind by what a watch
//     needs, and ask again before they say that something is not there.
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
	// Instances, Classes, Images, ClusterImages and Snapshots are the stores of these kinds.
	Instances, Classes, Images, ClusterImages, Snapshots *standard.REST
	// Machines is the store of virtual machines themselves.
	Machines *standard.REST
	// Host has claims.
	Host kubernetes.Interface
	// Decoder reads what revisions hold.
	Decoder *instancetype.Decoder
	// cached lets the stores answer from their watch caches.
	cached bool
}

// Cached returns Readers of the same stores that read from the watch caches, without a
// request to etcd: for admission, which admits what is not there yet in any case. It has
// the stores that r has by now.
func (r *Readers) Cached() *Readers {
	c := *r
	c.cached = true
	return &c
}

var _ instancetype.Reader = (*Readers)(nil)

// Instance returns what the virtual machine of this name runs with;
// apierrors.IsNotFound recognises the error when it does not run.
func (r *Readers) Instance(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineInstance, error) {
	return read[*vmv1alpha1.VirtualMachineInstance](ctx, r.cached, r.Instances, namespace, name)
}

// Snapshot returns one; apierrors.IsNotFound recognises the error when it is not there.
func (r *Readers) Snapshot(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineSnapshot, error) {
	return read[*vmv1alpha1.VirtualMachineSnapshot](ctx, r.cached, r.Snapshots, namespace, name)
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
			return read[*itv1alpha1.VirtualMachineInstancetype](ctx, r.cached, stores.Instancetypes, namespace, name)
		},
		ClusterInstancetype: func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterInstancetype, error) {
			return read[*itv1alpha1.VirtualMachineClusterInstancetype](ctx, r.cached, stores.ClusterInstancetypes, "", name)
		},
		Preference: func(ctx context.Context, namespace, name string) (*itv1alpha1.VirtualMachinePreference, error) {
			return read[*itv1alpha1.VirtualMachinePreference](ctx, r.cached, stores.Preferences, namespace, name)
		},
		ClusterPreference: func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterPreference, error) {
			return read[*itv1alpha1.VirtualMachineClusterPreference](ctx, r.cached, stores.ClusterPreferences, "", name)
		},
	}.Source(ctx, kind, namespace, name)
}

// Class implements instancetype.Reader.
func (r *Readers) Class(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	return read[*vmv1alpha1.VirtualMachineClass](ctx, r.cached, r.Classes, namespace, name)
}

// Image implements instancetype.Reader.
func (r *Readers) Image(ctx context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error) {
	switch ref.Kind {
	case vmv1alpha1.ClusterImageKind:
	case vmv1alpha1.MachineImageKind:
		source, err := read[*vmv1alpha1.VirtualMachine](ctx, r.cached, r.Machines, namespace, ref.Name)
		if err != nil {
			return nil, err
		}
		return source.AsImage(), nil
	default:
		return read[*vmv1alpha1.VirtualMachineImage](ctx, r.cached, r.Images, namespace, ref.Name)
	}
	image, err := read[*vmv1alpha1.ClusterVirtualMachineImage](ctx, r.cached, r.ClusterImages, "", ref.Name)
	if err != nil {
		return nil, err
	}
	return image.AsImage(), nil
}

// Revision implements instancetype.Reader.
func (r *Readers) Revision(ctx context.Context, namespace, name string) (*instancetype.Captured, error) {
	revision, err := get[*itv1alpha1.ControllerRevision](ctx, r.cached, r.Instancetypes.Revisions, namespace, name)
	if err != nil {
		return nil, err
	}
	return r.Decoder.Decode(revision), nil
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

// read copies the object called name into out.
func read[T interface {
	runtime.Object
	DeepCopy() T
}](ctx context.Context, cached bool, from *standard.REST, namespace, name string) (T, error) {
	obj, err := get[T](ctx, cached, from, namespace, name)
	if err != nil {
		return obj, err
	}
	return obj.DeepCopy(), nil
}

// get returns the object called name, which the cache of the store may share.
func get[T runtime.Object](ctx context.Context, cached bool, from *standard.REST, namespace, name string) (T, error) {
	var none T
	// A store names, in its errors, the resource of the request in the context, which
	// is not the one that is read here.
	ctx = genericapirequest.WithNamespace(genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "get", Namespace: namespace, Name: name,
		APIGroup: from.DefaultQualifiedResource.Group, Resource: from.DefaultQualifiedResource.Resource,
	}), namespace)
	options := metav1.GetOptions{}
	if cached {
		options.ResourceVersion = "0"
	}
	obj, err := from.Get(ctx, name, &options)
	if cached && apierrors.IsNotFound(err) {
		obj, err = from.Get(ctx, name, &metav1.GetOptions{})
	}
	if err != nil {
		return none, err
	}
	typed, ok := obj.(T)
	if !ok {
		return none, fmt.Errorf("reading %s %q: the store returned a %T", from.SingularQualifiedResource, name, obj)
	}
	return typed, nil
}
