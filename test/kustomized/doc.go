// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kustomized renders directories as kubectl apply -k does, for tests of what is installed
// by them.
package kustomized
