// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"slices"
	"testing"
)

func TestFloors_AreAtMostFourteen(t *testing.T) {
	if len(floors) > maxTop {
		t.Errorf("pkg has %d directories at its top, at most %d are allowed: %v", len(floors), maxTop, floors)
	}
}

func TestClimbs_FindsUpwardImports(t *testing.T) {
	for name, tc := range map[string]struct {
		path, imports string
		want          []string
	}{
		"the API server imports a controller": {path: "pkg/apiserver/reports", imports: "pkg/controller/vm"},
		"a directory imports itself":          {path: "pkg/provider/engine", imports: "pkg/provider/vmrecord"},
		"a program imports anything":          {path: "cmd/virtctl/root", imports: "pkg/apiserver"},
		"a provider imports a controller": {
			path: "pkg/provider/engine", imports: "pkg/controller",
			want: []string{module + "pkg/provider/engine imports " + module + "pkg/controller, which is above it"},
		},
		"a neighbour imports a later one": {
			path: "pkg/hardware", imports: "pkg/instancetype/apply",
			want: []string{module + "pkg/hardware imports " + module + "pkg/instancetype/apply, which is above it"},
		},
		"a directory without a floor": {
			path: "pkg/other", imports: "pkg/apis/vm/v1alpha1",
			want: []string{module + "pkg/other is in a directory that floors does not have"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := climbs(pkg{ImportPath: module + tc.path, Imports: []string{"fmt", module + tc.imports}})
			if !slices.Equal(got, tc.want) {
				t.Errorf("climbs returned %v, want %v", got, tc.want)
			}
		})
	}
}
