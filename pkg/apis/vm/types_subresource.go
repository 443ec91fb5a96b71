// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RefreshOptions is the body of refresh-instancetype and refresh-preference.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type RefreshOptions struct {
	metav1.TypeMeta
	// Standard object metadata; only the name, which must be empty or that of
	// the virtual machine, is looked at.
	metav1.ObjectMeta

	// DryRun with the value All checks and answers without changing anything.
	DryRun []string
}

// RefreshResult is the answer of refresh-instancetype and refresh-preference.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type RefreshResult struct {
	metav1.TypeMeta
	// Standard object metadata: name and namespace of the virtual machine.
	metav1.ObjectMeta

	// Name of the instance type or preference.
	SourceName string
	// SourceKind in canonical form.
	SourceKind string
	// OldRevision is the ControllerRevision in use before the refresh.
	OldRevision string
	// OldGeneration is the generation in use before the refresh.
	OldGeneration int64
	// NewRevision is the ControllerRevision that will be captured.
	NewRevision string
	// NewGeneration is the generation that will be captured.
	NewGeneration int64
	// Changed is false when the virtual machine already uses the newest
	// revision; nothing was written then.
	Changed bool
	// SpecPinCleared is true when the matcher in spec pinned a revision, which
	// the refresh removed. A GitOps source that still holds the pin brings it back.
	SpecPinCleared bool
	// Fields are the differences of the effective spec.
	Fields []RefreshField
	// DryRun is true when nothing was written because of the options.
	DryRun bool
}

// RefreshField is one difference that a refresh brings.
type RefreshField struct {
	// Path of the field in the effective spec.
	Path string
	// Old is the value before.
	Old string
	// New is the value after.
	New string
	// Effect is Live when the change reaches the VM at once, Restart when it waits
	// for a power cycle, None when it does not reach a VM that exists.
	Effect RefreshEffect
}

// RefreshEffect says when a change takes effect.
type RefreshEffect string

const (
	// RefreshEffectLive takes effect at once.
	RefreshEffectLive RefreshEffect = "Live"
	// RefreshEffectRestart takes effect with the next power cycle.
	RefreshEffectRestart RefreshEffect = "Restart"
	// RefreshEffectNone takes no effect on a virtual machine that exists.
	RefreshEffectNone RefreshEffect = "None"
)

// PowerOptions is the body of start, stop, restart and suspend. The answer is
// the virtual machine.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PowerOptions struct {
	metav1.TypeMeta
	// Standard object metadata; only the name, which must be empty or that of
	// the virtual machine, is looked at.
	metav1.ObjectMeta

	// DryRun with the value All checks without changing anything.
	DryRun []string
	// Mode sets powerOffMode, suspendMode or restartMode with the operation;
	// unchanged when unset. Not allowed for start.
	Mode PowerOpMode
}

// ExpandOptions are the query parameters of expand-spec.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ExpandOptions struct {
	metav1.TypeMeta

	// Generation is stored, for the revisions in status, or latest, for the
	// live instance type and preference. Stored when empty.
	Generation string
}
