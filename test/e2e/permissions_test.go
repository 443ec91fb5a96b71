// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/test/testenv"
)

// serverAccount is the user of slipway-apiserver in the management cluster.
const serverAccount = "system:serviceaccount:slipway-system:slipway-apiserver"

// The other tests show that these permissions are sufficient, because the server has no others in them.
func TestServer_HasOnlyThePermissionsThatItNeeds(t *testing.T) {
	t.Parallel()
	client, err := kubernetes.NewForConfig(testenv.Of(t).RestConfig())
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]bool{
		"get secrets":                   true,
		"list secrets":                  false,
		"update secrets":                false,
		"patch persistentvolumeclaims":  true, // annotation and finalizer of those that virtual machines have
		"delete persistentvolumeclaims": false,
		"update persistentvolumes":      false,
		"get controllerrevisions.apps":  true, // to migrate existing revisions
		"list controllerrevisions.apps": false, "create controllerrevisions.apps": false, "update controllerrevisions.apps": false, "delete controllerrevisions.apps": false,
		"get virtualmachines.vm.slipway.dev":                   false,
		"delete namespaces":                                    false,
		"create leases.coordination.k8s.io":                    false, // in this namespace
		"update leases.coordination.k8s.io":                    false,
		"create clusterrolebindings.rbac.authorization.k8s.io": false,
	} {
		verb, resource, _ := strings.Cut(question, " ")
		resource, group, _ := strings.Cut(resource, ".")
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: serverAccount, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:slipway-system", "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: verb, Group: group, Resource: resource},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Status.Allowed != want {
			t.Errorf("may the server %s: %t, want %t", question, answer.Status.Allowed, want)
		}
	}
}
