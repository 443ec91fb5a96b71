// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references reads the objects that virtual machines refer to, on behalf of requests.
//
// Guarantees:
//   - Readers return the current state. Readers returned by Cached may be slightly behind, but check etcd before they
//     report that an object does not exist.
//   - Without a management cluster, its objects are reported as unknown and never as absent.
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

// Readers reads objects for requests. All fields except Host must be set.
type Readers struct {
	// Instancetypes are the stores of instance types, preferences and revisions.
	Instancetypes *instancetyperest.Stores
	// Instances, Classes, Images, ClusterImages and Snapshots are the stores of these kinds.
	Instances, Classes, Images, ClusterImages, Snapshots *standard.REST
	// Machines is the store of virtual machines.
	Machines *standard.REST
	// Host is the client of the management cluster, for persistent volume claims; nil without one.
	Host kubernetes.Interface
	// Decoder decodes the content of revisions.
	Decoder *instancetype.Decoder
	// cached makes the stores read from their watch caches.
	cached bool
}

// Cached returns Readers of the same stores that read from the watch caches without a request to etcd. Use them for
// admission, which accepts missing references anyway. Stores that are set in r later are not included.
func (r *Readers) Cached() *Readers {
	c := *r
	c.cached = true
	return &c
}

var _ instancetype.Reader = (*Readers)(nil)

// Instance returns the instance of a virtual machine. If the virtual machine does not run, apierrors.IsNotFound is
// true for the error.
func (r *Readers) Instance(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineInstance, error) {
	return read[*vmv1alpha1.VirtualMachineInstance](ctx, r.cached, r.Instances, namespace, name)
}

// Snapshot returns a snapshot. If it does not exist, apierrors.IsNotFound is true for the error.
func (r *Readers) Snapshot(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineSnapshot, error) {
	return read[*vmv1alpha1.VirtualMachineSnapshot](ctx, r.cached, r.Snapshots, namespace, name)
}

// VirtualMachines returns the virtual machines of a namespace. They may be shared with the watch cache and must not
// be modified.
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
func (r *Readers) Revision(ctx context.Context, namespace, name string) (*instancetype.DecodedRevision, error) {
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

// errNoHost reports that an object of the management cluster is unknown, which does not mean absent.
var errNoHost = apierrors.NewServiceUnavailable("this server is not connected to a management cluster")

// read returns a copy of the object with the given name.
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

// get returns the object with the given name. It may be shared with the watch cache.
func get[T runtime.Object](ctx context.Context, cached bool, from *standard.REST, namespace, name string) (T, error) {
	var none T
	// Errors of a store contain the resource of the request in the context, so set the resource that is read.
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
