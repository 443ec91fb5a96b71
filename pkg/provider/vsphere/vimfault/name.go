// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"reflect"

	"github.com/vmware/govmomi/vim25/types"
)

// faultName is the name of a fault's type, as vSphere's documentation has it.
func faultName(f types.BaseMethodFault) string {
	t := reflect.TypeOf(f)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
