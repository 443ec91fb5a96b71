// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestConnectionReason_DistinguishesErrors(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	installation := admin(t, ready).ServiceContent.About.InstanceUuid
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"nothing":                  {func(*Config) {}, ""},
		"the required instance":    {func(c *Config) { c.InstanceUUID = &installation }, ""},
		"another instance":         {func(c *Config) { other := uuid.NewString(); c.InstanceUUID = &other }, vmv1alpha1.ReasonOtherVCenter},
		"another thumbprint":       {func(c *Config) { c.CAFile, c.Thumbprint = "", strings.Repeat("ab", 32) }, vmv1alpha1.ReasonUntrusted},
		"the system's authorities": {func(c *Config) { c.CAFile = "" }, vmv1alpha1.ReasonUntrusted},
		"a wrong password": {func(c *Config) {
			c.Credentials = func(context.Context) (string, string, error) { return "administrator@vsphere.local", "wrong", nil }
		}, vmv1alpha1.ReasonLoginRefused},
		"no Secret": {func(c *Config) {
			c.Credentials = func(context.Context) (string, string, error) { return "", "", errors.New("not found") }
		}, vmv1alpha1.ReasonLoginRefused},
		"no server": {func(c *Config) { c.URL = "https://127.0.0.1:1/sdk" }, vmv1alpha1.ReasonUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials}
			tc.change(&c)
			d, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(d.session.Close)
			if err := d.Connected(t.Context()); ConnectionReason(err) != tc.want {
				t.Errorf("reason %q of error %v, want %q", ConnectionReason(err), err, tc.want)
			}
		})
	}
}
