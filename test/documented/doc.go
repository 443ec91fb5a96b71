// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package documented reads the commands in the pages for operators, so that tests run them exactly as documented.
package documented
