// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup is the snapshot of the store of a server that has its etcd in itself. It is
// no object, and not among the resources that the API lists.
//
// A snapshot is read with POST at Path, as a file of pkg/store/snapshotfile, while the server serves. It
// has all writes that were acknowledged before the request. That takes the right to create
// Resource in the group vm.slipway.dev, for the whole cluster. A server with an etcd of its
// own elsewhere answers 501.
package backup

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// Resource is what the right to read snapshots is about.
const Resource = "backups"

// Root is the path of the group, and Path that of snapshots.
const (
	Root = "/apis/" + vmv1alpha1.GroupName + "/v1alpha1"
	Path = Root + "/" + Resource
)

// MediaType is that of a snapshot.
const MediaType = "application/octet-stream"
