// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"

	clusterrest "github.com/slipway-dev/slipway/pkg/registry/cluster/rest"
	instancetyperest "github.com/slipway-dev/slipway/pkg/registry/instancetype/rest"
	"github.com/slipway-dev/slipway/pkg/registry/vm/references"
	vmrest "github.com/slipway-dev/slipway/pkg/registry/vm/rest"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine/storage"
)

// InstallGroups installs all API groups of Slipway in server, which was created from c. host is the client of the
// management cluster; if it is nil, revisions and claims are reported as unknown. screens provides the consoles of
// virtual machines. maxMachines is the maximum number of Machines in a namespace. InstallGroups sets readers to
// readers of the served objects.
func InstallGroups(
	server *genericapiserver.GenericAPIServer, c genericapiserver.CompletedConfig, host kubernetes.Interface, screens storage.Screens, maxMachines int, readers *references.Readers,
) error {
	owners, err := newMachineOwners(c)
	if err != nil {
		return err
	}
	instancetypes, instancetypeStores, err := instancetyperest.NewAPIGroupInfo(c.RESTOptionsGetter)
	if err != nil {
		return err
	}
	machines, err := vmrest.NewAPIGroupInfo(c.RESTOptionsGetter, vmrest.Dependencies{
		Owners:        owners,
		Instancetypes: instancetypeStores,
		Host:          host,
		Admission:     c.AdmissionControl,
		Screens:       screens,
		Readers:       readers,
	})
	if err != nil {
		return err
	}
	clusters, err := clusterrest.NewAPIGroupInfo(c.RESTOptionsGetter, maxMachines)
	if err != nil {
		return err
	}
	if err := server.InstallAPIGroups(machines, instancetypes, clusters); err != nil {
		return fmt.Errorf("installing the API groups: %w", err)
	}
	return nil
}
