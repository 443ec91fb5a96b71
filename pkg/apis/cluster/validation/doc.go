// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates objects of the cluster.slipway.dev group.
//
// Guarantees:
//   - Every error contains the field, its value and the allowed values.
//   - Values that Cluster API accepts are accepted for all supported fields, so that its manifests can be
//     used. The only exception are name templates of machines with more than the three supported variables.
//   - An unchanged spec is not validated. Objects that were stored before a rule became stricter can still be
//     labeled, finalized and deleted.
//   - The template of a MachineSet or MachineDeployment is validated like a Machine.
//   - Lists and texts are processed only after pkg/apis/bounds or a length check has limited their size.
package validation
