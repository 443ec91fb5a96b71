// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the first version of the cluster.slipway.dev API: machines that are
// nodes of Kubernetes clusters, and what makes and replaces them.
//
// Guarantees:
//
//  1. Field names, conditions, reasons, labels, annotations and finalizers are those of
//     Cluster API's v1beta2 contract, so that a manifest moves over by changing its apiVersion.
//  2. References have no namespace: what they name is in the namespace of who names it.
//  3. Users own spec, controllers own status. Of the spec of a Machine its controller writes
//     providerID, failureDomain and bootstrap.dataSecretName, as that contract has it.
//  4. Phase is an output for people. No code decides by it.
//
// +k8s:deepcopy-gen=package
// +k8s:protobuf-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.slipway.cluster.v1alpha1
// +k8s:defaulter-gen=TypeMeta
// +groupName=cluster.slipway.dev
package v1alpha1
