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

// callTimeout bounds one read of a server, within the context of the pass.
const callTimeout = 10 * time.Second

// objectReader implements instancetype.Reader: our own kinds from informers,
// revisions from a cache that reads through, claims from the host cluster. An
// instance type or a preference that the informer lacks is read from the server:
// who applies it together with its virtual machines must not see it missing.
type objectReader struct {
	instancetype.Getters
	// hint adds to the error about a name of a kind what was probably meant by it.
	hint    map[instancetype.Kind]func(namespace, name string, err error) error
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
		hint: map[instancetype.Kind]func(namespace, name string, err error) error{
			instancetype.KindInstancetype: func(namespace, name string, err error) error {
				return hinted(err, name, instancetypes.VirtualMachineInstancetypes(namespace).List, other(clusterInstancetypes.Get, instancetype.KindClusterInstancetype.TypeName()))
			},
			instancetype.KindClusterInstancetype: func(namespace, name string, err error) error {
				return hinted(err, name, clusterInstancetypes.List, other(instancetypes.VirtualMachineInstancetypes(namespace).Get, instancetype.KindInstancetype.TypeName()))
			},
			instancetype.KindPreference: func(namespace, name string, err error) error {
				return hinted(err, name, preferences.VirtualMachinePreferences(namespace).List, other(clusterPreferences.Get, instancetype.KindClusterPreference.TypeName()))
			},
			instancetype.KindClusterPreference: func(namespace, name string, err error) error {
				return hinted(err, name, clusterPreferences.List, other(preferences.VirtualMachinePreferences(namespace).Get, instancetype.KindPreference.TypeName()))
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
	if hint := r.hint[kind]; err != nil && hint != nil {
		err = hint(namespace, name, err)
	}
	return o, err
}

// other returns what reports that an object of another kind has a name.
func other[T any](get func(string) (T, error), kind string) func(name string) string {
	return func(name string) string {
		if _, err := get(name); err != nil {
			return ""
		}
		return fmt.Sprintf("; there is a %s of this name: set kind to %s", kind, kind)
	}
}

// hinted adds to the error about a name that is not found what was probably meant: an object of another kind that
// has the name, which elsewhere reports unless it is nil, or the object with the most similar name.
func hinted[T metav1.Object](err error, name string, list func(labels.Selector) ([]T, error), elsewhere func(name string) string) error {
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
		hint = similar.Hint(name, names)
	}
	if hint == "" {
		return err
	}
	return &instancetype.HintedError{Err: err, Hint: hint}
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
	class, err := r.classes.VirtualMachineClasses(namespace).Get(name)
	if err != nil {
		err = hinted(err, name, r.classes.VirtualMachineClasses(namespace).List, nil)
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
			return nil, hinted(err, ref.Name, r.machines.VirtualMachines(namespace).List, nil)
		}
		return source.AsImage(), nil
	default:
		image, err := r.images.VirtualMachineImages(namespace).Get(ref.Name)
		if err != nil {
			err = hinted(err, ref.Name, r.images.VirtualMachineImages(namespace).List, other(r.clusterImages.Get, vmv1alpha1.ClusterImageKind))
		}
		return image, err
	}
	image, err := r.clusterImages.Get(ref.Name)
	if err != nil {
		return nil, hinted(err, ref.Name, r.clusterImages.List, other(r.images.VirtualMachineImages(namespace).Get, vmv1alpha1.ImageKind))
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

// revisionStore reads and writes captured instance types and preferences. What a
// revision holds never changes, so a cached one is as good as a read one; only what the
// cache lacks is read.
type revisionStore struct {
	client itclient.ControllerRevisionsGetter
	lister itlisters.ControllerRevisionLister
	// before has the revisions of versions that kept them in the host cluster.
	before appsv1client.ControllerRevisionsGetter
	// decoder remembers what passes have read.
	decoder *instancetype.Decoder
}

var _ synchronizer.RevisionStore = (*revisionStore)(nil)

func newRevisionStore(
	client itclient.ControllerRevisionsGetter, informers externalversions.SharedInformerFactory, before appsv1client.ControllerRevisionsGetter,
) *revisionStore {
	revisions := informers.Instancetype().V1alpha1().ControllerRevisions()
	revisions.Informer() // which registers it
	return &revisionStore{client: client, lister: revisions.Lister(), before: before, decoder: instancetype.NewDecoder()}
}

// captured returns a revision, decoded: from the cache, or else from the API, or else
// from those of before, which are taken over at this.
func (s *revisionStore) captured(ctx context.Context, namespace, name string) (*instancetype.Captured, error) {
	revision, err := s.lister.ControllerRevisions(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		revision, err = s.Get(ctx, namespace, name)
	}
	if apierrors.IsNotFound(err) {
		revision, err = s.takeOver(ctx, namespace, name, err)
	}
	if err != nil {
		return nil, err
	}
	return s.decoder.Decode(revision), nil
}

// takeOver copies a revision that an earlier version, or KubeVirt, left in the host
// cluster, under its name, since spec and status have that. The original stays, for a
// return to that version. missing is the error when there is none, also for a server
// that has no right any more to look: who took it away says that none are left.
func (s *revisionStore) takeOver(ctx context.Context, namespace, name string, missing error) (*itv1alpha1.ControllerRevision, error) {
	get, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	before, err := s.before.ControllerRevisions(namespace).Get(get, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, missing
	}
	if err != nil {
		return nil, fmt.Errorf("looking for revision %s/%s of an earlier version in the host cluster: %w", namespace, name, err)
	}
	revision := &itv1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: before.Labels},
		Data:       before.Data,
		Revision:   before.Revision,
	}
	if !instancetype.Decode(revision).Valid() {
		return revision, nil // what reads it says what is wrong with it
	}
	taken, err := s.Create(ctx, revision)
	if apierrors.IsAlreadyExists(err) {
		return s.Get(ctx, namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("taking revision %s/%s over from the host cluster: %w", namespace, name, err)
	}
	klog.FromContext(ctx).Info("Took a revision over from the host cluster", "revision", klog.KRef(namespace, name))
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

// Update replaces the metadata of a revision.
func (s *revisionStore) Update(ctx context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.client.ControllerRevisions(revision.Namespace).Update(ctx, revision, metav1.UpdateOptions{})
}

// of returns the revisions that vm has captured, as far as the cache or captured has them.
func (s *revisionStore) of(vm *vmv1alpha1.VirtualMachine, captured []*itv1alpha1.ControllerRevision) []*itv1alpha1.ControllerRevision {
	var out []*itv1alpha1.ControllerRevision
	for _, name := range vmrecord.RevisionNames(vm) {
		at := slices.IndexFunc(captured, func(c *itv1alpha1.ControllerRevision) bool { return c.Name == name })
		if at >= 0 {
			out = append(out, captured[at])
		} else if cached, err := s.lister.ControllerRevisions(vm.Namespace).Get(name); err == nil {
			out = append(out, cached)
		}
	}
	return out
}
