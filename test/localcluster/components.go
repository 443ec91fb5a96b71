// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/slipway-dev/slipway/test/localcluster/pki"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// components builds the command line of each program.
type components struct {
	options Options
	dir     dataDir
	pki     *pki.Store
	ports   ports.Set
}

func (c components) spec(name, program string, args ...string) process.Spec {
	return process.Spec{
		Name: name, Path: filepath.Join(c.options.BinDir, program), Args: args, LogFile: c.dir.log(name),
	}
}

// kubeAPIServer is killed with SIGKILL, the default, when its parent dies. Its etcd has ended with the parent, and
// without etcd a graceful shutdown takes minutes.
func (c components) kubeAPIServer(etcd string) process.Spec {
	args := []string{
		"--etcd-servers=" + etcd,
		"--bind-address=" + loopback, "--advertise-address=" + loopback,
		"--secure-port=" + port(c.ports, PortKubeAPIServer),
		// Endpoints cannot contain a loopback address, so no component may write it.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + clusterIPs,
		"--authorization-mode=RBAC", "--anonymous-auth=true",
		"--tls-cert-file=" + c.pki.CertFile(fileKubeAPIServer),
		"--tls-private-key-file=" + c.pki.KeyFile(fileKubeAPIServer),
		"--client-ca-file=" + c.pki.CertFile(fileCA),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki.PublicKeyFile(fileServiceAccounts),
		"--service-account-signing-key-file=" + c.pki.KeyFile(fileServiceAccounts),
		"--requestheader-client-ca-file=" + c.pki.CertFile(fileFrontProxyCA),
		"--requestheader-allowed-names=" + frontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-uid-headers=X-Remote-Uid",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.pki.CertFile(fileFrontProxy),
		"--proxy-client-key-file=" + c.pki.KeyFile(fileFrontProxy),
		// kube-apiserver would let Pods wait for service accounts, but no Pods run here.
		"--disable-admission-plugins=ServiceAccount",
		"--shutdown-watch-termination-grace-period=1s",
	}
	return c.spec("kube-apiserver", programKubeAPIServer, append(args, c.options.KubeAPIServerArgs...)...)
}

// controllers are the controllers that have an effect without nodes: those for deletion of namespaces, dependents and
// claims, for aggregation of ClusterRoles, and for quotas.
const controllers = "namespace-controller,garbage-collector-controller,clusterrole-aggregation-controller,serviceaccount-controller," +
	"persistentvolumeclaim-protection-controller,resourcequota-controller"

func (c components) kubeControllerManager() process.Spec {
	kubeconfig := c.dir.kubeconfig("kube-controller-manager")
	return c.spec("kube-controller-manager", programKubeControllerManager,
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address="+loopback, "--secure-port="+port(c.ports, PortKubeControllerManager),
		"--tls-cert-file="+c.pki.CertFile(fileKubeAPIServer), "--tls-private-key-file="+c.pki.KeyFile(fileKubeAPIServer),
		"--controllers="+strings.Join(append([]string{controllers}, c.options.Controllers...), ","), "--use-service-account-credentials=true",
		// With this interval a quota that is created before discovery lists our kinds is counted soon, and not after
		// five minutes.
		"--resource-quota-sync-period=10s",
		"--service-account-private-key-file="+c.pki.KeyFile(fileServiceAccounts),
		"--root-ca-file="+c.pki.CertFile(fileCA), "--leader-elect=false",
	)
}

// vcenter is the simulated vCenter with a number, from 1. The ports of vCenters other than the first change with every
// start.
func (c components) vcenter(n int) process.Spec {
	listen, dir := c.ports.Address(PortVCenter), c.dir.vcenter(n)
	if n > 1 {
		listen = loopback + ":0"
	}
	args := []string{
		"vcenter", "--listen=" + listen,
		"--cert-file=" + c.pki.CertFile(fileVCenter), "--key-file=" + c.pki.KeyFile(fileVCenter),
		"--username=" + VCenterUser, "--password-file=" + c.dir.vcenterPassword(),
		"--state-dir=" + dir.state, "--ready-file=" + dir.ready,
	}
	if c.options.Zones || n > 1 {
		args = append(args, fmt.Sprintf("--clusters=%d", zonesEach))
	}
	if c.options.ForeignVMs && n == 1 {
		args = append(args, "--foreign-vms")
	}
	if d := c.options.GuestBootDelay; d > 0 {
		args = append(args, "--guest-boot-delay="+d.String())
	}
	s := c.spec(partOf(n), programSlipwayDev, append(args, c.options.VCenterArgs...)...)
	// The inventory is saved at shutdown, so the process gets SIGTERM when its parent dies.
	s.ParentDeath = syscall.SIGTERM
	return s
}

func (c components) slipway(v VCenter) process.Spec {
	kubeconfig := c.dir.kubeconfig("slipway-apiserver")
	args := []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopback, "--secure-port=" + port(c.ports, PortSlipwayAPIServer),
		"--data-dir=" + c.dir.slipwayData(),
		"--vcenter-url=" + v.URL, "--vcenter-ca-file=" + v.CAFile,
		"--vcenter-credentials-file=" + c.dir.vcenterCredentials(),
		// The simulated inventory has several of these.
		"--vcenter-datastore=/DC0/datastore/LocalDS_0", "--vcenter-network=/DC0/network/VM Network",
		// No other process uses it.
		"--vcenter-networks=*", "--vcenter-host-devices=*",
		// Workload clusters of tests and development machines are on loopback, like everything here.
		"--workload-networks=127.0.0.0/8",
		// There is no other replica for users.
		"--shutdown-delay-duration=0s",
		"--vcenter-folder=/DC0/vm/slipway", "--vcenter-resource-pool=/DC0/host/DC0_C0/Resources",
	}
	if !c.options.ManagedCertificate {
		args = append(args, "--tls-cert-file="+c.pki.CertFile(fileSlipway), "--tls-private-key-file="+c.pki.KeyFile(fileSlipway))
	}
	if c.options.UnsafeNoFsync {
		args = append(args, "--etcd-unsafe-no-fsync")
	}
	s := c.spec("slipway-apiserver", programSlipwayAPIServer, append(args, c.options.SlipwayArgs...)...)
	s.ParentDeath = syscall.SIGTERM
	return s
}
