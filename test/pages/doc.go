// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pages runs the commands of the tutorial and of the how-to pages as a reader would: all console blocks of a page
// in one bash, in an empty directory, with a namespace of its own, in the local environment of slipway-dev. A command that
// fails is an error. Blocks of other languages, such as sh, are not run: they need a real vCenter or a choice of the reader.
package pages
