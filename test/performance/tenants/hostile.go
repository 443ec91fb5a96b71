// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

const (
	// clusters is the number of workload clusters of a hostile tenant, and nodes is the number of their Nodes.
	clusters, nodes = 10, 10_000
	// entries is the number of empty entries in a list of 2 MB.
	entries  = 1_000_000
	protobuf = "application/vnd.kubernetes.protobuf"
)

// largeNode is the end of a Node with many empty finalizers, which are small on the wire and large in memory.
var largeNode = `","resourceVersion":"1","finalizers":[""` + strings.Repeat(`,""`, 15_500) + `]}}`

// attack is one kind of attack. It is repeated with the number of the round.
type attack struct {
	name  string
	every time.Duration
	do    func(ctx context.Context, t *tenant, what string, round int)
}

func (a attack) repeat(ctx context.Context, t *tenant) {
	for round := 0; ; round++ {
		a.do(ctx, t, a.name, round)
		if pause(ctx, a.every) != nil {
			return
		}
	}
}

// newAttacks returns all attacks, and a function that ends the workload clusters that they use.
func newAttacks() ([]attack, func(), error) {
	server := httptest.NewTLSServer(http.HandlerFunc(serveNodes))
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	kubeconfig := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server.URL, ca))
	finalizers, err := message("vm.slipway.dev/v1alpha1", "VirtualMachineGroup", field(1, append(field(1, []byte("many")), bytes.Repeat([]byte{14<<3 | 2, 0}, entries)...)))
	if err != nil {
		return nil, nil, err
	}
	data, err := message("instancetype.slipway.dev/v1alpha1", "ControllerRevision", append(field(1, field(1, []byte("empty"))), field(2, field(1, nil))...))
	stop := func() {
		server.CloseClientConnections()
		server.Close()
	}
	post := func(name, group, resource string, body []byte) attack {
		return attack{name, time.Second, func(ctx context.Context, t *tenant, what string, _ int) {
			t.send(ctx, what, http.MethodPost, t.path(group, resource)+"?dryRun=All", protobuf, body)
		}}
	}
	connect := func(ctx context.Context, t *tenant, what string, round int) {
		connectCluster(ctx, t, what, round, kubeconfig)
	}
	return []attack{
		{"T1 workload clusters with large Nodes", 100 * time.Millisecond, connect},
		{"T2 MachineSets with large annotations", time.Second, fillStore},
		{"T3 two Clusters that name one object", 2 * time.Second, shareInfrastructure},
		{"T4 reverts", time.Second, revert},
		{"T5 forged owners and finalizers", time.Second, forge},
		post("T7 million-entry lists in protobuf", "vm", "virtualmachinegroups", finalizers),
		post("T8 ControllerRevisions with empty data", "instancetype", "controllerrevisions", data),
		{"T9 probes to odd addresses", time.Second, probeAddresses},
	}, stop, err
}

// serveNodes serves a workload cluster with many large Nodes, which also change continuously.
func serveNodes(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	node := func(n int) {
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n-%d%s`, n, largeNode)
	}
	query := r.URL.Query()
	switch {
	case !strings.HasPrefix(r.URL.Path, "/api/v1/nodes"):
		_, _ = io.WriteString(w, `{}`)
	case r.URL.Path != "/api/v1/nodes":
		node(0)
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		for n := 0; r.Context().Err() == nil; n = (n + 1) % nodes {
			_, _ = io.WriteString(w, `{"type":"MODIFIED","object":`)
			node(n)
			_, _ = io.WriteString(w, "}\n")
			w.(http.Flusher).Flush()
			_ = pause(r.Context(), 50*time.Millisecond)
		}
	default:
		first, _ := strconv.Atoi(query.Get("continue"))
		limit, _ := strconv.Atoi(query.Get("limit"))
		next := min(first+max(limit, 1), nodes)
		token := strconv.Itoa(next)
		if next == nodes {
			token = ""
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"1","continue":%q},"items":[`, token)
		for n := first; n < next; n++ {
			if n > first {
				_, _ = io.WriteString(w, ",")
			}
			node(n)
		}
		_, _ = io.WriteString(w, "]}")
	}
}

// infrastructure returns the reference to an object.
func infrastructure(kind, name string) string {
	return fmt.Sprintf("infrastructureRef: {apiGroup: vm.slipway.dev, kind: %s, name: %s}", kind, name)
}

// connectCluster makes the server connect to workload clusters with many large Nodes.
func connectCluster(ctx context.Context, t *tenant, what string, round int, kubeconfig string) {
	if round >= clusters {
		return
	}
	name := fmt.Sprintf("large-%d", round)
	secret := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"%s%s","labels":{"%s":"%s"}},"data":{"value":%q}}`,
		name, clusterv1alpha1.KubeconfigSecretSuffix, clusterv1alpha1.ClusterNameLabel, name, kubeconfig)
	t.send(ctx, what, http.MethodPost, "/api/v1/namespaces/"+t.namespace+"/secrets", "application/json", []byte(secret))
	t.create(ctx, what, "vm", "SlipwayCluster", "slipwayclusters", name, "spec: {controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}}")
	t.create(ctx, what, "cluster", "Cluster", "clusters", name, "spec: {controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}, "+infrastructure("SlipwayCluster", name)+"}")
	t.createVM(ctx, what, name, "powerState: PoweredOn")
	t.create(ctx, what, "cluster", "Machine", "machines", name, "spec: {clusterName: "+name+", bootstrap: {dataSecretName: data}, "+infrastructure("VirtualMachine", name)+"}")
}

// fillStore has sets create as many large Machines as they can.
func fillStore(ctx context.Context, t *tenant, what string, round int) {
	if round == 0 {
		t.create(ctx, what, "vm", "VirtualMachineTemplate", "virtualmachinetemplates", "fill", "spec: {template: {spec: {cpu: {sockets: 1}, memory: {guest: 256Mi}, image: {name: photon-5}, powerState: PoweredOff}}}")
		t.create(ctx, what, "cluster", "Cluster", "clusters", "fill", "spec: {}")
	}
	size := 15 << 10
	if round == 0 {
		size = 240 << 10 // is rejected
	}
	if round < 4 {
		t.create(ctx, what, "cluster", "MachineSet", "machinesets", fmt.Sprintf("fill-%d", round), fmt.Sprintf(
			"spec: {clusterName: fill, replicas: 10000, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}, annotations: {large: %q}}, "+
				"spec: {clusterName: fill, version: v1.36.0, bootstrap: {dataSecretName: data}, %s}}}", strings.Repeat("v", size), infrastructure("VirtualMachineTemplate", "fill")))
	}
}

// shareInfrastructure makes two Clusters refer to one object, and changes the label that they write.
func shareInfrastructure(ctx context.Context, t *tenant, what string, round int) {
	if round == 0 {
		t.create(ctx, what, "vm", "SlipwayCluster", "slipwayclusters", "shared", "spec: {controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}}")
		t.patch(ctx, what, "vm", "slipwayclusters/shared", `{"metadata":{"annotations":{"large":"`+strings.Repeat("v", 200<<10)+`"}}}`)
		for _, name := range []string{"one", "two"} {
			t.create(ctx, what, "cluster", "Cluster", "clusters", name, "spec: {"+infrastructure("SlipwayCluster", "shared")+"}")
		}
	}
	t.patch(ctx, what, "vm", "slipwayclusters/shared", fmt.Sprintf(`{"metadata":{"labels":{%q:"other-%d"}}}`, clusterv1alpha1.ClusterNameLabel, round%2))
}

// revert repeatedly reverts a VM to a snapshot of another size.
func revert(ctx context.Context, t *tenant, what string, round int) {
	switch {
	case round == 0:
		t.createVM(ctx, what, "reverted", "powerState: PoweredOn")
	case round == 5:
		t.create(ctx, what, "vm", "VirtualMachineSnapshot", "virtualmachinesnapshots", "before", "spec: {vmName: reverted}")
	case round > 10 && round%2 == 0:
		t.patch(ctx, what, "vm", "virtualmachines/reverted", `{"spec":{"currentSnapshotName":"before"}}`)
	case round > 10:
		t.patch(ctx, what, "vm", "virtualmachines/reverted", fmt.Sprintf(`{"spec":{"currentSnapshotName":null,"cpu":{"sockets":%d}}}`, 1+round/2%2))
	}
}

// forge changes owners and removes finalizers.
func forge(ctx context.Context, t *tenant, what string, round int) {
	name := fmt.Sprintf("forged-%d", round)
	snapshot := "virtualmachinesnapshots/" + name
	t.create(ctx, what, "vm", "VirtualMachineSnapshot", "virtualmachinesnapshots", name, "spec: {vmName: reverted}")
	t.patch(ctx, what, "vm", snapshot, `{"metadata":{"ownerReferences":[{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VirtualMachine","name":"reverted","uid":"11111111-1111-1111-1111-111111111111"}]}}`)
	for group, object := range map[string]string{"vm": "virtualmachines/reverted", "cluster": "machines/large-0"} {
		t.patch(ctx, what, group, object, `{"metadata":{"finalizers":null}}`)
	}
	t.patch(ctx, what, "vm", snapshot, `{"metadata":{"finalizers":null}}`)
	t.delete(ctx, what, "vm", snapshot)
}

// probed are addresses to which a guest must not make the server connect.
var probed = []string{"169.254.169.254", "127.0.0.1", "10.0.0.1", "0.0.0.0", "255.255.255.255", "fd00:ec2::254", "::1", "100.100.100.200", "168.63.129.16", "192.0.2.1"}

// probeAddresses makes the server probe odd addresses every second.
func probeAddresses(ctx context.Context, t *tenant, what string, round int) {
	if round < len(probed) {
		t.createVM(ctx, what, fmt.Sprintf("probed-%d", round),
			fmt.Sprintf("powerState: PoweredOn, readinessProbe: {tcpSocket: {port: 443, host: %q}, periodSeconds: 1, timeoutSeconds: 10}", probed[round]))
	}
}

// field returns a field of a protobuf message with a length.
func field(number byte, data []byte) []byte {
	out := []byte{number<<3 | 2}
	n := len(data)
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(append(out, byte(n)), data...)
}

// message returns an object in protobuf as API servers read it.
func message(version, kind string, raw []byte) ([]byte, error) {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: kind}, Raw: raw}
	data, err := unknown.Marshal()
	return append([]byte("k8s\x00"), data...), err
}
