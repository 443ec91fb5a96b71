// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinedeletion tests how Machines are deleted: by the real server, with a workload
// cluster that is a second kube-apiserver with kube-controller-manager, and while either is
// killed or does not answer. The test itself is the provider of infrastructure and bootstrap
// data, whose objects go when it takes its finalizer away.
package machinedeletion
