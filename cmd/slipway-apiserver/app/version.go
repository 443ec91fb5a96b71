// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
)

// version is that of the release, set by the linker.
var version = "v0.0.0-unstamped"

// effectiveVersion shows our version at /version, while the libraries go on deciding
// by the Kubernetes version that they belong to. Stamping theirs instead would turn
// every feature off that is newer than our version number.
type effectiveVersion struct {
	basecompatibility.EffectiveVersion
}

func newEffectiveVersion() effectiveVersion {
	return effectiveVersion{compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)}
}

// Info is the answer of /version.
func (v effectiveVersion) Info() *apimachineryversion.Info {
	info := *v.EffectiveVersion.Info()
	info.GitVersion = version
	return &info
}
