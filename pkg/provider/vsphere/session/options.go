// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"
)

const (
	// defaultMaxCalls bounds concurrent calls; vCenter serves about this many
	// SOAP requests of one client before it queues them.
	defaultMaxCalls = 32
	// defaultKeepAlive is well below vCenter's idle timeout of 30 minutes.
	defaultKeepAlive = 5 * time.Minute
	// defaultCallTimeout bounds one SOAP call. Long work is done by tasks, so
	// that a call which takes longer is a dead connection.
	defaultCallTimeout = 2 * time.Minute
	// longCallTimeout bounds a call that lasts as long as vCenter's work, which is that
	// of copying an image: only a vCenter that hangs takes this long.
	longCallTimeout = 2 * time.Hour
)

// ErrNoCredentials means that there are none to log in with.
var ErrNoCredentials = errors.New("reading vCenter credentials")

// Credentials returns user name and password. It is called at every login.
type Credentials func(ctx context.Context) (user, password string, err error)

// Options configure a Session.
type Options struct {
	// URL of the SDK endpoint, for example https://vcenter.example.com/sdk.
	URL string
	// CAFile is a PEM file with the certificate authorities to trust.
	CAFile string
	// CAPEM holds the certificate authorities to trust.
	CAPEM []byte
	// Thumbprint is the SHA-256 or SHA-1 of the server's certificate in
	// hexadecimal, with or without colons. Not together with a CA.
	Thumbprint string
	// Installation, if set, is the instance UUID of the vCenter that is meant; empty stands
	// for that of the first login. Another one is not logged in to.
	Installation *string
	// Credentials to log in with. Required.
	Credentials Credentials
	// MaxCalls bounds concurrent calls. Defaults to 32.
	MaxCalls int
	// KeepAlive is the interval of keep-alive calls. Defaults to five minutes.
	KeepAlive time.Duration
	// CallTimeout bounds one call and one login. Defaults to two minutes.
	CallTimeout time.Duration
	// UserAgent is shown in vCenter's session list. Defaults to slipway.
	UserAgent string
	// Permit, if set, lets calls that change something wait.
	Permit Permit
	// OnCall, if set, is called with the name of every call before it is sent.
	OnCall func(method string)
	// Called, if set, is told of every call over SOAP how it ended and how long it took. It
	// must not block.
	Called func(method string, err error, took time.Duration)
}

// complete checks o, fills defaults and parses the URL.
func (o *Options) complete() (*url.URL, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("parsing vCenter URL %q: %w", o.URL, err)
	}
	if u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("vCenter URL %q: want https://host[:port]/sdk", o.URL)
	}
	if u.User != nil {
		return nil, errors.New("vCenter URL: user and password belong into the credentials, not into the URL")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/sdk"
	}
	if o.Credentials == nil {
		return nil, errors.New("vCenter credentials: none given")
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading vCenter CA file: %w", err)
		}
		o.CAPEM = append(append([]byte(nil), o.CAPEM...), pem...)
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = defaultMaxCalls
	}
	if o.Permit == nil {
		o.Permit = always{}
	}
	if o.KeepAlive <= 0 {
		o.KeepAlive = defaultKeepAlive
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.UserAgent == "" {
		o.UserAgent = "slipway"
	}
	return u, nil
}
