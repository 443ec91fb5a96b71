// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// installer is a cluster administrator, with the vCenter arguments for install.
type installer struct {
	user
	password string
	vcenter  []string
}

func newInstaller(t *testing.T, u user) installer {
	t.Helper()
	env := testenv.Of(t)
	kubeconfig, err := env.UserKubeconfig("installer")
	if err != nil {
		t.Fatal(err)
	}
	u.Kubectl("create", "clusterrolebinding", "installer", "--clusterrole=cluster-admin", "--user=installer")
	v := env.VCenter()
	return installer{user: user{testenv.User{T: t, Kubeconfig: kubeconfig}}, password: v.Password, vcenter: []string{
		"--vcenter-url=" + v.URL, "--vcenter-username=" + v.Username, "--vcenter-password-file=-", "--vcenter-ca-file=" + v.CAFile,
		"--server-arg=--vcenter-datastore=/DC0/datastore/LocalDS_0", "--server-arg=--vcenter-network=/DC0/network/VM Network",
		"--server-arg=--vcenter-folder=/DC0/vm/slipway", "--server-arg=--vcenter-resource-pool=/DC0/host/DC0_C0/Resources",
	}}
}

// does runs virtctl, which must succeed and print all texts.
func (i installer) does(args []string, says ...string) string {
	i.T.Helper()
	out, errOut, err := testenv.Run(i.T, i.password+"\n", "virtctl", append([]string{"--kubeconfig", i.Kubeconfig}, args...)...)
	if err != nil {
		i.T.Fatalf("virtctl %s: %v\n%s%s", args[0], err, out, errOut)
	}
	for _, text := range says {
		if !strings.Contains(out+errOut, text) {
			i.T.Errorf("the output of virtctl %s lacks %q:\n%s%s", args[0], text, out, errOut)
		}
	}
	return out + errOut
}

// A cluster administrator installs Slipway in a new cluster, creates a VM, and uninstalls Slipway.
func TestInstall_CreatesAVMAndIsUninstalled(t *testing.T) {
	pods, change := newContainers(t)
	testenv.Own(t, change)
	pods.run()
	u := admin(t)
	i := newInstaller(t, u)
	install := append([]string{
		"install", "--apply", "--wait", "--image=registry.example.com/slipway-apiserver:v1",
		"--server-arg=--vcenter-networks=*", "--server-arg=--authorization-webhook-cache-unauthorized-ttl=0s",
	}, i.vcenter...)

	i.does(append([]string{"check"}, i.vcenter...), "ok       Kubernetes v1.", "ok       the aggregation layer is enabled\n", "ok       Slipway is not installed yet\n",
		"ok       you have the permissions that an installation requires\n", "datastore /DC0/datastore/LocalDS_0: ok\n", "folder /DC0/vm/slipway: ok\n",
		"datastores visible to the account: ", "  LocalDS_0: ", ", usable\n", "content libraries visible to the account: ", "  slipway: ")
	i.does(install, "namespace/slipway-system created\n", "statefulset/slipway-apiserver created\n", "waiting for the API: ",
		"the API is available: v1alpha1.vm.slipway.dev, ", "vcenter/default created\n", "vcenter/default ready\n")
	i.does([]string{"check"}, "ok       APIService v1alpha1.vm.slipway.dev is available\n", "ok       1 of 1 replicas of the server are ready\n", "ok       all vcenters are ready (1)\n")
	if pod := pods.all()[serverName+"-0"]; pod == nil || pod.image != "registry.example.com/slipway-apiserver:v1" {
		t.Errorf("the pod is %+v", pod)
	}
	u.Apply(testenv.Catalogue + testenv.VM("first"))
	u.Kubectl("wait", "--for=condition=Ready", "vm/first", "--timeout=90s")

	// The second run changes no object and keeps the server's changes of the APIServices.
	if again := i.does(install, "apiservice/v1alpha1.vm.slipway.dev unchanged\n"); strings.Contains(again, " created\n") || strings.Contains(again, " configured\n") {
		t.Errorf("a second run changes something:\n%s", again)
	}

	// Without --image and --replicas the image and the number of replicas are kept.
	forgotten := slices.DeleteFunc(slices.Clone(install), func(arg string) bool {
		return strings.HasPrefix(arg, "--image=")
	})
	i.does(forgotten, "kept from the existing installation: --image=registry.example.com/slipway-apiserver:v1 --replicas=1\n", "statefulset/slipway-apiserver unchanged\n")

	// Objects of users block the removal. The VCenter that install has created does not.
	u.Kubectl("delete", "vm/first")
	if out, errOut, err := u.Try("", "virtctl", "uninstall"); err == nil || !strings.Contains(errOut, "2 virtualmachineimages") || strings.Contains(errOut, "vcenters") {
		t.Errorf("virtctl uninstall: %v %s%s, want a refusal because of the images that are left, and of nothing that install has made", err, out, errOut)
	}
	u.Kubectl("delete", "vmimage,vminstancetype,vmpref", "--all")
	u.Kubectl("apply", "-k", filepath.Join(project, "artifacts/deploy/cluster-api"))
	said := i.does([]string{"uninstall"}, "vcenter/default deleted\n", "statefulset/slipway-apiserver deleted\n")
	if !strings.HasPrefix(said, "vcenter/default deleted\n") {
		t.Errorf("something goes before the VCenter:\n%s", said)
	}
	if left := u.Kubectl("get", "clusterroles,clusterrolebindings,apiservices,customresourcedefinitions", "-o", "name"); strings.Contains(left, "slipway") {
		t.Errorf("something is left:\n%s", left)
	}
	testenv.Eventually(t, testenv.Long, "the server ends", func() error {
		if n := len(pods.all()); n > 0 {
			return fmt.Errorf("%d pods run", n)
		}
		return nil
	})
}
