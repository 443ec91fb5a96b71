// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/create"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// ownerOf is the owner that the vSphere VM of req has.
func ownerOf(req *provider.Request) observe.Owner {
	return observe.Owner{Key: keyOf(req), UID: string(req.VM.UID)}
}

// refuse keeps the VM of another object from one that names its instance UUID:
// who may create objects in one namespace must not reach into others.
func refuse(req *provider.Request) error {
	forgetVM(&req.VM.Status)
	err := create.Conflict(instanceUUID(req))
	notCreated(req, vmv1alpha1.ReasonInvalid, err.Error())
	return &provider.NoRequeueError{Err: err}
}
