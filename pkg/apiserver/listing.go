// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"

// Listing returns client for informers that begin with a list instead of a watch that
// sends what exists as one event each. The server is this process: a list out of its
// watch cache takes a fifth of the time, in which no virtual machine is reconciled after
// a restart. What the watch would save is memory for the answer, about 7 KiB for each
// virtual machine, which is free again a moment later.
func Listing(client versioned.Interface) versioned.Interface { return listing{client} }

type listing struct{ versioned.Interface }

// IsWatchListSemanticsUnSupported is what informers ask their client for.
func (listing) IsWatchListSemanticsUnSupported() bool { return true }
