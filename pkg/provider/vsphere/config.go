// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Any in a list of what is allowed stands for everything.
const Any = driver.Any

// Config configures a Driver.
type Config struct {
	// Name of the VCenter; empty stands for vmv1alpha1.DefaultVCenter.
	Name string
	// URL of vCenter's SDK endpoint.
	URL string
	// CAFile is a PEM file with the authorities to trust.
	CAFile string
	// CAPEM holds the authorities to trust.
	CAPEM []byte
	// Thumbprint pins the server's certificate: SHA-256 or SHA-1 in hexadecimal.
	Thumbprint string
	// Installation, if set, is the instance UUID of the vCenter that is meant; empty stands
	// for that of the first login. Another one is not logged in to.
	Installation *string
	// Credentials are asked for at every login.
	Credentials session.Credentials

	// Datacenter, ResourcePool, Folder, Datastore and Network name where virtual
	// machines go, by inventory path or name. Empty means the only one, and of
	// the folder, one named slipway that is made if missing.
	Datacenter, ResourcePool, Folder, Datastore, Network string

	// Networks are those that interfaces may name besides Network, by inventory path or
	// name; Any stands for all.
	Networks []string
	// HostDevices are the vGPU profiles and the vendor:device pairs of PCI devices that
	// virtual machines may have; Any stands for all.
	HostDevices []string

	// Permit, if set, is asked before every call that changes something, of which an
	// operation may make several. Calls that only read are made without it.
	Permit session.Permit

	// Owner tells the copies of images that this server keeps, and the items that it has
	// published, from those of others. Without one there are none.
	Owner string

	// Happened, if set, is called with what vCenter says that happened to a virtual machine of
	// an object, the last ten minutes before the begin included. It must not block.
	Happened func(provider.Happening)

	// MaxCalls bounds concurrent calls to vCenter. Defaults to 32.
	MaxCalls int
	// GracePeriod bounds the wait for a guest that was asked to shut down or to
	// stand by. Defaults to five minutes.
	GracePeriod time.Duration
	// MaxWait bounds one wait for changes, in seconds. Defaults to 30.
	MaxWait int32
	// OnCall, if set, is called with the name of every call before it is sent.
	OnCall func(method string)
	// Called, if set, is told of every call over SOAP how it ended, as CallSucceeded, CallFailed
	// or CallUnanswered, and how long it took. It must not block.
	Called func(method, outcome string, took time.Duration)
}

// Outcomes of calls.
const (
	// CallSucceeded is that of a call that vCenter answered as asked.
	CallSucceeded = "ok"
	// CallFailed is that of a call that vCenter answered with a fault.
	CallFailed = "fault"
	// CallUnanswered is that of a call without an answer: no connection, or no patience.
	CallUnanswered = "unanswered"
)

// called sorts the errors of calls for Called.
func (c *Config) called() func(string, error, time.Duration) {
	if c.Called == nil {
		return nil
	}
	return func(method string, err error, took time.Duration) {
		outcome := CallSucceeded
		switch {
		case err == nil:
		case soap.IsSoapFault(err):
			outcome = CallFailed
		default:
			outcome = CallUnanswered
		}
		c.Called(method, outcome, took)
	}
}

// session are the options of the session.
func (c *Config) session() session.Options {
	return session.Options{
		URL: c.URL, CAFile: c.CAFile, CAPEM: c.CAPEM, Thumbprint: c.Thumbprint, Installation: c.Installation,
		Credentials: c.Credentials, MaxCalls: c.MaxCalls, OnCall: c.OnCall, Called: c.called(), Permit: c.Permit,
	}
}

// placement are the options of the resolver of places.
func (c *Config) placement(s *session.Session) placement.Options {
	return placement.Options{
		Session: s, Datacenter: c.Datacenter, ResourcePool: c.ResourcePool,
		Folder: c.Folder, Datastore: c.Datastore, Network: c.Network, Networks: c.Networks,
		HostDevices: c.HostDevices,
	}
}
