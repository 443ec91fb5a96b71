// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:protobuf-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.slipway.instancetype.v1alpha1
// +k8s:defaulter-gen=TypeMeta
// +groupName=instancetype.slipway.dev

// Package v1alpha1 is the first served version of instancetype.slipway.dev:
// reusable sizes (instance types) and reusable hardware preferences for
// virtual machines, each cluster-wide and per namespace.
//
// Guarantees:
//   - JSON names and enumeration values equal those of
//     instancetype.kubevirt.io/v1beta1, so that an existing catalogue applies
//     after its apiVersion is changed.
//   - Every field is stored and returned, also those that mean nothing to
//     vSphere; those are answered with a warning and are never applied.
//   - Protobuf numbers, once released, are never reused.
package v1alpha1
