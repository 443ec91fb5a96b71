// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imports checks which packages may depend on which.
//
// Guarantee: a package in one of the trees of the table depends, directly or indirectly, only on packages of this
// module that the table allows for it, and on no package that the table forbids.
package imports
