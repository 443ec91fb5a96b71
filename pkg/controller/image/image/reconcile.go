// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// describeInterval is the interval in which a template, or an item that could not be described, is read again. vCenter
	// sends no events for them.
	describeInterval = controller.DefaultResyncPeriod
	// listInterval is the interval in which a library is listed again, and the minimum time between two lists. A list
	// takes one or two calls.
	listInterval = controller.Poll
	// readTimeout is the time limit for reading one list or one image. Each call has its own, shorter timeout.
	readTimeout = 5 * time.Minute
)

// reconciler reconciles sources.
type reconciler struct {
	client vmclient.VmV1alpha1Interface
	// images has the indexers of both kinds, with indexBySource.
	images  []cache.Indexer
	vsphere provider.Images
	shard   controller.Shard
	now     func() time.Time
	// lists has the latest *list of each source. A source is reconciled by one worker at a time.
	lists sync.Map
}

// list has the items of a library.
type list struct {
	items map[string][]provider.LibraryItem
	// unread is the error of vCenters that could not be read, or nil.
	unread error
	at     time.Time
	// described has the results of reading descriptors, by item and version.
	described map[string]described
}

// described is the result of reading the descriptor of an item.
type described struct {
	finding
	at time.Time
}

// Reconcile reads one source and writes the status of its images.
func (r *reconciler) Reconcile(ctx context.Context, p source) (controller.Result, error) {
	bound, err := r.shard.Bind(ctx, "")
	if err != nil {
		return controller.Result{RequeueAfter: controller.Soon}, ctx.Err()
	}
	ctx = bound
	images, err := r.imagesOf(p)
	if err != nil {
		return controller.Result{}, err
	}
	if len(images) == 0 {
		r.lists.Delete(p)
		return controller.Result{}, nil // the next image enqueues it again
	}
	look, after := r.template(ctx, p), describeInterval
	if p.library != "" {
		look, after = r.library(ctx, p), listInterval
	}
	var failed error
	for _, image := range images {
		f, ok := look(image)
		switch {
		case !ok:
			after = min(after, listInterval)
			continue
		case errors.Is(f.err, provider.ErrNotInUse):
			after = min(after, controller.Soon) // this is not a fault of the image
			continue
		}
		var unusable *provider.NotUsableError
		if f.err != nil && !errors.As(f.err, &unusable) {
			failed = f.err
		}
		if f.unread != nil {
			after = min(after, listInterval)
		}
		err := r.write(ctx, image, statusOf(&image.Status, f, r.now()))
		switch {
		case apierrors.IsConflict(err): // the cache does not have the latest version
			after = min(after, controller.Conflict)
		case err != nil && !apierrors.IsNotFound(err):
			failed = err
		}
	}
	if failed != nil {
		return controller.Result{}, fmt.Errorf("reading the images of %s: %w", p, failed)
	}
	return controller.Result{RequeueAfter: after}, nil
}

// imagesOf returns the images of a source.
func (r *reconciler) imagesOf(p source) ([]*vmv1alpha1.VirtualMachineImage, error) {
	var images []*vmv1alpha1.VirtualMachineImage
	for _, indexer := range r.images {
		found, err := indexer.ByIndex(indexBySource, p.String())
		if err != nil {
			return nil, fmt.Errorf("listing the images of %s: %w", p, err)
		}
		for _, obj := range found {
			if i, ok := imageOf(obj); ok {
				images = append(images, i)
			}
		}
	}
	return images, nil
}

// describeFunc describes one image. It returns false if the image must be described by the next reconcile.
type describeFunc func(*vmv1alpha1.VirtualMachineImage) (finding, bool)

// template returns a function that describes the template. The template is read once.
func (r *reconciler) template(ctx context.Context, p source) describeFunc {
	describe := sync.OnceValue(func() finding {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		d, err := r.vsphere.DescribeTemplate(ctx, p.template)
		if d == nil {
			return finding{err: err}
		}
		return finding{description: d, vcenters: d.Status.VCenters, unread: err}
	})
	return func(*vmv1alpha1.VirtualMachineImage) (finding, bool) { return describe(), true }
}

// library lists the library, unless its list is recent, and returns a function that describes its items.
func (r *reconciler) library(ctx context.Context, p source) describeFunc {
	known, fresh, err := r.list(ctx, p)
	if err != nil {
		return func(*vmv1alpha1.VirtualMachineImage) (finding, bool) { return finding{err: err}, true }
	}
	return func(image *vmv1alpha1.VirtualMachineImage) (finding, bool) {
		source := image.Spec.ContentLibrary
		item, vcenters, n := pick(known.items[source.Item], image.Status.ProviderItemID)
		switch {
		case n == 0 && known.unread != nil:
			return finding{err: known.unread}, true
		case n == 0 && !fresh:
			return finding{}, false // the item may have been added since the list
		case n == 0:
			return finding{err: &provider.NotUsableError{Message: fmt.Sprintf("content library %q has no item %q", source.Library, source.Item), Missing: true}}, true
		case n > 1:
			return finding{err: &provider.NotUsableError{Message: fmt.Sprintf("content library %q has %d items %q", source.Library, n, source.Item)}}, true
		}
		var f finding
		switch {
		case describes(&image.Status, item):
			f = unchanged(&image.Status, item.Size)
		case isUnread(&image.Status, known.unread):
			f = unchanged(&image.Status, image.Status.ContentSize)
		default:
			f = r.describe(ctx, known, item)
		}
		f.vcenters, f.unread = vcenters, known.unread
		return f, true
	}
}

// describe reads the descriptor of an item, or returns the recent result.
func (r *reconciler) describe(ctx context.Context, known *list, item *provider.LibraryItem) finding {
	key := fmt.Sprintf("%s %s %v", item.ID, item.ContentVersion, item.Size)
	if last, ok := known.described[key]; ok && r.now().Sub(last.at) < describeInterval {
		return last.finding
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var f finding
	f.description, f.err = r.vsphere.DescribeItem(ctx, *item)
	var unusable *provider.NotUsableError
	if f.err == nil || errors.As(f.err, &unusable) {
		known.described[key] = described{f, r.now()}
	}
	return f
}

// unchanged returns the description that status has. size is that of the files in the library; a subscribed library
// downloads them on demand.
func unchanged(status *vmv1alpha1.VirtualMachineImageStatus, size *resource.Quantity) finding {
	d := &provider.ImageDescription{Status: *status}
	d.Status.Conditions, d.Status.ContentSize = nil, size
	if c := conditions.Find(status.Conditions, vmv1alpha1.ConditionOVFReady); c != nil && c.Status != metav1.ConditionTrue {
		d.Incomplete = c.Message
	}
	if c := conditions.Find(status.Conditions, vmv1alpha1.ConditionSettingsApplied); c != nil {
		if c.Status == metav1.ConditionTrue {
			d.DefaultConfiguration = c.Message
		} else {
			d.NotApplied = c.Message
		}
	}
	return finding{description: d}
}

// list returns the items of the library and whether they were read now.
func (r *reconciler) list(ctx context.Context, p source) (known *list, fresh bool, err error) {
	before, ok := r.lists.Load(p)
	if ok && r.now().Sub(before.(*list).at) < listInterval {
		return before.(*list), false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	now := r.now()
	items, err := r.vsphere.Items(ctx, p.library)
	if err != nil && len(items) == 0 {
		return nil, false, err
	}
	known = &list{items: map[string][]provider.LibraryItem{}, unread: err, at: now, described: map[string]described{}}
	if ok {
		maps.Copy(known.described, before.(*list).described)
		maps.DeleteFunc(known.described, func(_ string, d described) bool { return now.Sub(d.at) >= describeInterval })
	}
	for _, item := range items {
		known.items[item.Name] = append(known.items[item.Name], item)
	}
	r.lists.Store(p, known)
	return known, true, nil
}

// write writes the status of an image if it differs.
func (r *reconciler) write(ctx context.Context, image *vmv1alpha1.VirtualMachineImage, status vmv1alpha1.VirtualMachineImageStatus) error {
	status.ObservedGeneration = image.Generation
	if equality.Semantic.DeepEqual(image.Status, status) {
		return nil
	}
	var err error
	if image.Namespace == "" {
		next := &vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: *image.ObjectMeta.DeepCopy(), Spec: image.Spec, Status: status}
		_, err = r.client.ClusterVirtualMachineImages().UpdateStatus(ctx, next, metav1.UpdateOptions{})
	} else {
		next := image.DeepCopy()
		next.Status = status
		_, err = r.client.VirtualMachineImages(image.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("updating the status of image %s: %w", controller.KeyOf(image), err)
	}
	return nil
}
