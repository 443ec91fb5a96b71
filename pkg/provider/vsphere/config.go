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

// Any is the entry of a list of allowed values that allows every value.
const Any = driver.Any

// Config configures a Driver.
type Config struct {
	// Name is the name of the VCenter. It defaults to vmv1alpha1.DefaultVCenter.
	Name string
	// URL is the URL of vCenter's SDK endpoint.
	URL string
	// CAFile is a PEM file with the certificate authorities to trust.
	CAFile string
	// CAPEM holds PEM-encoded certificate authorities to trust, in addition to CAFile.
	CAPEM []byte
	// Thumbprint is the pinned SHA-256 or SHA-1 thumbprint of the server's certificate, in
	// hexadecimal.
	Thumbprint string
	// InstanceUUID, if set, is the required instance UUID of the vCenter. An empty value requires
	// the instance UUID of the first login. The driver does not log in to any other vCenter.
	InstanceUUID *string
	// Credentials provides the credentials for each login.
	Credentials session.Credentials

	// Datacenter, ResourcePool, Folder, Datastore and Network specify where virtual machines are
	// created, by inventory path or name. An empty value means the only such object. An empty
	// Folder means the folder named slipway, which is created if it does not exist.
	Datacenter, ResourcePool, Folder, Datastore, Network string

	// Networks are the networks that interfaces may specify in addition to Network, by inventory
	// path or name. Any allows all networks.
	Networks []string
	// HostDevices are the vGPU profiles and the vendor:device IDs of PCI devices that virtual
	// machines may use. Any allows all devices.
	HostDevices []string

	// Permit, if set, is checked before every call that changes vSphere. An operation may make
	// several such calls. Calls that only read do not need it.
	Permit session.Permit

	// Owner identifies the image copies and the published items of this server. If it is empty, the
	// server has no image copies and no published items.
	Owner string

	// OnEvent, if set, is called for vCenter events of virtual machines that belong to an object.
	// Events of the last ten minutes before the start are included. It must not block.
	OnEvent func(provider.HypervisorEvent)

	// MaxCalls limits concurrent calls to vCenter. Defaults to 32.
	MaxCalls int
	// GracePeriod is how long an operation waits for a guest to shut down or stand by. Defaults to
	// five minutes.
	GracePeriod time.Duration
	// MaxWait is the maximum duration of one wait for changes, in seconds. Defaults to 30.
	MaxWait int32
	// OnCall, if set, is called with the name of every call before it is sent.
	OnCall func(method string)
	// OnResult, if set, is called after every SOAP call with its outcome (CallSucceeded, CallFailed
	// or CallUnanswered) and its duration. It must not block.
	OnResult func(method, outcome string, took time.Duration)
}

// Outcomes of SOAP calls.
const (
	// CallSucceeded means that vCenter returned a result.
	CallSucceeded = "ok"
	// CallFailed means that vCenter returned a fault.
	CallFailed = "fault"
	// CallUnanswered means that there was no response: no connection, or a timeout.
	CallUnanswered = "unanswered"
)

// callHandler returns a function that determines the outcome of a call and passes it to OnResult. It
// returns nil if OnResult is nil.
func (c *Config) callHandler() func(string, error, time.Duration) {
	if c.OnResult == nil {
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
		c.OnResult(method, outcome, took)
	}
}

// session returns the options of the session.
func (c *Config) session() session.Options {
	return session.Options{
		URL: c.URL, CAFile: c.CAFile, CAPEM: c.CAPEM, Thumbprint: c.Thumbprint, InstanceUUID: c.InstanceUUID,
		Credentials: c.Credentials, MaxCalls: c.MaxCalls, OnCall: c.OnCall, OnResult: c.callHandler(), Permit: c.Permit,
	}
}

// placement returns the options of the resolver for the objects that c specifies.
func (c *Config) placement(s *session.Session) placement.Options {
	return placement.Options{
		Session: s, Datacenter: c.Datacenter, ResourcePool: c.ResourcePool,
		Folder: c.Folder, Datastore: c.Datastore, Network: c.Network, Networks: c.Networks,
		HostDevices: c.HostDevices,
	}
}
