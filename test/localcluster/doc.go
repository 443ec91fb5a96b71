// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localcluster runs the whole environment of Slipway on the loopback
// interface: kube-apiserver with its etcd, kube-controller-manager, the simulated
// vCenter, slipway-apiserver, and what makes the one serve the API of the other.
// slipway-dev and the end-to-end tests use it.
//
// Guarantees:
//   - Start returns with everything ready and every APIService Available, or with an
//     error and nothing left running.
//   - Stop ends the parts in the order that lets each end cleanly, and returns when
//     no process and no port is left.
//   - All state is below one data directory, which one environment at a time uses. A
//     second Start on it finds the objects, the virtual machines, the ports and the
//     kubeconfigs of the first.
//   - Nothing listens on, or connects to, an address other than 127.0.0.1.
//   - slipway-apiserver has exactly the rights of artifacts/deploy: its user is the
//     service account that these manifests bind.
package localcluster
