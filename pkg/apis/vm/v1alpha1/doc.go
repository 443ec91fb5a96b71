// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the first version of the vm.slipway.dev API: virtual
// machines on vSphere as Kubernetes objects.
//
// Guarantees:
//
//  1. Users own spec, controllers own status. Nothing that is derived from a
//     class, an instance type or a preference is written into the spec of a
//     VirtualMachine, the expand flow excepted.
//  2. Conditions are metav1.Condition with observedGeneration; their types and
//     reasons are the constants of this package and are part of the API.
//  3. Phase and printableStatus are outputs for people. No code decides by them.
//
// +k8s:deepcopy-gen=package
// +k8s:protobuf-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.slipway.vm.v1alpha1
// +k8s:defaulter-gen=TypeMeta
// +groupName=vm.slipway.dev
package v1alpha1
