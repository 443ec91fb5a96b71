// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/references"
)

func ref(group, kind, name string) clusterv1alpha1.ContractVersionedObjectReference {
	return clusterv1alpha1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
}

func referencesMachine(infrastructure, config clusterv1alpha1.ContractVersionedObjectReference) runtime.Object {
	m := &clusterv1alpha1.Machine{}
	m.Spec.InfrastructureRef, m.Spec.Bootstrap.ConfigRef = infrastructure, config
	return m
}

func set(infrastructure clusterv1alpha1.ContractVersionedObjectReference) runtime.Object {
	s := &clusterv1alpha1.MachineSet{}
	s.Spec.Template.Spec.InfrastructureRef = infrastructure
	return s
}

func deployment(config clusterv1alpha1.ContractVersionedObjectReference) runtime.Object {
	d := &clusterv1alpha1.MachineDeployment{}
	d.Spec.Template.Spec.Bootstrap.ConfigRef = config
	return d
}

func cluster(infrastructure, controlPlane clusterv1alpha1.ContractVersionedObjectReference) runtime.Object {
	c := &clusterv1alpha1.Cluster{}
	c.Spec.InfrastructureRef, c.Spec.ControlPlaneRef = infrastructure, controlPlane
	return c
}

func referencesCheck(version, kind, name string) runtime.Object {
	c := &clusterv1alpha1.MachineHealthCheck{}
	c.Spec.Remediation.TemplateRef = clusterv1alpha1.MachineHealthCheckRemediationTemplateReference{APIVersion: version, Kind: kind, Name: name}
	return c
}

func TestReferences_RequirePermissionForTheObject(t *testing.T) {
	none := ref("", "", "")
	vm, config := ref("vm.slipway.dev", "VirtualMachine", "db"), ref("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "c")
	for name, tc := range map[string]struct {
		updated, stored runtime.Object
		// asked are the permissions that are checked if all are granted.
		asked []string
		// without is the missing permission, and refused is the expected field error.
		without, refused string
	}{
		"a machine": {referencesMachine(vm, config), nil, []string{
			"update virtualmachines.vm.slipway.dev db", "delete virtualmachines.vm.slipway.dev db",
			"update kubeadmconfigs.bootstrap.cluster.x-k8s.io c", "delete kubeadmconfigs.bootstrap.cluster.x-k8s.io c",
		}, "delete virtualmachines.vm.slipway.dev db", "spec.infrastructureRef: this reference requires permission to delete virtualmachines.vm.slipway.dev db: no rule"},
		"a machine with a Secret":                {referencesMachine(vm, none), referencesMachine(vm, config), nil, "", ""},
		"a machine that is labelled":             {referencesMachine(vm, config), referencesMachine(vm, config), nil, "", ""},
		"a machine with an added reference":      {referencesMachine(vm, config), referencesMachine(vm, none), []string{"update kubeadmconfigs.bootstrap.cluster.x-k8s.io c", "delete kubeadmconfigs.bootstrap.cluster.x-k8s.io c"}, "update kubeadmconfigs.bootstrap.cluster.x-k8s.io c", "spec.bootstrap.configRef"},
		"a machine with a reference to a Secret": {referencesMachine(ref("", "Secret", "token"), none), nil, []string{"update secrets token", "delete secrets token"}, "delete secrets token", "spec.infrastructureRef"},
		"a set":                                  {set(ref("vm.slipway.dev", "VirtualMachineTemplate", "t")), nil, []string{"get virtualmachinetemplates.vm.slipway.dev t"}, "get virtualmachinetemplates.vm.slipway.dev t", "spec.template.spec.infrastructureRef"},
		"a set that is scaled":                   {set(ref("vm.slipway.dev", "VirtualMachineTemplate", "t")), set(ref("vm.slipway.dev", "VirtualMachineTemplate", "t")), nil, "", ""},
		"a deployment":                           {deployment(config), nil, []string{"get kubeadmconfigs.bootstrap.cluster.x-k8s.io c"}, "get kubeadmconfigs.bootstrap.cluster.x-k8s.io c", "spec.template.spec.bootstrap.configRef"},
		"a cluster":                              {cluster(vm, config), cluster(none, none), []string{"update virtualmachines.vm.slipway.dev db", "delete virtualmachines.vm.slipway.dev db", "update kubeadmconfigs.bootstrap.cluster.x-k8s.io c", "delete kubeadmconfigs.bootstrap.cluster.x-k8s.io c"}, "delete kubeadmconfigs.bootstrap.cluster.x-k8s.io c", "spec.controlPlaneRef"},
		"a cluster without references":           {cluster(none, none), nil, nil, "", ""},
		"a health check":                         {referencesCheck("a.example.com/v1", "RebootTemplate", "r"), nil, []string{"get reboottemplates.a.example.com r", "create reboots.a.example.com"}, "create reboots.a.example.com", "spec.remediation.templateRef"},
		"a health check without a template":      {referencesCheck("", "", ""), nil, nil, "", ""},
		"another kind":                           {&clusterv1alpha1.MachineDrainRule{}, nil, nil, "", ""},
		"a request without an object":            {nil, nil, nil, "", ""},
		"the kind of a reference changed":        {referencesMachine(ref("vm.slipway.dev", "VirtualMachineImage", "db"), none), referencesMachine(vm, none), []string{"update virtualmachineimages.vm.slipway.dev db", "delete virtualmachineimages.vm.slipway.dev db"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			judge := func(without string) error {
				asked = nil
				a := references.New(authorizer.AuthorizerFunc(func(_ context.Context, r authorizer.Attributes) (authorizer.Decision, string, error) {
					if r.GetNamespace() != "team-a" || !r.IsResourceRequest() || r.GetUser().GetName() != "alice" {
						t.Errorf("unexpected authorization request %+v", r)
					}
					what := strings.TrimSpace(r.GetVerb() + " " + schema.GroupResource{Group: r.GetAPIGroup(), Resource: r.GetResource()}.String() + " " + r.GetName())
					asked = append(asked, what)
					if what == without {
						return authorizer.DecisionNoOpinion, "no rule", nil
					}
					return authorizer.DecisionAllow, "", nil
				}))
				operation := admission.Create
				if tc.stored != nil {
					operation = admission.Update
				}
				return a.Validate(t.Context(), admission.NewAttributesRecord(tc.updated, tc.stored, schema.GroupVersionKind{}, "team-a", "x",
					schema.GroupVersionResource{}, "", operation, nil, false, &user.DefaultInfo{Name: "alice"}), nil)
			}
			if err := judge(""); err != nil {
				t.Errorf("with all permissions: %v", err)
			}
			if diff := cmp.Diff(tc.asked, asked); diff != "" {
				t.Errorf("checked permissions (-want +got):\n%s", diff)
			}
			if tc.without == "" {
				return
			}
			if err := judge(tc.without); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("without permission to %s: %v, want %q", tc.without, err, tc.refused)
			}
		})
	}
}

func TestReferences_AreRejectedIfAuthorizationFails(t *testing.T) {
	a := references.New(authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionNoOpinion, "", errors.New("the management cluster does not answer")
	}))
	err := a.Validate(t.Context(), admission.NewAttributesRecord(referencesMachine(ref("vm.slipway.dev", "VirtualMachine", "db"), ref("", "", "")), nil, schema.GroupVersionKind{}, "team-a", "x",
		schema.GroupVersionResource{}, "", admission.Create, nil, false, &user.DefaultInfo{Name: "alice"}), nil)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot determine") {
		t.Errorf("error %v, want Forbidden with the cause", err)
	}
}
