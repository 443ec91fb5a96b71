// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagefiles manages copies of library items' files on datastores. Virtual machines are created from these
// copies.
//
// Guarantees:
//
//  1. A directory belongs to one copy attempt. Its name is never reused. Files are used only after Copy has returned, so
//     they are always complete.
//  2. The directory name contains the server, the item, the item's version and the storage policy. A server does not
//     touch another server's directories.
//  3. The number of simultaneous copies is limited. Each copy transfers one disk at a time.
package imagefiles
