// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/pkg/apiserver/inprocess"
)

// ask sends a request to handler.
func ask(ctx context.Context, t *testing.T, handler http.HandlerFunc, method, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "https://slipway.example/apis?watch=1", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer x")
	return inprocess.Transport(handler).RoundTrip(req)
}

func TestTransport_PassesTheRequestLikeAServer(t *testing.T) {
	var got []string
	response, err := ask(t.Context(), t, func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		got = []string{r.Method, r.RequestURI, r.Host, r.Header.Get("Authorization"), string(sent), r.RemoteAddr}
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("Content-Type", "too late")
		_, _ = io.WriteString(w, "made")
	}, http.MethodPost, "an object")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"POST", "/apis?watch=1", "slipway.example", "Bearer x", "an object", "127.0.0.1:0"}, got); diff != "" {
		t.Errorf("received request (-want +got):\n%s", diff)
	}
	answered, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"201 Created", "text/plain", "made"}, []string{response.Status, response.Header.Get("Content-Type"), string(answered)}); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestTransport_ReturnsOKIfTheHandlerWritesNothing(t *testing.T) {
	response, err := ask(t.Context(), t, func(http.ResponseWriter, *http.Request) {}, http.MethodGet, "")
	if err != nil {
		t.Fatal(err)
	}
	if answered, err := io.ReadAll(response.Body); response.StatusCode != http.StatusOK || len(answered) != 0 || err != nil {
		t.Errorf("status %d, body %q, error %v; want 200 and nothing", response.StatusCode, answered, err)
	}
}

// stream returns a handler that writes one event and waits until the request ends.
func stream(ended *bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "event")
		<-r.Context().Done()
		<-w.(interface{ CloseNotify() <-chan bool }).CloseNotify()
		*ended = true
	}
}

func TestTransport_StreamsUntilTheReaderStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended bool
		response, err := ask(t.Context(), t, stream(&ended), http.MethodGet, "")
		if err != nil {
			t.Fatal(err)
		}
		event := make([]byte, len("event"))
		if _, err := io.ReadFull(response.Body, event); err != nil || string(event) != "event" {
			t.Fatalf("read %q, %v", event, err)
		}
		if synctest.Wait(); ended {
			t.Fatal("the request ended while its response was read")
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); !ended {
			t.Error("the handler continues although the response is not read")
		}
	})
}

func TestTransport_EndsAStreamWithTheCallersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended bool
		response, err := ask(ctx, t, stream(&ended), http.MethodGet, "")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := io.ReadAll(response.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("reading failed with %v, want context.Canceled", err)
		}
		if synctest.Wait(); !ended {
			t.Error("the handler continues although the caller has stopped")
		}
	})
}

func TestTransport_EndsTheWaitWithTheCallersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := false
		_, err := ask(ctx, t, func(_ http.ResponseWriter, r *http.Request) {
			cancel(nil)
			<-r.Context().Done()
			ended = true
		}, http.MethodGet, "")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		if synctest.Wait(); !ended {
			t.Error("the handler continues although the caller has stopped")
		}
	})
}

func TestTransport_AbortedResponseIsIncomplete(t *testing.T) {
	response, err := ask(t.Context(), t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}, http.MethodGet, "")
	if err != nil {
		t.Fatal(err)
	}
	if answered, err := io.ReadAll(response.Body); string(answered) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %q, %v; want half and an unexpected end", answered, err)
	}
}

func TestTransport_DoesNotInheritContextValues(t *testing.T) {
	type key struct{}
	var got any
	response, err := ask(context.WithValue(t.Context(), key{}, "the caller's"), t, func(_ http.ResponseWriter, r *http.Request) {
		got = r.Context().Value(key{})
	}, http.MethodGet, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	if got != nil {
		t.Errorf("the request inherited the value %v", got)
	}
}
