// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	itclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	itlisters "github.com/slipway-dev/slipway/pkg/generated/listers/instancetype/v1alpha1"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// callTimeout bounds one call of a server that has no context of its own.
const callTimeout = 10 * time.Second

// objectReader implements instancetype.Reader: our own kinds from informers,
// revisions from a cache that reads through, claims from the host cluster. An
// instance type or a preference that the informer lacks is read from the server:
// who applies it together with its virtual machines must not see it missing.
type objectReader struct {
	server               itclient.InstancetypeV1alpha1Interface
	instancetypes        itlisters.VirtualMachineInstancetypeLister
	clusterInstancetypes itlisters.VirtualMachineClusterInstancetypeLister
	preferences          itlisters.VirtualMachinePreferenceLister
	clusterPreferences   itlisters.VirtualMachineClusterPreferenceLister
	classes              vmlisters.VirtualMachineClassLister
	images               vmlisters.VirtualMachineImageLister
	revisions            *revisionStore
	claims               corev1client.PersistentVolumeClaimsGetter
}

var _ instancetype.Reader = (*objectReader)(nil)

func newObjectReader(server itclient.InstancetypeV1alpha1Interface, f externalversions.SharedInformerFactory, revisions *revisionStore, claims corev1client.PersistentVolumeClaimsGetter) *objectReader {
	it, vm := f.Instancetype().V1alpha1(), f.Vm().V1alpha1()
	return &objectReader{
		server:               server,
		instancetypes:        it.VirtualMachineInstancetypes().Lister(),
		clusterInstancetypes: it.VirtualMachineClusterInstancetypes().Lister(),
		preferences:          it.VirtualMachinePreferences().Lister(),
		clusterPreferences:   it.VirtualMachineClusterPreferences().Lister(),
		classes:              vm.VirtualMachineClasses().Lister(),
		images:               vm.VirtualMachineImages().Lister(),
		revisions:            revisions,
		claims:               claims,
	}
}

// Source returns the live instance type or preference.
func (r *objectReader) Source(kind instancetype.Kind, namespace, name string) (*instancetype.Object, error) {
	switch kind {
	case instancetype.KindInstancetype:
		return readThrough(r.instancetypes.VirtualMachineInstancetypes(namespace).Get, r.server.VirtualMachineInstancetypes(namespace).Get, instancetype.FromInstancetype, name)
	case instancetype.KindClusterInstancetype:
		return readThrough(r.clusterInstancetypes.Get, r.server.VirtualMachineClusterInstancetypes().Get, instancetype.FromClusterInstancetype, name)
	case instancetype.KindPreference:
		return readThrough(r.preferences.VirtualMachinePreferences(namespace).Get, r.server.VirtualMachinePreferences(namespace).Get, instancetype.FromPreference, name)
	case instancetype.KindClusterPreference:
		return readThrough(r.clusterPreferences.Get, r.server.VirtualMachineClusterPreferences().Get, instancetype.FromClusterPreference, name)
	}
	return nil, fmt.Errorf("reading %q: %q is not the kind of an instance type or a preference", name, kind)
}

// readThrough gets an object from the cache, or else from the server.
func readThrough[T any](
	cached func(string) (T, error), live func(context.Context, string, metav1.GetOptions) (T, error), from func(T) *instancetype.Object, name string,
) (*instancetype.Object, error) {
	obj, err := cached(name)
	if apierrors.IsNotFound(err) {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		obj, err = live(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	return from(obj), nil
}

// Revision returns a captured instance type or preference.
func (r *objectReader) Revision(namespace, name string) (*appsv1.ControllerRevision, error) {
	return r.revisions.cached(namespace, name)
}

// Class returns a class.
func (r *objectReader) Class(namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	return r.classes.VirtualMachineClasses(namespace).Get(name)
}

// Image returns an image.
func (r *objectReader) Image(namespace, name string) (*vmv1alpha1.VirtualMachineImage, error) {
	return r.images.VirtualMachineImages(namespace).Get(name)
}

// PersistentVolumeClaim returns a claim of the host cluster. It is asked for only
// while something is inferred from a volume, so it is not cached.
func (r *objectReader) PersistentVolumeClaim(namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return r.claims.PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}
