// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	itlisters "github.com/slipway-dev/slipway/pkg/generated/listers/instancetype/v1alpha1"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// hostCallTimeout bounds one call of the host cluster that has no context of its
// own.
const hostCallTimeout = 10 * time.Second

// objectReader implements instancetype.Reader: our own kinds from informers,
// revisions from a cache that reads through, claims from the host cluster.
type objectReader struct {
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

func newObjectReader(f externalversions.SharedInformerFactory, revisions *revisionStore, claims corev1client.PersistentVolumeClaimsGetter) *objectReader {
	it, vm := f.Instancetype().V1alpha1(), f.Vm().V1alpha1()
	return &objectReader{
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
		return convert(instancetype.FromInstancetype)(r.instancetypes.VirtualMachineInstancetypes(namespace).Get(name))
	case instancetype.KindClusterInstancetype:
		return convert(instancetype.FromClusterInstancetype)(r.clusterInstancetypes.Get(name))
	case instancetype.KindPreference:
		return convert(instancetype.FromPreference)(r.preferences.VirtualMachinePreferences(namespace).Get(name))
	case instancetype.KindClusterPreference:
		return convert(instancetype.FromClusterPreference)(r.clusterPreferences.Get(name))
	}
	return nil, fmt.Errorf("reading %q: %q is not the kind of an instance type or a preference", name, kind)
}

// convert passes the result of a lister through from, unless it is an error.
func convert[T any](from func(T) *instancetype.Object) func(T, error) (*instancetype.Object, error) {
	return func(obj T, err error) (*instancetype.Object, error) {
		if err != nil {
			return nil, err
		}
		return from(obj), nil
	}
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
	ctx, cancel := context.WithTimeout(context.Background(), hostCallTimeout)
	defer cancel()
	return r.claims.PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}
