// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/catalogue"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/testenv"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// recoveryDeadline is many times the duration on an idle machine.
const recoveryDeadline = 5 * time.Minute

// storeScene is an environment whose store is deleted or replaced.
type storeScene struct {
	*testing.T
	*localcluster.Cluster
	// dir is the directory of backups.
	dir  string
	api  versioned.Interface
	host kubernetes.Interface
}

func newStoreScene(t *testing.T) *storeScene {
	t.Helper()
	c := testenv.Of(t)
	return &storeScene{T: t, Cluster: c, dir: t.TempDir(), api: versioned.NewForConfigOrDie(c.RestConfig()), host: kubernetes.NewForConfigOrDie(c.RestConfig())}
}

// eventually waits until check returns nil.
func (s *storeScene) eventually(what string, check func(ctx context.Context) error) {
	s.Helper()
	testenv.Eventually(s.T, recoveryDeadline, what, func() error { return check(s.Context()) })
}

// fill creates virtual machines in a namespace with instance types.
func (s *storeScene) fill(namespace string, machines int) {
	s.Helper()
	if err := s.Apply(s.Context(), catalogue.Manifests(namespace)); err != nil {
		s.Fatal(err)
	}
	for i := range machines {
		name, group := fmt.Sprintf("web-%02d", i), ""
		if slices.Contains(members, name) {
			group = shop
		}
		s.create(namespace, name, group)
	}
}

// create creates a virtual machine, which is a member of the group if one is given.
func (s *storeScene) create(namespace, name, group string) {
	s.Helper()
	vm := &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "web"}},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Instancetype: &vmv1alpha1.InstancetypeMatcher{Name: catalogue.Small, Kind: "VirtualMachineInstancetype"},
			Preference:   &vmv1alpha1.PreferenceMatcher{Name: catalogue.Linux, Kind: "VirtualMachinePreference"},
			Image:        &vmv1alpha1.VirtualMachineImageRef{Name: catalogue.Item}, GroupName: group,
		},
	}
	if _, err := s.api.VmV1alpha1().VirtualMachines(namespace).Create(s.Context(), vm, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// shop is a group with members. site is a group that contains it.
const shop, site = "shop", "site"

// keeper is the member that prevents the deletion of both.
const keeper = "web-01"

var members = []string{"web-02", keeper}

// group creates the groups of a namespace.
func (s *storeScene) group(namespace string) {
	s.Helper()
	const manifest = `
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineGroup
metadata: {namespace: %[1]s, name: site, labels: {app: site}}
spec: {powerState: PoweredOn, bootOrder: [{members: [{kind: VirtualMachineGroup, name: shop}]}]}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineGroup
metadata: {namespace: %[1]s, name: shop}
spec: {groupName: site, bootOrder: [{members: [{name: %[2]s}], waitFor: Ready, waitTimeoutSeconds: 600}, {members: [{name: %[3]s}], powerOnDelaySeconds: 1}]}
`
	if err := s.Apply(s.Context(), fmt.Appendf(nil, manifest, namespace, members[0], members[1])); err != nil {
		s.Fatal(err)
	}
}

// groups returns the groups of a namespace when they are Ready, with the fields that must be the same afterwards.
func (s *storeScene) groups(namespace string) map[string]vmv1alpha1.VirtualMachineGroupSpec {
	s.Helper()
	out := map[string]vmv1alpha1.VirtualMachineGroupSpec{}
	s.eventually("the groups are ready", func(ctx context.Context) error {
		for _, name := range []string{shop, site} {
			g, err := s.api.VmV1alpha1().VirtualMachineGroups(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if !conditions.IsTrue(g.Status.Conditions, vmv1alpha1.ConditionReady) {
				return fmt.Errorf("%s: %+v", name, g.Status.Conditions)
			}
			out[name+" "+g.Labels["app"]] = g.Spec
		}
		return nil
	})
	return out
}

// recorded contains the fields of a virtual machine that must be the same afterwards.
type recorded struct {
	UID, Instancetype, Preference, UniqueID, InstanceUUID, Zone string
	Generation                                                  int64
	Labels                                                      map[string]string
	Spec                                                        vmv1alpha1.VirtualMachineSpec
}

// ready waits until all virtual machines of the namespaces are ready and recorded, and
// returns them by namespace and name.
func (s *storeScene) ready(machines int, namespaces ...string) map[string]recorded {
	s.Helper()
	return s.readyBut("", machines, namespaces...)
}

// readyBut is ready without the virtual machine of this name.
func (s *storeScene) readyBut(but string, machines int, namespaces ...string) map[string]recorded {
	s.Helper()
	out := map[string]recorded{}
	s.eventually(fmt.Sprintf("%d virtual machines are ready and recorded", machines), func(ctx context.Context) error {
		clear(out)
		for _, namespace := range namespaces {
			list, err := s.api.VmV1alpha1().VirtualMachines(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for i := range list.Items {
				vm := &list.Items[i]
				if vm.Name == but {
					continue
				}
				for _, kind := range []string{vmv1alpha1.ConditionReady, vmv1alpha1.ConditionBackupUpToDate} {
					if c := conditions.Find(vm.Status.Conditions, kind); c == nil || c.Status != metav1.ConditionTrue {
						return fmt.Errorf("%s/%s: %s is %+v", namespace, vm.Name, kind, c)
					}
				}
				it, preference := vm.Status.InstancetypeRef, vm.Status.PreferenceRef
				if it == nil || preference == nil || it.ControllerRevisionRef == nil || preference.ControllerRevisionRef == nil {
					return fmt.Errorf("%s/%s has captured nothing", namespace, vm.Name)
				}
				out[namespace+"/"+vm.Name] = recorded{
					UID: string(vm.UID), Instancetype: it.ControllerRevisionRef.Name, Preference: preference.ControllerRevisionRef.Name,
					UniqueID: vm.Status.UniqueID, InstanceUUID: vm.Status.InstanceUUID, Zone: vm.Status.Zone,
					Generation: vm.Generation, Labels: vm.Labels, Spec: vm.Spec,
				}
			}
		}
		if len(out) != machines {
			return fmt.Errorf("there are %d", len(out))
		}
		return nil
	})
	return out
}

// vsphereVM is the state of a VM in vCenter. A reconfiguration changes the version, and a power-on changes the time.
type vsphereVM struct{ InstanceUUID, ChangeVersion, Booted, Power string }

// inventory lists the VMs of vCenter by managed object ID.
func (s *storeScene) inventory() map[string]vsphereVM {
	s.Helper()
	vc := s.VCenter()
	client, err := vsphereclient.Login(s.Context(), vc.URL, vc.CAFile, vc.Username, vc.Password)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = client.Logout(context.WithoutCancel(s.Context())) }()
	var vms []mo.VirtualMachine
	if err := vsphereclient.Everything(s.Context(), client, "VirtualMachine", []string{"config.instanceUuid", "config.changeVersion", "runtime.bootTime", "runtime.powerState"}, &vms); err != nil {
		s.Fatal(err)
	}
	out := map[string]vsphereVM{}
	for _, vm := range vms {
		m := vsphereVM{Power: string(vm.Runtime.PowerState)}
		if vm.Config != nil {
			m.InstanceUUID, m.ChangeVersion = vm.Config.InstanceUuid, vm.Config.ChangeVersion
		}
		if vm.Runtime.BootTime != nil {
			m.Booted = vm.Runtime.BootTime.Format(time.RFC3339Nano)
		}
		out[vm.Self.Value] = m
	}
	return out
}

// virtctl runs virtctl as an administrator, or with a kubeconfig.
func (s *storeScene) virtctl(kubeconfig string, args ...string) (out string, err error) {
	s.Helper()
	var stdout, stderr bytes.Buffer
	cmd := s.command(kubeconfig, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("virtctl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), err
}

func (s *storeScene) command(kubeconfig string, args ...string) *exec.Cmd {
	if kubeconfig == "" {
		kubeconfig = s.AdminKubeconfig
	}
	cmd := exec.CommandContext(s.Context(), filepath.Join(testenv.BinDir(), "virtctl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+s.TempDir())
	return cmd
}

// accept waits until the server refuses its store, and accepts the store by the reported ID.
func (s *storeScene) accept() {
	s.Helper()
	const namespace, name, order = "slipway-system", "slipway-store", "slipway.dev/accept-store="
	s.eventually("the store is accepted", func(ctx context.Context) error {
		_, err := s.api.VmV1alpha1().VirtualMachines("default").List(ctx, metav1.ListOptions{})
		if err == nil {
			return nil
		}
		_, id, refused := strings.Cut(err.Error(), order)
		if !refused {
			return err
		}
		var known *corev1.ConfigMap
		if known, err = s.host.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&known.ObjectMeta, strings.TrimSuffix(order, "="), strings.Fields(id)[0])
		if _, err = s.host.CoreV1().ConfigMaps(namespace).Update(ctx, known, metav1.UpdateOptions{}); err != nil {
			return err
		}
		return fmt.Errorf("it was accepted and is not served yet")
	})
}
