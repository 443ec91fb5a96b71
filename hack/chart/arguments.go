// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// argument is one of the server that depends on values: under a condition, and with a value
// of its own if value is not empty.
type argument struct{ name, condition, value string }

var ofValues = []argument{
	{"--data-dir", embedded, ""},
	{"--etcd-name", embedded, ""},
	{"--etcd-peer-address", embedded, ""},
	{"--vcenter-url", ".Values.vcenter.url", ".Values.vcenter.url"},
	{"--vcenter-credentials-secret", ".Values.vcenter.url", `printf "%s/%s" .Release.Namespace .Values.vcenter.credentialsSecret`},
	{"--vcenter-ca-file", ".Values.vcenter.caConfigMap", ""},
}

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
		i := slices.IndexFunc(ofValues, func(a argument) bool { return a.name == name })
		if i < 0 {
			all = append(all, arg)
			continue
		}
		found[name] = true
		if a := ofValues[i]; a.value != "" {
			arg = expression(fmt.Sprintf(`printf "%s=%%s" (%s) | quote`, a.name, a.value))
		}
		all = append(all, guarded{ofValues[i].condition, []any{arg}})
	}
	for _, a := range ofValues {
		if !found[a.name] {
			return fmt.Errorf("the server has no argument %s, for which the chart has a value", a.name)
		}
	}
	certificate := []any{"--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key"}
	ofEtcd := []any{"--etcd-cafile=/etcd-tls/ca.crt", "--etcd-certfile=/etcd-tls/tls.crt", "--etcd-keyfile=/etcd-tls/tls.key"}
	container["args"] = append(all,
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

// guardItem puts the item with a name under a condition, after it was changed.
func guardItem(object map[string]any, list, name, condition string, change func(map[string]any) error) error {
	items, err := field[[]any](object, list)
	if err != nil {
		return err
	}
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok || m["name"] != name {
			continue
		}
		if change != nil {
			if err := change(m); err != nil {
				return fmt.Errorf("%s %s: %w", list, name, err)
			}
		}
		items[i] = guarded{condition, []any{m}}
		return nil
	}
	return fmt.Errorf("%s has no %s, for which the chart has a value", list, name)
}
