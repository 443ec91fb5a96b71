// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract finds and reads objects of kinds that this project does not know:
// what provides the bootstrap data, the infrastructure and the control plane of a cluster.
// What is known of them is Cluster API's contract: which version of a kind keeps it, and
// the paths of its fields.
//
// What it guarantees:
//
//  1. Own kinds that keep the contract are known without a question, and are reached within
//     the process. Of the host cluster's, the version is that which the labels of the
//     CustomResourceDefinition name, else those of the APIService, else the preferred one,
//     which is then read by the paths of v1beta2, or by those of v1beta1 where an object has
//     nothing of v1beta2. Other kinds of our own groups, and kinds of Kubernetes itself, are
//     no one's infrastructure: they are refused whoever names them.
//  2. Errors are told apart: ErrKindUnknown, ErrContractUnknown, ErrUnread, and the API's own
//     NotFound for an object that is not there. A server that does not know the kind any more
//     also answers 404: that is ErrUnread and never NotFound.
//  3. An answer is kept for a minute, and for as long as the question cannot be answered
//     again. What is unknown or could not be read is asked again with growing delay, by
//     however many objects it is named. The number of answers kept is bounded.
//  4. Objects are read from one informer for each kind, which begins with the first one
//     read, holds those with the label of a cluster, and which nobody waits for. That an object is not there is never said by a cache:
//     the server itself is asked.
//  5. A field of the wrong type is an error that names its path, not an empty field. Lists
//     are bounded before they are walked.
package contract
