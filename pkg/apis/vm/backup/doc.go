// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup defines the API for snapshots of the store of a server with embedded etcd. A snapshot is not an API
// object and is not listed in API discovery.
//
// A client gets a snapshot with POST at Path, in the format of pkg/store/snapshotfile, while the server runs. It
// contains all writes that were acknowledged before the request. The client needs cluster-wide permission to create
// Resource in the group vm.slipway.dev. A server with an external etcd responds with status 501.
package backup

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// Resource is the resource name for the permission to read snapshots.
const Resource = "backups"

// Root is the path of the group version, and Path is the path of snapshots.
const (
	Root = "/apis/" + vmv1alpha1.GroupName + "/v1alpha1"
	Path = Root + "/" + Resource
)

// MediaType is the media type of a snapshot.
const MediaType = "application/octet-stream"
