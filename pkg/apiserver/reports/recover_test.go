// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apiserver/admission/protectedkeys"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// keeping returns the keeper of a vCenter with some VMs, and the existing objects.
func keeping(objects map[string]*vmv1alpha1.VirtualMachine, owned ...driver.Owned) *recordReader {
	return &recordReader{
		owned:  func() ([]driver.Owned, bool) { return owned, true },
		record: func(uniqueID string) string { return "record of " + uniqueID },
		object: func(key types.NamespacedName) *vmv1alpha1.VirtualMachine { return objects[key.String()] },
	}
}

func ownedBy(namespace, name, uid, id string, generation int64) driver.Owned {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Generation: generation}}
	return driver.Owned{Key: types.NamespacedName{Namespace: namespace, Name: name}, UID: types.UID(uid), UniqueID: id, Recorded: vmrecord.HeadOf(vm)}
}

func TestRecordReport_ComparesObjectsWithRecords(t *testing.T) {
	object := func(uid string, generation int64, reasons ...string) *vmv1alpha1.VirtualMachine {
		vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Generation: generation}}
		for _, reason := range reasons {
			vm.Status.Conditions = append(vm.Status.Conditions, metav1.Condition{Type: vmv1alpha1.ConditionBackupUpToDate, Reason: reason})
		}
		return vm
	}
	for name, tc := range map[string]struct {
		object *vmv1alpha1.VirtualMachine
		want   orphans.RecordState
	}{
		"the object does not exist":                      {nil, orphans.Missing},
		"another object has the name":                    {object("v", 7), orphans.NameTaken},
		"the object is unchanged":                        {object("u", 7), ""},
		"the object is older":                            {object("u", 6), orphans.Older},
		"the object is newer":                            {object("u", 8), orphans.Newer},
		"the object was older and has changed since":     {object("u", 8, vmv1alpha1.ReasonRecordNewer), orphans.Older},
		"the object is newer and too large for a record": {object("u", 8, vmv1alpha1.ReasonTooLarge), orphans.Newer},
	} {
		o := ownedBy("dev", "web", "u", "vm-7", 7)
		got := keeping(map[string]*vmv1alpha1.VirtualMachine{"dev/web": tc.object}).compare("vc", &o)
		if state := stateOf(got); state != tc.want {
			t.Errorf("%s: %q, want %q", name, state, tc.want)
		}
	}
}

func stateOf(k *orphans.RecordedVM) orphans.RecordState {
	if k == nil {
		return ""
	}
	return k.State
}

func TestRecordReport_ReturnsPages(t *testing.T) {
	var a, b []driver.Owned
	for i := range 150 {
		a = append(a, ownedBy("dev", fmt.Sprintf("vm-%03d", i), "u", fmt.Sprintf("vm-%d", i), 1))
	}
	b = append(b, ownedBy("dev", "vm-100", "v", "vm-9", 1), ownedBy("prod", "web", "w", "vm-1", 1))
	all := map[string]*recordReader{"a": keeping(nil, a...), "b": keeping(nil, b...), "c": nil}
	var got []string
	var sizes []int
	q := url.Values{orphans.ParamRecords: {orphans.RecordsWithContent}}
	for {
		p, err := pageOf(q)
		if err != nil {
			t.Fatal(err)
		}
		report, known := recordReport(all, p)
		if !known || len(report.Unknown) != 1 || report.VCenter != "a, b" {
			t.Fatalf("got known %t, unknown %v, covered %s", known, report.Unknown, report.VCenter)
		}
		sizes = append(sizes, len(report.Kept))
		for _, k := range report.Kept {
			if k.Record != "record of "+k.UniqueID {
				t.Errorf("%s has the record %q", k.Name, k.Record)
			}
			got = append(got, k.Namespace+"/"+k.Name)
		}
		if report.Continue == "" {
			break
		}
		q.Set(orphans.ParamContinue, report.Continue)
	}
	var want []string
	for i := range 150 {
		if want = append(want, fmt.Sprintf("dev/vm-%03d", i)); i == 100 {
			want = append(want, "dev/vm-100")
		}
	}
	want = append(want, "prod/web")
	if diff := cmp.Diff(want, got); diff != "" || !cmp.Equal(sizes, []int{100, 52}) {
		t.Errorf("pages of %v (-want +got):\n%s", sizes, diff)
	}
	for _, tc := range []struct {
		q    url.Values
		want int
	}{
		{url.Values{orphans.ParamRecords: {orphans.RecordsWithoutContent}}, 152},
		{url.Values{orphans.ParamRecords: {orphans.RecordsWithoutContent}, orphans.ParamNamespace: {"prod"}}, 1},
		{url.Values{orphans.ParamRecords: {orphans.RecordsWithContent}, orphans.ParamName: {"vm-100"}}, 2},
	} {
		p, err := pageOf(tc.q)
		if err != nil {
			t.Fatal(err)
		}
		report, _ := recordReport(all, p)
		if len(report.Kept) != tc.want || !p.texts && report.Kept[0].Record != "" {
			t.Errorf("%v: %d, want %d, first %+v", tc.q, len(report.Kept), tc.want, report.Kept[0])
		}
	}
}

func TestRecordReport_RequiresAPrivilegedUser(t *testing.T) {
	o := &orphanReport{
		Controllers: Controllers{Running: func() bool { return true }}, privileged: protectedkeys.New("operator").Privileged,
		recordReaders: func() map[string]*recordReader {
			return map[string]*recordReader{"a": keeping(nil, ownedBy("dev", "web", "u", "vm-7", 1))}
		},
	}
	ask := func(name, query string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, orphans.Path+"?"+query, nil)
		r = r.WithContext(request.WithUser(r.Context(), &user.DefaultInfo{Name: name}))
		w := httptest.NewRecorder()
		o.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	if code, body := ask("operator", "records=texts"); code != http.StatusOK || !strings.Contains(body, `"record":"record of vm-7"`) {
		t.Errorf("a privileged user got %d %s", code, body)
	}
	for _, query := range []string{"records=texts", "records=heads", "records=other", "records"} {
		if code, body := ask("alice", query); code != http.StatusForbidden || !strings.Contains(body, "only privileged users") || !strings.Contains(body, `"kind":"Status","apiVersion":"v1"`) {
			t.Errorf("%s: an ordinary user got %d %s", query, code, body)
		}
	}
	for query, says := range map[string]string{"records=other": "supported values are heads, texts", "records=heads&continue=%25": "continue"} {
		var status metav1.Status
		code, body := ask("operator", query)
		if err := json.Unmarshal([]byte(body), &status); err != nil || code != http.StatusBadRequest || !strings.Contains(status.Message, says) {
			t.Errorf("%s: %d %s (%v), want a bad request with %s", query, code, body, err, says)
		}
	}
}
