// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// checkSource tells whether there is a virtual machine to publish. In what state it is
// vSphere tells.
func (p *pass) checkSource() bool {
	name := p.request.SourceName()
	switch {
	case p.vm == nil:
		return p.set(vmv1alpha1.ConditionSourceValid, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound,
			fmt.Sprintf("VirtualMachine %q does not exist in namespace %q", name, p.request.Namespace))
	case p.vm.DeletionTimestamp != nil:
		return p.set(vmv1alpha1.ConditionSourceValid, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound, fmt.Sprintf("VirtualMachine %q is being deleted", name))
	case !conditions.IsTrue(p.vm.Status.Conditions, vmv1alpha1.ConditionCreated):
		return p.set(vmv1alpha1.ConditionSourceValid, metav1.ConditionFalse, vmv1alpha1.ReasonNotReady, fmt.Sprintf("VirtualMachine %q is not created", name))
	}
	return p.holds(vmv1alpha1.ConditionSourceValid)
}

// checkTarget tells whether the namespace may publish in the library.
func (p *pass) checkTarget() bool {
	const kind = vmv1alpha1.ConditionTargetValid
	name := p.request.Spec.Target.ContentLibrary
	if p.library == nil || p.library.DeletionTimestamp != nil {
		return p.set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound, fmt.Sprintf("ContentLibrary %q does not exist", name))
	}
	from := p.library.Spec.PublishFrom
	if from == nil {
		return p.set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonNotAllowed, fmt.Sprintf("ContentLibrary %q lets nobody publish: it has no spec.publishFrom", name))
	}
	has := p.labels(p.request.Namespace)
	if has == nil {
		p.result.RequeueAfter = controller.Poll // No event tells of labels of namespaces.
		return p.set(kind, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, fmt.Sprintf("the labels of namespace %q are not known", p.request.Namespace))
	}
	selects, err := provider.Selects(from, has)
	if err != nil {
		return p.set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonInvalid, fmt.Sprintf("spec.publishFrom of ContentLibrary %q: %s", name, err))
	}
	if !selects {
		p.result.RequeueAfter = controller.Poll
		return p.set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonNotAllowed, fmt.Sprintf("ContentLibrary %q does not let namespace %q publish (spec.publishFrom)", name, p.request.Namespace))
	}
	return p.holds(kind)
}

// checkImage tells whether an image stands for what was published.
func (p *pass) checkImage() bool {
	if p.library == nil {
		return p.waits(vmv1alpha1.ConditionImageAvailable, vmv1alpha1.ReasonNotFound, fmt.Sprintf("ContentLibrary %q does not exist", p.request.Spec.Target.ContentLibrary))
	}
	image := p.image()
	if image == nil {
		return p.waits(vmv1alpha1.ConditionImageAvailable, vmv1alpha1.ReasonNotFound, fmt.Sprintf("ContentLibrary %q has no image of item %q yet", p.library.Name, p.request.ItemName()))
	}
	p.request.Status.ImageName, p.request.Status.ImageKind = image.Name, vmv1alpha1.ImageKind
	if image.Namespace == "" {
		p.request.Status.ImageKind = vmv1alpha1.ClusterImageKind
	}
	if !conditions.IsTrue(image.Status.Conditions, vmv1alpha1.ConditionReady) || !reaches(image.Status.ContentVersion, p.request.Status.ContentVersion) {
		return p.waits(vmv1alpha1.ConditionImageAvailable, vmv1alpha1.ReasonNotReady, fmt.Sprintf("%s %q does not describe the item yet", p.request.Status.ImageKind, image.Name))
	}
	return p.holds(vmv1alpha1.ConditionImageAvailable)
}

// image is that of the item, nil if there is none. It need not be in the namespace.
func (p *pass) image() *vmv1alpha1.VirtualMachineImage {
	made := labels.SelectorFromSet(labels.Set{vmv1alpha1.LabelContentLibrary: p.library.Name})
	of := func(i *vmv1alpha1.VirtualMachineImage) bool {
		from := i.Spec.ContentLibrary
		return from != nil && from.Library == p.library.Spec.Library && from.Item == p.request.ItemName()
	}
	if ns := p.library.Spec.Namespace; ns != "" {
		all, _ := p.images.VirtualMachineImages(ns).List(made)
		for _, i := range all {
			if of(i) {
				return i
			}
		}
		return nil
	}
	all, _ := p.clusterImages.List(made)
	for _, i := range all {
		if image := i.AsImage(); of(image) {
			return image
		}
	}
	return nil
}

// reaches is true when a version of content is the one that was made, or a later one.
func reaches(has, made string) bool {
	h, herr := strconv.ParseUint(has, 10, 64)
	m, merr := strconv.ParseUint(made, 10, 64)
	return has == made || herr == nil && merr == nil && h >= m
}

// holds sets a condition that holds, and returns true.
func (p *pass) holds(kind string) bool {
	return p.set(kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

// waits sets a condition that does not hold yet, for which completion waits, and returns
// false.
func (p *pass) waits(kind, reason, message string) bool {
	if message == "" {
		message = "waiting for " + kind
	}
	p.set(vmv1alpha1.ConditionComplete, metav1.ConditionFalse, reason, message)
	return p.set(kind, metav1.ConditionFalse, reason, message)
}

// set sets a condition and returns whether it holds.
func (p *pass) set(kind string, status metav1.ConditionStatus, reason, message string) bool {
	conditions.Set(&p.request.Status.Conditions, p.now(), metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: p.request.Generation,
	})
	return status == metav1.ConditionTrue
}

// emit reports what has changed.
func (r *reconciler) emit(old, now *request) {
	tell := func(kind, reason, note string, args ...any) {
		r.recorder.Eventf(now, nil, kind, reason, "Publish", note, args...)
	}
	was, is := conditions.Find(old.Status.Conditions, vmv1alpha1.ConditionUploaded), conditions.Find(now.Status.Conditions, vmv1alpha1.ConditionUploaded)
	switch {
	case old.Status.ItemID == "" && now.Status.ItemID != "":
		tell(corev1.EventTypeNormal, "Published", "VirtualMachine %q is published as item %q, version %s", now.SourceName(), now.ItemName(), now.Status.ContentVersion)
	case old.Status.Attempts == 0 && now.Status.Attempts > 0:
		tell(corev1.EventTypeNormal, "Publishing", "VirtualMachine %q is being published as item %q", now.SourceName(), now.ItemName())
	case is != nil && is.Reason == vmv1alpha1.ReasonError && (was == nil || was.Reason != is.Reason || was.Message != is.Message):
		tell(corev1.EventTypeWarning, "PublishFailed", "%s", is.Message)
	}
	if old.Status.CompletionTime == nil && now.Status.CompletionTime != nil {
		tell(corev1.EventTypeNormal, "Complete", "%s %q stands for item %q", now.Status.ImageKind, now.Status.ImageName, now.ItemName())
	}
}
