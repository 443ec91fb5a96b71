// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imports checks which packages may depend on which.
//
// Guarantee: a package below one of the trees in the table reaches, directly or
// through others, only those packages of this module that the table allows for it,
// and none of those that the table forbids.
package imports
