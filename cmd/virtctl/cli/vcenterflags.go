// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/slipway-dev/slipway/cmd/virtctl/login"
)

// VCenterFlags specify the vCenter that a command connects to itself, and the account.
type VCenterFlags struct {
	URL, Username, PasswordFile, CAFile string
	Thumbprint                          string
	Insecure                            bool
	// GOVCEnv is true if the environment variables of govc are used for flags that are not set.
	GOVCEnv bool
}

// AddFlags adds the flags.
func (o *VCenterFlags) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.URL, "vcenter-url", "", "Address of vCenter (default: $GOVC_URL)")
	flags.StringVar(&o.Username, "vcenter-username", "", "vCenter account (default: $GOVC_USERNAME)")
	flags.StringVar(&o.PasswordFile, "vcenter-password-file", "", "File with the password; - for standard input, with a prompt at a terminal (default: $GOVC_PASSWORD)")
	flags.StringVar(&o.CAFile, "vcenter-ca-file", "", "PEM file with trusted certificate authorities instead of the system's (default: $GOVC_TLS_CA_CERTS)")
	flags.StringVar(&o.Thumbprint, "vcenter-thumbprint", "", "SHA-1 or SHA-256 thumbprint of the trusted certificate")
	flags.BoolVar(&o.Insecure, "vcenter-insecure", false, "Trust any certificate (default: $GOVC_INSECURE)")
	o.GOVCEnv = true
}

// AddFlagsFor adds the flags of commands that describe the vCenter and the account of the server. These commands always
// verify vCenter's certificate, and ignore the environment variables of govc without --vcenter-govc-env, because those
// usually contain the account of a person. what describes --vcenter-url.
func (o *VCenterFlags) AddFlagsFor(flags *pflag.FlagSet, what string) {
	o.AddFlags(flags)
	flags.BoolVar(&o.GOVCEnv, "vcenter-govc-env", false, "Use GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD and GOVC_TLS_CA_CERTS for the flags that are not set; "+
		"otherwise they are ignored")
	flags.Lookup("vcenter-url").Usage = what
	flags.Lookup("vcenter-username").Usage = "vCenter account for the server"
	flags.Lookup("vcenter-password-file").Usage = "File with the password; - for standard input, with a prompt at a terminal"
	flags.Lookup("vcenter-ca-file").Usage = "PEM file with trusted certificate authorities instead of the system's"
	// The flag stays defined so that its use results in a helpful error.
	_ = flags.MarkHidden("vcenter-insecure")
}

// getenv returns an environment variable of govc, or an empty string if they are not used.
func (o *VCenterFlags) getenv(name string) string {
	if !o.GOVCEnv {
		return ""
	}
	return os.Getenv(name)
}

// Server returns the vCenter of the flags and, with GOVCEnv, of the environment.
func (o *VCenterFlags) Server(ctx context.Context, f *Factory) (*login.Server, error) {
	text := cmp.Or(o.URL, o.getenv("GOVC_URL"))
	if text == "" {
		return nil, errors.New("no vCenter specified: use --vcenter-url or GOVC_URL")
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--vcenter-url or GOVC_URL is not a valid vCenter address: use a host name or https://HOST")
	}
	username := cmp.Or(o.Username, u.User.Username(), o.getenv("GOVC_USERNAME"))
	password, _ := u.User.Password()
	password = cmp.Or(password, o.getenv("GOVC_PASSWORD"))
	if o.PasswordFile != "" && username != "" {
		if password, err = f.readPassword(ctx, o.PasswordFile, fmt.Sprintf("Password of %s at %s: ", username, u.Host)); err != nil {
			return nil, fmt.Errorf("reading --vcenter-password-file: %w", err)
		}
	}
	if username == "" || password == "" {
		if !o.GOVCEnv {
			return nil, errors.New("user name and password are required: use --vcenter-username and --vcenter-password-file (GOVC_USERNAME and GOVC_PASSWORD are used only with --vcenter-govc-env)")
		}
		return nil, errors.New("user name and password are required: use --vcenter-username and --vcenter-password-file, or GOVC_USERNAME and GOVC_PASSWORD")
	}
	u.User = nil
	insecure := o.getenv("GOVC_INSECURE")
	return &login.Server{
		URL: u, User: url.UserPassword(username, password), CAFile: cmp.Or(o.CAFile, o.getenv("GOVC_TLS_CA_CERTS")), Thumbprint: o.Thumbprint,
		Insecure: o.Insecure || insecure == "1" || strings.EqualFold(insecure, "true"),
	}, nil
}
