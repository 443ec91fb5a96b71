// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/slipway-dev/slipway/test/vcenter/inventory"
)

// Defaults of Options.
const (
	DefaultListen   = "127.0.0.1:0"
	DefaultUsername = "administrator@vsphere.local"
	DefaultPassword = "slipway-dev" // no secret: it opens a simulator on loopback
	// OperatorUsername is a second account with the same password. It represents users of vCenter and always keeps its
	// privileges.
	OperatorUsername      = "operator@vsphere.local"
	DefaultGuestBootDelay = 500 * time.Millisecond
)

// Template is the name of the template virtual machine in folder templates.
const Template = "ubuntu-24.04"

// Options configure the simulated vCenter.
type Options struct {
	// Listen is the address of the service; port 0 takes a free one.
	Listen string
	// CertFile and KeyFile are the PEM files of the serving certificate. If both are empty, a self-signed certificate
	// is stored in StateDir as vcenter.crt and vcenter.key.
	CertFile, KeyFile string
	// Username is the account that may log in.
	Username string
	// Password is the account's password. PasswordFile, when given, takes precedence.
	Password string
	// PasswordFile contains the password. A trailing newline is ignored.
	PasswordFile string
	// StateDir stores the inventory between runs. If it is empty nothing is stored.
	StateDir string
	// GuestBootDelay is the time from power-on to a running guest.
	GuestBootDelay time.Duration
	// ReadyFile, when given, is written when the service listens. See Ready.
	ReadyFile string
	// APIVersion is the version of the API, as in about.apiVersion. The default is that of vCenter 8.0 Update 3.
	APIVersion string
	// Clusters is the number of clusters. Every second one has no DRS. 0 means one cluster.
	Clusters int
	// ForeignVMs adds virtual machines that Slipway has not created to a new inventory. See ForeignVMs.
	ForeignVMs bool
	// ControlListen, when given, is the loopback address of the test controls of
	// package front.
	ControlListen string
}

var versionPattern = regexp.MustCompile(`^\d+(\.\d+){1,3}$`)

// complete sets the defaults and checks the options. Each error names the flag and its allowed values.
func (o Options) complete() (Options, error) {
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	if o.APIVersion == "" {
		o.APIVersion = inventory.APIVersion
	}
	if o.Clusters == 0 {
		o.Clusters = 1
	}
	if o.Username == "" {
		o.Username = DefaultUsername
	}
	if o.Password == "" {
		o.Password = DefaultPassword
	}
	var errs []error
	if o.PasswordFile != "" {
		content, err := os.ReadFile(o.PasswordFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("--password-file: %w", err))
		} else if o.Password = strings.TrimRight(string(content), "\r\n"); o.Password == "" {
			errs = append(errs, fmt.Errorf("--password-file: %s is empty", o.PasswordFile))
		}
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, errors.New("--cert-file and --key-file must be given together"))
	}
	if o.CertFile == "" && o.StateDir == "" {
		errs = append(errs, errors.New("--state-dir is needed to keep the self-signed certificate, or --cert-file and --key-file"))
	}
	if o.GuestBootDelay < 0 {
		errs = append(errs, fmt.Errorf("--guest-boot-delay: %v must not be negative", o.GuestBootDelay))
	}
	if o.Clusters < 1 || o.Clusters > inventory.MaxClusters {
		errs = append(errs, fmt.Errorf("--clusters: %d must be 1 to %d", o.Clusters, inventory.MaxClusters))
	}
	if !versionPattern.MatchString(o.APIVersion) {
		errs = append(errs, fmt.Errorf("--api-version: %q must be like %s", o.APIVersion, inventory.APIVersion))
	}
	errs = append(errs, checkListen("--listen", o.Listen))
	if o.ControlListen != "" {
		errs = append(errs, checkLoopback("--control-listen", o.ControlListen))
	}
	return o, errors.Join(errs...)
}

func checkListen(flag, address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("%s: %q must be HOST:PORT: %w", flag, address, err)
	}
	return nil
}

func checkLoopback(flag, address string) error {
	if err := checkListen(flag, address); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s: %q must be a loopback address, as the controls are not authenticated", flag, address)
	}
	return nil
}
