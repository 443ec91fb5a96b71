// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/types"
)

// faultName returns the name of the fault's type, as in vSphere's documentation.
func faultName(f types.BaseMethodFault) string {
	t := reflect.TypeOf(f)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
