// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi reads the Machines and Clusters that own Slipway's infrastructure objects: those of Slipway's own
// API, and those of Cluster API in the management cluster.
//
// Requests for Cluster API's kinds are sent to the management cluster only when an object refers to them. If they are
// not served, the request is repeated with backoff and no error is logged. Cluster API may be installed or removed
// while the server runs.
//
// An object that could not be read is reported as ErrNotRead and never as not found. Only the fields in Machine and
// Cluster are cached, and handlers are called only when one of them changes. The package writes nothing.
package clusterapi
