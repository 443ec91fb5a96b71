// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install adds every version of the vm.slipway.dev group to a scheme.
//
// Guarantee: after Install the scheme encodes, decodes, defaults and converts
// all kinds of the group, and prefers v1alpha1.
package install

import (
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/slipway-dev/slipway/pkg/apis/vm"
	"github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Install registers the internal and all versioned types of the group. It
// panics if two types collide, which only a programming error can cause.
func Install(scheme *runtime.Scheme) {
	utilruntime.Must(vm.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion))
}
