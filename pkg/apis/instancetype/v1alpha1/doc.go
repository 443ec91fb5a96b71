// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:protobuf-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.slipway.instancetype.v1alpha1
// +k8s:defaulter-gen=TypeMeta
// +groupName=instancetype.slipway.dev

// Package v1alpha1 contains version v1alpha1 of the instancetype.slipway.dev API: instance types, which are reusable
// sizes, and hardware preferences for virtual machines. Both exist per namespace and cluster-wide.
//
// Guarantees:
//   - JSON names and enumeration values equal those of instancetype.kubevirt.io/v1beta1. An existing
//     catalog can be applied after its apiVersion is changed.
//   - All fields are stored and returned. Fields that do not apply to vSphere cause a warning and have no effect.
//   - Released protobuf field numbers are never reused.
package v1alpha1
