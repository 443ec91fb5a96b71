// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos runs the whole environment while everything goes wrong: virtual
// machines are created, resized, power-cycled, deleted and made again under the same
// name, the server is killed, and vCenter fails, stalls and changes its inventory.
// Then everything is let go, and the API, vSphere and the host cluster are compared:
// nothing is there twice, nothing is lost, nothing foreign was touched, and nothing is
// left behind: no folder, file, session, revision, goroutine or file descriptor.
//
// The flags say how long and what: -long takes 300 machines and 20 kills instead of a
// minute's worth, -events names what goes wrong, and -seed repeats a run as far as the
// times of processes allow.
package chaos
