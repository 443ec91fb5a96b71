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

// InstallGroups serves all API groups of Slipway from server, which was made from c.
// Revisions and claims are read from host, which may be nil: then they are unknown. screens
// show what virtual machines show. maxMachines is the number of Machines that a namespace can have.
// readers is set to what reads the objects that are served.
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
