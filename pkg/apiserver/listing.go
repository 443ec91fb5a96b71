// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"

// WithoutWatchList returns a client whose informers begin with a list and not with a watch that sends one event for each
// existing object. A list from the watch cache of this process takes a fifth of the time, and no virtual machine is
// reconciled before it ends. A watch would save only the memory of the answer, about 7 KiB per virtual machine, which
// is freed soon after.
func WithoutWatchList(client versioned.Interface) versioned.Interface { return listing{client} }

type listing struct{ versioned.Interface }

// IsWatchListSemanticsUnSupported reports to informers that they must not begin with a watch.
func (listing) IsWatchListSemanticsUnSupported() bool { return true }
