// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

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

// vcenterFlags say which vCenter a verb goes to by itself, and with whose account.
type vcenterFlags struct {
	url, username, passwordFile, caFile string
	thumbprint                          string
	insecure                            bool
}

func (o *vcenterFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.url, "vcenter-url", "", "Address of vCenter (default: $GOVC_URL)")
	flags.StringVar(&o.username, "vcenter-username", "", "Account (default: $GOVC_USERNAME)")
	flags.StringVar(&o.passwordFile, "vcenter-password-file", "", "File with the password; - for standard input, with a prompt at a terminal (default: $GOVC_PASSWORD)")
	flags.StringVar(&o.caFile, "vcenter-ca-file", "", "PEM file of authorities that are trusted instead of those of the system (default: $GOVC_TLS_CA_CERTS)")
	flags.StringVar(&o.thumbprint, "vcenter-thumbprint", "", "SHA-1 or SHA-256 of the certificate to trust")
	flags.BoolVar(&o.insecure, "vcenter-insecure", false, "Trust any certificate (default: $GOVC_INSECURE)")
}

// addFlagsFor is addFlags for verbs that go to a vCenter only if --vcenter-url says which, and
// always check who it is, as the server does. what says what they do with it.
func (o *vcenterFlags) addFlagsFor(flags *pflag.FlagSet, what string) {
	o.addFlags(flags)
	flags.Lookup("vcenter-url").Usage = what + " (GOVC_URL is not used)"
	flags.Lookup("vcenter-username").Usage = "Account of the server in vCenter (default: $GOVC_USERNAME)"
	// It is refused with what to do instead, so it stays known.
	_ = flags.MarkHidden("vcenter-insecure")
}

// server is the vCenter that flags and environment name.
func (o *vcenterFlags) server(ctx context.Context, f *Factory) (*login.Server, error) {
	text := cmp.Or(o.url, os.Getenv("GOVC_URL"))
	if text == "" {
		return nil, errors.New("no vCenter is named: use --vcenter-url or GOVC_URL")
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--vcenter-url or GOVC_URL is no address of a vCenter: want a host name or https://HOST")
	}
	username := cmp.Or(o.username, u.User.Username(), os.Getenv("GOVC_USERNAME"))
	password, _ := u.User.Password()
	password = cmp.Or(password, os.Getenv("GOVC_PASSWORD"))
	if o.passwordFile != "" && username != "" {
		if password, err = f.readPassword(ctx, o.passwordFile, fmt.Sprintf("Password of %s at %s: ", username, u.Host)); err != nil {
			return nil, fmt.Errorf("reading --vcenter-password-file: %w", err)
		}
	}
	if username == "" || password == "" {
		return nil, errors.New("user name and password are needed: use --vcenter-username and --vcenter-password-file, or GOVC_USERNAME and GOVC_PASSWORD")
	}
	u.User = nil
	insecure := os.Getenv("GOVC_INSECURE")
	return &login.Server{
		URL: u, User: url.UserPassword(username, password), CAFile: cmp.Or(o.caFile, os.Getenv("GOVC_TLS_CA_CERTS")), Thumbprint: o.thumbprint,
		Insecure: o.insecure || insecure == "1" || strings.EqualFold(insecure, "true"),
	}, nil
}
