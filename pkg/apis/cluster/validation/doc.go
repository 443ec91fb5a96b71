// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation checks objects of the cluster.slipway.dev group.
//
// Guarantees:
//   - Errors name the field, what was given and what is allowed.
//   - What Cluster API accepts of the fields that there are is accepted, so that manifests move
//     over, but for names of machines that are more than a template of three variables.
//   - A spec that did not change is not looked at again: what was stored before a rule became
//     stricter can still be labelled, finalized and deleted.
//   - The template of a MachineSet or MachineDeployment is judged as a Machine is.
//   - Nothing here walks a list or a text of which the bounds of pkg/apis/bounds were not
//     checked before, or that is not counted first.
package validation
