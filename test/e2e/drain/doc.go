// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain tests how a Node is emptied, and how its volumes are waited for, against a
// real kube-apiserver with kube-controller-manager. There are no kubelets: a Pod that is
// deleted stays until the test removes it.
package drain
