// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argocd computes the health of objects as Argo CD does, with the Lua checks of artifacts/gitops/argocd.
//
// Guarantees:
//   - A script runs in the interpreter that Argo CD uses. Only Lua's libraries base and table are available, as in
//     Argo CD. A script is stopped after one second.
//   - An object whose group and kind match no entry of the ConfigMap is an error, because Argo CD would report it as
//     healthy.
package argocd
