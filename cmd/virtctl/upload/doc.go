// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upload brings an image into a content library of vSphere, with the account of
// who calls it: disks of many GB go straight to vCenter, and not through the server of
// Slipway, which would lend its privileges to who may create an image.
//
// Guarantees: an item never has half of an image, as vCenter shows what an update session
// has received when it is completed. Every file is sent with its size and digest, which
// vCenter compares. A session of the same account that is alive is taken over, and what it
// has received with the same digest is not sent again. What exists is changed only when
// that was asked for, and deleted is only an item that this upload has made and that has no
// content. What may pass is tried again with a growing delay, and that is said.
package upload
