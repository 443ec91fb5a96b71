// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 contains version v1alpha1 of the cluster.slipway.dev API: machines that are nodes of Kubernetes
// clusters, and the objects that create and replace machines.
//
// Guarantees:
//
//  1. Field names, conditions, reasons, labels, annotations and finalizers are those of Cluster API's
//     v1beta2 contract. A manifest can be converted by changing its apiVersion.
//  2. References have no namespace. They refer to objects in the namespace of the referring object.
//  3. Users own spec; controllers own status. As the contract requires, the Machine controller writes the
//     fields providerID, failureDomain and bootstrap.dataSecretName in the spec of a Machine.
//  4. Phase is for display only. No code depends on it.
//
// +k8s:deepcopy-gen=package
// +k8s:protobuf-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.slipway.cluster.v1alpha1
// +k8s:defaulter-gen=TypeMeta
// +groupName=cluster.slipway.dev
package v1alpha1
