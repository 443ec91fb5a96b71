// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package datastore lists datastores, makes, lists and removes their directories, and copies disks
// between them.
//
// Guarantees: what is not there is removed already; "could not be read" is never "is not
// there"; a directory at the top of a datastore is made by the namespace manager where that
// is needed, as on vSAN.
package datastore
