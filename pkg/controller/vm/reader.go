// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	itclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// callTimeout bounds one read of a server, within the context of the pass.
const callTimeout = 10 * time.Second

// objectReader implements instancetype.Reader: our own kinds from informers,
// revisions from a cache that reads through, claims from the host cluster. An
// instance type or a preference that the informer lacks is read from the server:
// who applies it together with its virtual machines must not see it missing.
type objectReader struct {
	instancetype.Getters
	classes vmlisters.VirtualMachineClassLister
	images  vmlisters.VirtualMachineImageLister
	// clusterImages are those of all namespaces.
	clusterImages vmlisters.ClusterVirtualMachineImageLister
	// machines are what others are cloned from.
	machines  vmlisters.VirtualMachineLister
	revisions *revisionStore
	claims    corev1client.PersistentVolumeClaimsGetter
}

var _ instancetype.Reader = (*objectReader)(nil)

func newObjectReader(server itclient.InstancetypeV1alpha1Interface, f externalversions.SharedInformerFactory, revisions *revisionStore, claims corev1client.PersistentVolumeClaimsGetter) *objectReader {
	it, vm := f.Instancetype().V1alpha1(), f.Vm().V1alpha1()
	instancetypes, clusterInstancetypes := it.VirtualMachineInstancetypes().Lister(), it.VirtualMachineClusterInstancetypes().Lister()
	preferences, clusterPreferences := it.VirtualMachinePreferences().Lister(), it.VirtualMachineClusterPreferences().Lister()
	return &objectReader{
		Getters: instancetype.Getters{
			Instancetype: func(ctx context.Context, namespace, name string) (*itv1alpha1.VirtualMachineInstancetype, error) {
				return readThrough(ctx, instancetypes.VirtualMachineInstancetypes(namespace).Get, server.VirtualMachineInstancetypes(namespace).Get, name)
			},
			ClusterInstancetype: func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterInstancetype, error) {
				return readThrough(ctx, clusterInstancetypes.Get, server.VirtualMachineClusterInstancetypes().Get, name)
			},
			Preference: func(ctx context.Context, namespace, name string) (*itv1alpha1.VirtualMachinePreference, error) {
				return readThrough(ctx, preferences.VirtualMachinePreferences(namespace).Get, server.VirtualMachinePreferences(namespace).Get, name)
			},
			ClusterPreference: func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterPreference, error) {
				return readThrough(ctx, clusterPreferences.Get, server.VirtualMachineClusterPreferences().Get, name)
			},
		},
		classes:       vm.VirtualMachineClasses().Lister(),
		images:        vm.VirtualMachineImages().Lister(),
		clusterImages: vm.ClusterVirtualMachineImages().Lister(),
		machines:      vm.VirtualMachines().Lister(),
		revisions:     revisions,
		claims:        claims,
	}
}

// readThrough gets an object from the cache, or else from the server.
func readThrough[T any](
	ctx context.Context, cached func(string) (T, error), live func(context.Context, string, metav1.GetOptions) (T, error), name string,
) (T, error) {
	obj, err := cached(name)
	if apierrors.IsNotFound(err) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return live(ctx, name, metav1.GetOptions{})
	}
	return obj, err
}

// Revision returns a captured instance type or preference.
func (r *objectReader) Revision(ctx context.Context, namespace, name string) (*instancetype.Captured, error) {
	return r.revisions.captured(ctx, namespace, name)
}

// Class returns a class.
func (r *objectReader) Class(_ context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	return r.classes.VirtualMachineClasses(namespace).Get(name)
}

// Image returns an image.
func (r *objectReader) Image(_ context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error) {
	switch ref.Kind {
	case vmv1alpha1.ClusterImageKind:
	case vmv1alpha1.MachineImageKind:
		source, err := r.machines.VirtualMachines(namespace).Get(ref.Name)
		if err != nil {
			return nil, err
		}
		return source.AsImage(), nil
	default:
		return r.images.VirtualMachineImages(namespace).Get(ref.Name)
	}
	image, err := r.clusterImages.Get(ref.Name)
	if err != nil {
		return nil, err
	}
	return image.AsImage(), nil
}

// PersistentVolumeClaim returns a claim of the host cluster. It is asked for only
// while something is inferred from a volume, so it is not cached.
func (r *objectReader) PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return r.claims.PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}
