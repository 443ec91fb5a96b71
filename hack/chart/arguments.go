// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// ofEmbedded are the arguments of the server that an external etcd takes the place of.
var ofEmbedded = []string{"--data-dir", "--etcd-name", "--etcd-peer-address"}

// valued are all arguments of the server that depend on a value.
var valued = append([]string{shutdownDelay}, ofEmbedded...)

// arguments puts the values of the chart into those of the server.
func arguments(container map[string]any) error {
	args, err := field[[]any](container, "args")
	if err != nil {
		return err
	}
	found := map[string]bool{}
	all := make([]any, 0, len(args))
	for _, arg := range args {
		text, ok := arg.(string)
		if !ok {
			return fmt.Errorf("an argument is a %T", arg)
		}
		name, _, _ := strings.Cut(text, "=")
		found[name] = true
		switch {
		case slices.Contains(ofEmbedded, name):
			arg = guarded{embedded, []any{arg}}
		case name == shutdownDelay:
			arg = delayed(text)
		}
		all = append(all, arg)
	}
	for _, name := range valued {
		if !found[name] {
			return fmt.Errorf("the server has no argument %s, for which the chart has a value", name)
		}
	}
	vcenter := []any{
		expression(`printf "--vcenter-url=%s" .Values.vcenter.url | quote`),
		expression(`printf "--vcenter-credentials-secret=%s/%s" .Release.Namespace .Values.vcenter.credentialsSecret | quote`),
	}
	certificate := []any{"--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key"}
	ofEtcd := []any{"--etcd-cafile=/etcd-tls/ca.crt", "--etcd-certfile=/etcd-tls/tls.crt", "--etcd-keyfile=/etcd-tls/tls.key"}
	container["args"] = append(all,
		scheduled(),
		guarded{withVCenter, vcenter},
		guarded{withVCenterCA, []any{"--vcenter-ca-file=/vcenter-ca/ca.crt"}},
		guarded{withCertificate, certificate},
		guarded{external, []any{expression(`printf "--etcd-servers=%s" (join "," ` + external + `) | quote`)}},
		guarded{withEtcdCertificates, ofEtcd},
		repeated(".Values.extraArgs"))
	return nil
}

// field is what is at a path, and of a type.
func field[T any](object map[string]any, path ...string) (T, error) {
	var none T
	var node any = object
	for _, key := range path {
		m, ok := node.(map[string]any)
		if !ok {
			return none, fmt.Errorf("%s is no object", strings.Join(path, "."))
		}
		node = m[key]
	}
	value, ok := node.(T)
	if !ok {
		return none, fmt.Errorf("%s is a %T, want a %T", strings.Join(path, "."), node, none)
	}
	return value, nil
}

// replace puts a value in the place of one that must be there: a manifest that has lost it
// would leave a value of the chart without effect.
func replace(object map[string]any, key string, value any) error {
	if _, ok := object[key]; !ok {
		return fmt.Errorf("%s is missing, for which the chart has a value", key)
	}
	object[key] = value
	return nil
}

// guardItem puts the item with a name under a condition.
func guardItem(object map[string]any, list, name, condition string) error {
	items, err := field[[]any](object, list)
	if err != nil {
		return err
	}
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok || m["name"] != name {
			continue
		}
		items[i] = guarded{condition, []any{m}}
		return nil
	}
	return fmt.Errorf("%s has no %s, for which the chart has a value", list, name)
}
