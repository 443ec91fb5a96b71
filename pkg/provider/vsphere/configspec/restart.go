// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// RecordRestart records the time that a restart was asked for.
func RecordRestart(t time.Time) types.VirtualMachineConfigSpec {
	return RecordRestartAs(t.UTC().Format(restartFormat))
}

// RecordRestartAs records what was recorded before.
func RecordRestartAs(value string) types.VirtualMachineConfigSpec {
	return types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: lastRestartKey, Value: value}}}
}
