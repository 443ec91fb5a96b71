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

// compareOption compares one key of extraConfig.
func compareOption(in *input, path, key, value string, live, firstBoot bool) Difference {
	return Difference{Path: path, Running: in.extra(key), Desired: value, Live: live, FirstBoot: firstBoot, set: option(key, value)}
}

// option sets one key of extraConfig; an empty value removes it.
func option(key, value string) func(*types.VirtualMachineConfigSpec) {
	return func(s *types.VirtualMachineConfigSpec) {
		s.ExtraConfig = append(s.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
}

func lower(s string) string { return strings.ToLower(s) }

// title is a word of vSphere as the API spells it: normal is Normal.
func title(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

func isTrue(b *bool) bool { return b != nil && *b }

// mebibytes rounds up, so that no VM gets less than it should have.
func mebibytes(q *resource.Quantity) int64 { return *units(q, mib, 0) }

const (
	// unlimited is vSphere's value for no limit.
	unlimited = int64(-1)

	mib = limits.Mebibyte
	mhz = limits.Megahertz
)

// units returns an amount in vSphere's unit, rounded up, and unset for nil.
func units(q *resource.Quantity, unit, unset int64) *int64 {
	if q != nil {
		unset = (q.Value() + unit - 1) / unit
	}
	return &unset
}

// amount returns what vSphere reports in its unit, nil for nothing and for no limit.
func amount(n *int64, unit int64) *resource.Quantity {
	if n == nil || *n == unlimited {
		return nil
	}
	return resource.NewQuantity(*n*unit, resource.DecimalSI)
}

// part returns a part of a configuration, which it creates if it is nil.
func part[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// sharesOf returns shares as the API has them.
func sharesOf(s *types.SharesInfo) *vmv1alpha1.Shares {
	if s == nil {
		return nil
	}
	return &vmv1alpha1.Shares{Level: vmv1alpha1.SharesLevel(title(string(s.Level))), Shares: &s.Shares}
}

// sharesInfo returns shares as vSphere has them.
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
