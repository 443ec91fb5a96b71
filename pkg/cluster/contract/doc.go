// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract finds and reads objects of provider kinds that this project does not define: bootstrap providers,
// infrastructure providers and control planes. It uses only Cluster API's contract: the version of a kind that
// implements it, and the paths of its fields.
//
// # Kinds
//
// Slipway's own kinds that implement the contract are resolved without a request and are read with an in-process
// client. For kinds of the management cluster, the version is taken from the labels of the CustomResourceDefinition. If
// it has none, the labels of the APIServices are used. If these have none, the preferred version is used; its objects
// are read by the paths of v1beta2, or by those of v1beta1 if an object has no v1beta2 field. Other kinds of Slipway's
// groups and kinds of Kubernetes itself are rejected.
//
// # Errors
//
// Callers can distinguish ErrKindUnknown, ErrContractUnknown, ErrUnreadable, and the API's own NotFound for an object that
// does not exist. A server that no longer serves the kind also answers 404; this is reported as ErrUnreadable and never as
// NotFound.
//
// # Caching
//
// A resolved kind is cached for a minute, and longer while it cannot be resolved again. Failed lookups are repeated
// with exponential backoff, independent of the number of objects that refer to the kind. The number of cached kinds is
// limited.
//
// Objects are read from one informer per kind. It starts with the first read, contains the objects that have the label
// of a cluster, and no caller waits for it to sync. An object that is missing from the cache is always read from the
// server before it is reported as not found.
//
// # Fields
//
// A field of the wrong type is an error that contains its path; it is not treated as empty. The length of a list is
// checked before its entries are read.
package contract
