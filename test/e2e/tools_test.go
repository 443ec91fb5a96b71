// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	vimtypes "github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/testenv"
)

// Names of testenv as the tests of this package call them.
const (
	short, long  = testenv.Short, testenv.Long
	catalogue    = testenv.Catalogue
	volumesReady = testenv.VolumesReady
)

var (
	run, environment, errorf, holds     = testenv.Run, testenv.Of, fmt.Errorf, testenv.Holds
	inventory, gone, withVCenter        = testenv.Inventory, testenv.Gone, testenv.WithVCenter
	vmManifest, inlineVM, vmWith        = testenv.VM, testenv.InlineVM, testenv.VMWith
	withClaim, volumeStatus, manifestOf = testenv.WithClaim, testenv.VolumeStatus, testenv.Manifest
	vcenterClient                       = testenv.VCenterClient
	binDir                              = testenv.BinDir()
)

func eventually(t *testing.T, deadline time.Duration, what string, check func() error) {
	t.Helper()
	testenv.Eventually(t, deadline, what, check)
}

func orderVCenter(t *testing.T, method, path string) {
	t.Helper()
	testenv.Order(t, method, path)
}

// user is a testenv.User.
type user struct {
	t          *testing.T
	kubeconfig string
	namespace  string
}

func (u user) on() testenv.User {
	return testenv.User{T: u.t, Kubeconfig: u.kubeconfig, Namespace: u.namespace}
}

func of(u testenv.User) user { return user{t: u.T, kubeconfig: u.Kubeconfig, namespace: u.Namespace} }

func admin(t *testing.T) user {
	t.Helper()
	return of(testenv.Admin(t))
}

func (u user) try(stdin, program string, args ...string) (stdout, stderr string, err error) {
	u.t.Helper()
	return u.on().Try(stdin, program, args...)
}

func (u user) kubectl(args ...string) string {
	u.t.Helper()
	return u.on().Kubectl(args...)
}

func (u user) apply(manifest string, args ...string) string {
	u.t.Helper()
	return u.on().Apply(manifest, args...)
}

func (u user) virtctl(args ...string) string {
	u.t.Helper()
	return u.on().Virtctl(args...)
}

func (u user) refused(stdin string, args []string, texts ...string) {
	u.t.Helper()
	u.on().Refused(stdin, args, texts...)
}

func (u user) get(object, path string) string {
	u.t.Helper()
	return u.on().Get(object, path)
}

func (u user) wants(object, path, value string) {
	u.t.Helper()
	u.on().Wants(object, path, value)
}

func (u user) restarted(vm string) {
	u.t.Helper()
	u.on().Restarted(vm)
}

func (u user) shares() string {
	u.t.Helper()
	return u.on().SharedLibrary()
}

// claim is a testenv.Claim.
type claim struct {
	*testenv.Claim
	t            *testing.T
	u            user
	name, pv, id string
}

func claimOf(u user, c *testenv.Claim) *claim {
	return &claim{Claim: c, t: u.t, u: u, name: c.Name, pv: c.PV, id: c.ID}
}

func newClaim(u user, name string, modes ...string) *claim {
	u.t.Helper()
	return claimOf(u, testenv.NewClaim(u.on(), name, modes...))
}

func makeClaim(u user, name string, modes ...string) *claim {
	u.t.Helper()
	return claimOf(u, testenv.MakeClaim(u.on(), name, modes...))
}

func makeVolume(u user, name string, modes ...string) *claim {
	u.t.Helper()
	return claimOf(u, testenv.MakeVolume(u.on(), name, modes...))
}

func (c *claim) bind() {
	c.t.Helper()
	c.Claim.Bind()
}

func (c *claim) lives(at ...string) {
	c.t.Helper()
	c.Claim.Lives(at...)
}

func (c *claim) at(vms ...string) {
	c.t.Helper()
	c.Claim.At(vms...)
}

func (c *claim) disk(vm string) *vimtypes.VirtualDisk {
	c.t.Helper()
	return c.Claim.Disk(vm)
}

func (c *claim) free() {
	c.t.Helper()
	c.Claim.Free()
}

func (c *claim) resize(size string) {
	c.t.Helper()
	c.Claim.Resize(size)
}
