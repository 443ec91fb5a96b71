// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// TemplateSuffix is what the kinds of templates end in (Cluster API, contracts of providers).
const TemplateSuffix = "Template"

// MadeKind is the kind of what is made of a template of a kind.
func MadeKind(template string) string { return strings.TrimSuffix(template, TemplateSuffix) }
