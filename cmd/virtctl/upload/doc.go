// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upload uploads an image into a content library of vSphere with the user's own account. Large disks go
// directly to vCenter, and the server of Slipway does not lend its privileges to users who may create images.
//
// Guarantees: an item never contains an incomplete image, because vCenter publishes the files of an update session
// only on completion. Each file is sent with its size and digest, which vCenter verifies. A live session of the same
// account is resumed, and files that it has received with the same digest are not sent again. Existing content is
// changed only on request. Only an empty item that this upload created is deleted. Transient errors are retried with
// increasing delays and reported.
package upload
