// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// usedStep is the resolution of status.lastUsed: a smaller difference is not written.
const usedStep = time.Minute

// ensureCopies checks the copies of a location, and starts a copy operation if files are missing.
func (p *reconciliation) ensureCopies(ctx context.Context, at locationKey, desired location, l *locationStatus) {
	if op, ok := p.operation(at); ok && !p.recordResult(at, op, l) {
		return
	}
	p.recordLastUse(l)
	if wait := p.due.in(at, p.now()); wait > 0 {
		p.requeueAfter(min(wait, usedStep)) // lastUsed may change until then
		return
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	before := provider.CacheLocation{VCenter: at.vcenter, DatastoreID: l.DatastoreID, ProfileID: l.ProfileID}
	place, err := p.files.Locate(reading, p.cache.Spec.ContentLibrary, desired, before)
	if err != nil {
		if ctx.Err() == nil {
			p.setUnusable(l, err)
		}
		p.scheduleCheck(at, l)
		return
	}
	p.recordLocation(l, place)
	if p.isDuplicate(l) {
		p.scheduleCheck(at, l)
		return
	}
	missing, err := p.check(reading, l, place)
	switch {
	case err != nil:
		set(l, p.now(), vmv1alpha1.ConditionProviderReady, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, err.Error())
		p.scheduleCheck(at, l)
	case missing == "":
		set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
		p.scheduleCheck(at, l)
	default:
		p.copy(ctx, at, l, place, missing)
	}
}

// scheduleCheck sets when a location is checked again. The longer it could not be read or used, the longer the delay.
func (p *reconciliation) scheduleCheck(at locationKey, l *locationStatus) {
	pause := checkInterval
	if conditions.Find(l.Conditions, vmv1alpha1.ConditionProviderReady) != nil {
		pause = controller.ObserveDelay(l.Conditions, vmv1alpha1.ConditionProviderReady, vmv1alpha1.ConditionDeleting, p.now(), checkInterval)
	}
	p.due.set(at, p.now().Add(pause))
	p.requeueAfter(pause)
}

// operation returns the operation of a location.
func (p *reconciliation) operation(at locationKey) (op provider.ImageOperation, ok bool) {
	op, ok = p.files.ImageOperations()[at.String()]
	return op, ok
}

// recordResult writes the result of an operation into the status. It returns false if nothing else can be done with the
// location yet.
func (p *reconciliation) recordResult(at locationKey, op provider.ImageOperation, l *locationStatus) bool {
	if op.Directory != l.Directory {
		if op.Kind != provider.ImageCopy || complete(l) {
			// The cache was created again or restored since.
			p.files.EndImageOperation(at.String())
			return op.Ended
		}
		resetCopy(l, op.Directory) // writing the status failed after the operation had started
	}
	if !op.Ended {
		l.Progress = max(l.Progress, min(op.Progress, 90))
		return false
	}
	// If the status is not written, the next reconcile needs the operation again.
	files := p.files
	p.written = append(p.written, func() { files.EndImageOperation(at.String()) })
	if op.Err == nil {
		l.Files, l.Progress, l.ContentSize = op.Files, 100, sum(op.Files)
		set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
		p.written = append(p.written, func() {
			p.recordEvent(corev1.EventTypeNormal, "Copied", "Copy", "The image is copied to %s", op.Directory)
		})
		return true
	}
	if !errors.Is(op.Err, context.Canceled) {
		p.written = append(p.written, func() {
			p.recordEvent(corev1.EventTypeWarning, "CopyFailed", "Copy", "Copying the image to %s failed: %s", op.Directory, conditions.Message(op.Err.Error()))
		})
	}
	l.Directory, l.Progress = "", 0
	p.scheduleCollection()
	set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonError, op.Err.Error())
	if errors.Is(op.Err, provider.ErrNoSpace) {
		p.sweeps.setShort(p.vcenter, l.DatastoreID)
	}
	// The next copy needs a status without a directory.
	p.requeueAfter(controller.Soon)
	return false
}

// resetCopy clears the status of the previous copy, and sets the directory of a new one.
func resetCopy(l *locationStatus, directory string) {
	l.Directory, l.Files, l.ContentSize, l.Progress, l.LastUsed = directory, nil, nil, 0, nil
}

// sum returns the total size of files, or nil if no size is known.
func sum(files []vmv1alpha1.VirtualMachineImageCacheFile) *resource.Quantity {
	var total *resource.Quantity
	for i := range files {
		if size := files[i].ContentSize; size != nil {
			if total == nil {
				total = resource.NewQuantity(0, resource.BinarySI)
			}
			total.Add(*size)
		}
	}
	return total
}

// recordLastUse updates lastUsed.
func (p *reconciliation) recordLastUse(l *locationStatus) {
	if l.Directory == "" {
		return
	}
	last := p.files.LastUsed(l.Directory).Truncate(usedStep)
	if l.LastUsed == nil && !last.IsZero() || l.LastUsed != nil && last.After(l.LastUsed.Time) {
		now := metav1.NewTime(last)
		l.LastUsed = &now
	}
}

// recordLocation writes the IDs of the objects that a location names into its status.
func (p *reconciliation) recordLocation(l *locationStatus, place provider.ImageCopyLocation) {
	l.DatastoreID, l.ProfileID, l.ItemID, l.ContentVersion = place.DatastoreID, place.ProfileID, place.ItemID, place.ContentVersion
	for _, kind := range []string{vmv1alpha1.ConditionProviderReady, vmv1alpha1.ConditionOVFReady} {
		set(l, p.now(), kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
	}
}

// isDuplicate reports whether an earlier location has the same datastore and storage profile. It sets Ready to False then;
// the location gets no copies.
func (p *reconciliation) isDuplicate(l *locationStatus) bool {
	for i := range p.cache.Status.Locations {
		other := &p.cache.Status.Locations[i]
		if statusKey(p.part.cache, other) == statusKey(p.part.cache, l) {
			return false
		}
		if other.VCenter == l.VCenter && other.DatastoreID == l.DatastoreID && other.ProfileID == l.ProfileID {
			set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonConflict, "same datastore and storage policy as location "+other.Datastore)
			return true
		}
	}
	return false
}

// check returns a description of the files that are missing. It is empty if the copies are complete.
func (p *reconciliation) check(ctx context.Context, l *locationStatus, place provider.ImageCopyLocation) (string, error) {
	if !complete(l) || !place.Contains(l.Directory) {
		return "no complete copy of version " + place.ContentVersion, nil
	}
	l.Directory = place.WithCurrentDatastore(l.Directory)
	for i := range l.Files {
		l.Files[i].Path = place.WithCurrentDatastore(l.Files[i].Path)
	}
	missing, err := p.files.Missing(ctx, place, l.Directory, l.Files)
	if len(missing) > 0 {
		p.recordEvent(corev1.EventTypeWarning, "FileMissing", "Check", "%s is missing; the image is copied again", missing[0])
	}
	return strings.Join(missing, ", "), err
}

// copy starts a copy operation with a new directory. A sweep removes the previous directory, which no status names then.
func (p *reconciliation) copy(ctx context.Context, at locationKey, l *locationStatus, place provider.ImageCopyLocation, why string) {
	files, directory := p.files, place.Directory+"-"+randomSuffix()
	err := files.StartImageOperation(ctx, at.String(), provider.ImageOperation{
		Kind: provider.ImageCopy, Detail: place.DatastoreID + " " + place.Directory, Directory: directory,
		Run: func(ctx context.Context, progress func(int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
			return files.Copy(ctx, place, directory, progress)
		},
	})
	switch wait, later := provider.AsRequeue(err); {
	case err == nil:
		p.scheduleCollection() // for the previous directory, or that of a process that ended
		resetCopy(l, directory)
		set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonInProgress, "the image is being copied: "+why)
	case errors.Is(err, provider.ErrTooManyOperations):
		set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonInProgress, "waiting for a free image-copy slot: "+why)
	case later:
		p.requeueAfter(wait)
	default:
		p.requeueAfter(controller.Soon)
	}
}

// scheduleCollection requests a search for directories that no status names.
func (p *reconciliation) scheduleCollection() {
	p.sweeps.setDirty(p.vcenter)
	p.written = append(p.written, func() { p.enqueue(sweepPart(p.vcenter), 0) })
}

// randomSuffix returns the unique part of a directory name.
func randomSuffix() string { return strings.ToLower(rand.Text()[:8]) }

// removeCopies removes the copies of a location that spec no longer has. It returns true when no copies are left.
func (p *reconciliation) removeCopies(ctx context.Context, at locationKey, l *locationStatus) bool {
	files, id, directory := p.files, l.DatastoreID, l.Directory
	if op, ok := p.operation(at); ok {
		switch {
		case !op.Ended && op.Kind == provider.ImageRemoval:
			return false
		case !op.Ended:
			files.EndImageOperation(at.String())
			return false
		case op.Kind == provider.ImageRemoval && op.Directory == directory && op.Err == nil:
			l.Directory = ""
		case op.Kind == provider.ImageRemoval && op.Directory == directory:
			setNotRemoved(l, p.now(), op.Err)
		}
		p.written = append(p.written, func() { files.EndImageOperation(at.String()) })
		if l.Directory != "" {
			p.requeueAfter(controller.Soon)
			return false
		}
	}
	if l.Directory == "" {
		p.due.forget(at)
		p.scheduleCollection()
		return true
	}
	err := files.StartImageOperation(ctx, at.String(), provider.ImageOperation{
		Kind: provider.ImageRemoval, Detail: directory, Directory: directory,
		Run: func(ctx context.Context, _ func(int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
			return nil, files.Remove(ctx, id, directory)
		},
	})
	switch wait, later := provider.AsRequeue(err); {
	case later:
		p.requeueAfter(wait)
	case !isRemoving(l):
		set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonDeleting, "the copies are being removed")
	}
	return false
}

// isRemoving reports whether the removal of a location has begun.
func isRemoving(l *locationStatus) bool {
	c := conditions.Find(l.Conditions, vmv1alpha1.ConditionReady)
	return c != nil && (c.Reason == vmv1alpha1.ReasonDeleting || c.Reason == vmv1alpha1.ReasonInUse || c.Reason == vmv1alpha1.ReasonNotRemoved)
}

// setNotRemoved sets Ready to False with the reason why a directory could not be removed.
func setNotRemoved(l *locationStatus, now time.Time, err error) {
	reason := vmv1alpha1.ReasonNotRemoved
	var used *provider.ImageInUseError
	if errors.As(err, &used) {
		reason = vmv1alpha1.ReasonInUse
	}
	set(l, now, vmv1alpha1.ConditionReady, metav1.ConditionFalse, reason, "the copies could not be removed: "+err.Error())
}
