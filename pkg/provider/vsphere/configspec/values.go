// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

const (
	ownerKey       = observe.OwnerKey
	lastRestartKey = observe.LastRestartKey
	restartFormat  = time.RFC3339Nano
)

// extraConfig compares one key of extraConfig.
func (c *comparison) extraConfig(path, key, value string, live, firstBoot bool) {
	c.add(Difference{Path: path, Running: observe.ExtraConfig(c.vm, key), Desired: value, Live: live, FirstBoot: firstBoot, set: option(key, value)})
}

// option sets one key of extraConfig; an empty value removes it.
func option(key, value string) func(*types.VirtualMachineConfigSpec) {
	return func(s *types.VirtualMachineConfigSpec) {
		s.ExtraConfig = append(s.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
}

// largePages are those that vSphere has a switch for.
const largePages = "1Gi"

// extra is the present value of a key of extraConfig.
func extra(c *comparison, key string) string { return observe.ExtraConfig(c.vm, key) }

func lower(s string) string { return strings.ToLower(s) }

// title is a word of vSphere as the API spells it: normal is Normal.
func title(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

func mi(mb int64) string { return hardware.Bytes(mb << 20) }

func isTrue(b *bool) bool { return b != nil && *b }

// mebibytes rounds up, so that nobody gets less than asked for.
func mebibytes(q *resource.Quantity) int64 { return (q.Value() + 1<<20 - 1) >> 20 }

// megahertz rounds up.
func megahertz(q *resource.Quantity) int64 { return (q.Value() + 999_999) / 1_000_000 }
