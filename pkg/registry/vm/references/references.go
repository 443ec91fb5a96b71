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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"

	instancetypev1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/scheme"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	instancetyperest "github.com/slipway-dev/slipway/pkg/registry/instancetype/rest"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// Readers makes readers for requests. All fields must be set but Host.
type Readers struct {
	// Instancetypes are the stores of instance types and preferences.
	Instancetypes *instancetyperest.Stores
	// Instances, Classes and Images are the stores of these kinds.
	Instances, Classes, Images *standard.REST
	// Host has revisions and claims.
	Host kubernetes.Interface
}

// Reader returns a reader whose calls end with ctx.
func (r *Readers) Reader(ctx context.Context) instancetype.Reader {
	return &requestReader{Readers: r, ctx: ctx}
}

// Instance returns what the virtual machine of this name runs with;
// apierrors.IsNotFound recognises the error when it does not run.
func (r *Readers) Instance(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineInstance, error) {
	out := &vmv1alpha1.VirtualMachineInstance{}
	if err := (&requestReader{Readers: r, ctx: ctx}).read(r.Instances, namespace, name, out); err != nil {
		return nil, err
	}
	return out, nil
}

// requestReader reads for one request.
type requestReader struct {
	*Readers
	ctx context.Context //nolint:containedctx // the reader lives as long as the request
}

// Source implements instancetype.Reader.
func (r *requestReader) Source(kind instancetype.Kind, namespace, name string) (*instancetype.Object, error) {
	stores := r.Instancetypes
	switch kind {
	case instancetype.KindInstancetype:
		out := &instancetypev1alpha1.VirtualMachineInstancetype{}
		if err := r.read(stores.Instancetypes, namespace, name, out); err != nil {
			return nil, err
		}
		return instancetype.FromInstancetype(out), nil
	case instancetype.KindClusterInstancetype:
		out := &instancetypev1alpha1.VirtualMachineClusterInstancetype{}
		if err := r.read(stores.ClusterInstancetypes, namespace, name, out); err != nil {
			return nil, err
		}
		return instancetype.FromClusterInstancetype(out), nil
	case instancetype.KindPreference:
		out := &instancetypev1alpha1.VirtualMachinePreference{}
		if err := r.read(stores.Preferences, namespace, name, out); err != nil {
			return nil, err
		}
		return instancetype.FromPreference(out), nil
	case instancetype.KindClusterPreference:
		out := &instancetypev1alpha1.VirtualMachineClusterPreference{}
		if err := r.read(stores.ClusterPreferences, namespace, name, out); err != nil {
			return nil, err
		}
		return instancetype.FromClusterPreference(out), nil
	default:
		return nil, fmt.Errorf("reading %s %q: not a kind of instance type or preference", kind, name)
	}
}

// Class implements instancetype.Reader.
func (r *requestReader) Class(namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	out := &vmv1alpha1.VirtualMachineClass{}
	if err := r.read(r.Classes, namespace, name, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Image implements instancetype.Reader.
func (r *requestReader) Image(namespace, name string) (*vmv1alpha1.VirtualMachineImage, error) {
	out := &vmv1alpha1.VirtualMachineImage{}
	if err := r.read(r.Images, namespace, name, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Revision implements instancetype.Reader.
func (r *requestReader) Revision(namespace, name string) (*appsv1.ControllerRevision, error) {
	if r.Host == nil {
		return nil, errNoHost
	}
	return r.Host.AppsV1().ControllerRevisions(namespace).Get(r.ctx, name, metav1.GetOptions{})
}

// PersistentVolumeClaim implements instancetype.Reader.
func (r *requestReader) PersistentVolumeClaim(namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	if r.Host == nil {
		return nil, errNoHost
	}
	return r.Host.CoreV1().PersistentVolumeClaims(namespace).Get(r.ctx, name, metav1.GetOptions{})
}

// errNoHost says that something of the host cluster is unknown, not that it is absent.
var errNoHost = apierrors.NewServiceUnavailable("this server was started without a host cluster")

// read copies the object called name into out, which has its versioned type.
func (r *requestReader) read(from *standard.REST, namespace, name string, out runtime.Object) error {
	// A store names, in its errors, the resource of the request in the context, which
	// is not the one that is read here.
	ctx := genericapirequest.WithRequestInfo(r.ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "get", Namespace: namespace, Name: name,
		APIGroup: from.DefaultQualifiedResource.Group, Resource: from.DefaultQualifiedResource.Resource,
	})
	obj, err := from.Get(genericapirequest.WithNamespace(ctx, namespace), name, &metav1.GetOptions{})
	if err != nil {
		return err
	}
	// The store may hand out what its cache holds, and conversion shares memory.
	if err := scheme.Scheme.Convert(obj.DeepCopyObject(), out, nil); err != nil {
		return fmt.Errorf("converting %s %q: %w", from.SingularQualifiedResource, name, err)
	}
	return nil
}
