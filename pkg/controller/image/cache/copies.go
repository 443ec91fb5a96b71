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
	"github.com/slipway-dev/slipway/pkg/provider"
)

// usedStep is by how much the time of the last use has to differ to be written.
const usedStep = time.Minute

// keep makes a location have the copies.
func (p *pass) keep(ctx context.Context, at spot, asked location, l *locationStatus) {
	if op := p.operations.get(at); op != nil && !p.heard(at, op, l) {
		p.next(progressInterval)
		return
	}
	p.used(l)
	if wait := p.due.in(at, p.now()); wait > 0 {
		p.next(min(wait, usedStep)) // by when it may have been used
		return
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	before := provider.CachePlace{VCenter: at.vcenter, DatastoreID: l.DatastoreID, ProfileID: l.ProfileID}
	place, err := p.files.Locate(reading, p.cache.Spec.ContentLibrary, asked, before)
	if err != nil {
		if ctx.Err() == nil {
			p.unready(l, err)
		}
		p.next(p.due.looked(at, p.now(), true))
		return
	}
	p.found(l, place)
	if p.twice(l) {
		p.next(p.due.looked(at, p.now(), false))
		return
	}
	missing, err := p.check(reading, l, place)
	switch {
	case err != nil:
		set(l, p.now(), vmv1alpha1.ConditionProviderReady, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, err.Error())
		p.next(p.due.looked(at, p.now(), true))
	case missing == "":
		set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
		p.next(p.due.looked(at, p.now(), false))
	default:
		p.copy(at, l, place, missing)
	}
}

// heard takes down what came of an operation. It is false while that runs.
func (p *pass) heard(at spot, op *operation, l *locationStatus) bool {
	if op.directory != l.Directory {
		// It is of before the cache was made again, or was restored.
		if p.operations.cancel(at); op.ended {
			p.operations.forget(at)
		}
		return op.ended
	}
	if !op.ended {
		// Steps of ten percent: a status is written seldom.
		l.Progress = max(l.Progress, min(op.progress/10*10, 90))
		return false
	}
	// If the status is not written, the next pass needs the operation again.
	p.written = append(p.written, func() { p.operations.forget(at) })
	if op.err == nil {
		l.Files, l.Progress, l.ContentSize = op.files, 100, sum(op.files)
		set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
		p.written = append(p.written, func() { p.tell(corev1.EventTypeNormal, "Copied", "Copy", "The image is copied to %s", op.directory) })
		p.due.looked(at, p.now(), false)
		return true
	}
	if !errors.Is(op.err, context.Canceled) {
		p.written = append(p.written, func() {
			p.tell(corev1.EventTypeWarning, "CopyFailed", "Copy", "Copying the image to %s failed: %s", op.directory, conditions.Message(op.err.Error()))
		})
	}
	l.Directory, l.Progress = "", 0
	p.litter()
	set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonError, op.err.Error())
	p.due.looked(at, p.now(), true)
	if errors.Is(op.err, provider.ErrNoSpace) {
		p.sweeps.lacks(p.vcenter, l.DatastoreID)
		p.due.cramped(at)
	}
	return true
}

// sum is what files take, nil if that is not known.
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

// used writes down the last use, to the minute.
func (p *pass) used(l *locationStatus) {
	if l.Directory == "" {
		return
	}
	last := p.files.LastUsed(l.Directory).Truncate(usedStep)
	if l.LastUsed == nil && !last.IsZero() || l.LastUsed != nil && last.After(l.LastUsed.Time) {
		now := metav1.NewTime(last)
		l.LastUsed = &now
	}
}

// found writes down what a location names.
func (p *pass) found(l *locationStatus, place provider.ImagePlace) {
	l.DatastoreID, l.ProfileID, l.ItemID, l.ContentVersion = place.DatastoreID, place.ProfileID, place.ItemID, place.ContentVersion
	for _, kind := range []string{vmv1alpha1.ConditionProviderReady, vmv1alpha1.ConditionOVFReady} {
		set(l, p.now(), kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
	}
}

// twice is true of a location that leads to the same place as one before it, and has no
// copies of its own.
func (p *pass) twice(l *locationStatus) bool {
	for i := range p.cache.Status.Locations {
		other := &p.cache.Status.Locations[i]
		if spotOfStatus(p.part.cache, other) == spotOfStatus(p.part.cache, l) {
			return false
		}
		if other.VCenter == l.VCenter && other.DatastoreID == l.DatastoreID && other.ProfileID == l.ProfileID {
			set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonConflict, "it is the same place as datastore "+other.Datastore)
			return true
		}
	}
	return false
}

// check says what is missing of the copies, empty for nothing.
func (p *pass) check(ctx context.Context, l *locationStatus, place provider.ImagePlace) (string, error) {
	if !complete(l) || !place.Holds(l.Directory) {
		return "it has no complete copy of version " + place.ContentVersion, nil
	}
	l.Directory = place.Present(l.Directory)
	for i := range l.Files {
		l.Files[i].Path = place.Present(l.Files[i].Path)
	}
	missing, err := p.files.Missing(ctx, place, l.Directory, l.Files)
	if len(missing) > 0 {
		p.tell(corev1.EventTypeWarning, "FileMissing", "Check", "%s is gone: the image is copied again", missing[0])
	}
	return strings.Join(missing, ", "), err
}

// copy lets a copy begin, in a directory of its own. The one of before is of no use, and is
// removed by whoever finds that nobody names it.
func (p *pass) copy(at spot, l *locationStatus, place provider.ImagePlace, why string) {
	p.litter() // of before, or of an attempt of a process before this one
	l.Directory, l.Files, l.ContentSize, l.Progress, l.LastUsed = place.Directory+"-"+attempt(), nil, nil, 0, nil
	set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonInProgress, "the image is being copied: "+why)
	files, directory := p.files, l.Directory
	p.begin = append(p.begin, func() {
		p.operations.begin(at, directory, func(ctx context.Context, progress func(int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
			return files.Copy(ctx, place, directory, progress)
		})
	})
	p.next(progressInterval)
}

// litter says that a directory is of no use any more.
func (p *pass) litter() {
	p.sweeps.litter(p.vcenter)
	p.begin = append(p.begin, func() { p.operations.over(sweepOf(p.vcenter)) })
}

// attempt is the part of the name of a directory that no other one has.
func attempt() string { return strings.ToLower(rand.Text()[:8]) }

// leave removes the copies of a location that is not wanted any more, and is true when there
// are none.
func (p *pass) leave(at spot, l *locationStatus) bool {
	removing := removal(l.Directory)
	op := p.operations.get(at)
	switch {
	case op != nil && !op.ended:
		if op.directory != removing {
			p.operations.cancel(at)
		}
		p.next(progressInterval)
		return false
	case op != nil:
		p.written = append(p.written, func() { p.operations.forget(at) })
		if op.directory == removing && op.err == nil {
			l.Directory = ""
		} else if op.directory == removing {
			p.notRemoved(at, l, op.err)
		}
	}
	if l.Directory == "" {
		p.due.forget(at)
		p.litter()
		for _, other := range p.due.roomier(p.vcenter, p.now()) {
			p.begin = append(p.begin, func() { p.operations.over(other) })
		}
		return true
	}
	if !tried(l) {
		p.due.forget(at)
		set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonDeleting, "the copies are being removed")
	} else if wait := p.due.in(at, p.now()); wait > 0 {
		p.next(wait)
		return false
	}
	files, id, directory := p.files, l.DatastoreID, l.Directory
	p.begin = append(p.begin, func() {
		p.operations.begin(at, removing, func(ctx context.Context, _ func(int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
			return nil, files.Remove(ctx, id, directory)
		})
	})
	p.next(progressInterval)
	return false
}

// tried is true of a location that was to be removed before.
func tried(l *locationStatus) bool {
	c := conditions.Find(l.Conditions, vmv1alpha1.ConditionReady)
	return c != nil && (c.Reason == vmv1alpha1.ReasonDeleting || c.Reason == vmv1alpha1.ReasonInUse || c.Reason == vmv1alpha1.ReasonNotRemoved)
}

// removal tells the removal of a directory from a copy to it.
func removal(directory string) string { return "-" + directory }

// notRemoved says why a directory is still there.
func (p *pass) notRemoved(at spot, l *locationStatus, err error) {
	reason := vmv1alpha1.ReasonNotRemoved
	var used *provider.ImageInUseError
	if errors.As(err, &used) {
		reason = vmv1alpha1.ReasonInUse
	}
	set(l, p.now(), vmv1alpha1.ConditionReady, metav1.ConditionFalse, reason, "the copies stay: "+err.Error())
	p.due.looked(at, p.now(), true)
}
