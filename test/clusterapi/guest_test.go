// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"encoding/base64"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// bootstrapped checks that the guest of a worker has the bootstrap data of its Machine.
func (s *scene) bootstrapped(vm *vmv1alpha1.VirtualMachine) {
	s.Helper()
	v := env.Host.VCenter()
	client, err := vsphereclient.Login(s.Context(), v.URL, v.CAFile, v.Username, v.Password)
	s.must(err)
	defer func() { _ = client.Logout(s.Context()) }()
	var seen mo.VirtualMachine
	s.must(client.RetrieveOne(s.Context(), types.ManagedObjectReference{Type: "VirtualMachine", Value: vm.Status.UniqueID}, []string{"config.extraConfig"}, &seen))
	settings := map[string]string{}
	for _, o := range seen.Config.ExtraConfig {
		settings[o.GetOptionValue().Key], _ = o.GetOptionValue().Value.(string)
	}
	data := settings["guestinfo.userdata"]
	if settings["guestinfo.userdata.encoding"] == "base64" {
		raw, err := base64.StdEncoding.DecodeString(data)
		s.must(err)
		data = string(raw)
	}
	if !strings.Contains(data, "kubeadm join 127.0.0.1:") {
		s.Errorf("the guest of %s is given %q as user data, want the Secret of its Machine", vm.Name, data)
	}
}
