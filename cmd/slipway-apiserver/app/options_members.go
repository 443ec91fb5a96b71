// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// MemberOptions say which member of a cluster the embedded etcd is.
type MemberOptions struct {
	// Name of the member, that of the host if empty.
	Name string
	// PeerAddress is where the other members reach it, host and port. Empty stands for a
	// lone member.
	PeerAddress string
}

func (m *MemberOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&m.PeerAddress, "etcd-peer-address", m.PeerAddress,
		"Host and port at which the embedded etcds of other replicas reach this one, which makes them a cluster. It listens on that port of --bind-address, "+
			"for them alone. Empty for a single replica.")
	fs.StringVar(&m.Name, "etcd-name", m.Name,
		"Name of this member of the cluster of embedded etcds, which stays the same; empty for the name of the host. Of a StatefulSet it has to be the name of the pod.")
}

// name of this member.
func (m *MemberOptions) name() (string, error) {
	if m.Name != "" {
		return m.Name, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("naming this member of etcd: %w", err)
	}
	return strings.ToLower(host), nil
}

func (o *Options) validateMembers() []error {
	m := &o.Members
	if m.PeerAddress == "" {
		if m.Name != "" {
			return []error{errors.New("--etcd-name needs --etcd-peer-address")}
		}
		return nil
	}
	var errs []error
	if len(o.Recommended.Etcd.StorageConfig.Transport.ServerList) > 0 {
		errs = append(errs, errors.New("--etcd-peer-address is for the embedded etcd and excludes --etcd-servers"))
	}
	if o.Recommended.CoreAPI == nil {
		errs = append(errs, errors.New("--etcd-peer-address needs a host cluster, which knows the members"))
	}
	host, port, err := net.SplitHostPort(m.PeerAddress)
	if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || n == 0 || net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
		errs = append(errs, fmt.Errorf("--etcd-peer-address %q: must be a host and a port, as in slipway-apiserver-0.slipway-etcd.slipway-system.svc:2380", m.PeerAddress))
	}
	name, err := m.name()
	if err != nil {
		return append(errs, err)
	}
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("--etcd-name %q: %s", name, strings.Join(wrong, "; ")))
	}
	return errs
}
