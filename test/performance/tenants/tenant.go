// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// requestTimeout is longer than that of the servers, so that they answer.
	requestTimeout = 90 * time.Second
	// useInterval is the pause between two rounds of requests of a tenant.
	useInterval = time.Second
	// createEvery is the number of rounds between two virtual machines that a tenant creates and deletes.
	createEvery = 10
	merge       = string(types.MergePatchType)
	yamlBody    = "application/yaml"
)

// tenant is the editor of a namespace. Its requests are not retried, so that every response counts.
type tenant struct {
	namespace, url string
	client         *http.Client
	answers        *answers
}

// answers counts the responses by purpose.
type answers struct {
	mu     sync.Mutex
	counts map[string]map[string]int
	// unexpected has some responses that are neither successes nor retriable rejections.
	unexpected []string
}

func newAnswers() *answers { return &answers{counts: map[string]map[string]int{}} }

func (a *answers) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts, a.unexpected = map[string]map[string]int{}, nil
}

// add counts an answer, and reports whether the request succeeded.
func (a *answers) add(what, answer string, text []byte) (ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts[what] == nil {
		a.counts[what] = map[string]int{}
	}
	a.counts[what][answer]++
	ok = answer[0] == '2'
	if !ok && answer != "429" && answer != "503 Retry-After" && len(a.unexpected) < 5 {
		a.unexpected = append(a.unexpected, fmt.Sprintf("%s: %s: %.200s", what, answer, text))
	}
	return ok
}

// path returns the path of objects in a group of Slipway in the namespace.
func (t *tenant) path(group, rest string) string {
	return "/apis/" + group + ".slipway.dev/v1alpha1/namespaces/" + t.namespace + "/" + rest
}

// send sends a request and counts its response, unless ctx has ended.
func (t *tenant) send(ctx context.Context, what, method, path, contentType string, body []byte) (answer []byte, ok bool) {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, method, t.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, t.answers.add(what, "no request", []byte(err.Error()))
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := t.client.Do(req)
	if err == nil {
		answer, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	switch {
	case ctx.Err() != nil:
		return nil, false
	case err != nil:
		return nil, t.answers.add(what, "no answer", []byte(err.Error()))
	}
	code := fmt.Sprint(resp.StatusCode)
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" {
		code += " Retry-After"
	}
	return answer, t.answers.add(what, code, answer)
}

// create creates an object of a group.
func (t *tenant) create(ctx context.Context, what, group, kind, resource, name, rest string) bool {
	manifest := fmt.Sprintf("{apiVersion: %s.slipway.dev/v1alpha1, kind: %s, metadata: {name: %s, labels: {app: x}}, %s}", group, kind, name, rest)
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		return t.answers.add(what, "no request", []byte(err.Error()))
	}
	_, ok := t.send(ctx, what, http.MethodPost, t.path(group, resource), "application/json", data)
	return ok
}

func (t *tenant) createVM(ctx context.Context, what, name, rest string) bool {
	return t.create(ctx, what, "vm", "VirtualMachine", "virtualmachines", name,
		"spec: {cpu: {sockets: 1}, memory: {guest: 256Mi}, image: {name: photon-5}, "+rest+"}")
}

func (t *tenant) patch(ctx context.Context, what, group, rest, body string) bool {
	_, ok := t.send(ctx, what, http.MethodPatch, t.path(group, rest), merge, []byte(body))
	return ok
}

func (t *tenant) delete(ctx context.Context, what, group, rest string) bool {
	_, ok := t.send(ctx, what, http.MethodDelete, t.path(group, rest), "", nil)
	return ok
}

// use sends the requests of an ordinary tenant until ctx is done.
func (t *tenant) use(ctx context.Context) {
	var left []string
	for n := 0; ; n++ {
		t.send(ctx, "list", http.MethodGet, t.path("vm", "virtualmachines"), "", nil)
		t.send(ctx, "get", http.MethodGet, t.path("vm", "virtualmachines/first"), "", nil)
		t.patch(ctx, "patch", "vm", "virtualmachines/first", fmt.Sprintf(`{"metadata":{"annotations":{"round":"%d"}}}`, n))
		if n%createEvery == 0 {
			name := fmt.Sprintf("off-%d", n)
			if t.createVM(ctx, "create", name, "powerState: PoweredOff") {
				left = append(left, name)
			}
			if len(left) > 0 && t.delete(ctx, "delete", "vm", "virtualmachines/"+left[0]) {
				left = left[1:]
			}
		}
		if pause(ctx, useInterval) != nil {
			return
		}
	}
}

// runs returns an empty string if a virtual machine is powered on and has an address. Otherwise it returns its state.
func (t *tenant) runs(ctx context.Context, name string) string {
	data, ok := t.send(ctx, "get", http.MethodGet, t.path("vm", "virtualmachines/"+name), "", nil)
	var vm vmv1alpha1.VirtualMachine
	if !ok || json.Unmarshal(data, &vm) != nil {
		return t.namespace + "/" + name + " could not be read"
	}
	if vm.Status.PowerState == vmv1alpha1.PoweredOn && vm.Status.Network != nil && vm.Status.Network.PrimaryIP4 != "" {
		return ""
	}
	return fmt.Sprintf("%s/%s is %s", t.namespace, name, vm.Status.PrintableStatus)
}

// start creates a virtual machine for each tenant, and returns those that do not run in time.
func start(ctx context.Context, all []*tenant, name string, patience time.Duration) (late []string, err error) {
	deadline := time.Now().Add(patience)
	created := map[*tenant]bool{}
	for {
		for _, t := range all {
			if !created[t] {
				created[t] = t.createVM(ctx, "create", name, "powerState: PoweredOn")
			}
		}
		if late = notRunning(ctx, all, name); len(late) == 0 || time.Now().After(deadline) {
			return late, ctx.Err()
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

func notRunning(ctx context.Context, all []*tenant, name string) (late []string) {
	for _, t := range all {
		if state := t.runs(ctx, name); state != "" {
			late = append(late, state)
		}
	}
	return late
}
