// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
)

// version is the release version, set by the linker.
var version = "v0.0.0-unstamped"

// effectiveVersion reports Slipway's version at /version. The libraries keep the Kubernetes version that they belong
// to, because a lower version would disable their newer features.
type effectiveVersion struct {
	basecompatibility.EffectiveVersion
}

func newEffectiveVersion() effectiveVersion {
	return effectiveVersion{compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)}
}

// Info returns the response of /version.
func (v effectiveVersion) Info() *apimachineryversion.Info {
	info := *v.EffectiveVersion.Info()
	info.GitVersion = version
	return &info
}
