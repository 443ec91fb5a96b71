// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// upstream is an API server that returns the request it received.
type upstream struct {
	*httptest.Server
	asked []string
	last  *http.Request
	// answer, if there is one, answers.
	answer http.HandlerFunc
}

func newUpstream(t *testing.T) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.asked, u.last = append(u.asked, r.Method+" "+r.RequestURI+" "+string(body)), r
		if u.answer != nil {
			u.answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "a=b")
		_, _ = io.WriteString(w, `{"kind":"VirtualMachineList"}`)
	}))
	t.Cleanup(u.Close)
	return u
}

// start serves a dashboard of an API server below a path, as behind a gateway.
func start(t *testing.T, u *upstream) *Server {
	t.Helper()
	s, err := New(&rest.Config{Host: u.URL + "/clusters/c1", BearerToken: "of-the-user"}, 0, Session{Server: "https://cluster", Namespace: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request as the page does, with changes.
func (s *Server) ask(t *testing.T, method, target, body string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.listener.Addr().String()+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(TokenHeader, s.token)
	req.Header.Set("Origin", "http://"+s.listener.Addr().String())
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(data)
}

func TestGuard_AnswersOnlyThePage(t *testing.T) {
	u := newUpstream(t)
	s := start(t, u)
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	for name, tc := range map[string]struct {
		change func(*http.Request)
		code   int
	}{
		"the page": {nil, http.StatusOK},
		"by the name localhost": {func(r *http.Request) {
			r.Host = "localhost:" + port
			r.Header.Set("Origin", "http://localhost:"+port)
		}, http.StatusOK},
		"a program with the token":         {func(r *http.Request) { r.Header.Del("Origin"); r.Header.Del("Sec-Fetch-Site") }, http.StatusOK},
		"no token":                         {func(r *http.Request) { r.Header.Del(TokenHeader) }, http.StatusUnauthorized},
		"another token":                    {func(r *http.Request) { r.Header.Set(TokenHeader, NewToken()) }, http.StatusUnauthorized},
		"the token in a parameter":         {func(r *http.Request) { r.Header.Del(TokenHeader); r.URL.RawQuery = "token=" + s.token }, http.StatusUnauthorized},
		"the token as a cookie":            {func(r *http.Request) { r.Header.Del(TokenHeader); r.Header.Set("Cookie", TokenHeader+"="+s.token) }, http.StatusUnauthorized},
		"a name that points to loopback":   {func(r *http.Request) { r.Host = "evil.example:" + port }, http.StatusMisdirectedRequest},
		"no port":                          {func(r *http.Request) { r.Host = "127.0.0.1" }, http.StatusMisdirectedRequest},
		"another port":                     {func(r *http.Request) { r.Host = "127.0.0.1:1" }, http.StatusMisdirectedRequest},
		"a page of another origin":         {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		"a page without origin":            {func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
		"a page of another port":           {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, http.StatusForbidden},
		"a page of another name":           {func(r *http.Request) { r.Header.Set("Origin", "http://localhost:"+port) }, http.StatusForbidden},
		"two origins":                      {func(r *http.Request) { r.Header.Add("Origin", "https://evil.example") }, http.StatusForbidden},
		"a request that another site sent": {func(r *http.Request) { r.Header.Del("Origin"); r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"a link of another port":           {func(r *http.Request) { r.Header.Del("Origin"); r.Header.Set("Sec-Fetch-Site", "same-site") }, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			for _, target := range []string{vms, "/session"} {
				u.asked = nil
				resp, body := s.ask(t, http.MethodGet, target, "", tc.change)
				if resp.StatusCode != tc.code {
					t.Errorf("%s: %d %s, want %d", target, resp.StatusCode, body, tc.code)
				}
				if tc.code != http.StatusOK && (len(u.asked) > 0 || strings.Contains(body, "https://cluster")) {
					t.Errorf("%s: %v was asked, and the answer is %s", target, u.asked, body)
				}
			}
			u.asked = nil
			resp, body := s.ask(t, http.MethodPost, vms+"/web/stop", "{}", tc.change)
			if resp.StatusCode != tc.code || (len(u.asked) == 1) != (tc.code == http.StatusOK) {
				t.Errorf("stop: %d %s, asked %v", resp.StatusCode, body, u.asked)
			}
		})
	}
}

func TestProxy_SendsOnlyTheCredentialsOfTheUser(t *testing.T) {
	u := newUpstream(t)
	s := start(t, u)
	resp, body := s.ask(t, http.MethodPost, vms+"/web/stop?dryRun=All", `{"mode":"Hard"}`, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer of-another")
		r.Header.Set("Impersonate-User", "admin")
		r.Header.Set("X-Remote-User", "admin")
		r.Header.Set("Cookie", "c=d")
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "websocket")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json")
	})
	if resp.StatusCode != http.StatusOK || body != `{"kind":"VirtualMachineList"}` {
		t.Fatalf("the answer is %d %s", resp.StatusCode, body)
	}
	want := []string{"POST /clusters/c1/apis/vm.slipway.dev/v1alpha1/namespaces/dev/virtualmachines/web/stop?dryRun=All " + `{"mode":"Hard"}`}
	if diff := cmp.Diff(want, u.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	header := http.Header{
		"Accept": {"application/json"}, "Content-Type": {"application/json"}, "Authorization": {"Bearer of-the-user"},
		"Accept-Encoding": {"gzip"}, "Content-Length": {"15"}, "User-Agent": {"virtctl-dashboard"},
	}
	if diff := cmp.Diff(header, u.last.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if host, _ := url.Parse(u.URL); u.last.Host != host.Host {
		t.Errorf("Host is %q", u.last.Host)
	}
	if resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the headers of the answer are %v", resp.Header)
	}
}

func TestProxy_LimitsRequestBodies(t *testing.T) {
	u := newUpstream(t)
	s := start(t, u)
	for _, tc := range []struct {
		method, target string
		size, code     int
	}{
		{http.MethodPost, vms + "/web/stop", maxBody, http.StatusOK},
		{http.MethodPost, vms + "/web/stop", maxBody + 1, http.StatusRequestEntityTooLarge},
		{http.MethodGet, vms, 1, http.StatusRequestEntityTooLarge},
	} {
		u.asked = nil
		resp, _ := s.ask(t, tc.method, tc.target, strings.Repeat(" ", tc.size), nil)
		if resp.StatusCode != tc.code || (len(u.asked) == 1) != (tc.code == http.StatusOK) {
			t.Errorf("%s with %d bytes: %d, asked %d times", tc.method, tc.size, resp.StatusCode, len(u.asked))
		}
	}
}

func TestProxy_ForwardsErrorsAndRejectsRedirects(t *testing.T) {
	u := newUpstream(t)
	s := start(t, u)
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		code   int
		says   string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "may not", http.StatusForbidden) }, http.StatusForbidden, "may not"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example", http.StatusFound)
		}, http.StatusBadGateway, "302"},
		"not there": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, http.StatusBadGateway, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			u.answer = tc.answer
			resp, body := s.ask(t, http.MethodGet, vms, "", nil)
			if resp.StatusCode != tc.code || !strings.Contains(body, tc.says) || resp.Header.Get("Location") != "" {
				t.Errorf("the answer is %d %s %v", resp.StatusCode, body, resp.Header)
			}
		})
	}
}

// A watch is flushed event by event, even if there is none yet, and ends with the page.
func TestProxy_FlushesWatchEventsImmediately(t *testing.T) {
	u := newUpstream(t)
	ended, answered := make(chan struct{}), make(chan struct{})
	u.answer = func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-answered
		_, _ = io.WriteString(w, "{\"type\":\"ADDED\"}\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
	}
	s := start(t, u)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.listener.Addr().String()+vms+"?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(TokenHeader, s.token)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	close(answered)
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "{\"type\":\"ADDED\"}\n" {
		t.Fatalf("the first line is %q (%v)", line, err)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the API server goes on after the page has gone")
	}
}

func TestAssets_HaveSecurityHeaders(t *testing.T) {
	s := start(t, newUpstream(t))
	resp, _ := s.ask(t, http.MethodGet, "/", "", func(r *http.Request) { r.Header = http.Header{} })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the page without token: %d", resp.StatusCode)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Content-Type": "text/html; charset=utf-8",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
			t.Errorf("the policy is %s", policy)
		}
	}
	for target, code := range map[string]int{
		"/app.js": 200, "/style.css": 200, "/index.html": 200, "/nothing": 404, "/../dashboard.go": 404, "/web/app.js": 404, "/%2e%2e/dashboard.go": 404, "//app.js": 404, "/app.js/": 404,
	} {
		if resp, body := s.ask(t, http.MethodGet, target, "", nil); resp.StatusCode != code {
			t.Errorf("%s: %d %s", target, resp.StatusCode, body)
		}
	}
	if resp, _ := s.ask(t, http.MethodPost, "/app.js", "", nil); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST of a file: %d", resp.StatusCode)
	}
	tag := resp.Header.Get("ETag")
	if resp, body := s.ask(t, http.MethodGet, "/", "", func(r *http.Request) { r.Header.Set("If-None-Match", tag) }); resp.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("the page that is known: %d", resp.StatusCode)
	}
}

func TestAssets_AreSmallCompressedAndSelfContained(t *testing.T) {
	files, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9-]+\.[a-z]`)
	total := 0
	for name, a := range files {
		if name == "/" {
			continue
		}
		total += len(a.plain)
		if a.contentType == "" {
			t.Errorf("%s has no content type", name)
		}
		unpacked, err := gzip.NewReader(strings.NewReader(string(a.packed)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(unpacked); err != nil || string(got) != string(a.plain) {
			t.Errorf("%s is packed wrongly: %v", name, err)
		}
		for _, found := range elsewhere.FindAllString(string(a.plain), -1) {
			if found != "http://www.w" { // the names of XML
				t.Errorf("%s names another host: %s", name, found)
			}
		}
		for _, made := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", " style=", "onclick="} {
			if strings.Contains(string(a.plain), made) {
				t.Errorf("%s has %q: text must not become markup or scripts", name, made)
			}
		}
	}
	if total == 0 || total > 200_000 {
		t.Errorf("the files have %d bytes, want at most 200000", total)
	}
}

func TestServer_HasANewTokenInTheURLFragmentEachTime(t *testing.T) {
	one, other := start(t, newUpstream(t)), start(t, newUpstream(t))
	u, err := url.Parse(one.URL())
	if err != nil || u.Hostname() != "127.0.0.1" || u.RawQuery != "" || u.Path != "/" || u.Fragment != "token="+one.token {
		t.Errorf("the URL is %s (%v)", one.URL(), err)
	}
	if len(one.token) < 32 || one.token == other.token {
		t.Errorf("the tokens are %q and %q", one.token, other.token)
	}
	resp, body := one.ask(t, http.MethodGet, "/session", "", nil)
	var got Session
	if err := json.Unmarshal([]byte(body), &got); err != nil || got != (Session{Server: "https://cluster", Namespace: "dev"}) {
		t.Errorf("the session is %d %s", resp.StatusCode, body)
	}
}
