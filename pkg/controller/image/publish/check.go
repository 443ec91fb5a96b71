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

// checkSource sets SourceValid by whether the VM exists and is created. The provider checks its state in vSphere.
func (p *reconciliation) checkSource() bool {
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
	return p.setTrue(vmv1alpha1.ConditionSourceValid)
}

// checkTarget sets TargetValid by whether the namespace may publish in the library.
func (p *reconciliation) checkTarget() bool {
	const kind = vmv1alpha1.ConditionTargetValid
	name := p.request.Spec.Target.ContentLibrary
	if p.library == nil || p.library.DeletionTimestamp != nil {
		return p.set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound, fmt.Sprintf("ContentLibrary %q does not exist", name))
	}
	from := p.library.Spec.PublishFrom
	if from == nil {
		return p.set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonNotAllowed, fmt.Sprintf("ContentLibrary %q does not accept published VMs: it has no spec.publishFrom", name))
	}
	has := p.labels(p.request.Namespace)
	if has == nil {
		p.result.RequeueAfter = controller.Poll // changes of namespace labels cause no event
		return p.set(kind, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, fmt.Sprintf("the labels of namespace %q are not known", p.request.Namespace))
	}
	selects, err := provider.SelectsNamespace(from, has)
	if err != nil {
		return p.set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonInvalid, fmt.Sprintf("spec.publishFrom of ContentLibrary %q: %s", name, err))
	}
	if !selects {
		p.result.RequeueAfter = controller.Poll
		return p.set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonNotAllowed, fmt.Sprintf("spec.publishFrom of ContentLibrary %q does not select namespace %q", name, p.request.Namespace))
	}
	return p.setTrue(kind)
}

// checkImage sets ImageAvailable by whether an image represents the published version.
func (p *reconciliation) checkImage() bool {
	if p.library == nil {
		return p.setWaiting(vmv1alpha1.ConditionImageAvailable, vmv1alpha1.ReasonNotFound, fmt.Sprintf("ContentLibrary %q does not exist", p.request.Spec.Target.ContentLibrary))
	}
	image := p.image()
	if image == nil {
		return p.setWaiting(vmv1alpha1.ConditionImageAvailable, vmv1alpha1.ReasonNotFound, fmt.Sprintf("ContentLibrary %q has no image of item %q yet", p.library.Name, p.request.ItemName()))
	}
	p.request.Status.ImageName, p.request.Status.ImageKind = image.Name, vmv1alpha1.ImageKind
	if image.Namespace == "" {
		p.request.Status.ImageKind = vmv1alpha1.ClusterImageKind
	}
	if !conditions.IsTrue(image.Status.Conditions, vmv1alpha1.ConditionReady) || !reaches(image.Status.ContentVersion, p.request.Status.ContentVersion) {
		return p.setWaiting(vmv1alpha1.ConditionImageAvailable, vmv1alpha1.ReasonNotReady, fmt.Sprintf("%s %q does not describe the item yet", p.request.Status.ImageKind, image.Name))
	}
	return p.setTrue(vmv1alpha1.ConditionImageAvailable)
}

// image returns the image of the item, or nil. It can be in another namespace or of the cluster.
func (p *reconciliation) image() *vmv1alpha1.VirtualMachineImage {
	ofLibrary := labels.SelectorFromSet(labels.Set{vmv1alpha1.LabelContentLibrary: p.library.Name})
	isOfItem := func(i *vmv1alpha1.VirtualMachineImage) bool {
		from := i.Spec.ContentLibrary
		return from != nil && from.Library == p.library.Spec.Library && from.Item == p.request.ItemName()
	}
	if ns := p.library.Spec.Namespace; ns != "" {
		all, _ := p.images.VirtualMachineImages(ns).List(ofLibrary)
		for _, i := range all {
			if isOfItem(i) {
				return i
			}
		}
		return nil
	}
	all, _ := p.clusterImages.List(ofLibrary)
	for _, i := range all {
		if image := i.AsImage(); isOfItem(image) {
			return image
		}
	}
	return nil
}

// reaches reports whether a content version is the published one or a later one.
func reaches(has, published string) bool {
	h, herr := strconv.ParseUint(has, 10, 64)
	m, merr := strconv.ParseUint(published, 10, 64)
	return has == published || herr == nil && merr == nil && h >= m
}

// setTrue sets a condition to True and returns true.
func (p *reconciliation) setTrue(conditionType string) bool {
	return p.set(conditionType, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

// setWaiting sets a condition and Complete to False and returns false.
func (p *reconciliation) setWaiting(conditionType, reason, message string) bool {
	if message == "" {
		message = "waiting for " + conditionType
	}
	p.set(vmv1alpha1.ConditionComplete, metav1.ConditionFalse, reason, message)
	return p.set(conditionType, metav1.ConditionFalse, reason, message)
}

// set sets a condition and reports whether its status is True.
func (p *reconciliation) set(conditionType string, status metav1.ConditionStatus, reason, message string) bool {
	conditions.Set(&p.request.Status.Conditions, p.now(), metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: p.request.Generation,
	})
	return status == metav1.ConditionTrue
}

// emit records events for changes of the status.
func (r *reconciler) emit(old, now *request) {
	record := func(kind, reason, note string, args ...any) {
		r.recorder.Eventf(now, nil, kind, reason, "Publish", note, args...)
	}
	before, uploaded := conditions.Find(old.Status.Conditions, vmv1alpha1.ConditionUploaded), conditions.Find(now.Status.Conditions, vmv1alpha1.ConditionUploaded)
	switch {
	case old.Status.ItemID == "" && now.Status.ItemID != "":
		record(corev1.EventTypeNormal, "Published", "VirtualMachine %q is published as item %q, version %s", now.SourceName(), now.ItemName(), now.Status.ContentVersion)
	case old.Status.Attempts == 0 && now.Status.Attempts > 0:
		record(corev1.EventTypeNormal, "Publishing", "VirtualMachine %q is being published as item %q", now.SourceName(), now.ItemName())
	case uploaded != nil && uploaded.Reason == vmv1alpha1.ReasonError && (before == nil || before.Reason != uploaded.Reason || before.Message != uploaded.Message):
		record(corev1.EventTypeWarning, "PublishFailed", "%s", uploaded.Message)
	}
	if old.Status.CompletionTime == nil && now.Status.CompletionTime != nil {
		record(corev1.EventTypeNormal, "Complete", "%s %q represents item %q", now.Status.ImageKind, now.Status.ImageName, now.ItemName())
	}
}
