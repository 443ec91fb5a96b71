// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/similar"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	itclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	itlisters "github.com/slipway-dev/slipway/pkg/generated/listers/instancetype/v1alpha1"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// callTimeout limits one read from a server, within the context of the reconcile.
const callTimeout = 10 * time.Second

// objectReader implements instancetype.Reader. It reads Slipway's kinds from informers, revisions from a read-through
// cache, and claims from the management cluster. Instance types and preferences that the informer lacks are read from
// the server. Otherwise they could seem missing if a user applies them together with virtual machines.
type objectReader struct {
	instancetype.Getters
	// hints has functions by kind. They add the probably intended name to an error about a name.
	hints   map[instancetype.Kind]func(namespace, name string, err error) error
	classes vmlisters.VirtualMachineClassLister
	images  vmlisters.VirtualMachineImageLister
	// clusterImages has the images of all namespaces.
	clusterImages vmlisters.ClusterVirtualMachineImageLister
	// machines has the sources of clones.
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
		hints: map[instancetype.Kind]func(namespace, name string, err error) error{
			instancetype.KindInstancetype: func(namespace, name string, err error) error {
				return addHint(err, name, instancetypes.VirtualMachineInstancetypes(namespace).List, hintOtherKind(clusterInstancetypes.Get, instancetype.KindClusterInstancetype.TypeName()))
			},
			instancetype.KindClusterInstancetype: func(namespace, name string, err error) error {
				return addHint(err, name, clusterInstancetypes.List, hintOtherKind(instancetypes.VirtualMachineInstancetypes(namespace).Get, instancetype.KindInstancetype.TypeName()))
			},
			instancetype.KindPreference: func(namespace, name string, err error) error {
				return addHint(err, name, preferences.VirtualMachinePreferences(namespace).List, hintOtherKind(clusterPreferences.Get, instancetype.KindClusterPreference.TypeName()))
			},
			instancetype.KindClusterPreference: func(namespace, name string, err error) error {
				return addHint(err, name, clusterPreferences.List, hintOtherKind(preferences.VirtualMachinePreferences(namespace).Get, instancetype.KindPreference.TypeName()))
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

// Source implements instancetype.Reader.
func (r *objectReader) Source(ctx context.Context, kind instancetype.Kind, namespace, name string) (*instancetype.Object, error) {
	o, err := r.Getters.Source(ctx, kind, namespace, name)
	if hint := r.hints[kind]; err != nil && hint != nil {
		err = hint(namespace, name, err)
	}
	return o, err
}

// hintOtherKind returns a function that returns a hint if an object of another kind has the name.
func hintOtherKind[T any](get func(string) (T, error), kind string) func(name string) string {
	return func(name string) string {
		if _, err := get(name); err != nil {
			return ""
		}
		return fmt.Sprintf("; there is a %s of this name: set kind to %s", kind, kind)
	}
}

// addHint adds a hint to the error about a name that is not found. The hint is an object of another kind with that name,
// which elsewhere returns unless it is nil, or the most similar name.
func addHint[T metav1.Object](err error, name string, list func(labels.Selector) ([]T, error), elsewhere func(name string) string) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	hint := ""
	if elsewhere != nil {
		hint = elsewhere(name)
	}
	if hint == "" {
		all, listErr := list(labels.Everything())
		if listErr != nil {
			return err // a cache does not fail
		}
		names := make([]string, 0, len(all))
		for _, o := range all {
			names = append(names, o.GetName())
		}
		hint = similar.Suggestion(name, names)
	}
	if hint == "" {
		return err
	}
	return &instancetype.HintedError{Err: err, Hint: hint}
}

// readThrough gets an object from the cache, or from the server if the cache lacks it.
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

// Revision returns a pinned instance type or preference.
func (r *objectReader) Revision(ctx context.Context, namespace, name string) (*instancetype.DecodedRevision, error) {
	return r.revisions.read(ctx, namespace, name)
}

// Class returns a class.
func (r *objectReader) Class(_ context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	class, err := r.classes.VirtualMachineClasses(namespace).Get(name)
	if err != nil {
		err = addHint(err, name, r.classes.VirtualMachineClasses(namespace).List, nil)
	}
	return class, err
}

// Image returns an image.
func (r *objectReader) Image(_ context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error) {
	switch ref.Kind {
	case vmv1alpha1.ClusterImageKind:
	case vmv1alpha1.MachineImageKind:
		source, err := r.machines.VirtualMachines(namespace).Get(ref.Name)
		if err != nil {
			return nil, addHint(err, ref.Name, r.machines.VirtualMachines(namespace).List, nil)
		}
		return source.AsImage(), nil
	default:
		image, err := r.images.VirtualMachineImages(namespace).Get(ref.Name)
		if err != nil {
			err = addHint(err, ref.Name, r.images.VirtualMachineImages(namespace).List, hintOtherKind(r.clusterImages.Get, vmv1alpha1.ClusterImageKind))
		}
		return image, err
	}
	image, err := r.clusterImages.Get(ref.Name)
	if err != nil {
		return nil, addHint(err, ref.Name, r.clusterImages.List, hintOtherKind(r.images.VirtualMachineImages(namespace).Get, vmv1alpha1.ImageKind))
	}
	return image.AsImage(), nil
}

// PersistentVolumeClaim returns a claim of the management cluster. It is not cached, because it is read only while
// something is inferred from a volume.
func (r *objectReader) PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return r.claims.PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}

// revisionStore reads and writes pinned instance types and preferences. The data of a revision never changes, so a
// cached revision is always current. Only revisions that the cache lacks are read from the server.
type revisionStore struct {
	client itclient.ControllerRevisionsGetter
	lister itlisters.ControllerRevisionLister
	// old reads the revisions of earlier versions, which stored them in the management cluster.
	old appsv1client.ControllerRevisionsGetter
	// decoder caches decoded revisions.
	decoder *instancetype.Decoder
}

var _ synchronizer.RevisionStore = (*revisionStore)(nil)

func newRevisionStore(
	client itclient.ControllerRevisionsGetter, informers externalversions.SharedInformerFactory, before appsv1client.ControllerRevisionsGetter,
) *revisionStore {
	revisions := informers.Instancetype().V1alpha1().ControllerRevisions()
	revisions.Informer() // registers the informer
	return &revisionStore{client: client, lister: revisions.Lister(), old: before, decoder: instancetype.NewDecoder()}
}

// read returns a decoded revision from the cache or the API. If neither has it, a revision of an earlier version is
// adopted.
func (s *revisionStore) read(ctx context.Context, namespace, name string) (*instancetype.DecodedRevision, error) {
	revision, err := s.lister.ControllerRevisions(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		revision, err = s.Get(ctx, namespace, name)
	}
	if apierrors.IsNotFound(err) {
		revision, err = s.adopt(ctx, namespace, name, err)
	}
	if err != nil {
		return nil, err
	}
	return s.decoder.Decode(revision), nil
}

// adopt copies a revision of an earlier version, or of KubeVirt, from the management cluster. The copy has the same
// name, because spec and status refer to it. The original is not deleted, for a downgrade. If there is none, or if the
// server has no permission to read it, missing is returned: an administrator who removed the permission has confirmed
// that none are left.
func (s *revisionStore) adopt(ctx context.Context, namespace, name string, missing error) (*itv1alpha1.ControllerRevision, error) {
	get, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	before, err := s.old.ControllerRevisions(namespace).Get(get, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, missing
	}
	if err != nil {
		return nil, fmt.Errorf("reading revision %s/%s of an earlier version from the management cluster: %w", namespace, name, err)
	}
	revision := &itv1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: before.Labels},
		Data:       before.Data,
		Revision:   before.Revision,
	}
	if !instancetype.Decode(revision).Valid() {
		return revision, nil // the reader reports the problem
	}
	taken, err := s.Create(ctx, revision)
	if apierrors.IsAlreadyExists(err) {
		return s.Get(ctx, namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("adopting revision %s/%s from the management cluster: %w", namespace, name, err)
	}
	klog.FromContext(ctx).Info("Adopted a revision from the management cluster", "revision", klog.KRef(namespace, name))
	return taken, nil
}

// Get reads a revision from the API.
func (s *revisionStore) Get(ctx context.Context, namespace, name string) (*itv1alpha1.ControllerRevision, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.client.ControllerRevisions(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Create stores a revision.
func (s *revisionStore) Create(ctx context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.client.ControllerRevisions(revision.Namespace).Create(ctx, revision, metav1.CreateOptions{})
}

// Update replaces a revision's metadata.
func (s *revisionStore) Update(ctx context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.client.ControllerRevisions(revision.Namespace).Update(ctx, revision, metav1.UpdateOptions{})
}

// revisionsOf returns the pinned revisions of vm that the cache or pinned has.
func (s *revisionStore) revisionsOf(vm *vmv1alpha1.VirtualMachine, pinned []*itv1alpha1.ControllerRevision) []*itv1alpha1.ControllerRevision {
	var out []*itv1alpha1.ControllerRevision
	for _, name := range vmrecord.RevisionNames(vm) {
		at := slices.IndexFunc(pinned, func(c *itv1alpha1.ControllerRevision) bool { return c.Name == name })
		if at >= 0 {
			out = append(out, pinned[at])
		} else if cached, err := s.lister.ControllerRevisions(vm.Namespace).Get(name); err == nil {
			out = append(out, cached)
		}
	}
	return out
}
