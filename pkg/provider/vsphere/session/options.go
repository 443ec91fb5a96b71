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
	// defaultMaxCalls limits concurrent calls. vCenter serves about this many SOAP requests of one
	// client before it queues them.
	defaultMaxCalls = 32
	// defaultKeepAlive is well below vCenter's idle timeout of 30 minutes.
	defaultKeepAlive = 5 * time.Minute
	// defaultCallTimeout limits one SOAP call. Long operations run as tasks, so a call that takes
	// longer indicates a dead connection.
	defaultCallTimeout = 2 * time.Minute
	// longCallTimeout limits a call that ends with the operation of vCenter, such as copying an
	// image. Only a vCenter that hangs takes this long.
	longCallTimeout = 2 * time.Hour
)

// ErrNoCredentials is returned when no credentials are available.
var ErrNoCredentials = errors.New("reading vCenter credentials")

// Credentials returns a user name and a password. It is called at every login.
type Credentials func(ctx context.Context) (user, password string, err error)

// Options configure a Session.
type Options struct {
	// URL is the SDK endpoint, for example https://vcenter.example.com/sdk.
	URL string
	// CAFile is a PEM file with the certificate authorities to trust.
	CAFile string
	// CAPEM holds PEM-encoded certificate authorities to trust, in addition to CAFile.
	CAPEM []byte
	// Thumbprint is the SHA-256 or SHA-1 thumbprint of the server's certificate in hexadecimal,
	// with or without colons. It is mutually exclusive with CAFile and CAPEM.
	Thumbprint string
	// InstanceUUID, if set, is the required instance UUID of the vCenter. An empty value requires
	// that of the first login. The session does not log in to any other vCenter.
	InstanceUUID *string
	// Credentials provides the credentials for each login. Required.
	Credentials Credentials
	// MaxCalls limits concurrent calls. Defaults to 32.
	MaxCalls int
	// KeepAlive is the interval of keep-alive calls. Defaults to five minutes.
	KeepAlive time.Duration
	// CallTimeout limits one call and one login. Defaults to two minutes.
	CallTimeout time.Duration
	// UserAgent is shown in vCenter's session list. Defaults to slipway.
	UserAgent string
	// Permit, if set, delays calls that change vSphere until they are permitted.
	Permit Permit
	// OnCall, if set, is called with the method name of every call before it is sent.
	OnCall func(method string)
	// OnResult, if set, is called with the result and the duration of every SOAP call. It must not
	// block.
	OnResult func(method string, err error, took time.Duration)
}

// complete validates o, sets defaults and parses the URL.
func (o *Options) complete() (*url.URL, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("parsing vCenter URL %q: %w", o.URL, err)
	}
	if u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("vCenter URL %q: must be https://host[:port]/sdk", o.URL)
	}
	if u.User != nil {
		return nil, errors.New("vCenter URL: must not contain a user or a password; use the credentials")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/sdk"
	}
	if o.Credentials == nil {
		return nil, errors.New("vCenter credentials: required")
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
		o.Permit = alwaysPermit{}
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
