// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// compareOption compares one extraConfig key.
func compareOption(in *input, path, key, value string, live, firstBoot bool) Difference {
	return Difference{Path: path, Running: in.extra(key), Desired: value, Live: live, FirstBoot: firstBoot, set: option(key, value)}
}

// option returns a function that sets an extraConfig key. An empty value removes the key.
func option(key, value string) func(*types.VirtualMachineConfigSpec) {
	return func(s *types.VirtualMachineConfigSpec) {
		s.ExtraConfig = append(s.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
}

func lower(s string) string { return strings.ToLower(s) }

// title converts vSphere's spelling of a word to the API's: normal becomes Normal.
func title(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

func isTrue(b *bool) bool { return b != nil && *b }

// mebibytes converts a quantity to mebibytes, rounded up.
func mebibytes(q *resource.Quantity) int64 { return *units(q, mib, 0) }

const (
	// unlimited is vSphere's value for no limit.
	unlimited = int64(-1)

	mib = limits.Mebibyte
	mhz = limits.Megahertz
)

// units converts a quantity to vSphere's unit, rounded up. It returns unset if the quantity is nil.
func units(q *resource.Quantity, unit, unset int64) *int64 {
	if q != nil {
		unset = (q.Value() + unit - 1) / unit
	}
	return &unset
}

// quantityOf converts a value in vSphere's unit to a quantity. It returns nil for a missing value and for no limit.
func quantityOf(n *int64, unit int64) *resource.Quantity {
	if n == nil || *n == unlimited {
		return nil
	}
	return resource.NewQuantity(*n*unit, resource.DecimalSI)
}

// ensurePart returns *p. If that is nil, part creates it.
func ensurePart[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// sharesOf converts vSphere's shares to the API's.
func sharesOf(s *types.SharesInfo) *vmv1alpha1.Shares {
	if s == nil {
		return nil
	}
	return &vmv1alpha1.Shares{Level: vmv1alpha1.SharesLevel(title(string(s.Level))), Shares: &s.Shares}
}

// sharesInfo converts the API's shares to vSphere's.
func sharesInfo(s *vmv1alpha1.Shares) *types.SharesInfo {
	if s == nil {
		return &types.SharesInfo{Level: types.SharesLevelNormal}
	}
	out := &types.SharesInfo{Level: types.SharesLevel(lower(string(s.Level)))}
	if s.Level == vmv1alpha1.SharesCustom && s.Shares != nil {
		out.Shares = *s.Shares
	}
	return out
}
