// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import "github.com/vmware/govmomi/vim25/types"

// RunningTask returns the running task that caused err. Some servers do not report the task.
func RunningTask(err error) (task types.ManagedObjectReference, ok bool) {
	for f := range faultsOf(err) {
		if busy, is := f.(types.BaseTaskInProgress); is {
			task = busy.GetTaskInProgress().Task
			return task, task.Value != ""
		}
	}
	return types.ManagedObjectReference{}, false
}
