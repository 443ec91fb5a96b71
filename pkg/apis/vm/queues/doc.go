// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queues defines the API for the report about the server's work queues. It lists waiting keys by priority and
// age, and the keys in process. The report is not an API object: it is not stored and cannot be watched or changed. It
// is not listed in API discovery.
//
// A client gets the report with GET at Path. It needs permission to list Resource in the group vm.slipway.dev, because
// the report contains the names of objects of all namespaces. The report covers the replica that responds and contains
// its name. Before the controllers of this replica run, it responds with status 503 and Retry-After.
package queues

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// Resource is the resource name for the permission to read the report.
const Resource = "queues"

// Path is the path of the report.
const Path = "/apis/" + vmv1alpha1.GroupName + "/v1alpha1/" + Resource
