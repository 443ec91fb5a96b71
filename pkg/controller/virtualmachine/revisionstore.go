// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/virtualmachine/synchronizer"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// ownerIndex finds revisions by the UIDs of the virtual machines that own them.
const ownerIndex = "owner"

// revisionStore reads and writes the ControllerRevisions of the host cluster that
// hold captured instance types and preferences. Their content never changes, so a
// cached one is as good as a read one; only what the cache lacks is read.
type revisionStore struct {
	client   appsv1client.ControllerRevisionsGetter
	informer cache.SharedIndexInformer
	// decoded are the revisions that passes have read, by decodedKey.
	decoded *lru.Cache
}

// decodedSize is how many revisions are kept decoded: more than there are sizes and
// preferences in use, each of some kilobytes.
const decodedSize = 1024

// decodedKey is one state of one revision.
type decodedKey struct {
	uid     types.UID
	version string
}

var _ synchronizer.RevisionStore = (*revisionStore)(nil)

// newRevisionStore makes a store that watches our revisions, and none of the many
// that the workloads of the host cluster have.
func newRevisionStore(client kubernetes.Interface) (*revisionStore, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = instancetype.LabelObjectUID }),
		informers.WithTransform(controller.WithoutManagedFields))
	informer := factory.Apps().V1().ControllerRevisions().Informer()
	err := informer.AddIndexers(cache.Indexers{ownerIndex: func(obj any) ([]string, error) {
		var owners []string
		for _, owner := range obj.(*appsv1.ControllerRevision).OwnerReferences {
			if owner.Kind == "VirtualMachine" && owner.APIVersion == vmv1alpha1.SchemeGroupVersion.String() {
				owners = append(owners, string(owner.UID))
			}
		}
		return owners, nil
	}})
	return &revisionStore{client: client.AppsV1(), informer: informer, decoded: lru.New(decodedSize)}, err
}

// captured returns a revision, decoded, from the cache, or else from the host cluster.
func (s *revisionStore) captured(ctx context.Context, namespace, name string) (*instancetype.Captured, error) {
	obj, ok, err := s.informer.GetStore().GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	revision, ok := obj.(*appsv1.ControllerRevision)
	if !ok {
		if revision, err = s.Get(ctx, namespace, name); err != nil {
			return nil, err
		}
	}
	key := decodedKey{revision.UID, revision.ResourceVersion}
	if known, ok := s.decoded.Get(key); ok {
		return known.(*instancetype.Captured), nil
	}
	captured := instancetype.Decode(revision)
	if revision.UID != "" {
		s.decoded.Add(key, captured)
	}
	return captured, nil
}

// owned returns the cached revisions of a virtual machine.
func (s *revisionStore) owned(vm types.UID) ([]*appsv1.ControllerRevision, error) {
	objs, err := s.informer.GetIndexer().ByIndex(ownerIndex, string(vm))
	if err != nil {
		return nil, err
	}
	revisions := make([]*appsv1.ControllerRevision, 0, len(objs))
	for _, obj := range objs {
		revisions = append(revisions, obj.(*appsv1.ControllerRevision))
	}
	return revisions, nil
}

// Get reads a revision from the host cluster.
func (s *revisionStore) Get(ctx context.Context, namespace, name string) (*appsv1.ControllerRevision, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.client.ControllerRevisions(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Create stores a revision in the host cluster.
func (s *revisionStore) Create(ctx context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.client.ControllerRevisions(revision.Namespace).Create(ctx, revision, metav1.CreateOptions{})
}

// Adopt makes vm an owner of the revision called name, which exists already.
func (s *revisionStore) Adopt(ctx context.Context, vm *vmv1alpha1.VirtualMachine, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	client := s.client.ControllerRevisions(vm.Namespace)
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil || !instancetype.AddOwner(live, vm) {
		return err
	}
	_, err = client.Update(ctx, live, metav1.UpdateOptions{})
	return err
}

// delete removes exactly the revision that was seen.
func (s *revisionStore) delete(ctx context.Context, revision *appsv1.ControllerRevision) error {
	err := s.client.ControllerRevisions(revision.Namespace).Delete(ctx, revision.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(revision.UID))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
