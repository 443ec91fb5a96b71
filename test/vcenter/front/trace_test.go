// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/simulator"
)

// echo answers with the body that it was sent.
func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

func find(name string) string {
	return `<Envelope><Body><FindByUuid><uuid>` + name + `</uuid></FindByUuid></Body></Envelope>`
}

func TestTrace_KeepsTheLastMatchingCalls(t *testing.T) {
	f := New(http.HandlerFunc(echo), simulator.NewRegistry(), nil, nil)
	control := Control(f, NewTaskDelays(nil))
	send := func(h http.Handler, method, target, body string) string {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
		if w.Code != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
		return w.Body.String()
	}
	traced := func(texts ...string) []string {
		t.Helper()
		var calls []TracedCall
		answer := send(control, http.MethodGet, "/trace?"+url.Values{"text": texts}.Encode(), "")
		if err := json.Unmarshal([]byte(answer), &calls); err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for i, c := range calls {
			if names = append(names, c.Call); i > 0 && c.Time.Before(calls[i-1].Time) {
				t.Errorf("call %d, %s, is older than the one before it", i, c.Call)
			}
		}
		return names
	}

	send(f, http.MethodPost, "/sdk", find("early"))
	if got := traced("early"); len(got) != 0 {
		t.Errorf("kept %v although no trace was ordered", got)
	}
	send(control, http.MethodPut, "/trace?calls=3", "")
	send(f, http.MethodPost, "/sdk", find("web"))
	if got := send(f, http.MethodPost, "/rest/item?~action=deploy", `{"name":"db"}`); got != `{"name":"db"}` {
		t.Errorf("the service got the body %q of a traced call", got)
	}
	if diff := cmp.Diff([]string{"FindByUuid", "POST /rest/item?~action=deploy"}, traced("web", "db")); diff != "" {
		t.Errorf("calls that name web or db (-want +got):\n%s", diff)
	}
	for i := range 2 {
		send(f, http.MethodPost, "/sdk", find(fmt.Sprintf("other-%d", i)))
	}
	if diff := cmp.Diff([]string{"POST /rest/item?~action=deploy", "FindByUuid", "FindByUuid"}, traced("web", "db", "other")); diff != "" {
		t.Errorf("the last three calls (-want +got):\n%s", diff)
	}
	send(control, http.MethodPut, "/trace?calls=0", "")
	send(f, http.MethodPost, "/sdk", find("late"))
	if got := traced("late", "other"); len(got) != 0 {
		t.Errorf("%v are kept after the end of the trace", got)
	}
}

func TestTrace_RejectsInvalidRequests(t *testing.T) {
	control := Control(New(http.HandlerFunc(echo), simulator.NewRegistry(), nil, nil), NewTaskDelays(nil))
	for method, target := range map[string]string{
		http.MethodGet: "/trace", http.MethodPut: fmt.Sprintf("/trace?calls=%d", maxTrace+1),
	} {
		w := httptest.NewRecorder()
		control.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s %s: status %d, want %d", method, target, w.Code, http.StatusBadRequest)
		}
	}
}
