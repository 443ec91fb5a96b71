// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 contains version v1alpha1 of the vm.slipway.dev API, which represents vSphere virtual machines as
// Kubernetes objects.
//
// Guarantees:
//
//  1. Users own spec; controllers own status. Controllers do not write values that are derived from a
//     class, an instance type or a preference into the spec of a VirtualMachine. The only exception is
//     the expand flow.
//  2. Conditions are of type metav1.Condition and have an observedGeneration. Their types and reasons are
//     constants of this package and part of the API.
//  3. Phase and printableStatus are for display only. No code depends on them.
//
// +k8s:deepcopy-gen=package
// +k8s:protobuf-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.slipway.vm.v1alpha1
// +k8s:defaulter-gen=TypeMeta
// +groupName=vm.slipway.dev
package v1alpha1
