// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/slipway-dev/slipway/test/localcluster/ports"
)

// Options specifies the components to run, their binaries and their data directory.
type Options struct {
	// DataDir is the directory of all state. It is created if it does not exist.
	DataDir string
	// BinDir holds the programs.
	BinDir string
	// Progress is called after every step with its duration. It may be nil. Calls do not overlap.
	Progress func(step string, took time.Duration)
	// Ports overrides the ports of servers by name: the Port constants.
	Ports ports.Set
	// HostOnly omits the simulated vCenter and slipway-apiserver.
	HostOnly bool
	// Controllers are run by kube-controller-manager in addition to the default ones, by their names for --controllers.
	Controllers []string
	// NotInstalled omits slipway-apiserver and artifacts/deploy, for tests that install them.
	NotInstalled bool
	// ManagedCertificate makes slipway-apiserver manage its own serving certificate.
	ManagedCertificate bool
	// UnsafeNoFsync trades the safety of the data on a power failure for speed.
	UnsafeNoFsync bool
	// GuestBootDelay is the time from power-on to the addresses of a simulated guest. Zero means the default of the
	// simulated vCenter.
	GuestBootDelay time.Duration
	// SlipwayArgs, VCenterArgs and KubeAPIServerArgs are added to the arguments of slipway-apiserver, the simulated
	// vCenter and kube-apiserver. They override those set here.
	SlipwayArgs, VCenterArgs, KubeAPIServerArgs []string
	// HostEtcd is the address of an external etcd for kube-apiserver. If it is empty, etcd runs in this process.
	HostEtcd string
	// Zones creates a zone for each of two clusters in every simulated vCenter: the objects default, second, third and
	// so on.
	Zones bool
	// VCenters is the number of simulated vCenters; 0 means one. Those after the first have zones, and VCenter objects
	// named vcenter-2 and so on.
	VCenters int
	// VCenterObjects creates a VCenter object for the first vCenter too, which then replaces the vCenter of the flags.
	VCenterObjects bool
	// ForeignVMs adds virtual machines that Slipway has not created to a new first vCenter.
	ForeignVMs bool
	// StartTimeout bounds Start. Zero means three minutes.
	StartTimeout time.Duration
}

// Names of the servers in Options.Ports.
const (
	PortKubeAPIServer         = "kube-apiserver"
	PortKubeControllerManager = "kube-controller-manager"
	PortVCenter               = "vcenter"
	PortSlipwayAPIServer      = "slipway-apiserver"
)

// maxVCenters is the maximum number of simulated vCenters.
const maxVCenters = 4

// defaultStartTimeout is many times the few seconds that a start takes, for
// machines that are busy with builds.
const defaultStartTimeout = 3 * time.Minute

// Programs in BinDir.
const (
	programKubeAPIServer         = "kube-apiserver"
	programKubeControllerManager = "kube-controller-manager"
	programSlipwayAPIServer      = "slipway-apiserver"
	programSlipwayDev            = "slipway-dev"
	programKubectl               = "kubectl"
)

// complete checks the options, makes paths absolute and fills defaults.
func (o Options) complete() (Options, error) {
	if o.DataDir == "" || o.BinDir == "" {
		return o, errors.New("starting the environment: DataDir and BinDir are required")
	}
	var err error
	if o.DataDir, err = filepath.Abs(o.DataDir); err != nil {
		return o, fmt.Errorf("data directory: %w", err)
	}
	if o.BinDir, err = filepath.Abs(o.BinDir); err != nil {
		return o, fmt.Errorf("directory of programs: %w", err)
	}
	if o.VCenters == 0 {
		o.VCenters = 1
	}
	if o.VCenters < 1 || o.VCenters > maxVCenters {
		return o, fmt.Errorf("starting the environment: VCenters is %d, and must be 1 to %d", o.VCenters, maxVCenters)
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = defaultStartTimeout
	}
	if o.Progress == nil {
		o.Progress = func(string, time.Duration) {}
	}
	if o.HostOnly {
		return o, checkPrograms(o.BinDir, hostPrograms)
	}
	return o, CheckPrograms(o.BinDir)
}

// program is a program in BinDir with the Makefile target that builds it.
type program struct{ name, target string }

// The programs of an environment, without and with Slipway.
var (
	hostPrograms = []program{{programKubeAPIServer, "tools"}, {programKubeControllerManager, "tools"}}
	allPrograms  = append(slices.Clone(hostPrograms), program{programKubectl, "tools"},
		program{programSlipwayAPIServer, "build"}, program{programSlipwayDev, "build"})
)

// CheckPrograms checks that binDir has all programs of an environment. The error names the first missing program and
// the command that builds it.
func CheckPrograms(binDir string) error { return checkPrograms(binDir, allPrograms) }

func checkPrograms(binDir string, programs []program) error {
	for _, p := range programs {
		info, err := os.Stat(filepath.Join(binDir, p.name))
		if errors.Is(err, os.ErrNotExist) || err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
			return fmt.Errorf("%s is missing in %s: run \"make %s\", or unpack all files of the release archive there", p.name, binDir, p.target)
		}
		if err != nil {
			return fmt.Errorf("looking for %s: %w", p.name, err)
		}
	}
	return nil
}
