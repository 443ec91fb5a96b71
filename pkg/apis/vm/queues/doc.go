// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queues is the report about what waits in the work queues of the server: by priority and
// age, and what is worked on. It is no object: nothing of it is stored, watched or changed, and it
// is not among the resources that the API lists.
//
// The report is read with GET at Path. That takes the right to list Resource in the group
// vm.slipway.dev, for it names objects of all namespaces. It is of the replica of the server that
// answers, whose name is in it; before the controllers run there the answer is 503 with Retry-After.
package queues

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// Resource is what the right to read the report is about.
const Resource = "queues"

// Path is that of the report.
const Path = "/apis/" + vmv1alpha1.GroupName + "/v1alpha1/" + Resource
