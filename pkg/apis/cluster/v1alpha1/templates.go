// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// TemplateSuffix is the suffix of the kinds of templates, as the provider contracts of Cluster API require.
const TemplateSuffix = "Template"

// KindFromTemplate returns the kind of the objects that are created from a template of the given kind.
func KindFromTemplate(template string) string { return strings.TrimSuffix(template, TemplateSuffix) }
