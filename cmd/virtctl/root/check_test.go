// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// neededKinds are the kinds of Kubernetes that the server needs, by group and version.
var neededKinds = map[string][]string{
	"apiregistration.k8s.io/v1":       {"apiservices"},
	"admissionregistration.k8s.io/v1": {"validatingadmissionpolicies", "validatingwebhookconfigurations"},
	"flowcontrol.apiserver.k8s.io/v1": {"flowschemas", "prioritylevelconfigurations"},
	"coordination.k8s.io/v1":          {"leases"},
	"events.k8s.io/v1":                {"events"},
	"discovery.k8s.io/v1":             {"endpointslices"},
}

// mostFindings is how many findings of a kind check prints.
const mostFindings = 10

// checkedCluster is a cluster to check.
type checkedCluster struct {
	// unserved are the groups and versions that it does not serve.
	unserved []string
	// aggregation is on.
	aggregation bool
	// apis maps each APIService to the reason why it is not available, empty if it is.
	apis map[string]string
	// refused are verbs and resources, as in "create namespaces".
	refused []string
	// ready is how many of three replicas are, if there is a StatefulSet, and objects are what
	// is listed by resource.
	ready   *int
	objects map[string]string
}

func (c *checkedCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	version := strings.TrimPrefix(r.URL.Path, "/apis/")
	switch {
	case r.URL.Path == "/version":
		_, _ = io.WriteString(w, `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`)
		return
	case name == "selfsubjectaccessreviews":
		body, _ := io.ReadAll(r.Body)
		asked, _, err := clientscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		review, ok := asked.(*authorizationv1.SelfSubjectAccessReview)
		if err != nil || !ok {
			http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
			return
		}
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = !slices.Contains(c.refused, a.Verb+" "+a.Resource)
		review.Kind, review.APIVersion = "SelfSubjectAccessReview", "authorization.k8s.io/v1"
		_ = json.NewEncoder(w).Encode(review)
		return
	case strings.HasSuffix(r.URL.Path, "/configmaps/extension-apiserver-authentication"):
		key := "client-ca-file"
		if c.aggregation {
			key = "requestheader-client-ca-file"
		}
		_, _ = fmt.Fprintf(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":{%q:"x"}}`, key)
		return
	case neededKinds[version] != nil && !slices.Contains(c.unserved, version):
		var kinds []string
		for _, resource := range neededKinds[version] {
			kinds = append(kinds, fmt.Sprintf(`{"name":%q}`, resource))
		}
		_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[%s]}`, version, strings.Join(kinds, ","))
		return
	}
	if name == "pods" || c.objects[name] != "" {
		_, _ = fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","items":[%s]}`, c.objects[name])
		return
	}
	if name == "vcenters" || name == "zones" {
		_, _ = io.WriteString(w, `{"kind":"List","apiVersion":"v1","items":[]}`)
		return
	}
	if name == "slipway-apiserver" && c.ready != nil {
		_, _ = fmt.Fprintf(w, `{"kind":"StatefulSet","apiVersion":"apps/v1","metadata":{"name":"slipway-apiserver"},"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"s"}]}}},"status":{"readyReplicas":%d}}`, *c.ready)
		return
	}
	if strings.HasSuffix(version, ".slipway.dev/v1alpha1") {
		_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[]}`, version)
		return
	}
	if waits, there := c.apis[name]; there {
		status := "True"
		if waits != "" {
			status = "False"
		}
		_, _ = fmt.Fprintf(w, `{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","metadata":{"name":%q},"status":{"conditions":[{"type":"Available","status":%q,"reason":"Why","message":%q}]}}`, name, status, waits)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
}

func (c *checkedCluster) check(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runAs(t, "virtctl", "secret\n", c, append([]string{"check"}, args...)...)
}

const (
	vmAPI, instancetypeAPI, clusterAPI = "v1alpha1.vm.slipway.dev", "v1alpha1.instancetype.slipway.dev", "v1alpha1.cluster.slipway.dev"
	clusterIsWell                      = "ok       Kubernetes v1.37.2\nok       the aggregation layer is enabled\n"
)

func TestCheck_ReportsMissingRequirements(t *testing.T) {
	for name, c := range map[string]struct {
		cluster checkedCluster
		code    int
		want    string
	}{
		"before, nothing": {
			checkedCluster{aggregation: true}, 0,
			clusterIsWell + "ok       Slipway is not installed yet\nok       you have the permissions that an installation requires\n",
		},
		"before, rights": {
			checkedCluster{aggregation: true, refused: []string{"create namespaces", "patch statefulsets", "escalate clusterroles"}}, 1,
			clusterIsWell + "ok       Slipway is not installed yet\nMISSING  you have no permission to create namespaces in the cluster\n" +
				"MISSING  you have no permission to patch statefulsets.apps in namespace slipway-system\nMISSING  you have no permission to escalate clusterroles.rbac.authorization.k8s.io in the cluster\n",
		},
		"before, the cluster is old and closed": {
			checkedCluster{unserved: []string{"flowcontrol.apiserver.k8s.io/v1"}}, 1,
			"MISSING  Kubernetes v1.37.2 does not serve flowcontrol.apiserver.k8s.io/v1 flowschemas, which slipway-apiserver requires: upgrade Kubernetes\n" +
				"MISSING  Kubernetes v1.37.2 does not serve flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations, which slipway-apiserver requires: upgrade Kubernetes\n" +
				"MISSING  the aggregation layer is disabled: start kube-apiserver with --requestheader-client-ca-file, --proxy-client-cert-file and --proxy-client-key-file\n" +
				"ok       Slipway is not installed yet\nok       you have the permissions that an installation requires\n",
		},
		"after, nothing": {
			checkedCluster{aggregation: true, apis: map[string]string{vmAPI: "", instancetypeAPI: "", clusterAPI: ""}, refused: []string{"create namespaces"}}, 0,
			clusterIsWell + "ok       APIService v1alpha1.vm.slipway.dev is available\nok       APIService v1alpha1.instancetype.slipway.dev is available\nok       APIService v1alpha1.cluster.slipway.dev is available\n",
		},
		"after, one is not available and one not there": {
			checkedCluster{aggregation: true, apis: map[string]string{vmAPI: "no endpoints", instancetypeAPI: ""}}, 1,
			clusterIsWell + "MISSING  APIService v1alpha1.vm.slipway.dev: Why: no endpoints\nok       APIService v1alpha1.instancetype.slipway.dev is available\n" +
				"MISSING  APIService v1alpha1.cluster.slipway.dev does not exist: run virtctl install --apply\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := c.cluster.check(t)
			if code != c.code || out != c.want || (errOut != "") != (c.code != 0) {
				t.Errorf("exit %d, want %d: %s\n%s\nwant\n%s", code, c.code, errOut, out, c.want)
			}
		})
	}
}

// saying returns an object with the condition Ready.
func saying(kind, name, status, reason, message string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":"vm.slipway.dev/v1alpha1","metadata":{"name":%q},"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"message":%q}]}}`, kind, name, status, reason, message)
}

func TestCheck_ReportsPartsOfTheInstallationThatAreNotReady(t *testing.T) {
	apis := map[string]string{vmAPI: "", instancetypeAPI: "", clusterAPI: ""}
	available := clusterIsWell + "ok       APIService v1alpha1.vm.slipway.dev is available\nok       APIService v1alpha1.instancetype.slipway.dev is available\nok       APIService v1alpha1.cluster.slipway.dev is available\n"
	var many []string
	for i := range mostFindings + 2 {
		many = append(many, saying("Zone", fmt.Sprintf("z%02d", i), "Unknown", "", ""))
	}
	for name, c := range map[string]struct {
		ready   int
		objects map[string]string
		code    int
		want    string
	}{
		"all are": {
			3, map[string]string{"vcenters": saying("VCenter", "default", "True", "", ""), "zones": saying("Zone", "a", "True", "", "") + "," + saying("Zone", "b", "True", "", "")}, 0,
			"ok       3 of 3 replicas of the server are ready\nok       all vcenters are ready (1)\nok       all zones are ready (2)\n",
		},
		"one of each is not": {
			2, map[string]string{
				"pods":     `{"metadata":{"name":"slipway-apiserver-1"},"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no node"}]}}`,
				"vcenters": saying("VCenter", "default", "True", "", "") + "," + saying("VCenter", "east", "False", "LoginFailed", "wrong password"),
				"zones":    saying("Zone", "a", "False", "NotFound", "no cluster c1"),
			}, 1,
			"MISSING  2 of 3 replicas of the server are ready: pod slipway-apiserver-1: Unschedulable: no node\n" +
				"MISSING  vcenter/east is not ready: LoginFailed: wrong password\nMISSING  zone/a is not ready: NotFound: no cluster c1\n",
		},
		"many are not": {
			0, map[string]string{"zones": strings.Join(many, ",")}, 1,
			"MISSING  0 of 3 replicas of the server are ready: run kubectl get pods -n slipway-system for details\n" +
				"MISSING  zone/z00 is not ready: the server has not reported a status yet\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := checkedCluster{aggregation: true, apis: apis, ready: &c.ready, objects: c.objects}
			code, out, errOut := cluster.check(t)
			if rest, ok := strings.CutPrefix(out, available); code != c.code || !ok || !strings.HasPrefix(rest, c.want) || c.ready > 0 && rest != c.want {
				t.Errorf("exit %d, want %d: %s\n%s\nwant\n%s%s", code, c.code, errOut, out, available, c.want)
			}
			if c.ready == 0 && (strings.Count(out, " zone/") != mostFindings || !strings.HasSuffix(out, "MISSING  2 more zones are not ready: run kubectl get zones\n")) {
				t.Errorf("the report of the zones:\n%s", out)
			}
		})
	}
}

func TestCheck_ReportsThatVCenterIsUnreachable(t *testing.T) {
	silent := httptest.NewTLSServer(http.NotFoundHandler())
	silent.Close()
	c := checkedCluster{aggregation: true}
	code, out, _ := c.check(t, "--vcenter-url="+silent.URL, "--vcenter-username=u", "--vcenter-password-file=-")
	if code != 1 || !strings.Contains(out, "MISSING  vCenter: ") || !strings.Contains(out, strings.TrimPrefix(silent.URL, "https://")) {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

func TestCheck_RejectsInvalidFlags(t *testing.T) {
	c := checkedCluster{aggregation: true}
	for want, args := range map[string][]string{
		"require --vcenter-url":                                           {"--vcenter-username=u"},
		"--record requires --vcenter-url":                                 {"--record=x"},
		"--zones requires --vcenter-url":                                  {"--zones=x"},
		"--zones: open /none/x":                                           {"--vcenter-url=vc", "--vcenter-username=u", "--vcenter-password-file=-", "--zones=/none/x"},
		`--server-arg "x": must be a flag`:                                {"--server-arg=x"},
		"--vcenter-thumbprint \"zz\":":                                    {"--vcenter-url=vc", "--vcenter-username=u", "--vcenter-password-file=-", "--vcenter-thumbprint=zz"},
		"--vcenter-insecure is not supported: the server always verifies": {"--vcenter-url=vc", "--vcenter-username=u", "--vcenter-password-file=-", "--vcenter-insecure"},
	} {
		if code, out, errOut := c.check(t, args...); code != 1 || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%v: exit %d %s%s, want %q", args, code, out, errOut, want)
		}
	}
}
