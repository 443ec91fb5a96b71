// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package artifacts

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// roles are the rules of every role in the deployment, by its name.
func roles(t *testing.T) map[string][]rbacv1.PolicyRule {
	t.Helper()
	all := map[string][]rbacv1.PolicyRule{}
	for _, name := range []string{"deploy/20-rbac-server.yaml", "deploy/30-rbac-users.yaml"} {
		data, err := Deploy.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
			var role rbacv1.ClusterRole // a Role has the same fields
			err := decoder.Decode(&role)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all[role.Name] = append(all[role.Name], role.Rules...)
		}
	}
	return all
}

func TestNoRoleHasAWildcard(t *testing.T) {
	for name, rules := range roles(t) {
		for _, rule := range rules {
			for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
				if slices.Contains(list, "*") {
					t.Errorf("role %s has the rule %v", name, rule)
				}
			}
		}
	}
}

func TestNoRoleOfUsersWritesWhatControllersOwn(t *testing.T) {
	reads := []string{"get", "list", "watch"}
	for name, rules := range roles(t) {
		for _, rule := range rules {
			if name == "slipway-recovery" && slices.Equal(rule.Resources, []string{"virtualmachines/status"}) {
				continue // it is for privileged users, who bring an older object to where vSphere is
			}
			for _, resource := range []string{"virtualmachines/status", "virtualmachineinstances", "virtualmachineinstances/status", "virtualmachineimages/status", "clustervirtualmachineimages/status"} {
				if slices.Contains(rule.Resources, resource) && slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains(reads, v) }) {
					t.Errorf("role %s may %v %s", name, rule.Verbs, resource)
				}
			}
		}
	}
}
