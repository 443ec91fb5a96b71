// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/copying"
)

func machine(kind, image string) runtime.Object {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web"}}
	if image != "" {
		vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Kind: kind, Name: image}
	}
	return vm
}

func publish(name, source string) runtime.Object {
	return &vmv1alpha1.VirtualMachinePublishRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name},
		Spec:       vmv1alpha1.VirtualMachinePublishRequestSpec{Source: vmv1alpha1.VirtualMachinePublishSource{Name: source}},
	}
}

func snapshot(of string) runtime.Object {
	return &vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "now"}, Spec: vmv1alpha1.VirtualMachineSnapshotSpec{VMName: of}}
}

func template(kind, image string) runtime.Object {
	o := &vmv1alpha1.VirtualMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web"}}
	o.Spec.Template.Spec = machine(kind, image).(*vmv1alpha1.VirtualMachine).Spec
	return o
}

func TestCopying_RequiresPermissionToUpdateTheSource(t *testing.T) {
	for name, tc := range map[string]struct {
		user            string
		updated, stored runtime.Object
		refused         string
	}{
		"a clone by a user who may update":               {"editor", machine("VirtualMachine", "db"), nil, ""},
		"a clone by a user who may not update":           {"creator", machine("VirtualMachine", "db"), nil, "spec.image"},
		"a clone of another VM":                          {"editor", machine("VirtualMachine", "secret"), nil, "spec.image"},
		"a clone, authorization failed":                  {"unknown", machine("VirtualMachine", "db"), nil, "cannot determine"},
		"an image with the same name":                    {"creator", machine("VirtualMachineImage", "db"), nil, ""},
		"no image":                                       {"creator", machine("", ""), nil, ""},
		"an image that is set later":                     {"creator", machine("VirtualMachine", "db"), machine("", ""), "spec.image"},
		"a clone that is changed":                        {"creator", machine("VirtualMachine", "db"), machine("VirtualMachine", "db"), ""},
		"a template by a user who may update":            {"editor", template("VirtualMachine", "db"), nil, ""},
		"a template by a user who may not update":        {"creator", template("VirtualMachine", "db"), nil, "spec.template.spec.image"},
		"a template of an image":                         {"creator", template("VirtualMachineImage", "db"), nil, ""},
		"a template that is labelled":                    {"creator", template("VirtualMachine", "db"), template("VirtualMachine", "db"), ""},
		"a publish request by a user who may update":     {"editor", publish("now", "db"), nil, ""},
		"a snapshot by a user who may update":            {"editor", snapshot("db"), nil, ""},
		"a snapshot by a user who may not update":        {"creator", snapshot("db"), nil, "spec.vmName"},
		"a snapshot that is labelled":                    {"creator", snapshot("db"), snapshot("db"), ""},
		"a publish request by a user who may not update": {"creator", publish("now", "db"), nil, "spec.source"},
		"a publish request with the name of the VM":      {"creator", publish("db", ""), nil, "spec.source"},
		"a publish request with a changed TTL":           {"creator", publish("now", "db"), publish("now", "db"), ""},
		"the body of a subresource":                      {"creator", &vmv1alpha1.PowerOptions{}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := copying.New(authorizer.AuthorizerFunc(func(_ context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
				if asked.GetVerb() != "update" || asked.GetNamespace() != "team-a" || asked.GetAPIGroup() != "vm.slipway.dev" ||
					asked.GetResource() != "virtualmachines" || !asked.IsResourceRequest() {
					t.Errorf("unexpected authorization request %+v", asked)
				}
				switch {
				case asked.GetUser().GetName() == "unknown":
					return authorizer.DecisionNoOpinion, "", errors.New("the management cluster does not answer")
				case asked.GetUser().GetName() == "editor" && asked.GetName() == "db":
					return authorizer.DecisionAllow, "", nil
				}
				return authorizer.DecisionNoOpinion, "no rule", nil
			}))
			operation := admission.Create
			if tc.stored != nil {
				operation = admission.Update
			}
			request := admission.NewAttributesRecord(tc.updated, tc.stored, schema.GroupVersionKind{}, "team-a", "web",
				schema.GroupVersionResource{}, "", operation, nil, false, &user.DefaultInfo{Name: tc.user})
			err := a.Validate(t.Context(), request, nil)
			if tc.refused == "" && err != nil || tc.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.refused)) {
				t.Errorf("error %v, want one that contains %q", err, tc.refused)
			}
		})
	}
}
