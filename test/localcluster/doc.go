// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localcluster runs the whole environment of Slipway on the loopback interface: kube-apiserver with its etcd,
// kube-controller-manager, the simulated vCenter and slipway-apiserver, which is registered as an aggregated API.
// slipway-dev and the end-to-end tests use it.
//
// Guarantees:
//   - Start returns when everything is ready and every APIService is Available. If it returns an error, no process is
//     left running.
//   - Stop ends the processes in an order that lets each end cleanly. It returns when no process and no port is in
//     use.
//   - All state is below one data directory, which one environment at a time uses. A second Start on it finds the
//     objects, virtual machines, ports and kubeconfigs of the first.
//   - No process listens on, or connects to, an address other than 127.0.0.1.
//   - slipway-apiserver has exactly the permissions of artifacts/deploy: its user is the service account that these
//     manifests bind.
package localcluster
