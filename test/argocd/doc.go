// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argocd tells the health of objects as Argo CD does, by the Lua of
// artifacts/gitops/argocd.
//
// Guarantees:
//   - A script runs in the interpreter that Argo CD uses, with no more of Lua's libraries than
//     base and table, which Argo CD gives as well, and for no longer than a second.
//   - A group and kind that no entry of the ConfigMap fits is an error: Argo CD would take
//     its objects for healthy.
package argocd
