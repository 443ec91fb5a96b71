// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/localcluster"
)

// userName is a user whose permissions come only from a role.
const userName = "slipway-bench-user"

// userRole grants the user the measured requests.
const userRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ` + userName + `}
rules:
- apiGroups: [vm.slipway.dev]
  resources: [virtualmachines, virtualmachines/status]
  verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ` + userName + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + userName + `}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + userName + `}]
`

// userByRole is a user whose permissions come from the management cluster's authorizer, like those of most users. It
// allows members of system:masters everything.
func userByRole(ctx context.Context, cluster *localcluster.Cluster) (*rest.Config, error) {
	if err := cluster.Apply(ctx, []byte(userRole)); err != nil {
		return nil, fmt.Errorf("giving a user rights: %w", err)
	}
	return cluster.UserConfig(userName)
}
