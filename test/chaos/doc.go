// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos runs the whole environment under random failures. Virtual machines are created, resized,
// power-cycled, deleted and recreated with the same name. The server is killed, and vCenter fails, stalls and changes
// its inventory.
//
// Then the failures stop, and the test compares the API, vSphere and the management cluster. No object may be
// duplicated or lost, and no foreign object may be changed. No folder, file, session, revision, goroutine or file
// descriptor may be left behind.
//
// Flags: -long runs 300 machines and 20 kills instead of about one minute. -events lists the failures to inject.
// -seed repeats a run, except for the timing of processes.
package chaos
